//! Paired bootstrap over models: is a difference more than the luck of the held-out models?

use std::collections::BTreeMap;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::metric::Statistic;

/// With fewer models in common, resampling says too little.
pub(crate) const FEWEST_MODELS: usize = 5;

/// How to resample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Resamples drawn.
    pub(crate) resamples: u32,
    /// Seed.
    pub(crate) seed: u64,
}

/// The differences that resampled models give.
pub(crate) struct Differences {
    /// Models in both.
    pub(crate) models: usize,
    /// The difference over all models in common.
    pub(crate) observed: f64,
    /// Ascending.
    resampled: Vec<f64>,
}

impl Differences {
    /// The value that a share of the resampled differences stays below.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let last = self.resampled.len().saturating_sub(1);
        let index = (share.clamp(0.0, 1.0) * last as f64).round() as usize;
        self.resampled.get(index).copied().unwrap_or(self.observed)
    }
}

/// Resamples the models that `before` and `after` have in common, the same for both, and takes
/// the difference of the statistic, after − before. `None` with fewer than [`FEWEST_MODELS`].
pub(crate) fn differences(
    statistic: Statistic,
    before: &BTreeMap<String, f64>,
    after: &BTreeMap<String, f64>,
    settings: Settings,
) -> Option<Differences> {
    let pairs: Vec<(f64, f64)> = before
        .iter()
        .filter_map(|(model, &b)| Some((b, *after.get(model)?)))
        .filter(|(b, a)| b.is_finite() && a.is_finite())
        .collect();
    if pairs.len() < FEWEST_MODELS {
        return None;
    }
    let difference = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
        let (mut before, mut after): (Vec<f64>, Vec<f64>) = pairs.unzip();
        Some(statistic.of(&mut after)? - statistic.of(&mut before)?)
    };
    let observed = difference(&mut pairs.iter().copied())?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(settings.seed);
    let mut resampled = Vec::with_capacity(settings.resamples as usize);
    for _ in 0..settings.resamples {
        let mut draw =
            (0..pairs.len()).filter_map(|_| pairs.get(rng.random_range(0..pairs.len())).copied());
        resampled.extend(difference(&mut draw));
    }
    resampled.sort_by(f64::total_cmp);
    Some(Differences { models: pairs.len(), observed, resampled })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings { resamples: 2000, seed: 1 };

    fn models(value: impl Fn(u32) -> f64) -> BTreeMap<String, f64> {
        (0..40).map(|i| (format!("m{i}"), value(i))).collect()
    }

    #[test]
    fn a_shift_of_every_model_is_certain() {
        let d = differences(
            Statistic::Mean,
            &models(f64::from),
            &models(|i| f64::from(i) + 0.5),
            SETTINGS,
        )
        .unwrap();
        assert_eq!(d.models, 40);
        for share in [0.0, 0.5, 1.0] {
            assert!((d.quantile(share) - 0.5).abs() < 1e-9);
        }
    }

    #[test]
    fn changes_in_both_directions_are_uncertain() {
        let after = models(|i| 3.0 + if i % 2 == 0 { 1.0 } else { -0.9 });
        let d = differences(Statistic::Mean, &models(|_| 3.0), &after, SETTINGS).unwrap();
        assert!((d.observed - 0.05).abs() < 1e-9);
        assert!(d.quantile(0.05) < 0.0 && d.quantile(0.95) > 0.0);
    }

    /// Standard error of a mean, which the bootstrap must find: sd / √n.
    #[test]
    fn spread_is_that_of_a_mean() {
        let after = models(|i| f64::from(i * 7 % 40));
        let d = differences(Statistic::Mean, &models(|_| 0.0), &after, SETTINGS).unwrap();
        let sd = ((0..40).map(|i| (f64::from(i) - 19.5).powi(2)).sum::<f64>() / 40.0).sqrt();
        let expected = 2.0 * 1.645 * sd / 40f64.sqrt();
        let width = d.quantile(0.95) - d.quantile(0.05);
        assert!((width / expected - 1.0).abs() < 0.1, "{width} {expected}");
    }

    #[test]
    fn too_few_models_in_common() {
        let mut after = models(f64::from);
        after.retain(|name, _| name.as_str() < "m12");
        assert_eq!(after.len(), 4);
        assert!(differences(Statistic::Mean, &models(f64::from), &after, SETTINGS).is_none());
    }
}
