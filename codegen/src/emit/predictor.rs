//! The source file of one predictor: thresholds, ranks, one function per tree, the sum.

use std::io::{self, Write};

use enerinfer_artifacts::{Bundle, Feature, Forest, IntPredictor, Node, Target};

use super::functions::Functions;
use super::{GENERATED, feature_variant, literal};

/// Smallest integer type of a list of values.
fn unsigned_type(max: i64) -> &'static str {
    match max {
        0..=0xff => "u8",
        0x100..=0xffff => "u16",
        _ => "u32",
    }
}

/// An input that at least one branch compares.
struct Input {
    feature: Feature,
    /// Index in the forest's features.
    column: usize,
    thresholds: Vec<u32>,
}

impl Input {
    fn constant(&self) -> String {
        self.feature.name().to_ascii_uppercase()
    }

    fn rank_type(&self) -> &'static str {
        unsigned_type(self.thresholds.len() as i64)
    }

    fn rank_call(&self, value: &str) -> String {
        let function = if self.rank_type() == "u8" { "rank_u8" } else { "rank" };
        format!("{function}({value}, &{})", self.constant())
    }
}

/// Writes the file of `predictor`.
pub(crate) fn write(
    out: &mut dyn Write,
    bundle: &Bundle,
    predictor: &IntPredictor,
) -> io::Result<()> {
    let forest = &predictor.forest;
    let functions = Functions::of(forest);
    let inputs: Vec<Input> = forest
        .thresholds()
        .into_iter()
        .enumerate()
        .filter(|(_, thresholds)| !thresholds.is_empty())
        .map(|(column, thresholds)| Input { feature: forest.features[column], column, thresholds })
        .collect();
    let file = File { bundle, predictor, forest, functions, inputs };
    file.write(out)
}

struct File<'a> {
    bundle: &'a Bundle,
    predictor: &'a IntPredictor,
    forest: &'a Forest<i64>,
    functions: Functions,
    inputs: Vec<Input>,
}

impl File<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(GENERATED.as_bytes())?;
        writeln!(out)?;
        self.imports(out)?;
        self.entry(out)?;
        if self.inputs.is_empty() {
            return Ok(());
        }
        self.ranks(out)?;
        self.sum(out)?;
        for (number, &node) in self.functions.nodes().iter().enumerate() {
            self.function(out, number, node)?;
        }
        Ok(())
    }

    fn shape_inputs(&self) -> impl Iterator<Item = &Input> {
        self.inputs.iter().filter(|i| !i.feature.is_clock())
    }

    fn imports(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.shape_inputs().next().is_some() || self.predictor.normaliser.is_some() {
            writeln!(out, "use crate::coverage::Feature;")?;
        }
        if !self.is_scalar() {
            writeln!(out, "use crate::model;")?;
        }
        match self.predictor.normaliser {
            Some(_) => writeln!(out, "use crate::predictor::{{denormalise, finish}};")?,
            None => writeln!(out, "use crate::predictor::finish;")?,
        }
        let wide = self.inputs.iter().any(|i| i.rank_type() != "u8");
        let narrow = self.inputs.iter().any(|i| i.rank_type() == "u8");
        match (wide, narrow) {
            (true, true) => writeln!(out, "use crate::rank::{{rank, rank_u8}};")?,
            (true, false) => writeln!(out, "use crate::rank::rank;")?,
            (false, true) => writeln!(out, "use crate::rank::rank_u8;")?,
            (false, false) => {}
        }
        writeln!(out, "use crate::shape::Shape;\n")
    }

    /// `peak` is one value: the prediction at the highest clocks.
    fn is_scalar(&self) -> bool {
        self.predictor.target == Target::Peak
    }

    /// The expression that turns a sum into the device value.
    fn finished(&self, sum: &str) -> String {
        let max = match self.predictor.target.max_value() {
            u32::MAX => "u32::MAX".to_owned(),
            max => max.to_string(),
        };
        let value = format!("finish({sum}, {}, {max})", self.predictor.shift);
        match self.predictor.normaliser {
            None => value,
            Some(n) => format!("denormalise({value}, {}, divisor)", n.reference),
        }
    }

    /// The function that `model/mod.rs` calls.
    fn entry(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = self.predictor.target.name();
        let constant = self.inputs.is_empty();
        let shape = if self.shape_inputs().next().is_some() || self.predictor.normaliser.is_some() {
            "shape"
        } else {
            "_shape"
        };
        let sum = if constant { self.folded_base().to_string() } else { "sum(&x)".to_owned() };
        if self.is_scalar() {
            writeln!(out, "pub(super) fn {name}({shape}: &Shape) -> u32 {{")?;
        } else {
            writeln!(
                out,
                "pub(super) fn {name}({shape}: &Shape, out: &mut [u32; model::POINTS]) {{"
            )?;
        }
        if let Some(n) = self.predictor.normaliser {
            writeln!(
                out,
                "    let divisor = shape.feature(Feature::{});",
                feature_variant(n.feature)
            )?;
        }
        let mutable = if self.is_scalar() { "" } else { "mut " };
        if !constant {
            writeln!(out, "    let {mutable}x = Ranks::new([")?;
            for input in &self.inputs {
                if input.feature.is_clock() {
                    writeln!(out, "        {},", self.highest_khz(input.feature))?;
                } else {
                    writeln!(
                        out,
                        "        shape.feature(Feature::{}),",
                        feature_variant(input.feature)
                    )?;
                }
            }
            writeln!(out, "    ]);")?;
        }
        if self.is_scalar() {
            writeln!(out, "    {}", self.finished(&sum))?;
        } else if !self.inputs.iter().any(|i| i.feature.is_clock()) {
            writeln!(out, "    *out = [{}; model::POINTS];", self.finished(&sum))?;
        } else {
            self.point_loop(out, &sum)?;
        }
        writeln!(out, "}}")
    }

    fn highest_khz(&self, feature: Feature) -> u32 {
        let (accel, mem) = self.bundle.clocks.clocks_khz(self.bundle.clocks.highest());
        if feature == Feature::AccelKhz { accel } else { mem }
    }

    fn point_loop(&self, out: &mut dyn Write, sum: &str) -> io::Result<()> {
        let rank_of = |feature: Feature, value: &str| {
            self.inputs
                .iter()
                .find(|i| i.feature == feature)
                .map(|i| format!("x.{} = {};", feature.name(), i.rank_call(value)))
        };
        let mem = rank_of(Feature::MemKhz, "mem_khz");
        let accel = rank_of(Feature::AccelKhz, "accel_khz");
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
        writeln!(out, "                *slot = {};", self.finished(sum))?;
        writeln!(out, "            }}\n        }}\n    }}")
    }

    fn ranks(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        for input in &self.inputs {
            let head = format!("const {}: [u32; {}] = ", input.constant(), input.thresholds.len());
            literal::array(out, 0, &head, &input.thresholds, ";")?;
        }
        writeln!(out, "\nstruct Ranks {{")?;
        for input in &self.inputs {
            writeln!(out, "    {}: {},", input.feature.name(), input.rank_type())?;
        }
        writeln!(out, "}}\n\nimpl Ranks {{")?;
        writeln!(out, "    fn new(values: [u32; {}]) -> Self {{", self.inputs.len())?;
        writeln!(out, "        Ranks {{")?;
        for (i, input) in self.inputs.iter().enumerate() {
            let rank = input.rank_call(&format!("values[{i}]"));
            writeln!(out, "            {}: {rank},", input.feature.name())?;
        }
        writeln!(out, "        }}\n    }}\n}}")
    }

    /// Base plus the trees that are a single leaf.
    fn folded_base(&self) -> i64 {
        self.forest.roots.iter().fold(self.forest.base, |sum, &root| {
            match self.forest.nodes[root as usize] {
                Node::Leaf(value) => sum + value,
                Node::Split { .. } => sum,
            }
        })
    }

    fn leaf_type(&self) -> &'static str {
        let (mut min, mut max) = (0, 0);
        for node in &self.forest.nodes {
            if let Node::Leaf(value) = *node {
                min = min.min(value);
                max = max.max(value);
            }
        }
        if min < 0 || max > i64::from(u32::MAX) { "i64" } else { unsigned_type(max) }
    }

    fn sum(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\nfn sum(x: &Ranks) -> i64 {{")?;
        writeln!(out, "    let mut sum: i64 = {};", self.folded_base())?;
        for &root in &self.forest.roots {
            if let Some(number) = self.functions.number(root) {
                writeln!(out, "    sum += i64::from(tree_{number}(x));")?;
            }
        }
        writeln!(out, "    sum\n}}")
    }

    fn function(&self, out: &mut dyn Write, number: usize, node: u32) -> io::Result<()> {
        writeln!(
            out,
            "\n#[inline(never)]\nfn tree_{number}(x: &Ranks) -> {} {{",
            self.leaf_type()
        )?;
        write!(out, "    ")?;
        self.split(out, node, 1)?;
        writeln!(out, "}}")
    }

    /// Writes a split; the cursor stands after the indentation or after `else `.
    fn split(&self, out: &mut dyn Write, node: u32, depth: usize) -> io::Result<()> {
        let Node::Split { feature, threshold, left, right } = self.forest.nodes[node as usize]
        else {
            return Ok(());
        };
        let pad = " ".repeat(4 * depth);
        if let Some(input) = self.inputs.iter().find(|i| i.column == usize::from(feature)) {
            let rank = input.thresholds.partition_point(|&t| t < threshold);
            let op = if rank == 0 { "==" } else { "<=" };
            writeln!(out, "if x.{} {op} {rank} {{", input.feature.name())?;
        }
        self.child(out, left, depth + 1)?;
        if self.is_inline_split(right) {
            write!(out, "{pad}}} else ")?;
            self.split(out, right, depth)
        } else {
            writeln!(out, "{pad}}} else {{")?;
            self.child(out, right, depth + 1)?;
            writeln!(out, "{pad}}}")
        }
    }

    fn is_inline_split(&self, node: u32) -> bool {
        self.functions.number(node).is_none()
            && matches!(self.forest.nodes[node as usize], Node::Split { .. })
    }

    /// Writes a node on lines of its own.
    fn child(&self, out: &mut dyn Write, node: u32, depth: usize) -> io::Result<()> {
        write!(out, "{}", " ".repeat(4 * depth))?;
        match (self.functions.number(node), self.forest.nodes[node as usize]) {
            (Some(number), _) => writeln!(out, "tree_{number}(x)"),
            (None, Node::Leaf(value)) => writeln!(out, "{value}"),
            (None, Node::Split { .. }) => self.split(out, node, depth),
        }
    }
}
