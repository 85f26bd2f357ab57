//! Detector of GPU timing without synchronisation.
//!
//! A profiler that does not wait for the GPU measures launches, not work: the wait falls into
//! whatever blocks next, there the conversion of the token to text. Hydra's HuggingFace records
//! are of this kind (its guard of the synchronise call is never true). Inter-token latency, time
//! to first token and end-to-end time stay sound; the split between prefill and decode, and
//! between generation and de-tokenisation, does not.

use crate::{Moments, Prompt};

/// De-tokenising one token takes microseconds; from here on it holds something else.
const DETOKENIZATION_S: f64 = 1e-3;
/// Variances that add up to this multiple of the variance of their sum cancel.
const CANCELLATION: f64 = 4.0;

/// Timings of one configuration in seconds, and their deviations where known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseTimings {
    /// Tokenisation.
    pub tokenization_s: f64,
    /// Prefill.
    pub prefill_s: f64,
    /// Time to first token.
    pub ttft_s: f64,
    /// Generation of a token.
    pub generation_s: f64,
    /// De-tokenisation of a token.
    pub detokenization_s: f64,
    /// Standard deviations of generation, de-tokenisation and inter-token latency.
    pub deviations_s: Option<[f64; 3]>,
}

/// Whether the split between phases can be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncVerdict {
    /// Signs found, each a sentence with its numbers.
    pub evidence: Vec<String>,
}

impl SyncVerdict {
    /// At least two independent signs: the timers did not wait for the GPU, and the first token
    /// is the boundary to use.
    pub fn unsynchronised(&self) -> bool {
        self.evidence.len() >= 2
    }
}

impl PhaseTimings {
    /// Means over prompts; `None` when the records lack the columns.
    pub fn of(prompts: &[Prompt]) -> Option<Self> {
        let mean = |f: &dyn Fn(&Prompt) -> Option<f64>| {
            let m = Moments::of(prompts.iter().filter_map(f));
            (m.count() > 0).then(|| m.mean())
        };
        let deviations = || {
            Some([
                mean(&|p| p.generation_var)?.sqrt(),
                mean(&|p| p.detokenization_var)?.sqrt(),
                mean(&|p| p.itl_var)?.sqrt(),
            ])
        };
        Some(PhaseTimings {
            tokenization_s: mean(&|p| Some(p.tokenization_s))?,
            prefill_s: mean(&|p| Some(p.prefill_s))?,
            ttft_s: mean(&|p| p.ttft_s)?,
            generation_s: mean(&|p| p.generation_s)?,
            detokenization_s: mean(&|p| p.detokenization_s)?,
            deviations_s: deviations(),
        })
    }

    /// Looks for the three signs of missing synchronisation.
    pub fn assess(&self) -> SyncVerdict {
        let mut evidence = Vec::new();
        if self.detokenization_s > DETOKENIZATION_S {
            evidence.push(format!(
                "de-tokenisation takes {:.2} ms per token: it waits for the GPU",
                self.detokenization_s * 1e3
            ));
        }
        let first = self.ttft_s - self.tokenization_s - self.prefill_s;
        if first > DETOKENIZATION_S && first > 0.5 * self.detokenization_s {
            evidence.push(format!(
                "the first token costs {:.2} ms after prefill though it needs no forward pass",
                first * 1e3
            ));
        }
        if let Some([g, d, itl]) = self.deviations_s
            && g > 0.0
            && d > 0.0
            && g * g + d * d > CANCELLATION * itl * itl
        {
            evidence.push(format!(
                "deviations of generation ({:.3} ms) and de-tokenisation ({:.3} ms) cancel in the \
                 inter-token latency ({:.3} ms)",
                g * 1e3,
                d * 1e3,
                itl * 1e3
            ));
        }
        SyncVerdict { evidence }
    }
}

/// Profiler against llama.cpp's own counters (Hydra §III: prefill within 0.1 ms, tokens 0.06 to
/// 0.08 ms apart, the cost of reading logits and of the argmax).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterCheck {
    /// Prompts with counters.
    pub prompts: u64,
    /// Mean of profiler prefill − counter, ms.
    pub prefill_ms: f64,
    /// Mean of profiler generation per token − counter per token, ms.
    pub per_token_ms: f64,
}

impl CounterCheck {
    /// Compares; `None` without counters.
    pub fn of(prompts: &[Prompt]) -> Option<Self> {
        let (mut prefill, mut token) = (Moments::default(), Moments::default());
        for p in prompts {
            let Some(c) = p.counters else { continue };
            prefill.add(p.prefill_s * 1e3 - c.prompt_eval_ms);
            if let (Some(total), true) = (p.total_generation_s, c.n_eval > 0.0) {
                // The first of n tokens has no forward pass, so n − 1 are compared.
                token.add((total * 1e3 - c.eval_ms) / c.n_eval);
            }
        }
        (prefill.count() > 0).then(|| CounterCheck {
            prompts: prefill.count(),
            prefill_ms: prefill.mean(),
            per_token_ms: token.mean(),
        })
    }

    /// Whether both differences are within what Hydra reports (0.1 ms; 0.08 ms per token).
    pub fn agrees(&self) -> bool {
        self.prefill_ms.abs() <= 0.1 && (-0.01..=0.1).contains(&self.per_token_ms)
    }
}
