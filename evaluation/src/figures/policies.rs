//! Table 2: what policies reach for a QoE.

use enerinfer_artifacts::exhibit::{Column, DataTable, Exhibit, Provenance};
use enerinfer_device::published::{self, PolicyRow, Quantity};
use enerinfer_device::{Decode, Policy, SimulatedDevice};
use enerinfer_hyperparam::{choose, pareto_front};

use super::{FigureError, Judged, device_name, mean, point_name};

/// One published row, and what is simulated for it.
struct Line {
    device: String,
    model: String,
    policy: &'static str,
    qoe_tok_per_s: Option<f64>,
    /// Published speed, efficiency and gain.
    published: [Option<f64>; 3],
    /// Simulated speed, efficiency and gain.
    simulated: [Option<f64>; 3],
    point: String,
}

pub(super) fn exhibit(
    devices: &[SimulatedDevice],
    judged: &[Judged],
) -> Result<Exhibit, FigureError> {
    let mut lines = Vec::new();
    for device in devices {
        let rows = published::policy_rows(&device.platform().name)?;
        let mut models: Vec<&PolicyRow> = Vec::new();
        for row in &rows {
            if row.format == device.platform().format
                && !models.iter().any(|r| r.model == row.model)
            {
                models.push(row);
            }
        }
        for first in models {
            lines.push(default_line(device, first)?);
            let of_model = rows.iter().filter(|r| r.model == first.model);
            for row in of_model {
                lines.extend(policy_lines(device, row, judged));
            }
        }
    }
    let table = DataTable {
        id: "table2_rows".to_owned(),
        caption: "Speed, efficiency and gain over Default".to_owned(),
        columns: vec![
            Column::key("Device", lines.iter().map(|l| l.device.clone())),
            Column::key("Model", lines.iter().map(|l| l.model.clone())),
            Column::key("Policy", lines.iter().map(|l| l.policy)),
            Column::optional(
                "QoE",
                "tok/s",
                Provenance::Published,
                0,
                lines.iter().map(|l| l.qoe_tok_per_s),
            ),
            values("Speed", "tok/s", Provenance::Published, lines.iter().map(|l| l.published[0])),
            values("Speed", "tok/s", Provenance::Simulated, lines.iter().map(|l| l.simulated[0])),
            values(
                "Efficiency",
                "tok/J",
                Provenance::Published,
                lines.iter().map(|l| l.published[1]),
            ),
            values(
                "Efficiency",
                "tok/J",
                Provenance::Simulated,
                lines.iter().map(|l| l.simulated[1]),
            ),
            values("Gain", "%", Provenance::Published, lines.iter().map(|l| l.published[2])),
            values("Gain", "%", Provenance::Simulated, lines.iter().map(|l| l.simulated[2])),
            Column::text(
                "Operating point",
                Provenance::Simulated,
                lines.iter().map(|l| l.point.clone()),
            ),
        ],
    };
    Ok(Exhibit {
        id: "table2".to_owned(),
        title: "Policies for a QoE".to_owned(),
        source: "EnerInfer Table 2".to_owned(),
        caption: "Deadline is simulated in both readings of \"the frequencies that just fulfill \
                  QoE\". EnerInfer is simulated twice: with the device's own table, and by \
                  predictions alone, before any feedback. Default and EnerInfer rows were fitted; \
                  Deadline rows count little in the fit."
            .to_owned(),
        tables: vec![table, deadline_table(&lines)],
        charts: Vec::new(),
    })
}

fn values(
    name: &str,
    unit: &str,
    provenance: Provenance,
    of: impl Iterator<Item = Option<f64>>,
) -> Column {
    Column::optional(name, unit, provenance, 1, of)
}

/// Which reading of Deadline fits the published rows.
fn deadline_table(lines: &[Line]) -> DataTable {
    let mut devices: Vec<&str> = lines.iter().map(|l| &*l.device).collect();
    devices.dedup();
    let readings = || devices.iter().flat_map(|d| [(*d, SLOWEST), (*d, LEVELS)]);
    let miss = |column: usize, relative: bool| {
        readings().map(move |(device, policy)| {
            let rows = lines.iter().filter(|l| l.device == device && l.policy == policy);
            mean(rows.filter_map(|l| {
                let (theirs, ours) = (l.published[column]?, l.simulated[column]?);
                Some((ours - theirs).abs() / if relative { theirs / 100.0 } else { 1.0 })
            }))
        })
    };
    DataTable {
        id: "table2_deadline".to_owned(),
        caption: "Mean distance of both readings of Deadline from the published rows".to_owned(),
        columns: vec![
            Column::key("Device", readings().map(|r| r.0)),
            Column::key("Reading", readings().map(|r| r.1)),
            values("Speed", "%", Provenance::Compared, miss(0, true)),
            values("Gain", "percentage points", Provenance::Compared, miss(2, false)),
        ],
    }
}

const SLOWEST: &str = "Deadline, slowest fast-enough point";
const LEVELS: &str = "Deadline, lowest memory then accelerator level";

fn default_line(device: &SimulatedDevice, row: &PolicyRow) -> Result<Line, FigureError> {
    let highest = device.platform().clocks.highest();
    let figures = published::figures(&device.platform().name)?;
    let value = |quantity: Quantity| {
        let of_row = |f: &&published::Figure| {
            f.model == row.model && f.format == row.format && f.point == highest
        };
        figures.iter().filter(of_row).find(|f| f.quantity == quantity).map(|f| f.value)
    };
    let speed = value(Quantity::ThroughputTokPerS);
    let efficiency =
        value(Quantity::EfficiencyTokPerJ).or_else(|| Some(speed? / value(Quantity::PowerW)?));
    let decode = device.decode(&row.shape, highest);
    Ok(Line {
        device: device_name(device),
        model: row.model.clone(),
        policy: "Default",
        qoe_tok_per_s: None,
        published: [speed, efficiency, None],
        simulated: [Some(decode.throughput_tok_per_s), Some(decode.efficiency_tok_per_j()), None],
        point: point_name(highest),
    })
}

/// The readings of a published row.
fn policy_lines(device: &SimulatedDevice, row: &PolicyRow, judged: &[Judged]) -> Vec<Line> {
    let table = device.decode_all(&row.shape);
    let line = |policy: &'static str, chosen: Option<(usize, Decode)>| {
        let default = table.last().map(|(_, d)| d.efficiency_tok_per_j());
        let gain = |d: &Decode| Some(100.0 * (d.efficiency_tok_per_j() / default? - 1.0));
        Line {
            device: device_name(device),
            model: row.model.clone(),
            policy,
            qoe_tok_per_s: Some(row.qoe_tok_per_s),
            published: [
                Some(row.throughput_tok_per_s),
                Some(row.efficiency_tok_per_j),
                Some(row.gain_percent),
            ],
            simulated: [
                chosen.map(|(_, d)| d.throughput_tok_per_s),
                chosen.map(|(_, d)| d.efficiency_tok_per_j()),
                chosen.as_ref().and_then(|(_, d)| gain(d)),
            ],
            point: chosen.map_or("none".to_owned(), |(i, _)| point_name(table[i].0)),
        }
    };
    let by = |policy: Policy| {
        let (point, decode) = policy.choose(&table, row.qoe_tok_per_s)?;
        Some((table.iter().position(|(p, _)| *p == point)?, decode))
    };
    let predicted = || {
        let model = judged
            .iter()
            .find(|j| j.device == *device)?
            .real
            .iter()
            .find(|m| m.name == row.model)?;
        let p = &model.predicted;
        let front = pareto_front(&p.tok_per_s, &p.tok_per_j());
        let at = choose(&front, &p.tok_per_s, row.qoe_tok_per_s)?;
        Some((at, table.get(at)?.1))
    };
    match row.policy {
        Policy::Enerinfer => vec![
            line("EnerInfer, true tables", by(Policy::Enerinfer)),
            line("EnerInfer, predicted tables", predicted()),
        ],
        _ => vec![line(SLOWEST, by(Policy::Deadline)), line(LEVELS, by(Policy::DeadlineLevels))],
    }
}
