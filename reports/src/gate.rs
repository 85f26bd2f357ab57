//! Checks a record against a policy and a baseline.

use std::collections::BTreeSet;

use enerinfer_artifacts::record::Record;

use crate::bootstrap::{self, FEWEST_MODELS};
use crate::common::namesakes;
use crate::compare::require_comparable;
use crate::policy::{Gate, MaxLoss};
use crate::text::{given, judged, plain, telling_decimals};
use crate::{Error, Policy};

/// One limit, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Metric, slice and kind of limit; unique among the checks of a policy.
    pub name: String,
    /// Whether the limit is broken.
    pub breached: bool,
    /// The numbers, in one line.
    pub detail: String,
}

/// Checks every gate that applies to the record's platform.
///
/// A metric that the record lacks is a breach. A loss against the baseline is a breach only if
/// the paired bootstrap over the models in common puts it beyond the limit with the policy's
/// confidence; metrics without values per model are compared as they are. Models are in common if
/// their names agree and, where both records know them, their shapes.
///
/// # Errors
/// If no gate applies, if the policy needs a baseline and there is none, and if the baseline is
/// of another platform, power domain or kind of data.
pub fn check(
    policy: &Policy,
    record: &Record,
    baseline: Option<&Record>,
) -> Result<Vec<Check>, Error> {
    if let Some(baseline) = baseline {
        require_comparable(baseline, record)?;
    }
    let platform = &record.platform.name;
    let mut checks = Vec::new();
    for gate in &policy.gates {
        if gate.platform.as_ref().is_some_and(|p| p != platform) {
            continue;
        }
        if gate.min.is_some() || gate.max.is_some() {
            checks.push(absolute(gate, record));
        }
        if let Some(limit) = gate.loss {
            let baseline = baseline.ok_or_else(|| {
                Error::Policy(format!(
                    "the gate on {} limits a loss, so it needs a baseline",
                    gate.metric
                ))
            })?;
            checks.push(relative(policy, gate, limit, record, baseline));
        }
    }
    if checks.is_empty() {
        return Err(Error::Policy(format!("no gate applies to platform {:?}", plain(platform))));
    }
    number_repeated_names(&mut checks);
    Ok(checks)
}

/// Dashboards know a check by its name, so gates that limit the same are told apart by a number.
fn number_repeated_names(checks: &mut [Check]) {
    let mut taken = BTreeSet::new();
    for check in checks {
        let numbered = (2..).map(|n| format!("{} ({n})", check.name));
        let mut names = std::iter::once(check.name.clone()).chain(numbered);
        if let Some(name) = names.find(|name| !taken.contains(name)) {
            taken.insert(name.clone());
            check.name = name;
        }
    }
}

fn name(gate: &Gate, kind: &str) -> String {
    match &gate.slice {
        Some(slice) => format!("{} [{}] {kind}", gate.metric, plain(&slice.name)),
        None => format!("{} {kind}", gate.metric),
    }
}

fn absolute(gate: &Gate, record: &Record) -> Check {
    let kind = match (gate.min, gate.max) {
        (Some(_), None) => "min",
        (None, Some(_)) => "max",
        _ => "min and max",
    };
    let name = name(gate, kind);
    let range = match (gate.min, gate.max) {
        (Some(lo), Some(hi)) => format!("{} to {}", given(lo), given(hi)),
        (Some(lo), None) => format!("at least {}", given(lo)),
        (None, Some(hi)) => format!("at most {}", given(hi)),
        (None, None) => String::new(),
    };
    match gate.metric.value(record, gate.slice.as_ref()) {
        None => Check { name, breached: true, detail: format!("missing; must be {range}") },
        Some(value) => {
            let limits = [gate.min, gate.max].into_iter().flatten();
            let decimals = limits.fold(gate.metric.decimals() + 1, |decimals, limit| {
                decimals.max(telling_decimals(value, limit, decimals, |_| given(limit)))
            });
            Check {
                name,
                breached: gate.min.is_some_and(|lo| value < lo)
                    || gate.max.is_some_and(|hi| value > hi),
                detail: format!("{}; must be {range}", judged(value, decimals)),
            }
        }
    }
}

fn relative(
    policy: &Policy,
    gate: &Gate,
    limit: MaxLoss,
    record: &Record,
    baseline: &Record,
) -> Check {
    let kind = match limit {
        MaxLoss::Absolute(_) => "max_loss",
        MaxLoss::Percent(_) => "max_loss_percent",
    };
    let name = name(gate, kind);
    let (metric, slice) = (gate.metric, gate.slice.as_ref());
    let values = (metric.value(baseline, slice), metric.value(record, slice));
    let (Some(before), Some(after)) = values else {
        let which = if values.0.is_none() { "the baseline" } else { "the report" };
        return Check { name, breached: true, detail: format!("missing in {which}") };
    };
    let allowed = match limit {
        MaxLoss::Absolute(v) => v,
        MaxLoss::Percent(v) => before.abs() * v / 100.0,
    };
    let allowed_shown = |decimals| match limit {
        MaxLoss::Absolute(v) => given(v),
        MaxLoss::Percent(_) => judged(allowed, decimals),
    };
    let least = metric.decimals() + 1;
    let decimals_of = |loss| telling_decimals(loss, allowed, least, allowed_shown);
    let values = |decimals| format!("{} -> {}", judged(before, decimals), judged(after, decimals));
    let sign = if metric.larger_is_better() { -1.0 } else { 1.0 };
    let per_model = (metric.by_model(baseline, slice), metric.by_model(record, slice));
    let (Some((statistic, mut before_by_model)), Some((_, after_by_model))) = per_model else {
        let loss = sign * (after - before);
        let decimals = decimals_of(loss);
        return Check {
            name,
            breached: loss > allowed,
            detail: format!(
                "{}; worse by {}, allowed {}",
                values(decimals),
                judged(loss, decimals),
                allowed_shown(decimals)
            ),
        };
    };
    let namesakes = namesakes(baseline, record);
    before_by_model.retain(|model, _| !namesakes.contains(model.as_str()));
    let differences =
        bootstrap::differences(statistic, &before_by_model, &after_by_model, policy.bootstrap);
    let Some(differences) = differences else {
        let why = match namesakes.len() {
            0 => String::new(),
            n => format!(
                "; {n} of the same name have another shape: train with the baseline's seed, {}",
                baseline.seed
            ),
        };
        return Check {
            name,
            breached: true,
            detail: format!(
                "{}; fewer than {FEWEST_MODELS} held-out models in common{why}",
                values(least)
            ),
        };
    };
    // The loss that is exceeded with the wanted confidence: the near end of a one-sided interval.
    let certain = if metric.larger_is_better() {
        -differences.quantile(policy.confidence)
    } else {
        differences.quantile(1.0 - policy.confidence)
    };
    let decimals = decimals_of(certain);
    Check {
        name,
        breached: certain > allowed,
        detail: format!(
            "{}; worse by {} over {} models in common, by at least {} with {} % confidence, \
             allowed {}",
            values(decimals),
            judged(sign * differences.observed, decimals),
            differences.models,
            judged(certain, decimals),
            // Without what binary fractions add: 57, not 56.99999999999999.
            given((policy.confidence * 1e8).round() / 1e6),
            allowed_shown(decimals)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Sizes, record};

    const SIZES: Sizes = Sizes { models: 30, trials: 5 };

    fn breaches(policy: &str, after: &Record, before: Option<&Record>) -> Vec<String> {
        check(&Policy::parse(policy).unwrap(), after, before)
            .unwrap()
            .into_iter()
            .filter(|c| c.breached)
            .map(|c| format!("{}: {}", c.name, c.detail))
            .collect()
    }

    /// Scales the signed error of every predicted throughput.
    fn with_error(mut record: Record, factor: f64) -> Record {
        for row in &mut record.scatter {
            let error = row.predicted_tok_per_s - row.measured_tok_per_s;
            row.predicted_tok_per_s = row.measured_tok_per_s + factor * error;
        }
        record.combined.throughput_mape_percent *= factor;
        record
    }

    #[test]
    fn absolute_limits() {
        let record = record(SIZES, 1);
        let value = record.combined.throughput_mape_percent;
        let gate =
            |max: f64| format!("[[gate]]\nmetric = \"throughput_mape_percent\"\nmax = {max}");
        assert!(breaches(&gate(value), &record, None).is_empty());
        assert_eq!(breaches(&gate(value - 0.01), &record, None).len(), 1);
        let tau = "[[gate]]\nmetric = \"mean_tau_b\"\nmin = 0.999";
        assert_eq!(breaches(tau, &record, None).len(), 1);
    }

    /// What is printed says the same as the verdict, however narrow it is.
    #[test]
    fn messages_do_not_contradict_their_verdicts() {
        let mut before = record(SIZES, 1);
        before.combined.throughput_mape_percent = 1.885_51;
        before.targets[0].cv_mape_percent = 1.0;
        let mut after = before.clone();
        after.targets[0].cv_mape_percent = 1.020_000_4;
        let gate = |metric: &str, limit: &str| format!("[[gate]]\nmetric = \"{metric}\"\n{limit}");
        for (policy, says) in [
            (gate("throughput_mape_percent", "max = 1.8855"), "1.886; must be at most 1.8855"),
            (gate("throughput_mape_percent", "min = 1.886"), "1.8855; must be at least 1.886"),
            (gate("throughput_mape_percent", "min = 1.886\nmax = 3"), "1.8855; must be 1.886 to 3"),
            (gate("throughput_mape_percent", "max = 1"), "1.886; must be at most 1"),
            (gate("peak.cv_mape_percent", "max_loss = 0.02"), "worse by 0.0200004, allowed 0.02"),
            (
                gate("peak.cv_mape_percent", "max_loss_percent = 2"),
                "1.0000000 -> 1.0200004; worse by 0.0200004, allowed 0.0200000",
            ),
        ] {
            let lines = breaches(&policy, &after, Some(&before));
            assert_eq!(lines.len(), 1, "{policy}");
            assert!(lines[0].ends_with(says), "{lines:?}");
            // As the dashboard shows it.
            let checks = check(&Policy::parse(&policy).unwrap(), &after, Some(&before)).unwrap();
            let junit = crate::junit::render(&after, &checks);
            assert!(junit.contains(&crate::text::xml(says)), "{policy}");
        }
    }

    #[test]
    fn a_missing_metric_is_a_breach() {
        let mut record = record(SIZES, 1);
        record.combined.power_mape_percent = None;
        record.ranking.mean_tau_b = Some(f64::NAN);
        let gates = "[[gate]]\nmetric = \"power_mape_percent\"\nmax = 100\n\
                     [[gate]]\nmetric = \"mean_tau_b\"\nmin = 0";
        let lines = breaches(gates, &record, None);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("missing"));
    }

    /// The 128 KiB of a device, and what no tool was there to measure.
    #[test]
    fn compiled_code_is_limited() {
        let mut record = record(SIZES, 1);
        let gate = |metric: &str, max: f64| format!("[[gate]]\nmetric = {metric:?}\nmax = {max}\n");
        // 80 000 bytes of code and 12 000 of constants for 8 000 leaves.
        for (metric, value) in [
            ("thumbv7em.predictors_bytes", 92_000.0),
            ("thumbv7em.predictors_text_bytes", 80_000.0),
            ("thumbv7em.text_bytes_per_leaf", 10.0),
            ("thumbv7em.bytes_per_leaf", 11.5),
            ("x86-64.table_stack_bytes", 4640.0),
            ("x86-64.table_instructions", 90_000.0),
            ("worst_case_comparisons", 2550.0),
        ] {
            assert!(breaches(&gate(metric, value), &record, None).is_empty(), "{metric}");
            assert_eq!(breaches(&gate(metric, value - 0.01), &record, None).len(), 1, "{metric}");
        }
        let instructions = gate("aarch64.table_instructions", 1e9);
        let lines = breaches(&instructions, &record, None);
        assert!(lines[0].contains("missing"), "{lines:?}");
        record.details.compiled_code = None;
        let lines = breaches(&gate("thumbv7em.predictors_bytes", 1e9), &record, None);
        assert!(lines[0].contains("missing"), "{lines:?}");
    }

    const LOSS: &str = "[[gate]]\nmetric = \"throughput_mape_percent\"\nmax_loss = 0.05";

    #[test]
    fn a_real_loss_is_a_breach() {
        let before = record(SIZES, 1);
        let after = with_error(before.clone(), 1.2);
        assert_eq!(breaches(LOSS, &after, Some(&before)).len(), 1);
        assert!(breaches(LOSS, &before, Some(&after)).is_empty());
    }

    /// Another draw of noise and bias from the same distribution: two equally good predictors.
    /// At 95 % confidence one in twenty may still fail; the fixed seeds here are ordinary ones.
    #[test]
    fn noise_is_no_breach() {
        let before = record(SIZES, 1);
        let failed = (2..22)
            .filter(|&seed| {
                let after = record(SIZES, seed);
                !breaches(
                    "[[gate]]\nmetric = \"throughput_mape_percent\"\nmax_loss = 0.0",
                    &after,
                    Some(&before),
                )
                .is_empty()
            })
            .count();
        assert!(failed <= 3, "{failed} of 20");
    }

    #[test]
    fn slices_see_what_the_whole_hides() {
        let before = record(SIZES, 1);
        let mut after = before.clone();
        for row in after.scatter.iter_mut().filter(|r| r.point.mem == 0) {
            row.predicted_tok_per_s *= 1.1;
        }
        let policy = "[[slice]]\nname = \"low\"\nmem_mhz = [0, 300]\n\
                      [[slice]]\nname = \"high\"\nmem_mhz = [300, 4000]\n\
                      [[gate]]\nmetric = \"throughput_mape_percent\"\nslice = \"low\"\nmax_loss = 1.0\n\
                      [[gate]]\nmetric = \"throughput_mape_percent\"\nslice = \"high\"\nmax_loss = 0.0";
        let lines = breaches(policy, &after, Some(&before));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("throughput_mape_percent [low] max_loss:"), "{lines:?}");
    }

    #[test]
    fn an_empty_slice_is_missing() {
        let policy = "[[slice]]\nname = \"none\"\nmodel_prefix = \"no such\"\n\
                      [[gate]]\nmetric = \"mean_tau_b\"\nslice = \"none\"\nmin = 0";
        assert_eq!(breaches(policy, &record(SIZES, 1), None).len(), 1);
    }

    #[test]
    fn a_policy_that_checks_nothing_is_refused() {
        let record = record(SIZES, 1);
        let policy =
            Policy::parse("[[gate]]\nmetric = \"mean_tau_b\"\nplatform = \"x\"\nmin = 0").unwrap();
        assert!(check(&policy, &record, None).is_err());
        assert!(check(&Policy::parse(LOSS).unwrap(), &record, None).is_err());
        let mut other = record.clone();
        other.platform.power_domain = "rails".to_owned();
        assert!(check(&Policy::parse(LOSS).unwrap(), &record, Some(&other)).is_err());
    }

    #[test]
    fn names_of_checks_differ() {
        let record = record(SIZES, 1);
        let mut policy = "[[slice]]\nname = \"low\"\nmem_mhz = [0, 300]\n\
                          [[slice]]\nname = \"low] max (2)\"\nmem_mhz = [0, 300]\n"
            .to_owned();
        let limits = ["min = 0", "max = 9", "max = 8", "max = 9", "min = 0\nmax = 9"];
        let losses = ["max_loss = 1", "max_loss_percent = 1"];
        for slice in ["", "slice = \"low\"\n", "slice = \"low] max (2)\"\n"] {
            for limit in limits.iter().chain(&losses) {
                policy +=
                    &format!("[[gate]]\nmetric = \"throughput_mape_percent\"\n{slice}{limit}\n");
            }
        }
        let checks = check(&Policy::parse(&policy).unwrap(), &record, Some(&record)).unwrap();
        let names: BTreeSet<&str> = checks.iter().map(|c| c.name.as_str()).collect();
        assert_eq!((names.len(), checks.len()), (21, 21), "{names:?}");
        for name in ["min", "max", "max (2)", "max (3)", "min and max", "max_loss_percent"] {
            assert!(names.contains(&*format!("throughput_mape_percent {name}")), "{names:?}");
        }
        let junit = crate::junit::render(&record, &checks);
        let tree = roxmltree::Document::parse(&junit).unwrap();
        let cases = tree.descendants().filter(|n| n.has_tag_name("testcase"));
        assert_eq!(cases.filter_map(|n| n.attribute("name")).collect::<BTreeSet<_>>(), names);
    }

    #[test]
    fn no_models_in_common_is_a_breach() {
        let before = record(SIZES, 1);
        let mut after = before.clone();
        for model in &mut after.ranking.per_model {
            model.model.push_str("-new");
        }
        let lines = breaches(LOSS, &after, Some(&before));
        assert!(lines[0].contains("in common"), "{lines:?}");
    }

    /// Records of two seeds: the same names, other models. Not even a better one passes.
    #[test]
    fn models_of_another_shape_are_not_in_common() {
        let after = record(SIZES, 1);
        let mut before = with_error(after.clone(), 2.0);
        before.seed = 7;
        let tau = "[[gate]]\nmetric = \"mean_tau_b\"\nmax_loss = 0.05";
        for policy in [LOSS, tau] {
            assert!(breaches(policy, &after, Some(&before)).is_empty());
        }
        let common = FEWEST_MODELS - 1;
        for shape in before.details.heldout_shapes.iter_mut().skip(common) {
            shape.dims.layers += 1;
        }
        for policy in [LOSS, tau] {
            let lines = breaches(policy, &after, Some(&before));
            assert_eq!(lines.len(), 1, "{policy}");
            assert!(lines[0].contains("26 of the same name have another shape"), "{lines:?}");
            assert!(lines[0].ends_with("train with the baseline's seed, 7"), "{lines:?}");
        }
        // Shapes that nobody kept are no reason to doubt a name.
        before.details.heldout_shapes.clear();
        assert!(breaches(LOSS, &after, Some(&before)).is_empty());
    }
}
