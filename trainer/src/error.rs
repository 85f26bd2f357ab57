//! The error type of the pipeline.

/// Why a training run cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The table has too few models for the split and the folds.
    #[error(
        "{models} model(s) in the measurements; {needed} are needed to hold out 20 % of them and \
         cross-validate in {folds} folds: measure more models, or choose from the table without \
         training by `train choose`"
    )]
    TooFewModels {
        /// Models in the table.
        models: usize,
        /// Smallest possible number.
        needed: usize,
        /// Folds.
        folds: usize,
    },
    /// Every trial of a target diverged.
    #[error("no trial of target `{target}` gave a usable fit")]
    NoUsableTrial {
        /// Target's name.
        target: &'static str,
    },
    /// No combination of trials fits the flash budget.
    #[error(
        "the smallest predictors found need about {smallest} bytes, more than the flash budget of \
         {budget}: raise --flash-budget or --trials"
    )]
    FlashBudget {
        /// Bytes of the smallest combination.
        smallest: u64,
        /// Budget in bytes.
        budget: u64,
    },
    /// A target was picked twice.
    #[error("--pick names `{target}` twice")]
    PickedTwice {
        /// Target's name.
        target: &'static str,
    },
    /// A target was picked that the measurements have no values for.
    #[error("--pick names `{target}`, which the measurements have no values for")]
    PickedUnmeasured {
        /// Target's name.
        target: &'static str,
    },
    /// No trial is as small as picked.
    #[error(
        "--pick {target}={bytes}: the smallest predictor found for `{target}` needs about \
         {smallest} bytes; allow that, or raise --trials"
    )]
    PickedTooSmall {
        /// Target's name.
        target: &'static str,
        /// Bytes allowed.
        bytes: u64,
        /// Bytes of the smallest trial.
        smallest: u64,
    },
    /// Temperature traces say too little.
    #[error(
        "at most {} segments to fit on and {} to test on were found; {} and {} are needed. A \
         segment is 20 s of history up to 37 to 45 °C, then decoding at one power; the two kinds \
         must differ in model or session: record more sessions at these temperatures",
        found.0, found.1, needed.0, needed.1
    )]
    TooFewSegments {
        /// Segments to fit on, to test on.
        found: (usize, usize),
        /// Fewest of each.
        needed: (usize, usize),
    },
    /// No temperature trace is long enough for a segment.
    #[error(
        "the longest stretch without a gap is {longest_s} s; {needed_s} s are needed for a segment. \
         Rows more than 2.5 s apart cut a session: record at least one row per 2.5 s"
    )]
    ShortTraces {
        /// Seconds of the longest trace.
        longest_s: usize,
        /// Fewest.
        needed_s: usize,
    },
    /// No synthetic model fits the device.
    #[error(
        "none of {models} synthetic models fits the {usable_gib:.3} GiB that `{platform}` leaves to \
         a model: raise usable_gib in its platform file, or choose a format of fewer bits"
    )]
    NothingFits {
        /// The device.
        platform: String,
        /// Models that were drawn.
        models: usize,
        /// Memory of the device, GiB.
        usable_gib: f64,
    },
    /// `peak` or `scale` is missing among the compiled predictors.
    #[error("a throughput predictor is missing")]
    MissingPredictor,
    /// A score has no value.
    #[error(transparent)]
    Score(#[from] enerinfer_hyperparam::Error),
    /// A fit failed.
    #[error(transparent)]
    Learn(#[from] enerinfer_learners::LearnError),
    /// The search journal cannot be used.
    #[error(transparent)]
    Journal(#[from] crate::JournalError),
    /// The artifact breaks a rule, or cannot be written.
    #[error(transparent)]
    Artifact(#[from] enerinfer_artifacts::Error),
    /// The forests cannot be compiled.
    #[error(transparent)]
    Codegen(#[from] enerinfer_codegen::CodegenError),
}
