//! Families and designs compared on held-out models, each by its best trial whatever its size.

use enerinfer_artifacts::Target;
use enerinfer_artifacts::record::{DesignScore, FamilyScore};
use enerinfer_datasets::MeasurementTable;
use enerinfer_hyperparam::mape_percent;

use crate::TrainError;
use crate::pipeline::Searched;
use crate::progress::Progress;
use crate::samples::samples;
use crate::search::TargetData;

/// Model-selection MAPE that EnerInfer §4.2 publishes per family, on the authors' own data.
const PUBLISHED_MAPE_PERCENT: [(&str, f64); 4] =
    [("random_forest", 3.27), ("svr", 13.24), ("mlp", 15.98), ("polynomial", 33.89)];

/// The comparison.
pub(crate) struct Finals {
    /// Best of every family per target.
    pub(crate) families: Vec<FamilyScore>,
    /// Both throughput designs per family.
    pub(crate) designs: Vec<DesignScore>,
}

impl Finals {
    /// Fits the best trial of every family and target on all training models and scores it on the
    /// held-out ones.
    ///
    /// # Errors
    /// As the learners'.
    pub(crate) fn new(
        searched: &[Searched],
        test: &MeasurementTable,
        fit_seed: u64,
        progress: &Progress,
    ) -> Result<Self, TrainError> {
        let families = searched.first().map_or(0, |s| s.families.len());
        let step = progress.step("best of each family");
        let mut out = Finals { families: Vec::new(), designs: Vec::new() };
        for family in 0..families {
            let mut by_target = Vec::new();
            for (t, s) in searched.iter().enumerate() {
                let held_out = held_out(s, test)?;
                let search = &s.families[family];
                let best = search.best();
                // A family whose trials all diverged has no best, and no score.
                let predicted = match best {
                    Some(trial) => {
                        let model = search.refit(trial, &s.data, fit_seed)?;
                        Some(held_out.predict(&model)?)
                    }
                    None => None,
                };
                let heldout_mape_percent =
                    predicted.as_ref().and_then(|p| mape_percent(p, &held_out.samples.values).ok());
                out.families.push(FamilyScore {
                    target: s.data.target,
                    family: search.name.to_owned(),
                    trials: search.candidates.len() as u32,
                    successive_halving: search.halved,
                    cv_mape_percent: best.and_then(|b| search.candidates[b].trial.mean()),
                    heldout_mape_percent,
                    est_bytes: best.and_then(|b| search.candidates[b].est_bytes),
                });
                by_target.push((s.data.target, held_out, predicted));
                step.set(family * searched.len() + t + 1, families * searched.len());
            }
            let name = searched[0].families[family].name;
            out.designs.push(design(name, &by_target, test));
        }
        Ok(out)
    }

    /// Held-out MAPE of the monolithic design's best family, %.
    pub(crate) fn monolithic_mape_percent(&self) -> Option<f64> {
        self.designs.iter().filter_map(|d| d.monolithic_mape_percent).reduce(f64::min)
    }
}

fn held_out(s: &Searched, test: &MeasurementTable) -> Result<TargetData, TrainError> {
    let of = &s.data.samples;
    TargetData::new(s.data.target, samples(test, s.data.target, &of.features, of.normaliser))
}

type Predicted = (Target, TargetData, Option<Vec<f64>>);

fn design(family: &str, by_target: &[Predicted], test: &MeasurementTable) -> DesignScore {
    let get = |target: Target| by_target.iter().find(|(t, ..)| *t == target);
    let score = |target: Target| {
        let (_, data, predicted) = get(target)?;
        mape_percent(predicted.as_ref()?, &data.samples.values).ok()
    };
    let disaggregated = || {
        let (_, peaks, peak) = get(Target::Peak)?;
        let (_, scales, scale) = get(Target::Scale)?;
        let (peak, scale) = (peak.as_ref()?, scale.as_ref()?);
        let highest = test.platform.clocks.highest();
        let (mut predicted, mut truth) = (Vec::new(), Vec::new());
        // Samples of `scale` are all rows of the table in order; those of `peak` one per model.
        for (row, scale) in test.rows.iter().zip(scale) {
            let model = row.model as usize;
            let shape = test.models.get(model)?.shape;
            let factor = peaks.samples.normaliser.map_or(1.0, |n| n.factor(shape.dims()));
            // At the highest clocks the scale is 1 by definition, as on the device.
            let scale = if row.point == highest { 1.0 } else { *scale };
            predicted.push(peak.get(model)? / factor * scale);
            truth.push(row.throughput_tok_per_s);
        }
        debug_assert_eq!(scales.samples.values.len(), test.rows.len());
        mape_percent(&predicted, &truth).ok()
    };
    let published = PUBLISHED_MAPE_PERCENT.iter().find(|(name, _)| *name == family);
    DesignScore {
        family: family.to_owned(),
        disaggregated_mape_percent: disaggregated(),
        monolithic_mape_percent: score(Target::Monolithic),
        published_mape_percent: published.map(|p| p.1),
    }
}
