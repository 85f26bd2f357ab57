//! The source file of one predictor: entry, thresholds, ranks, sum; then the trees.

use std::io::{self, Write};

use enerinfer_artifacts::{Bundle, Feature, IntPredictor, Target};

use super::additions::{self, Adds, NEAR_SUMS};
use super::body::Body;
use super::condition::Ranked;
use super::form::Form;
use super::functions::Functions;
use super::merged::Merged;
use super::points::Points;
use super::program::{Op, Program};
use super::rect::differences;
use super::statements::Statements;
use super::{GENERATED, feature_variant, literal};

/// Smallest unsigned type of a value.
fn unsigned_type(max: usize) -> &'static str {
    match max {
        0..=0xff => "u8",
        0x100..=0xffff => "u16",
        _ => "u32",
    }
}

/// The files of one predictor.
pub(crate) struct File<'a> {
    bundle: &'a Bundle,
    predictor: &'a IntPredictor,
    form: Form,
    ranked: Vec<Ranked>,
    points: Option<&'a Points>,
}

impl<'a> File<'a> {
    pub(crate) fn of(
        bundle: &'a Bundle,
        predictor: &'a IntPredictor,
        points: Option<&'a Points>,
    ) -> Self {
        let form = Form::of(predictor, &bundle.clocks);
        let mut ranked: Vec<Ranked> = predictor
            .forest
            .features
            .iter()
            .map(|f| Ranked { name: f.name(), thresholds: Vec::new() })
            .collect();
        let of_points = points.into_iter().flat_map(Points::conditions);
        for (feature, threshold) in form.conditions().into_iter().chain(of_points) {
            ranked[usize::from(feature)].thresholds.push(threshold);
        }
        for Ranked { thresholds, .. } in &mut ranked {
            thresholds.sort_unstable();
            thresholds.dedup();
        }
        File { bundle, predictor, form, ranked, points }
    }

    /// Writes the file of single operating points, if they have one.
    pub(crate) fn write_points(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.points {
            Some(points) => points.write(out, self.predictor.target, &self.ranked),
            None => Ok(()),
        }
    }

    /// Writes the file of the table of all operating points, or of the one value.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(GENERATED.as_bytes())?;
        writeln!(out)?;
        self.imports(out)?;
        self.entry(out)?;
        self.values(out)?;
        if self.is_constant() {
            return Ok(());
        }
        if self.has_branches() {
            self.ranks(out)?;
        }
        match &self.form {
            Form::Trees(program, _) => {
                let functions = Functions::of(program);
                sum(out, program, &functions)?;
                let leaf_type = leaf_type(program);
                Body { program, functions: &functions, ranked: &self.ranked, leaf_type }.write(out)
            }
            Form::Table(merged) => self.merged(out, merged),
            Form::Value(merged) => {
                let statements = Statements::of(merged);
                writeln!(out, "\nfn sum(x: &Ranks) -> i32 {{")?;
                for start in statements.starts() {
                    writeln!(out, "    add_{start}(x)")?;
                }
                writeln!(out, "}}")?;
                additions::write(out, &statements, &self.ranked, Adds::ToVariable)
            }
        }
    }

    /// Whether every prediction is the same.
    fn is_constant(&self) -> bool {
        match &self.form {
            Form::Trees(program, _) => program.roots.is_empty(),
            Form::Table(_) | Form::Value(_) => false,
        }
    }

    fn base(&self) -> i64 {
        match &self.form {
            Form::Trees(_, base) => *base,
            Form::Table(_) | Form::Value(_) => self.predictor.forest.base,
        }
    }

    /// Columns that branches of the printed program compare.
    fn inputs(&self) -> impl Iterator<Item = (Feature, &Ranked)> {
        let features = self.predictor.forest.features.iter().copied();
        features.zip(&self.ranked).filter(|(_, r)| !r.thresholds.is_empty())
    }

    /// Whether the printed program compares anything; a forest over clocks alone becomes lists of
    /// pieces.
    fn has_branches(&self) -> bool {
        self.inputs().next().is_some()
    }

    fn reads_shape(&self) -> bool {
        self.predictor.normaliser.is_some() || self.inputs().any(|(f, _)| !f.is_clock())
    }

    /// `peak` is one value: the prediction at the highest clocks.
    fn is_scalar(&self) -> bool {
        self.predictor.target == Target::Peak
    }

    fn imports(&self, out: &mut dyn Write) -> io::Result<()> {
        let grid = matches!(self.form, Form::Table(_));
        if self.reads_shape() {
            writeln!(out, "use crate::coverage::Feature;")?;
        }
        if grid {
            writeln!(out, "use crate::grid;")?;
        }
        if !self.is_scalar() {
            writeln!(out, "use crate::model;")?;
        }
        match (self.predictor.normaliser.is_some(), grid) {
            (true, false) => writeln!(out, "use crate::predictor::{{denormalise, finish}};")?,
            (true, true) if self.points.is_some() => {
                writeln!(out, "use crate::predictor::{{denormalise, finish}};")?;
            }
            (true, true) => writeln!(out, "use crate::predictor::denormalise;")?,
            (false, false) => writeln!(out, "use crate::predictor::finish;")?,
            (false, true) if self.points.is_some() => {
                writeln!(out, "use crate::predictor::finish;")?;
            }
            (false, true) => {}
        }
        let mut calls: Vec<&str> = self.inputs().map(|(_, r)| rank_function(r)).collect();
        calls.sort_unstable();
        calls.dedup();
        match calls.as_slice() {
            [] => {}
            [one] => writeln!(out, "use crate::rank::{one};")?,
            several => writeln!(out, "use crate::rank::{{{}}};", several.join(", "))?,
        }
        writeln!(out, "use crate::shape::Shape;\n")
    }

    fn max(&self) -> String {
        match self.predictor.target.max_value() {
            u32::MAX => "u32::MAX".to_owned(),
            max => max.to_string(),
        }
    }

    /// `finish(sum, …)` of a total of leaves that a call computes.
    fn finished(&self, call: &str) -> String {
        let base = self.base();
        let sum = match (self.is_constant(), base < 0) {
            (true, _) => base.to_string(),
            (false, true) => format!("i64::from({call}) - {}", base.unsigned_abs()),
            (false, false) => format!("i64::from({call}) + {base}"),
        };
        format!("finish({sum}, {}, {})", self.predictor.shift, self.max())
    }

    /// The function that `model/mod.rs` calls: from a shape to ranks and on, then the normaliser.
    fn entry(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = self.predictor.target.name();
        let shape = if self.reads_shape() { "shape" } else { "_shape" };
        if self.is_scalar() {
            writeln!(out, "pub(super) fn {name}({shape}: &Shape) -> u32 {{")?;
        } else {
            writeln!(
                out,
                "pub(super) fn {name}({shape}: &Shape, out: &mut [u32; model::POINTS]) {{"
            )?;
        }
        let x = if self.has_branches() { "x" } else { "" };
        self.look_up_ranks(out)?;
        if self.is_scalar() {
            let value = format!("value({x})");
            writeln!(out, "    {}", self.denormalised(&value).unwrap_or(value))?;
        } else {
            let comma = if x.is_empty() { "" } else { ", " };
            writeln!(out, "    table({x}{comma}out);")?;
            if let Some(value) = self.denormalised("*value") {
                writeln!(out, "    for value in out {{\n        *value = {value};\n    }}")?;
            }
        }
        writeln!(out, "}}")?;
        if self.points.is_some() {
            writeln!(out, "\npub(super) fn {name}_at(shape: &Shape, point: u16) -> u32 {{")?;
            self.look_up_ranks(out)?;
            let value = "value_at(&x, point)".to_owned();
            writeln!(out, "    {}\n}}", self.denormalised(&value).unwrap_or(value))?;
        }
        Ok(())
    }

    fn look_up_ranks(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.has_branches() {
            return Ok(());
        }
        let values: Vec<String> = self
            .inputs()
            .map(|(feature, _)| match feature.is_clock() {
                true => self.highest_khz(feature).to_string(),
                false => format!("shape.feature(Feature::{})", feature_variant(feature)),
            })
            .collect();
        literal::items(out, 4, "let x = Ranks::new([", &values, "]);")
    }

    /// A value without its normaliser, if it has one.
    fn denormalised(&self, value: &str) -> Option<String> {
        self.predictor.normaliser.map(|n| {
            let feature = feature_variant(n.feature);
            let divisor = format!("shape.feature(Feature::{feature})");
            format!("denormalise({value}, {}, {divisor})", n.reference)
        })
    }

    /// From ranks to device values, before the normaliser.
    fn values(&self, out: &mut dyn Write) -> io::Result<()> {
        let per_point = !self.is_scalar() && self.inputs().any(|(f, _)| f.is_clock());
        let x = match (self.has_branches(), per_point) {
            (false, _) => "",
            (true, false) => "x: Ranks",
            (true, true) => "mut x: Ranks",
        };
        if self.is_scalar() {
            writeln!(out, "\nfn value({x}) -> u32 {{\n    {}\n}}", self.finished("sum(&x)"))?;
            return Ok(());
        }
        let x = if x.is_empty() { x.to_owned() } else { format!("{x}, ") };
        writeln!(out, "\nfn table({x}out: &mut [u32; model::POINTS]) {{")?;
        match &self.form {
            Form::Table(merged) => self.add_up(out, merged)?,
            Form::Trees(..) if per_point => self.point_loop(out)?,
            Form::Value(_) | Form::Trees(..) => {
                writeln!(out, "    *out = [{}; model::POINTS];", self.finished("sum(&x)"))?;
            }
        }
        writeln!(out, "}}")?;
        if self.points.is_some() {
            writeln!(out, "\nfn value_at(x: &Ranks, point: u16) -> u32 {{")?;
            let call = format!("super::{}_at::sum(x, point)", self.predictor.target.name());
            writeln!(out, "    {}\n}}", self.finished(&call))?;
        }
        Ok(())
    }

    /// Adds up what the merged trees add to the cells.
    fn add_up(&self, out: &mut dyn Write, merged: &Merged) -> io::Result<()> {
        writeln!(out, "    let mut cells = START;")?;
        if self.has_branches() {
            let (more, argument) = match merged.rects.len() {
                0..=NEAR_SUMS => (false, ""),
                _ => (true, ", &more"),
            };
            writeln!(out, "    let sums = Sums::default();")?;
            if more {
                writeln!(out, "    let more = More::default();")?;
            }
            for start in Statements::of(merged).starts() {
                writeln!(out, "    add_{start}(&x, &sums{argument});")?;
            }
            writeln!(out, "    sums.spread(&mut cells, COLUMNS, &RECTS);")?;
            if more {
                writeln!(out, "    more.spread(&mut cells, COLUMNS, &MORE_RECTS);")?;
            }
        }
        let (base, shift, max) = (self.base(), self.predictor.shift, self.max());
        writeln!(out, "    grid::read(&mut cells, COLUMNS, {base}, {shift}, {max}, out);")
    }

    /// What merged trees start with, and what they add.
    fn merged(&self, out: &mut dyn Write, merged: &Merged) -> io::Result<()> {
        let Merged { rects, start, .. } = merged;
        let cells = differences(start, &self.bundle.clocks);
        writeln!(out, "\nconst COLUMNS: usize = model::ACCEL_KHZ.len() + 1;")?;
        literal::array(out, 0, &format!("static START: [u32; {}] = ", cells.len()), &cells, ";")?;
        if self.has_branches() {
            let packed: Vec<u32> = rects.iter().map(|rect| rect.packed()).collect();
            let (near, far) = packed.split_at(packed.len().min(NEAR_SUMS));
            let head =
                |name: &str, rects: &[u32]| format!("static {name}: [u32; {}] = ", rects.len());
            literal::array(out, 0, &head("RECTS", near), near, ";")?;
            if !far.is_empty() {
                literal::array(out, 0, &head("MORE_RECTS", far), far, ";")?;
            }
            // Numbers, since older compilers know no constants that refer to a static.
            writeln!(out, "\ntype Sums = grid::Sums<{}>;", near.len())?;
            if !far.is_empty() {
                writeln!(out, "type More = grid::Sums<{}>;", far.len())?;
            }
            let adds = Adds::ToSums { more: !far.is_empty() };
            additions::write(out, &Statements::of(merged), &self.ranked, adds)?;
        }
        Ok(())
    }

    fn highest_khz(&self, feature: Feature) -> u32 {
        let (accel, mem) = self.bundle.clocks.clocks_khz(self.bundle.clocks.highest());
        if feature == Feature::AccelKhz { accel } else { mem }
    }

    fn point_loop(&self, out: &mut dyn Write) -> io::Result<()> {
        let rank_of = |feature: Feature| {
            self.inputs().find(|(f, _)| *f == feature).map(|(_, ranked)| {
                let name = ranked.name;
                format!("x.{name} = {};", rank_call(ranked, name))
            })
        };
        let mem = rank_of(Feature::MemKhz);
        let accel = rank_of(Feature::AccelKhz);
        let name = |used: &Option<String>, name: &str| {
            if used.is_some() { name.to_owned() } else { format!("_{name}") }
        };
        writeln!(out, "    let mut slots = out.iter_mut();")?;
        writeln!(out, "    for {} in model::MEM_KHZ {{", name(&mem, "mem_khz"))?;
        if let Some(line) = &mem {
            writeln!(out, "        {line}")?;
        }
        writeln!(out, "        for {} in model::ACCEL_KHZ {{", name(&accel, "accel_khz"))?;
        if let Some(line) = &accel {
            writeln!(out, "            {line}")?;
        }
        writeln!(out, "            if let Some(slot) = slots.next() {{")?;
        writeln!(out, "                *slot = {};", self.finished("sum(&x)"))?;
        writeln!(out, "            }}\n        }}\n    }}")
    }

    /// Thresholds, and the ranks among them that the branches compare.
    fn ranks(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        for (_, ranked) in self.inputs() {
            let constant = ranked.name.to_ascii_uppercase();
            let head = format!("static {constant}: [u32; {}] = ", ranked.thresholds.len());
            literal::array(out, 0, &head, &ranked.thresholds, ";")?;
        }
        let count = self.inputs().count();
        // Those of single operating points are in a file of their own.
        let shown = if self.points.is_some() { "pub(super) " } else { "" };
        writeln!(out, "\n{shown}struct Ranks {{")?;
        for (_, ranked) in self.inputs() {
            let ty = unsigned_type(ranked.thresholds.len());
            writeln!(out, "    {shown}{}: {ty},", ranked.name)?;
        }
        writeln!(out, "}}\n\nimpl Ranks {{")?;
        writeln!(out, "    fn new(values: [u32; {count}]) -> Self {{")?;
        let fields: Vec<String> = self
            .inputs()
            .enumerate()
            .map(|(i, (_, ranked))| {
                format!("{}: {}", ranked.name, rank_call(ranked, &format!("values[{i}]")))
            })
            .collect();
        literal::items(out, 8, "Ranks {", &fields, "}")?;
        writeln!(out, "    }}\n}}")
    }
}

/// Type of the leaves.
fn leaf_type(program: &Program) -> &'static str {
    let leaves = program.ops.iter().map(|op| match op {
        Op::Leaf(value) => *value as usize,
        Op::If { .. } => 0,
    });
    unsigned_type(leaves.max().unwrap_or(0))
}

fn sum(out: &mut dyn Write, program: &Program, functions: &Functions) -> io::Result<()> {
    writeln!(out, "\nfn sum(x: &Ranks) -> u32 {{")?;
    writeln!(out, "    let mut sum = 0u32;")?;
    for &root in &program.roots {
        if let Some(number) = functions.number(root) {
            writeln!(out, "    sum += u32::from(tree_{number}(x));")?;
        }
    }
    writeln!(out, "    sum\n}}")
}

fn rank_function(ranked: &Ranked) -> &'static str {
    match unsigned_type(ranked.thresholds.len()) {
        "u8" => "rank_u8",
        "u16" => "rank",
        _ => "rank_u32",
    }
}

fn rank_call(ranked: &Ranked, value: &str) -> String {
    format!("{}({value}, &{})", rank_function(ranked), ranked.name.to_ascii_uppercase())
}
