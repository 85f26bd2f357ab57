//! Which models are held out.

use enerinfer_datasets::Model;
use enerinfer_hyperparam::{Error, Split, split_by_model};

/// Share of models that is held out (EnerInfer §4.2).
pub(crate) const TEST_FRACTION: f64 = 0.2;
/// Fewest models of a kind of which some are held out on their own.
const FEWEST_OF_A_KIND: usize = 5;

/// Whether a model is a mixture of experts.
pub(crate) fn is_mixture(model: &Model) -> bool {
    model.shape.dims().experts > 1
}

/// A fifth of the dense models and a fifth of the mixtures of experts, so that accuracy is known on
/// either, and the dense models are split as they are without mixtures. Together if there are too
/// few of a kind.
///
/// # Errors
/// When one side would be empty.
pub(crate) fn split_models(models: &[Model], seed: u64) -> Result<Split, Error> {
    let (mixtures, dense): (Vec<u32>, Vec<u32>) =
        (0..models.len() as u32).partition(|&m| is_mixture(&models[m as usize]));
    if mixtures.len().min(dense.len()) < FEWEST_OF_A_KIND {
        return split_by_model(models.len(), TEST_FRACTION, seed);
    }
    let mut both = Split { train: Vec::new(), test: Vec::new() };
    for kind in [dense, mixtures] {
        let Split { train, test } = split_by_model(kind.len(), TEST_FRACTION, seed)?;
        both.train.extend(train.iter().map(|&m| kind[m as usize]));
        both.test.extend(test.iter().map(|&m| kind[m as usize]));
    }
    both.train.sort_unstable();
    both.test.sort_unstable();
    Ok(both)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test's way to fail
mod tests {
    use enerinfer_datasets::{mixture_sampler, sampler};

    use super::*;

    #[test]
    fn mixtures_are_split_on_their_own_and_change_nothing_for_dense_models() {
        let dense = sampler::sample(50, 1).unwrap();
        let plain = split_models(&dense, 7).unwrap();
        assert_eq!(plain, split_by_model(50, TEST_FRACTION, 7).unwrap());
        // Wherever they stand among the dense ones.
        let mixtures = mixture_sampler::sample(20, 1).unwrap();
        let both = [&mixtures[..10], &dense, &mixtures[10..]].concat();
        let split = split_models(&both, 7).unwrap();
        let names = |models: &[Model], at: &[u32], mixture: bool| -> Vec<String> {
            let of = at.iter().map(|&m| &models[m as usize]);
            of.filter(|m| is_mixture(m) == mixture).map(|m| m.name.clone()).collect()
        };
        assert_eq!(names(&both, &split.test, false), names(&dense, &plain.test, false));
        assert_eq!(names(&both, &split.train, false), names(&dense, &plain.train, false));
        assert_eq!(names(&both, &split.test, true).len(), 4);
        assert_eq!(split.train.len() + split.test.len(), 70);
    }

    #[test]
    fn too_few_of_a_kind_are_split_with_the_others() {
        let mut models = sampler::sample(20, 1).unwrap();
        models.extend(mixture_sampler::sample(4, 1).unwrap());
        assert_eq!(split_models(&models, 3), split_by_model(24, TEST_FRACTION, 3));
        assert!(split_models(&models[..2], 3).is_err());
    }
}
