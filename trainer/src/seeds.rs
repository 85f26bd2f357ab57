//! Seeds of a run, all drawn from one before anything is handed to threads.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One seed per random decision of a run. The order of drawing is part of the file formats:
/// changing it changes every result of a given `--seed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Shapes of the synthetic models.
    pub shapes: u64,
    /// Simulated measurement noise.
    pub noise: u64,
    /// Which models are held out.
    pub split: u64,
    /// Assignment of models to folds.
    pub folds: u64,
    /// Hyper-parameters of the trials.
    pub trials: u64,
    /// Bootstrap samples and feature subsets of every fit.
    pub fit: u64,
    /// Shuffles of permutation importance.
    pub importance: u64,
    /// Sessions that the thermal model is fitted on, and what of them is held out.
    pub thermal: u64,
    /// Simulated measurement noise of real LLMs.
    pub real_noise: u64,
}

impl Seeds {
    /// Derives all seeds from the run's seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut next = || rng.random::<u64>();
        Seeds {
            shapes: next(),
            noise: next(),
            split: next(),
            folds: next(),
            trials: next(),
            fit: next(),
            importance: next(),
            thermal: next(),
            real_noise: next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_from_each_other_and_between_runs() {
        let of = |seed| {
            let s = Seeds::new(seed);
            [
                s.shapes,
                s.noise,
                s.split,
                s.folds,
                s.trials,
                s.fit,
                s.importance,
                s.thermal,
                s.real_noise,
            ]
        };
        let mut all = [of(1), of(2)].concat();
        assert_eq!(of(1), of(1));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 18);
    }
}
