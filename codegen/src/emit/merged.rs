//! All trees of a forest as one: a sum of conditional additions to rectangles of the grid of
//! operating points.
//!
//! A leaf adds its value to a rectangle of operating points that is known when compiling.
//! Addition does not care for the order, so trees that compare the same at the same place are
//! followed together: each comparison is made once for all of them, and what both sides of it add
//! to a rectangle is added before it. Many shallow trees shrink to a fifth of their splits that
//! way; a few deep trees hardly.

use std::collections::{BTreeMap, HashMap};

use enerinfer_artifacts::{ClockTables, Feature, Forest, Node};

use super::rect::Rect;

/// `x[feature] <= threshold`.
pub(crate) type Condition = (u16, u32);

/// What is added at one place: to rectangles, and behind conditions.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// Values by number of the rectangle.
    pub(crate) values: BTreeMap<u32, i64>,
    /// Places to go on with, if the condition holds and if not. Their numbers are larger.
    pub(crate) branches: BTreeMap<Condition, [u32; 2]>,
    /// Places that are always gone on with.
    pub(crate) always: Vec<u32>,
}

impl Place {
    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.branches.is_empty() && self.always.is_empty()
    }
}

/// A merged forest.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) places: Vec<Place>,
    /// The places where walks start: one for all operating points, or one each.
    pub(crate) starts: Vec<u32>,
    /// The rectangles, those that are added to in most places first.
    pub(crate) rects: Vec<Rect>,
    /// What is added to rectangles without condition.
    pub(crate) start: Vec<(Rect, u32)>,
}

impl Merged {
    /// All conditions, again and again.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        self.places.iter().flat_map(|place| place.branches.keys().copied())
    }

    /// Whether anything depends on the shape.
    pub(crate) fn reads_shape(&self) -> bool {
        self.conditions().next().is_some()
    }
}

/// Most places per node of the forest: what trees share is repeated here.
const MAX_PLACES_PER_NODE: usize = 4;

/// Merges the trees of a forest. `None` if it becomes too large, which takes trees that share
/// subtrees with themselves, or if a sum may leave 32 bits.
pub(crate) fn merge(forest: &Forest<i64>, clocks: &ClockTables) -> Option<Merged> {
    let (mut places, mut rects) = unfold(forest, clocks)?;
    let mut bounds = vec![0i64; places.len()];
    let mut known: HashMap<Content, u32> = HashMap::new();
    // Which earlier seen place has the same content.
    let mut same = vec![0u32; places.len()];
    for at in (0..places.len()).rev() {
        let mut place = std::mem::take(&mut places[at]);
        let mut always = Vec::new();
        place.branches.retain(|_, [left, right]| {
            let (l, r) = (*left as usize, *right as usize);
            // What both sides add at least is added before, so that nothing is subtracted.
            let common: Vec<(u32, i64)> = places[l]
                .values
                .iter()
                .filter_map(|(rect, l)| places[r].values.get(rect).map(|r| (*rect, *l.min(r))))
                .collect();
            for (rect, value) in common {
                *place.values.entry(rect).or_default() += value;
                for side in [l, r] {
                    subtract(&mut places[side].values, rect, value);
                }
            }
            for side in [l, r] {
                same[side] = *known.entry(Content::of(&places[side], &same)).or_insert(side as u32);
                bounds[side] = bound(&places[side], &bounds);
            }
            if same[l] == same[r] && !places[l].is_empty() {
                always.push(*left);
            }
            same[l] != same[r]
        });
        place.always = always;
        place.values.retain(|_, value| *value != 0);
        join_neighbours(&mut place.values, &mut rects);
        places[at] = place;
    }
    if bound(&places[0], &bounds) > i64::from(i32::MAX) {
        return None;
    }
    // Totals are not negative, and fit 32 bits like the bound.
    let start = std::mem::take(&mut places[0].values)
        .into_iter()
        .map(|(rect, value)| (rects.list[rect as usize], value as u32))
        .collect();
    let rects = renumber(&mut places, &rects.list);
    Some(Merged { places, starts: vec![0], rects, start })
}

/// Most rectangles of a place among which neighbours are looked for, two by two.
const MAX_JOINED: usize = 200;

/// What is added to both of two neighbours that make one rectangle together is added to that one
/// instead: trees differ in how they part the grid, and meet in the larger rectangles.
fn join_neighbours(values: &mut BTreeMap<u32, i64>, rects: &mut Rects) {
    while let Some((a, b, union)) = neighbours(values, &rects.list) {
        let shared = values[&a].min(values[&b]);
        *values.entry(rects.number(union)).or_default() += shared;
        for rect in [a, b] {
            subtract(values, rect, shared);
        }
    }
}

fn neighbours(values: &BTreeMap<u32, i64>, rects: &[Rect]) -> Option<(u32, u32, Rect)> {
    if values.len() > MAX_JOINED {
        return None;
    }
    let numbers = values.keys().copied();
    numbers.enumerate().find_map(|(i, a)| {
        let mut others = values.keys().skip(i + 1);
        others.find_map(|&b| {
            let union = rects[a as usize].union(rects[b as usize])?;
            Some((a, b, union))
        })
    })
}

fn subtract(values: &mut BTreeMap<u32, i64>, rect: u32, value: i64) {
    let rest = values.entry(rect).or_default();
    *rest -= value;
    if *rest == 0 {
        values.remove(&rect);
    }
}

/// Rectangles by number.
#[derive(Default)]
struct Rects {
    list: Vec<Rect>,
    numbers: HashMap<Rect, u32>,
}

impl Rects {
    fn number(&mut self, rect: Rect) -> u32 {
        *self.numbers.entry(rect).or_insert_with(|| {
            self.list.push(rect);
            self.list.len() as u32 - 1
        })
    }
}

/// [`merge`] for one operating point, which makes one rectangle; what is added to it without
/// condition stays at the first place.
pub(crate) fn merge_at(forest: &Forest<i64>, (accel, mem): (u32, u32)) -> Option<Merged> {
    let alone = ClockTables { accel_khz: vec![accel], mem_khz: vec![mem] };
    let mut merged = merge(forest, &alone)?;
    for (_, value) in std::mem::take(&mut merged.start) {
        merged.places[0].values.insert(0, i64::from(value));
    }
    Some(merged)
}

/// Numbers rectangles anew, those that are added to in most places first: small offsets are
/// shorter in machine code.
fn renumber(places: &mut [Place], rects: &[Rect]) -> Vec<Rect> {
    let mut uses: Vec<(usize, u32)> = (0..rects.len() as u32).map(|rect| (0, rect)).collect();
    for rect in places.iter().flat_map(|place| place.values.keys()) {
        uses[*rect as usize].0 += 1;
    }
    uses.retain(|(count, _)| *count > 0);
    uses.sort_by_key(|&(count, rect)| (std::cmp::Reverse(count), rect));
    let numbers: HashMap<u32, u32> = uses.iter().map(|&(_, rect)| rect).zip(0..).collect();
    for place in places {
        let values = std::mem::take(&mut place.values);
        place.values = values.into_iter().map(|(rect, value)| (numbers[&rect], value)).collect();
    }
    uses.iter().map(|&(_, rect)| rects[rect as usize]).collect()
}

/// Follows every tree from the first place on.
fn unfold(forest: &Forest<i64>, clocks: &ClockTables) -> Option<(Vec<Place>, Rects)> {
    let mut rects = Rects::default();
    let most = MAX_PLACES_PER_NODE.saturating_mul(forest.nodes.len()).saturating_add(1);
    let mut places = vec![Place::default()];
    let mut steps = 0usize;
    // A stack of its own: foreign trees may be thousands of levels deep.
    let mut stack: Vec<(u32, u32, Rect)> = Vec::new();
    for &root in &forest.roots {
        stack.push((0, root, Rect::all(clocks)));
        while let Some((at, node, rect)) = stack.pop() {
            steps += 1;
            if places.len() > most || steps > most.saturating_mul(MAX_PLACES_PER_NODE) {
                return None;
            }
            match forest.nodes[node as usize] {
                Node::Leaf(value) => {
                    *places[at as usize].values.entry(rects.number(rect)).or_default() += value;
                }
                Node::Split { feature, threshold, left, right } => {
                    match forest.features[usize::from(feature)] {
                        clock @ (Feature::AccelKhz | Feature::MemKhz) => {
                            let [l, r] = rect.cut(clock, threshold, clocks);
                            stack.extend(r.map(|rect| (at, right, rect)));
                            stack.extend(l.map(|rect| (at, left, rect)));
                        }
                        _ => {
                            let next = places.len() as u32;
                            let sides = *places[at as usize]
                                .branches
                                .entry((feature, threshold))
                                .or_insert([next, next + 1]);
                            if sides[0] == next {
                                places.extend([Place::default(), Place::default()]);
                            }
                            stack.push((sides[1], right, rect));
                            stack.push((sides[0], left, rect));
                        }
                    }
                }
            }
        }
    }
    Some((places, rects))
}

/// What a place computes: places of equal content are interchangeable.
#[derive(PartialEq, Eq, Hash)]
struct Content {
    values: Vec<(u32, i64)>,
    branches: Vec<(Condition, [u32; 2])>,
    always: Vec<u32>,
}

impl Content {
    fn of(place: &Place, same: &[u32]) -> Self {
        let same = |at: u32| same[at as usize];
        Content {
            values: place.values.iter().map(|(&rect, &value)| (rect, value)).collect(),
            branches: place.branches.iter().map(|(&c, sides)| (c, sides.map(same))).collect(),
            always: place.always.iter().map(|&at| same(at)).collect(),
        }
    }
}

/// Bound of the magnitude that any rectangle, or any sum of them, can reach from a place on.
fn bound(place: &Place, bounds: &[i64]) -> i64 {
    let of = |at: u32| bounds[at as usize];
    let values = place.values.values().fold(0i64, |sum, v| sum.saturating_add(v.abs()));
    let branches = place.branches.values().map(|&[l, r]| of(l).max(of(r)));
    let always = place.always.iter().map(|&at| of(at));
    branches.chain(always).fold(values, i64::saturating_add)
}
