//! `train choose`: the most efficient operating point for a QoE, straight from measurements.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use enerinfer_artifacts::console::say;
use enerinfer_datasets::{ChoiceModel, ChoiceTable};
use enerinfer_hyperparam::{choose, pareto_front};

use crate::cli::ChooseArgs;
use crate::job::BadInput;

/// Runs the verb and returns what goes to stdout.
pub fn run(args: &ChooseArgs) -> Result<String> {
    let (table, warnings) =
        ChoiceTable::read(&args.measurements).context("cannot choose from these measurements")?;
    for warning in warnings {
        say(format_args!("warning: {warning}"));
    }
    let models: Vec<&ChoiceModel> = match &args.model {
        None => table.models.iter().collect(),
        Some(name) => {
            let found: Vec<_> =
                table.models.iter().filter(|m| m.name.as_deref() == Some(name)).collect();
            if found.is_empty() {
                let known: Vec<&str> =
                    table.models.iter().filter_map(|m| m.name.as_deref()).take(10).collect();
                let known = match &known[..] {
                    [] => "one model without a name".to_owned(),
                    names => names.join(", "),
                };
                let file = args.measurements.display();
                return Err(BadInput(format!("{file}: no model `{name}`; it has {known}")).into());
            }
            found
        }
    };
    let mut out = String::new();
    if table.simulated {
        out.push_str("SIMULATED: these measurements come from a simulated device\n");
    }
    for model in models {
        describe(&mut out, table.accel_name, model, args.qoe);
    }
    Ok(out)
}

fn describe(out: &mut String, accel_name: &str, model: &ChoiceModel, qoe_tok_per_s: f64) {
    let r: Vec<f64> = model.points.iter().map(|p| p.throughput_tok_per_s).collect();
    let e: Vec<f64> = model.points.iter().map(|p| p.throughput_tok_per_s / p.power_w).collect();
    // A table has at least one point, hence a choice, and its last point is the default.
    let Some(chosen) = choose(&pareto_front(&r, &e), &r, qoe_tok_per_s) else { return };
    let default = r.len() - 1;
    let point = &model.points[chosen];
    if let Some(name) = &model.name {
        // Names come from a file; control characters must not reach the terminal.
        let clean: String =
            name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        let _ = writeln!(out, "{clean}");
    }
    let _ = writeln!(
        out,
        "(mem {}, {accel_name} {}), {:.2} tokens/s, {:.2} tokens/J, {:+.0} % over default",
        point.point.mem,
        point.point.accel,
        r[chosen],
        e[chosen],
        100.0 * (e[chosen] / e[default] - 1.0),
    );
    if model.name.is_some() {
        let _ = writeln!(out, "  memory {}, accelerator {}", point.mem, point.accel);
    }
    let _ = writeln!(
        out,
        "  default (both clocks highest): {:.2} tokens/s, {:.2} tokens/J",
        r[default], e[default]
    );
    if r[chosen] <= qoe_tok_per_s {
        let _ = writeln!(
            out,
            "  no operating point is faster than {qoe_tok_per_s} tokens/s; this is the fastest"
        );
    }
}
