//! Metrics that records are compared and gated by, overall and on slices.

use std::collections::BTreeMap;
use std::fmt;

use enerinfer_artifacts::Target;
use enerinfer_artifacts::compiled_code::Architecture;
use enerinfer_artifacts::record::{Record, ScatterPoint};

use crate::code_cost::Quantity;
use crate::slice::Slice;
use crate::stats::{Pair, mape_percent, mean};

/// One number of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// Held-out MAPE of composed throughput, %.
    ThroughputMape,
    /// Held-out MAPE of power, %.
    PowerMape,
    /// Held-out MAPE of efficiency, %.
    EfficiencyMape,
    /// Held-out MAPE of the monolithic baseline, %.
    MonolithicMape,
    /// Mean tau-b.
    MeanTau,
    /// Median tau-b.
    MedianTau,
    /// 10th percentile of tau-b.
    P10Tau,
    /// Mean regret at the QoE where it is largest, %.
    MeanRegret,
    /// Mean regret against the noiseless best at the QoE where that is largest, which need not be
    /// the QoE of [`Metric::MeanRegret`], %; simulated data only.
    MeanRegretNoiseless,
    /// Worst regret at any QoE, %.
    WorstRegret,
    /// QoE misses before feedback, all QoE together.
    Violations,
    /// Estimated flash of all predictors, bytes.
    FlashBytes,
    /// The same as a share of the budget, %.
    FlashPercent,
    /// Comparisons of a prediction, at most: lookup and trees of all predictors.
    Comparisons,
    /// Cross-validated MAPE of a target, %.
    Cv(Target),
    /// Held-out MAPE of a target, %.
    Heldout(Target),
    /// What compiled code costs on an architecture.
    Code(Architecture, Quantity),
}

/// Metrics that are not per target, with their names in policies.
const PLAIN: [(&str, Metric); 14] = [
    ("throughput_mape_percent", Metric::ThroughputMape),
    ("power_mape_percent", Metric::PowerMape),
    ("efficiency_mape_percent", Metric::EfficiencyMape),
    ("monolithic_mape_percent", Metric::MonolithicMape),
    ("mean_tau_b", Metric::MeanTau),
    ("median_tau_b", Metric::MedianTau),
    ("p10_tau_b", Metric::P10Tau),
    ("mean_regret_percent", Metric::MeanRegret),
    ("mean_regret_percent_noiseless", Metric::MeanRegretNoiseless),
    ("worst_regret_percent", Metric::WorstRegret),
    ("qoe_violations", Metric::Violations),
    ("flash_bytes", Metric::FlashBytes),
    ("flash_percent_of_budget", Metric::FlashPercent),
    ("worst_case_comparisons", Metric::Comparisons),
];

const CV: &str = "cv_mape_percent";
const HELDOUT: &str = "heldout_mape_percent";

/// How a metric follows from values of models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Statistic {
    /// Their mean.
    Mean,
    /// A quantile, 0 to 1.
    Quantile(f64),
}

impl Statistic {
    /// The statistic of `values`, which is sorted on the way.
    pub(crate) fn of(self, values: &mut [f64]) -> Option<f64> {
        match self {
            Statistic::Mean => mean(values.iter().copied()),
            Statistic::Quantile(q) => {
                values.sort_by(f64::total_cmp);
                // Linear between neighbours.
                let at = q * (values.len().checked_sub(1)?) as f64;
                let (low, high) =
                    (values.get(at.floor() as usize)?, values.get(at.ceil() as usize)?);
                Some(low + (high - low) * at.fract())
            }
        }
    }
}

impl Metric {
    /// Every metric, those of targets and architectures included.
    pub(crate) fn all() -> Vec<Metric> {
        let mut all: Vec<Metric> = PLAIN.iter().map(|(_, m)| *m).collect();
        for target in Target::COMPILED {
            all.extend([Metric::Cv(target), Metric::Heldout(target)]);
        }
        for on in Architecture::ALL {
            all.extend(Quantity::ALL.map(|quantity| Metric::Code(on, quantity)));
        }
        all
    }

    /// Whether it is of compiled code.
    pub(crate) fn is_of_code(self) -> bool {
        matches!(self, Metric::Comparisons | Metric::Code(..))
    }

    /// The metric of a name in a policy.
    pub(crate) fn parse(name: &str) -> Option<Metric> {
        Metric::all().into_iter().find(|m| m.to_string() == name)
    }

    /// Whether larger values are better.
    pub(crate) fn larger_is_better(self) -> bool {
        matches!(self, Metric::MeanTau | Metric::MedianTau | Metric::P10Tau)
    }

    /// Decimals to print.
    pub(crate) fn decimals(self) -> usize {
        match self {
            Metric::Violations | Metric::FlashBytes | Metric::Comparisons => 0,
            Metric::Code(_, quantity) => quantity.decimals(),
            Metric::FlashPercent => 1,
            m if m.larger_is_better() => 3,
            _ => 2,
        }
    }

    /// Whether records can know it for the rows of a slice: errors of rows for all, tau-b of whole
    /// models for a slice of models, anything else only for the whole record.
    pub(crate) fn has(self, slice: &Slice) -> bool {
        match self {
            Metric::ThroughputMape | Metric::PowerMape | Metric::EfficiencyMape => true,
            Metric::MeanTau | Metric::MedianTau | Metric::P10Tau => !slice.selects_points(),
            _ => false,
        }
    }

    /// The value in `record`; `None` if it has none or the metric has no slices.
    pub(crate) fn value(self, record: &Record, slice: Option<&Slice>) -> Option<f64> {
        if slice.is_some() {
            let (statistic, models) = self.by_model(record, slice)?;
            return statistic.of(&mut models.into_values().collect::<Vec<_>>());
        }
        let target = |t: Target| record.targets.iter().find(|r| r.target == t);
        let code = record.details.compiled_code.as_ref();
        let largest = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::max);
        let value = match self {
            Metric::ThroughputMape => Some(record.combined.throughput_mape_percent),
            Metric::PowerMape => record.combined.power_mape_percent,
            Metric::EfficiencyMape => record.combined.efficiency_mape_percent,
            Metric::MonolithicMape => record.combined.monolithic_mape_percent,
            Metric::MeanTau => record.ranking.mean_tau_b,
            Metric::MedianTau => record.ranking.median_tau_b,
            Metric::P10Tau => record.ranking.p10_tau_b,
            Metric::MeanRegret => largest(&mut record.regret.iter().filter_map(|r| r.mean_percent)),
            Metric::MeanRegretNoiseless => {
                largest(&mut record.regret.iter().filter_map(|r| r.mean_percent_noiseless))
            }
            Metric::WorstRegret => {
                largest(&mut record.regret.iter().filter_map(|r| r.worst_percent))
            }
            Metric::Violations if record.regret.is_empty() => None,
            Metric::Violations => Some(record.regret.iter().map(|r| f64::from(r.violations)).sum()),
            Metric::FlashBytes if record.size.predictors.is_empty() => None,
            Metric::FlashBytes => Some(record.size.est_bytes as f64),
            Metric::FlashPercent if record.size.predictors.is_empty() => None,
            Metric::FlashPercent => {
                Some(record.size.est_bytes as f64 / record.size.budget_bytes as f64 * 100.0)
            }
            Metric::Cv(t) => target(t).map(|r| r.cv_mape_percent),
            Metric::Heldout(t) => target(t).map(|r| r.heldout_mape_percent),
            Metric::Comparisons => {
                code.map(|c| (c.lookup_comparisons as f64) + (c.tree_comparisons as f64))
            }
            Metric::Code(on, quantity) => code.and_then(|c| quantity.value(c, on)),
        };
        value.filter(|v| v.is_finite())
    }

    /// Values per held-out model and what makes the metric of them; `None` if the record has no
    /// such values.
    pub(crate) fn by_model(
        self,
        record: &Record,
        slice: Option<&Slice>,
    ) -> Option<(Statistic, BTreeMap<String, f64>)> {
        if slice.is_some_and(|slice| !self.has(slice)) {
            return None;
        }
        let errors = |pair: fn(&ScatterPoint) -> Option<Pair>| {
            let models = mape_by_model(record, slice, pair);
            (!models.is_empty()).then_some((Statistic::Mean, models))
        };
        let taus = |statistic| {
            let models: BTreeMap<String, f64> = record
                .ranking
                .per_model
                .iter()
                .filter(|m| slice.is_none_or(|s| s.has_model(record, &m.model)))
                .filter_map(|m| Some((m.model.clone(), m.kendall_tau_b?)))
                .collect();
            (!models.is_empty()).then_some((statistic, models))
        };
        match self {
            Metric::ThroughputMape => errors(Pair::throughput),
            Metric::PowerMape => errors(Pair::power),
            Metric::EfficiencyMape => errors(Pair::efficiency),
            Metric::MeanTau => taus(Statistic::Mean),
            Metric::MedianTau => taus(Statistic::Quantile(0.5)),
            Metric::P10Tau => taus(Statistic::Quantile(0.1)),
            _ => None,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Cv(target) => write!(f, "{}.{CV}", target.name()),
            Metric::Heldout(target) => write!(f, "{}.{HELDOUT}", target.name()),
            Metric::Code(on, quantity) => write!(f, "{on}.{}", quantity.name()),
            plain => match PLAIN.iter().find(|(_, m)| m == plain) {
                Some((name, _)) => f.write_str(name),
                None => Ok(()),
            },
        }
    }
}

/// MAPE of each held-out model over the rows of a slice, %.
pub(crate) fn mape_by_model(
    record: &Record,
    slice: Option<&Slice>,
    pair: fn(&ScatterPoint) -> Option<Pair>,
) -> BTreeMap<String, f64> {
    let mut pairs: BTreeMap<&str, Vec<Pair>> = BTreeMap::new();
    for row in &record.scatter {
        let Some(model) = record.ranking.per_model.get(row.model as usize) else { continue };
        if slice.is_none_or(|s| s.has_row(record, row)) {
            pairs.entry(&model.model).or_default().extend(pair(row));
        }
    }
    pairs
        .into_iter()
        .filter_map(|(name, pairs)| Some((name.to_owned(), mape_percent(pairs.into_iter())?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{SMALL, record};

    #[test]
    fn names_read_back() {
        for metric in Metric::all() {
            assert_eq!(Metric::parse(&metric.to_string()), Some(metric));
        }
        assert_eq!(Metric::parse("peak.heldout_mape_percent"), Some(Metric::Heldout(Target::Peak)));
        assert_eq!(Metric::parse("mape"), None);
    }

    #[test]
    fn values_of_models_give_the_recorded_metric() {
        let record = record(SMALL, 3);
        for metric in
            [Metric::ThroughputMape, Metric::PowerMape, Metric::EfficiencyMape, Metric::MeanTau]
        {
            let (statistic, models) = metric.by_model(&record, None).unwrap();
            let value = statistic.of(&mut models.into_values().collect::<Vec<_>>()).unwrap();
            // The fixture rounds to four decimals.
            assert!((value - metric.value(&record, None).unwrap()).abs() < 1e-4, "{metric}");
        }
    }

    #[test]
    fn quantiles() {
        let median = |values: &[f64]| Statistic::Quantile(0.5).of(&mut values.to_vec());
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!(median(&[]), None);
    }
}
