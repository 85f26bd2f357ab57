//! One run of a model in this process: what every engine that is a library has in common.

use std::time::Instant;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::cpu_time::own_s;
use crate::engine::{EngineError, Request, Span};
use crate::timing::{Counters, StageTiming};
use crate::unix_time::now_unix_s;

/// Seed of the token ids that stand for a text: speed does not depend on them.
const TOKEN_SEED: u64 = 1;
/// What prompts are made of where there is a tokeniser: about one token per word.
const PROMPT_WORDS: [&str; 8] = ["the", "quick", "brown", "fox", "jumps", "over", "a", "dog"];

/// A loaded model that is run token by token.
pub(crate) trait Decoder {
    /// Token ids are below this.
    fn vocab(&self) -> u32;

    /// Empties the key/value cache; counters begin anew.
    fn clear(&mut self);

    /// A forward pass over `tokens`, the first of which stands at `position`, to its end.
    fn forward(&mut self, tokens: &[u32], position: u32) -> Result<(), EngineError>;

    /// Text to tokens; `None` without a tokeniser.
    fn tokenize(&self, _text: &str) -> Option<Vec<u32>> {
        None
    }

    /// Tokens to text, one by one. Only asked of a model that has a tokeniser.
    fn detokenize(&self, _tokens: &[u32]) {}

    /// The engine's own counters since [`Decoder::clear`], where it has some.
    fn counters(&mut self) -> Option<Counters> {
        None
    }
}

/// The failure of an engine that is no program with an exit status.
#[cfg(any(feature = "engine-llama-cpp", feature = "engine-candle"))]
pub(crate) fn failed(what: &str, error: impl std::fmt::Display) -> EngineError {
    EngineError::Failed { status: what.to_owned(), last_lines: error.to_string() }
}

/// Warms up, then times prefill and each generated token, and de-/tokenisation where there is a
/// tokeniser. The time limit counts from `begun`.
pub(crate) fn run(
    model: &mut dyn Decoder,
    request: &Request,
    begun: Instant,
) -> Result<(StageTiming, Span), EngineError> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(TOKEN_SEED);
    let vocab = model.vocab().max(1);
    let mut draw = || rng.random_range(0..vocab);
    // A pass cannot be interrupted, so the time limit is looked at between passes.
    let forward = |model: &mut dyn Decoder, tokens: &[u32], position| {
        if begun.elapsed() > request.timeout {
            return Err(EngineError::Timeout { seconds: request.timeout.as_secs() });
        }
        let begin = Instant::now();
        model.forward(tokens, position)?;
        Ok(begin.elapsed().as_secs_f64())
    };

    model.clear();
    for position in 0..request.warm_up_tokens {
        forward(model, &[draw()], position)?;
    }
    model.clear();

    let prompt_tokens = request.prompt_tokens as usize;
    let words = PROMPT_WORDS.iter().cycle().take(prompt_tokens);
    let text = words.copied().collect::<Vec<_>>().join(" ");
    let begin = Instant::now();
    let tokenized = model.tokenize(&text);
    let tokenization_s = tokenized.is_some().then(|| begin.elapsed().as_secs_f64());
    let mut prompt = tokenized.unwrap_or_default();
    prompt.resize_with(prompt_tokens, &mut draw);
    let prefill_s = match prompt.is_empty() {
        true => None,
        false => Some(forward(model, &prompt, 0)?),
    };

    let generated: Vec<u32> = (0..request.generate_tokens).map(|_| draw()).collect();
    let (begin_unix_s, begin, cpu) = (now_unix_s(), Instant::now(), own_s());
    let generation_s = (request.prompt_tokens..)
        .zip(&generated)
        .map(|(position, token)| forward(model, &[*token], position))
        .collect::<Result<Vec<f64>, EngineError>>()?;
    let cpu_s = own_s() - cpu;
    let span = Span { begin_unix_s, wall_s: begin.elapsed().as_secs_f64(), cpu_s };

    let detokenization_s = tokenization_s.map(|_| {
        let begin = Instant::now();
        model.detokenize(&generated);
        begin.elapsed().as_secs_f64() / generated.len().max(1) as f64
    });
    let timing = StageTiming {
        tokenization_s,
        prefill_s,
        detokenization_s,
        counters: model.counters(),
        ..StageTiming::of_tokens(generation_s)
    };
    Ok((timing, span))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What was asked of it, in order.
    #[derive(Default)]
    struct Fake {
        has_tokenizer: bool,
        told: Vec<(usize, u32)>,
        cleared_at: Vec<usize>,
        highest: u32,
    }

    impl Decoder for Fake {
        fn vocab(&self) -> u32 {
            7
        }

        fn clear(&mut self) {
            self.cleared_at.push(self.told.len());
        }

        fn forward(&mut self, tokens: &[u32], position: u32) -> Result<(), EngineError> {
            self.told.push((tokens.len(), position));
            self.highest = tokens.iter().copied().fold(self.highest, u32::max);
            Ok(())
        }

        fn tokenize(&self, text: &str) -> Option<Vec<u32>> {
            // More than asked for: a tokeniser splits words.
            self.has_tokenizer.then(|| vec![1; 2 * text.split(' ').count()])
        }

        fn detokenize(&self, tokens: &[u32]) {
            assert!(self.has_tokenizer && tokens.len() == 3);
        }
    }

    fn request(prompt_tokens: u32) -> Request {
        Request {
            threads: 1,
            prompt_tokens,
            generate_tokens: 3,
            warm_up_tokens: 2,
            timeout: Duration::from_secs(60),
        }
    }

    #[test]
    fn stages_follow_each_other_on_an_empty_cache() {
        for has_tokenizer in [false, true] {
            let mut fake = Fake { has_tokenizer, ..Fake::default() };
            let (timing, span) = run(&mut fake, &request(4), Instant::now()).unwrap();
            let told = [(1, 0), (1, 1), (4, 0), (1, 4), (1, 5), (1, 6)];
            assert_eq!(fake.told, told);
            assert_eq!(fake.cleared_at, [0, 2], "before the warm-up and after it");
            assert!(fake.highest < 7);
            assert_eq!(timing.generation_s.len(), 3);
            assert!(timing.generation_s.iter().sum::<f64>() <= span.wall_s);
            assert!(timing.prefill_s.is_some());
            assert_eq!(timing.tokenization_s.is_some(), has_tokenizer);
            assert_eq!(timing.detokenization_s.is_some(), has_tokenizer);
        }
    }

    #[test]
    fn no_prompt_is_no_prefill_and_the_time_limit_ends_a_run() {
        let mut fake = Fake::default();
        let (timing, _) = run(&mut fake, &request(0), Instant::now()).unwrap();
        assert_eq!((timing.prefill_s, fake.told.len()), (None, 5));

        let hurried = Request { timeout: Duration::ZERO, ..request(4) };
        let begun = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        let error = run(&mut fake, &hurried, begun).unwrap_err();
        assert_eq!(error, EngineError::Timeout { seconds: 0 });
    }
}
