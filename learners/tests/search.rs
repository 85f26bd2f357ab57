//! The search over families: whole models are held out, sharing and threads change nothing.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use enerinfer_artifacts::Feature;
use enerinfer_hyperparam::{GroupedKFold, Space, Trial, best, draw_unique, mape_percent};
use enerinfer_learners::{
    BoostedLearner, CodedMatrix, Halving, Known, LearnError, Learner, MlpLearner, NoStore,
    PolyLearner, RandomForestLearner, Scored, Search, Store, StoreError, SvrLearner, Task,
    relative_weights, search, search_by_halving,
};

struct Table {
    x: CodedMatrix,
    rows: Vec<u32>,
    y: Vec<f64>,
    w: Vec<f64>,
    groups: Vec<u32>,
}

/// 20 models at 6 clocks.
fn table() -> Table {
    let mut columns = vec![Vec::new(); 3];
    let (mut y, mut groups) = (Vec::new(), Vec::new());
    for model in 0..20u32 {
        for clock in 1..=6u32 {
            let (layers, hidden) = (8 + model * 7 % 23, 256 * (1 + model * 5 % 11));
            for (column, v) in columns.iter_mut().zip([layers, hidden, clock * 1000]) {
                column.push(v);
            }
            y.push(f64::from(clock) * 1e6 / (f64::from(layers * hidden) + 9e3 * f64::from(clock)));
            groups.push(model);
        }
    }
    let x = CodedMatrix::new(Feature::ALL[..3].to_vec(), columns).unwrap();
    let w = relative_weights(&y);
    Table { rows: (0..120).collect(), x, y, w, groups }
}

impl Table {
    fn task(&self) -> Task<'_> {
        Task {
            x: &self.x,
            rows: &self.rows,
            y: &self.y,
            w: Some(&self.w),
            group_of_row: &self.groups,
            seed: 4,
        }
    }
}

fn run<L: Learner>(learner: &L, table: &Table, trials: usize, threads: usize) -> Search<L::Params> {
    let folds = GroupedKFold::new(20, 4, 2).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| search(learner, table.task(), &folds, trials, 9, &NoStore, &|_, _| {})).unwrap()
}

/// Every trial fitted alone, fold by fold, with nothing of the search but its draws.
fn alone<L: Learner>(learner: &L, table: &Table, params: &[L::Params]) -> Vec<Trial> {
    let folds = GroupedKFold::new(20, 4, 2).unwrap();
    let pick =
        |v: &[f64], rows: &[u32]| -> Vec<f64> { rows.iter().map(|&r| v[r as usize]).collect() };
    params
        .iter()
        .map(|params| Trial {
            fold_mape_percent: (0..4)
                .map(|fold| {
                    let (train, test) = folds.rows(fold, &table.groups);
                    let (y, w) = (pick(&table.y, &train), pick(&table.w, &train));
                    let model = learner.fit(params, &table.x, &train, &y, Some(&w), 4).ok()?;
                    let p = model.predict(&table.x, &test).unwrap();
                    mape_percent(&p, &pick(&table.y, &test)).ok()
                })
                .collect(),
        })
        .collect()
}

fn check<L: Learner>(learner: &L, trials: usize) {
    let table = table();
    let one = run(learner, &table, trials, 1);
    let two = run(learner, &table, trials, 2);
    assert_eq!(one.trials.len(), trials);
    assert_eq!(one.trials, two.trials, "{}", learner.name());
    assert_eq!(one.sizes, two.sizes);
    assert_eq!(one.trials, alone(learner, &table, &one.params), "{}", learner.name());
    assert!(best(&one.trials).is_some());
}

/// Every name of a description takes more than one value: nothing is declared and not searched.
fn spans<S: Space>(space: &S) {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for params in draw_unique(space, 300, 1) {
        for (name, value) in space.describe(&params) {
            values.entry(name).or_default().insert(value);
        }
    }
    for (name, values) in values {
        assert!(values.len() > 1, "{name} is always {values:?}");
    }
}

#[test]
fn random_forest() {
    check(&RandomForestLearner { features: 3 }, 60);
    spans(&RandomForestLearner { features: 9 });
}

#[test]
fn boosted() {
    check(&BoostedLearner, 40);
    spans(&BoostedLearner);
}

#[test]
fn poly() {
    check(&PolyLearner, 40);
    spans(&PolyLearner);
}

#[test]
fn mlp() {
    check(&MlpLearner { max_rows: 1000 }, 4);
    spans(&MlpLearner { max_rows: 1000 });
}

#[test]
fn svr() {
    check(&SvrLearner { max_rows: 1000 }, 8);
    spans(&SvrLearner { max_rows: 1000 });
}

#[test]
fn halving_ends_with_fits_to_all_rows() {
    let halving = Halving { trials: 12, first_rows: 20, factor: 2 };
    assert_eq!(halving.rounds(90), [(12, 20), (6, 40), (3, 80), (2, 90)]);
    assert_eq!(halving.rounds(41), [(12, 20), (6, 40), (3, 41)]);
    assert_eq!(halving.rounds(40), [(12, 40)], "few rows: in full");
    let table = table();
    let folds = GroupedKFold::new(20, 4, 2).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let said = std::sync::Mutex::new(Vec::new());
        let progress = |done, total| said.lock().unwrap().push((done, total));
        let learner = BoostedLearner;
        let task = table.task();
        let done = pool.install(|| {
            search_by_halving(&learner, task, &folds, halving, 9, &NoStore, &progress).unwrap()
        });
        // The whole work, in rows of all fits, is known from the first word on.
        let total = 4 * (12 * 20 + 6 * 40 + 3 * 80 + 2 * 90);
        let mut said = said.into_inner().unwrap();
        said.sort_unstable();
        assert!(said.iter().all(|&(done, of)| (1..=total).contains(&done) && of == total));
        assert!(said.is_sorted_by(|a, b| a < b), "{said:?}");
        assert_eq!((said[0].0, said.last()), (20, Some(&(total, total))));
        done
    };
    let done = run(1);
    assert_eq!(done.trials, run(2).trials);
    assert_eq!(done.complete.iter().filter(|&&c| c).count(), 2);
    let best = done.best().unwrap();
    assert!(done.complete[best] && done.trials[best].mean().is_some());
    assert!(done.trials.iter().all(|t| t.mean().is_some()));
}

/// Trial, fold and rows of a round.
type Key = (usize, usize, Option<usize>);

/// Remembers everything and fails after some results, as a full disk would.
#[derive(Default)]
struct Memory {
    results: std::sync::Mutex<BTreeMap<Key, Known>>,
    room: usize,
}

impl Store for Memory {
    fn known(&self, trial: usize, fold: usize, rows: Option<usize>) -> Option<Known> {
        self.results.lock().unwrap().get(&(trial, fold, rows)).copied()
    }

    fn keep(
        &self,
        fold: usize,
        rows: Option<usize>,
        scored: &[Scored],
        _: f64,
    ) -> Result<(), StoreError> {
        let mut results = self.results.lock().unwrap();
        if results.len() >= self.room {
            return Err(StoreError);
        }
        results.extend(scored.iter().map(|s| ((s.trial, fold, rows), s.known)));
        Ok(())
    }
}

#[test]
fn an_interrupted_search_ends_like_an_undisturbed_one() {
    let table = table();
    let folds = GroupedKFold::new(20, 4, 2).unwrap();
    let learner = RandomForestLearner { features: 3 };
    let go = |store: &Memory| search(&learner, table.task(), &folds, 30, 9, store, &|_, _| {});
    let mut store = Memory { room: 40, ..Memory::default() };
    assert!(matches!(go(&store), Err(LearnError::Store)));
    store.room = usize::MAX;
    let resumed = go(&store).unwrap();
    let undisturbed = run(&learner, &table, 30, 2);
    assert_eq!(resumed.trials, undisturbed.trials);
    assert_eq!(resumed.sizes, undisturbed.sizes);
}

#[test]
fn an_interrupted_halving_repeats_no_round() {
    let table = table();
    let folds = GroupedKFold::new(20, 4, 2).unwrap();
    let halving = Halving { trials: 12, first_rows: 20, factor: 2 };
    let go = |store: &dyn Store| {
        let learner = BoostedLearner;
        search_by_halving(&learner, table.task(), &folds, halving, 9, store, &|_, _| {})
    };
    // In the second round.
    let mut store = Memory { room: 60, ..Memory::default() };
    assert!(matches!(go(&store), Err(LearnError::Store)));
    store.room = usize::MAX;
    let (resumed, undisturbed) = (go(&store).unwrap(), go(&NoStore).unwrap());
    assert_eq!(resumed.trials, undisturbed.trials);
    assert_eq!(store.results.lock().unwrap().len(), 4 * (12 + 6 + 3 + 2));
    store.room = 0;
    assert_eq!(go(&store).unwrap().trials, undisturbed.trials, "nothing is left to fit");
}

#[test]
fn sizes_are_those_of_the_first_fold() {
    let table = table();
    let learner = RandomForestLearner { features: 3 };
    let done = run(&learner, &table, 10, 2);
    let folds = GroupedKFold::new(20, 4, 2).unwrap();
    let (train, _) = folds.rows(0, &table.groups);
    let y: Vec<f64> = train.iter().map(|&r| table.y[r as usize]).collect();
    let w = relative_weights(&y);
    for (params, size) in done.params.iter().zip(done.sizes) {
        let model = learner.fit(params, &table.x, &train, &y, Some(&w), 4).unwrap();
        let stats = model.forest().unwrap().stats();
        let size = size.unwrap();
        assert_eq!((size.trees, size.leaves), (stats.trees, u64::from(stats.leaves)));
    }
}

#[test]
fn data_that_nothing_can_be_fitted_to_is_an_error() {
    let mut table = table();
    let folds = GroupedKFold::new(20, 4, 2).unwrap();
    let mut error = |row: usize, value: f64| {
        let before = std::mem::replace(&mut table.y[row], value);
        let result = search(&BoostedLearner, table.task(), &folds, 2, 0, &NoStore, &|_, _| {});
        table.y[row] = before;
        result.map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(error(7, f64::NAN), "target of row 7 is NaN: must be finite");
    assert!(error(3, 0.0).starts_with("target of row 3 is 0"));
}

/// Targets so large that their variance overflows: a fit without the logarithm has no finite
/// prediction, one with it is as good as ever.
fn diverges_and_goes_on<L: Learner>(learner: &L) {
    let mut table = table();
    let largest = table.y.iter().copied().fold(0.0, f64::max);
    for (i, (y, w)) in table.y.iter_mut().zip(&mut table.w).enumerate() {
        *y = 1.3e154 * (0.9 + 0.1 * *y / largest) * [1.0, 0.1][i % 2];
        *w = (1e150 / *y) * (1e150 / *y);
    }
    let found = run(learner, &table, 12, 2);
    let mut diverged = 0;
    for (params, trial) in found.params.iter().zip(&found.trials) {
        let log_target = &learner.describe(params)["log_target"] == "true";
        assert!(log_target || trial.mean().is_none(), "{}: {trial:?}", learner.name());
        diverged += usize::from(trial.mean().is_none());
    }
    assert!((1..12).contains(&diverged), "{}: {diverged}", learner.name());
    let best = found.best().expect("trials with the logarithm are left");
    assert!(found.trials[best].mean().is_some_and(f64::is_finite));
}

#[test]
fn a_diverged_fit_scores_worst_and_the_search_goes_on() {
    diverges_and_goes_on(&MlpLearner { max_rows: 1000 });
    diverges_and_goes_on(&SvrLearner { max_rows: 1000 });
    diverges_and_goes_on(&PolyLearner);
}
