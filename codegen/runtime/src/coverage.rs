//! Whether a shape lies inside the range that the predictors were trained on.

/// A shape feature that a predictor reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feature {
    /// Number of transformer layers.
    Layers,
    /// Hidden (embedding) size.
    Hidden,
    /// Number of attention heads.
    Heads,
    /// Number of key/value heads.
    KvHeads,
    /// Intermediate (FFN) size of all active experts together.
    Ffn,
    /// Vocabulary size.
    Vocab,
    /// Total parameters in thousands; of experts, only as many as are active.
    TotalParamsK,
    /// Weights read per decoded token, in thousands.
    ReadParamsK,
    /// Weights of the LM head, in thousands.
    LmHeadParamsK,
    /// FFN weights read per token over all layers, in thousands.
    FfnParamsK,
    /// Attention weights over all layers, in thousands.
    AttnParamsK,
    /// Width of the key/value projection.
    KvWidth,
    /// Width of the query projection.
    QWidth,
    /// Number of experts.
    Experts,
    /// Experts active per token.
    ActiveExperts,
    /// Size of one attention head.
    HeadDim,
}

/// How far a prediction can be trusted: forests answer every input, but outside the range of
/// their training data they repeat the value of its edge. Where peak throughput was learnt as a
/// multiple of the weights read per token, that value is divided by the shape's own, so that the
/// prediction goes on falling as shapes grow, without data that say by how much it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every feature lies inside its training range.
    Inside,
    /// A feature lies outside; the first one in the order of [`Feature`].
    Extrapolated {
        /// The feature.
        feature: Feature,
    },
}

/// Training range of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The feature.
    pub feature: Feature,
    /// Smallest training value.
    pub min: u32,
    /// Largest training value.
    pub max: u32,
}
