//! Decoding speeds that users need (EnerInfer §1).

use crate::units::MicroTokPerS;

/// Reading along: 4.8 tokens/s on average over ages and languages (EnerInfer §1, its ref. 35).
pub const READING: MicroTokPerS = MicroTokPerS(4_800_000);
/// Listening: 3.3 tokens/s on average over ages and languages (EnerInfer §1, its ref. 35).
pub const LISTENING: MicroTokPerS = MicroTokPerS(3_300_000);
/// Upper end of speaking: below 3 words/s (EnerInfer §1, its ref. 64), in words per 1000 s.
pub const SPEAKING_WORDS_PER_KS: u32 = 3_000;
/// Upper end of reading: below 5.3 words/s (EnerInfer §1, its refs. 10 and 62), in words per 1000 s.
pub const READING_WORDS_PER_KS: u32 = 5_300;

/// Tokens/s that keep up with a speed in words, for a tokenizer that needs `tokens_per_100_words`
/// (a property of tokenizer and language; measure it). Saturating.
pub fn from_words(words_per_ks: u32, tokens_per_100_words: u32) -> MicroTokPerS {
    // words/1000 s · tokens/100 words · 10⁶ µtok/tok = 10 µtok/s per unit
    let micro =
        u64::from(words_per_ks).saturating_mul(u64::from(tokens_per_100_words)).saturating_mul(10);
    MicroTokPerS(u32::try_from(micro).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_tokens() {
        assert_eq!(from_words(SPEAKING_WORDS_PER_KS, 100), MicroTokPerS::from_tok_per_s(3));
        assert_eq!(from_words(READING_WORDS_PER_KS, 150), MicroTokPerS(7_950_000));
        assert_eq!(from_words(u32::MAX, u32::MAX), MicroTokPerS(u32::MAX));
    }
}
