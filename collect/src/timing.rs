//! Times of the stages of one inference, in Hydra's terms.

use serde::{Deserialize, Serialize};

use enerinfer_datasets::PLAUSIBLE;

use crate::engine::EngineError;

/// An engine's own counters, for comparison with times taken from outside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Evaluation of prompts (batches of more than one token), ms.
    pub prompt_eval_ms: f64,
    /// Generation (batches of one token), ms.
    pub eval_ms: f64,
    /// Tokens of the former.
    pub n_prompt_eval: u32,
    /// Tokens of the latter.
    pub n_eval: u32,
}

/// Times of one inference (Hydra's stages: tokenisation, prefill, generation, de-tokenisation).
/// A stage that an engine does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageTiming {
    /// Text to tokens, s.
    pub tokenization_s: Option<f64>,
    /// Forward pass over the prompt, s.
    pub prefill_s: Option<f64>,
    /// Forward pass of each generated token, s; empty where only the sum is known.
    pub generation_s: Vec<f64>,
    /// Tokens to text, mean per token, s.
    pub detokenization_s: Option<f64>,
    /// Decode throughput, tokens/s: tokens generated over the time of their forward passes.
    pub decode_tok_per_s: f64,
    /// Time to first token as the engine tells it, s.
    pub told_ttft_s: Option<f64>,
    /// Power as the engine tells it, W.
    pub told_power_w: Option<f64>,
    /// The engine's counters.
    pub counters: Option<Counters>,
}

impl StageTiming {
    /// Times of tokens that were taken one by one.
    pub fn of_tokens(generation_s: Vec<f64>) -> Self {
        let decode_tok_per_s = generation_s.len() as f64 / generation_s.iter().sum::<f64>();
        StageTiming { generation_s, decode_tok_per_s, ..StageTiming::default() }
    }

    /// Time to first token, s: tokenisation, prefill and the first token's text.
    pub fn ttft_s(&self) -> Option<f64> {
        self.told_ttft_s.or_else(|| {
            let prefill = self.prefill_s?;
            Some(
                self.tokenization_s.unwrap_or(0.0) + prefill + self.detokenization_s.unwrap_or(0.0),
            )
        })
    }

    /// Mean inter-token latency, s: forward pass and text of a token.
    pub fn itl_s(&self) -> f64 {
        1.0 / self.decode_tok_per_s + self.detokenization_s.unwrap_or(0.0)
    }

    /// Checks that every value can be.
    ///
    /// # Errors
    /// Names the first that is negative, not finite, or no plausible throughput.
    pub fn check(self) -> Result<Self, EngineError> {
        let fault =
            |what, value: f64| Err(EngineError::Implausible { what, value: value.to_string() });
        let speed = self.decode_tok_per_s;
        if !PLAUSIBLE.contains(&speed) {
            return fault("decode throughput (tokens/s)", speed);
        }
        let stages = [
            ("tokenisation time (s)", self.tokenization_s),
            ("prefill time (s)", self.prefill_s),
            ("de-tokenisation time (s)", self.detokenization_s),
            ("time to first token (s)", self.told_ttft_s),
        ];
        // What the table refuses would cost all other models their place in it.
        if let Some(power) = self.told_power_w.filter(|w| !PLAUSIBLE.contains(w)) {
            return fault("power (W)", power);
        }
        let tokens = self.generation_s.iter().map(|t| ("token time (s)", Some(*t)));
        for (what, value) in stages.into_iter().chain(tokens) {
            if let Some(value) = value.filter(|v| !(v.is_finite() && *v >= 0.0)) {
                return fault(what, value);
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_of_the_stages_hold() {
        let timing = StageTiming {
            tokenization_s: Some(0.001),
            prefill_s: Some(0.2),
            detokenization_s: Some(0.0005),
            ..StageTiming::of_tokens(vec![0.1, 0.3])
        };
        assert_eq!(timing.decode_tok_per_s, 5.0);
        assert!((timing.ttft_s().unwrap() - 0.2015).abs() < 1e-12);
        assert!((timing.itl_s() - 0.2005).abs() < 1e-12);
        assert!(timing.check().is_ok());
    }

    #[test]
    fn impossible_values_are_named() {
        for bad in [0.0, 1e-320, -1.0, f64::NAN, f64::INFINITY, 1e7] {
            let timing = StageTiming { decode_tok_per_s: bad, ..StageTiming::default() };
            let message = timing.check().unwrap_err().to_string();
            assert!(message.contains("decode throughput"), "{message}");
        }
        for bad in [0.0, -4.0, 1e7] {
            let good = StageTiming::of_tokens(vec![0.1]);
            let message = StageTiming { told_power_w: Some(bad), ..good }.check().unwrap_err();
            assert!(message.to_string().contains("power"), "{message}");
        }
        assert!(StageTiming::of_tokens(vec![]).check().is_err());
        let good = StageTiming::of_tokens(vec![0.1]);
        let bad = StageTiming { prefill_s: Some(f64::NAN), ..good.clone() };
        assert!(bad.check().unwrap_err().to_string().contains("prefill"));
        let bad = StageTiming { generation_s: vec![0.1, -0.1], ..good };
        assert!(bad.check().unwrap_err().to_string().contains("token time"));
    }
}
