//! What changed between two records of one platform.

use enerinfer_artifacts::compiled_code::CompiledCode;
use enerinfer_artifacts::record::{Record, TargetRecord};

use crate::Error;
use crate::bootstrap::{self, Settings};
use crate::common::namesakes;
use crate::document::{Cell, Part, Section, Table, heads};
use crate::metric::{Metric, mape_by_model};
use crate::sections::is_simulated;
use crate::stats::Pair;
use crate::text::{ABSENT, number, plain};

/// Models listed among those that moved most.
const MOVERS: usize = 10;
/// Share of resampled differences inside the interval that is shown.
const INTERVAL: f64 = 0.95;
const BOOTSTRAP: Settings = Settings { resamples: 2000, seed: 1 };

/// Refuses records of different platforms, power domains or kinds of data.
pub(crate) fn require_comparable(before: &Record, after: &Record) -> Result<(), Error> {
    let kind = |r: &Record| if is_simulated(r) { "simulated" } else { "measured" }.to_owned();
    let (a, b) = (&before.platform, &after.platform);
    let facts = [
        ("platform", a.name.clone(), b.name.clone()),
        ("engine", a.engine.clone(), b.engine.clone()),
        ("weight format", a.weight_format.clone(), b.weight_format.clone()),
        ("power domain", a.power_domain.clone(), b.power_domain.clone()),
        ("values", kind(before), kind(after)),
    ];
    match facts.into_iter().find(|(_, a, b)| a != b) {
        None => Ok(()),
        Some((what, a, b)) => {
            Err(Error::Incomparable(format!("{what} {:?} and {:?}", plain(&a), plain(&b))))
        }
    }
}

/// How many models have nothing but the name in common, if any: at most 100 columns.
pub(crate) fn remark(before: &Record, after: &Record) -> Option<String> {
    let n = namesakes(before, after).len();
    (n > 0).then(|| format!("Not in common: {n} held-out models of one name and different shapes."))
}

/// Metrics, settings and models that changed from `before` to `after`.
pub(crate) fn section(before: &Record, after: &Record) -> Section {
    let remark = remark(before, after).map(|remark| format!(" {remark}"));
    Section {
        id: "baseline".into(),
        title: "Against the baseline".into(),
        lead: "Only changes marked better or worse exceed what a different luck of held-out \
               models would give; the interval holds 95 % of paired bootstrap resamples over the \
               models in common."
            .to_owned()
            + &remark.unwrap_or_default(),
        parts: [
            Some(metrics(before, after)),
            Some(movers(before, after)),
            compiled_code(before, after),
            Some(settings(before, after)),
        ]
        .into_iter()
        .flatten()
        .map(Part::Table)
        .collect(),
    }
}

fn metrics(before: &Record, after: &Record) -> Table {
    let namesakes = namesakes(before, after);
    let metrics = Metric::all().into_iter().filter(|m| !m.is_of_code());
    let rows = metrics.filter_map(|metric| {
        let (a, b) = (metric.value(before, None), metric.value(after, None));
        if a.is_none() && b.is_none() {
            return None;
        }
        let decimals = metric.decimals();
        let change = a.zip(b).map(|(a, b)| b - a);
        let by_model = metric.by_model(before, None).zip(metric.by_model(after, None));
        let interval = by_model.and_then(|((statistic, mut a), (_, b))| {
            a.retain(|model, _| !namesakes.contains(model.as_str()));
            let d = bootstrap::differences(statistic, &a, &b, BOOTSTRAP)?;
            Some((d.quantile((1.0 - INTERVAL) / 2.0), d.quantile((1.0 + INTERVAL) / 2.0)))
        });
        let verdict = match (change, interval) {
            (None, _) => "missing",
            (Some(0.0), _) => "same",
            (_, Some((lo, hi))) if lo <= 0.0 && hi >= 0.0 => "no clear change",
            // Without values per model nothing is known about luck.
            (_, None) => "changed",
            (Some(change), _) if (change > 0.0) == metric.larger_is_better() => "better",
            _ => "worse",
        };
        let interval = interval.map_or(ABSENT.to_owned(), |(lo, hi)| {
            format!("{} to {}", number(Some(lo), decimals + 1), number(Some(hi), decimals + 1))
        });
        Some(vec![
            Cell::text(metric.to_string()),
            Cell::Number(a, decimals),
            Cell::Number(b, decimals),
            Cell::Number(change, decimals + 1),
            Cell::text(interval),
            Cell::text(verdict),
        ])
    });
    Table {
        id: "baseline_metrics".to_owned(),
        caption: "Metrics".to_owned(),
        columns: heads(["Metric", "Baseline", "Report", "Change", "95 % interval", "Verdict"]),
        rows: rows.collect(),
    }
}

/// What changed of compiled code; `None` unless both records have it.
fn compiled_code(before: &Record, after: &Record) -> Option<Table> {
    before.details.compiled_code.as_ref().zip(after.details.compiled_code.as_ref())?;
    let metrics = Metric::all().into_iter().filter(|m| m.is_of_code());
    let rows = metrics.filter_map(|metric| {
        let (a, b) = (metric.value(before, None), metric.value(after, None));
        let decimals = metric.decimals();
        let percent = a.zip(b).map(|(a, b)| (b / a - 1.0) * 100.0);
        (a != b).then(|| {
            vec![
                Cell::text(metric.to_string()),
                Cell::Number(a, decimals),
                Cell::Number(b, decimals),
                Cell::Number(percent, 1),
            ]
        })
    });
    Some(Table {
        id: "baseline_code".to_owned(),
        caption: "Costs of compiled code that changed".to_owned(),
        columns: heads(["Metric", "Baseline", "Report", "Change, %"]),
        rows: rows.collect(),
    })
}

fn movers(before: &Record, after: &Record) -> Table {
    let [mut a, b] = [before, after].map(|r| mape_by_model(r, None, Pair::throughput));
    let namesakes = namesakes(before, after);
    a.retain(|model, _| !namesakes.contains(model.as_str()));
    let mut moved: Vec<(&str, f64, f64)> =
        a.iter().filter_map(|(name, &x)| Some((name.as_str(), x, *b.get(name)?))).collect();
    let change = |m: &(&str, f64, f64)| (m.2 - m.1).abs();
    moved.retain(|m| change(m) > 0.0);
    // Stable, so that equal changes stay in order of name.
    moved.sort_by(|x, y| change(y).total_cmp(&change(x)));
    Table {
        id: "baseline_models".to_owned(),
        caption: "Models whose throughput error moved most".to_owned(),
        columns: heads(["Model", "Baseline MAPE, %", "Report MAPE, %", "Change"]),
        rows: moved
            .into_iter()
            .take(MOVERS)
            .map(|(name, x, y)| {
                vec![
                    Cell::text(name),
                    Cell::number(x, 2),
                    Cell::number(y, 2),
                    Cell::number(y - x, 2),
                ]
            })
            .collect(),
    }
}

fn settings(before: &Record, after: &Record) -> Table {
    let facts = |r: &Record| {
        let mut facts = vec![
            ("tool version".to_owned(), r.tool_version.clone()),
            ("data source".to_owned(), r.platform.source.clone()),
            ("measurement table".to_owned(), r.data.digest.clone()),
            ("rows".to_owned(), r.data.rows.to_string()),
            ("models trained on".to_owned(), r.data.train_models.to_string()),
            ("models held out".to_owned(), r.data.test_models.to_string()),
            ("bundle".to_owned(), r.model_digest.clone().unwrap_or(ABSENT.to_owned())),
            ("seed".to_owned(), r.seed.to_string()),
            ("trials".to_owned(), r.trials.to_string()),
            ("flash budget".to_owned(), r.size.budget_bytes.to_string()),
        ];
        let fact = |t: &TargetRecord, what: &str, value: String| {
            (format!("{}: {what}", t.target.name()), value)
        };
        for t in &r.targets {
            facts.push(fact(t, "family", t.family.clone()));
            facts.extend(t.params.iter().map(|(name, value)| fact(t, name, value.clone())));
            facts.push(fact(t, "inputs", t.features.join(", ")));
        }
        facts.extend(r.details.compiled_code.iter().flat_map(code_facts));
        facts
    };
    let (a, b) = (facts(before), facts(after));
    let find = |facts: &[(String, String)], name: &str| {
        let fact = facts.iter().find(|(n, _)| n == name);
        fact.map_or(ABSENT.to_owned(), |(_, value)| value.clone())
    };
    let only_before = a.iter().filter(|(name, _)| !b.iter().any(|(n, _)| n == name));
    let rows = b.iter().chain(only_before).filter_map(|(name, _)| {
        let (x, y) = (find(&a, name), find(&b, name));
        (x != y).then(|| vec![Cell::text(name), Cell::text(x), Cell::text(y)])
    });
    Table {
        id: "baseline_settings".to_owned(),
        caption: "Settings and inputs that changed".to_owned(),
        columns: heads(["What", "Baseline", "Report"]),
        rows: rows.collect(),
    }
}

/// What explains changes of compiled code, apart from the predictors.
fn code_facts(code: &CompiledCode) -> Vec<(String, String)> {
    let options = if code.options.is_empty() { "defaults" } else { &code.options };
    let mut facts = vec![
        ("compiled code: options".to_owned(), options.to_owned()),
        ("compiled code: opt-level".to_owned(), code.opt_level.clone()),
        ("compiled code: leaves".to_owned(), code.leaves.to_string()),
    ];
    for cost in &code.costs {
        let name = format!("compiled code: rustc for {}", cost.architecture);
        facts.extend(cost.rustc.clone().map(|version| (name, version)));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{SMALL, record};

    fn cells(table: &Table) -> Vec<Vec<String>> {
        table.rows.iter().map(|r| r.iter().map(Cell::shown).collect()).collect()
    }

    #[test]
    fn nothing_changed() {
        let record = record(SMALL, 1);
        assert!(cells(&metrics(&record, &record)).iter().all(|r| r[5] == "same"));
        assert!(movers(&record, &record).rows.is_empty());
        assert!(settings(&record, &record).rows.is_empty());
    }

    #[test]
    fn the_model_that_moved_is_named() {
        let before = record(SMALL, 1);
        let mut after = before.clone();
        for row in after.scatter.iter_mut().filter(|r| r.model == 3) {
            row.predicted_tok_per_s *= 1.5;
        }
        after.seed = 2;
        after.targets.remove(0);
        let moved = cells(&movers(&before, &after));
        assert_eq!(moved.len(), 1);
        assert_eq!(moved[0][0], "synthetic-003");
        let changed = cells(&settings(&before, &after));
        assert_eq!(changed[0], ["seed", "1", "2"]);
        assert!(changed.iter().any(|r| r[0] == "peak: family" && r[2] == ABSENT));
        let missing = cells(&metrics(&before, &after));
        assert!(missing.iter().any(|r| r[0] == "peak.cv_mape_percent" && r[5] == "missing"));
    }

    /// A numbered model of another seed's record is another model.
    #[test]
    fn models_of_another_shape_are_not_compared() {
        let sizes = crate::fixture::Sizes { models: 12, trials: 5 };
        let before = record(sizes, 1);
        let mut after = record(sizes, 2);
        assert_eq!(movers(&before, &after).rows.len(), MOVERS);
        for shape in after.details.heldout_shapes.iter_mut().skip(3) {
            shape.dims.hidden *= 2;
        }
        let moved = cells(&movers(&before, &after));
        let mut names: Vec<&str> = moved.iter().map(|r| r[0].as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["synthetic-000", "synthetic-001", "synthetic-002"]);
        // Three models are too few for a verdict.
        let rows = cells(&metrics(&before, &after));
        let throughput = rows.iter().find(|r| r[0] == "throughput_mape_percent").unwrap();
        assert_eq!(throughput[4..], [ABSENT, "changed"]);
        let says = "Not in common: 9 held-out models of one name and different shapes.";
        assert!(section(&before, &after).lead.ends_with(says));
        assert!(crate::comparison(&before, &after).unwrap().contains(says));
    }

    #[test]
    fn better_and_worse_follow_the_metric() {
        let before = record(SMALL, 1);
        let mut after = before.clone();
        for model in &mut after.ranking.per_model {
            model.kendall_tau_b = model.kendall_tau_b.map(|t| t - 0.1);
        }
        after.ranking.mean_tau_b = after.ranking.mean_tau_b.map(|t| t - 0.1);
        let verdict = |a: &Record, b: &Record| {
            let rows = cells(&metrics(a, b));
            rows.into_iter().find(|r| r[0] == "mean_tau_b").unwrap().remove(5)
        };
        assert_eq!(verdict(&before, &after), "worse");
        assert_eq!(verdict(&after, &before), "better");
    }

    #[test]
    fn changed_code_is_listed_with_what_explains_it() {
        let before = record(SMALL, 1);
        let mut after = before.clone();
        assert!(compiled_code(&before, &after).unwrap().rows.is_empty());
        let code = after.details.compiled_code.as_mut().unwrap();
        "3".clone_into(&mut code.opt_level);
        code.costs[2].predictors_text_bytes = Some(100_000);
        code.costs[2].rustc = Some("1.96.0".to_owned());
        code.costs[0].table_instructions = None;
        let changed = cells(&compiled_code(&before, &after).unwrap());
        let row = |name: &str| changed.iter().find(|r| r[0] == name).unwrap()[1..].to_vec();
        assert_eq!(row("x86-64.table_instructions"), ["90000", ABSENT, ABSENT]);
        assert_eq!(row("thumbv7em.predictors_text_bytes"), ["80000", "100000", "25.0"]);
        assert_eq!(row("thumbv7em.bytes_per_leaf"), ["11.50", "14.00", "21.7"]);
        assert_eq!(changed.len(), 5);
        let explained = cells(&settings(&before, &after));
        assert_eq!(explained[0], ["compiled code: opt-level", "z", "3"]);
        assert_eq!(explained[1], ["compiled code: rustc for thumbv7em", "1.95.0", "1.96.0"]);
        after.details.compiled_code = None;
        assert!(compiled_code(&before, &after).is_none());
        assert!(cells(&settings(&before, &after)).iter().all(|r| r[2] == ABSENT));
    }

    #[test]
    fn simulated_and_measured_are_not_compared() {
        let before = record(SMALL, 1);
        let mut after = before.clone();
        after.data.simulated = false;
        after.platform.source = "measured:x".to_owned();
        let error = require_comparable(&before, &after).unwrap_err().to_string();
        assert!(error.contains("simulated") && error.contains("measured"), "{error}");
    }
}
