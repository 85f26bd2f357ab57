//! Integer units of the device side.

/// Throughput in µtok/s: 1 token/s is 1 000 000. Holds up to 4294 tokens/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroTokPerS(pub u32);

impl MicroTokPerS {
    /// From whole tokens per second, saturating.
    pub const fn from_tok_per_s(tok_per_s: u32) -> Self {
        MicroTokPerS(tok_per_s.saturating_mul(1_000_000))
    }
}

/// Power in µW: 1 W is 1 000 000. Holds up to 4294 W.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroWatt(pub u32);
