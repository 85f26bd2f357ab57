//! The optimum: what full knowledge makes of a decode before the shell reaches the threshold.
//!
//! Dynamic programming over time, shell temperature and the gap between core and shell. Each step
//! of one second chooses among the points that meet the QoE; the value is the number of tokens
//! until the threshold or the end of the session. The result is the policy that maximises this
//! value, played on the device itself, so it can be had.

use enerinfer_device::thermal::{Temperatures, ThermalModel};

use super::Scenario;

/// Resolution of the dynamic programme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Cells of shell temperature. They are narrow at the threshold and grow with the distance
    /// from it: their bounds are at squares of equal steps.
    pub shell_cells: usize,
    /// Cells of the gap between core and shell, narrow around the gap that keeps the threshold.
    pub gap_cells: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Grid { shell_cells: 100, gap_cells: 40 }
    }
}

impl Grid {
    /// The same with twice the cells in each direction.
    #[must_use]
    pub fn halved(self) -> Self {
        Grid { shell_cells: 2 * self.shell_cells, gap_cells: 2 * self.gap_cells }
    }
}

/// What the optimum obtains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimum {
    /// Tokens before the threshold.
    pub tokens: f64,
    /// Time before it, s.
    pub seconds: f64,
    /// Tokens as the value function estimates them: interpolation makes it differ a little.
    pub value_tokens: f64,
}

/// Step, s.
const STEP_S: f64 = 1.0;

/// A choice: heat and throughput.
#[derive(Clone, Copy)]
struct Control {
    heat_w: f64,
    tok_per_s: f64,
}

/// One second of the thermal model as an affine map of (shell, gap) and heat.
struct Map {
    /// `[from][to]`, coordinates shell and gap.
    state: [[f64; 2]; 2],
    heat: [f64; 2],
    constant: [f64; 2],
}

impl Map {
    fn new(thermal: &ThermalModel, ambient_celsius: f64) -> Self {
        let step = |shell: f64, gap: f64, heat_w: f64| {
            let from = Temperatures { core_celsius: shell + gap, shell_celsius: shell };
            let to = thermal.step(from, heat_w, ambient_celsius, STEP_S);
            [to.shell_celsius, to.core_celsius - to.shell_celsius]
        };
        let constant = step(0.0, 0.0, 0.0);
        let less = |a: [f64; 2]| [a[0] - constant[0], a[1] - constant[1]];
        Map {
            state: [less(step(1.0, 0.0, 0.0)), less(step(0.0, 1.0, 0.0))],
            heat: less(step(0.0, 0.0, 1.0)),
            constant,
        }
    }

    fn apply(&self, [shell, gap]: [f64; 2], heat_w: f64) -> [f64; 2] {
        let at = |i: usize| {
            self.constant[i]
                + self.state[0][i] * shell
                + self.state[1][i] * gap
                + self.heat[i] * heat_w
        };
        [at(0), at(1)]
    }
}

/// Nodes along one coordinate, at signed squares of equal steps around a centre.
struct Axis {
    centre: f64,
    /// Distance of the node next to the centre.
    first: f64,
    /// Nodes below the centre.
    below: usize,
    cells: usize,
}

impl Axis {
    /// From `low` to `high`, or a little farther, around `centre`.
    fn new(low: f64, centre: f64, high: f64, cells: usize) -> Self {
        let (down, up) = ((centre - low).max(0.0).sqrt(), (high - centre).max(0.0).sqrt());
        let below = (cells as f64 * down / (down + up)).round() as usize;
        let side = |root: f64, nodes: usize| if nodes == 0 { 0.0 } else { root / nodes as f64 };
        let root = side(down, below).max(side(up, cells - below));
        Axis { centre, first: root * root, below, cells }
    }

    fn node(&self, index: usize) -> f64 {
        let k = index as f64 - self.below as f64;
        self.centre + self.first * k * k.abs()
    }

    /// Lower node and place within its cell, clamped to the axis.
    fn cell(&self, x: f64) -> (usize, f64) {
        let away = (x - self.centre) / self.first;
        let k = away.abs().sqrt().copysign(away) + self.below as f64;
        let low = (k.clamp(0.0, self.cells as f64) as usize).min(self.cells - 1);
        let (from, to) = (self.node(low), self.node(low + 1));
        (low, ((x - from) / (to - from)).clamp(0.0, 1.0))
    }
}

/// Nodes of the grid.
struct Nodes {
    shell: Axis,
    gap: Axis,
}

impl Nodes {
    fn rows(&self) -> usize {
        self.gap.cells + 1
    }

    fn len(&self) -> usize {
        (self.shell.cells + 1) * self.rows()
    }

    fn node(&self, index: usize) -> [f64; 2] {
        [self.shell.node(index / self.rows()), self.gap.node(index % self.rows())]
    }

    /// Where a state lies between nodes, clamped to the grid.
    fn place(&self, [shell, gap]: [f64; 2]) -> Place {
        let ((s, ds), (g, dg)) = (self.shell.cell(shell), self.gap.cell(gap));
        Place { node: s * self.rows() + g, shell: ds, gap: dg }
    }

    /// Bilinear interpolation.
    fn at(&self, values: &[f32], place: &Place) -> f64 {
        let value = |node: usize| f64::from(values[node]);
        let between = |node: usize| value(node) * (1.0 - place.gap) + value(node + 1) * place.gap;
        let warmer = place.node + self.rows();
        between(place.node) * (1.0 - place.shell) + between(warmer) * place.shell
    }
}

/// A place within a cell of the grid.
struct Place {
    /// The cell's node of lowest shell temperature and gap.
    node: usize,
    /// Place within the cell, from 0 to 1.
    shell: f64,
    /// Place within the cell, from 0 to 1.
    gap: f64,
}

/// A step from a node.
struct Move {
    tokens: f64,
    /// Where it ends, if not at the threshold.
    to: Option<Place>,
}

/// Tokens and time of a step that may end at the threshold, and whether it does.
fn reward(control: Control, from: f64, to: f64, threshold: f64) -> (f64, f64, bool) {
    if to < threshold {
        return (control.tok_per_s * STEP_S, STEP_S, false);
    }
    let part = if to > from { ((threshold - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
    (control.tok_per_s * STEP_S * part, STEP_S * part, true)
}

/// The points worth choosing: meeting the QoE, not beaten in heat and throughput.
fn controls(scenario: &Scenario) -> Vec<Control> {
    let qoe = scenario.qoe_at(0.0);
    let mut all: Vec<Control> = scenario
        .truth
        .iter()
        .filter(|decode| decode.throughput_tok_per_s >= qoe)
        .map(|decode| Control {
            heat_w: scenario.heat.heat_w(decode),
            tok_per_s: decode.throughput_tok_per_s,
        })
        .collect();
    all.sort_by(|a, b| a.heat_w.total_cmp(&b.heat_w).then(b.tok_per_s.total_cmp(&a.tok_per_s)));
    let mut fastest = 0.0;
    all.retain(|control| {
        let better = control.tok_per_s > fastest;
        if better {
            fastest = control.tok_per_s;
        }
        better
    });
    all
}

/// The optimum of an uninterrupted decode at the QoE and with the end of `scenario`. None if no
/// point meets the QoE.
pub fn optimum(scenario: &Scenario, grid: Grid) -> Option<Optimum> {
    let controls = controls(scenario);
    let (coolest, hottest) = (controls.first()?, controls.last()?);
    let map = Map::new(&scenario.thermal, scenario.ambient_celsius);
    let threshold = scenario.threshold_celsius;
    let steps = (scenario.stop.after_s / STEP_S).floor() as usize;

    // Where sessions can go: between the start, the steady states and the threshold.
    let steady = |control: &Control| {
        let at = scenario.thermal.steady(control.heat_w, scenario.ambient_celsius);
        [at.shell_celsius, at.core_celsius - at.shell_celsius]
    };
    let start =
        [scenario.start.shell_celsius, scenario.start.core_celsius - scenario.start.shell_celsius];
    let lowest_shell = steady(coolest)[0].min(start[0]).min(threshold - 1.0) - 0.5;
    let lowest_gap = steady(coolest)[1].min(start[1]).min(0.0) - 0.1;
    let highest_gap = steady(hottest)[1].max(start[1]) + 1.0;
    // The gap that keeps the shell at the threshold: there, little decides about much.
    let [unloaded, per_watt] = [0.0, 1.0].map(|heat_w| {
        let at = scenario.thermal.steady(heat_w, scenario.ambient_celsius);
        [at.shell_celsius, at.core_celsius - at.shell_celsius]
    });
    let heat_w = (threshold - unloaded[0]) / (per_watt[0] - unloaded[0]);
    let kept_gap = unloaded[1] + heat_w * (per_watt[1] - unloaded[1]);
    let nodes = Nodes {
        shell: Axis::new(lowest_shell, threshold, threshold, grid.shell_cells),
        gap: Axis::new(
            lowest_gap.min(kept_gap - 0.1),
            kept_gap,
            highest_gap.max(kept_gap + 0.1),
            grid.gap_cells,
        ),
    };

    let step = |from: [f64; 2], control: &Control| {
        let to = map.apply(from, control.heat_w);
        let (tokens, _, over) = reward(*control, from[0], to[0], threshold);
        Move { tokens, to: (!over).then(|| nodes.place(to)) }
    };
    let value = |to_go: &[f32], step: &Move| {
        step.tokens + step.to.as_ref().map_or(0.0, |place| nodes.at(to_go, place))
    };
    // Neither the device nor its surroundings change: moves are computed once.
    let moves: Vec<Move> = (0..nodes.len())
        .flat_map(|n| controls.iter().map(move |control| (n, control)))
        .map(|(n, control)| step(nodes.node(n), control))
        .collect();

    // `to_go[k]`: value with k steps left. Where the threshold is always reached, more time
    // changes nothing at last.
    let mut to_go = vec![vec![0.0f32; nodes.len()]];
    for k in 0..steps {
        let best = |moves: &[Move]| moves.iter().map(|m| value(&to_go[k], m)).fold(0.0, f64::max);
        let next: Vec<f32> = moves.chunks(controls.len()).map(|m| best(m) as f32).collect();
        let settled = next == to_go[k];
        to_go.push(next);
        if settled {
            break;
        }
    }

    let value_tokens = to_go.last().map_or(0.0, |values| nodes.at(values, &nodes.place(start)));
    let mut out = Optimum { tokens: 0.0, seconds: 0.0, value_tokens };
    let mut at = start;
    for k in (0..steps).rev() {
        let to_go = &to_go[k.min(to_go.len() - 1)];
        let value_of = |control: &&Control| value(to_go, &step(at, control));
        let best = controls.iter().max_by(|a, b| value_of(a).total_cmp(&value_of(b)));
        let control = *best.unwrap_or(coolest);
        let to = map.apply(at, control.heat_w);
        let (tokens, seconds, over) = reward(control, at[0], to[0], threshold);
        out.tokens += tokens;
        out.seconds += seconds;
        if over {
            break;
        }
        at = to;
    }
    Some(out)
}
