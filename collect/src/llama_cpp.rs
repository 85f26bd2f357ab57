//! llama.cpp in this process.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Instant;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::cpu_time::own_s;
use crate::engine::{Engine, EngineError, EngineRun, Request, Span};
use crate::timing::{Counters, StageTiming};
use crate::unix_time::now_unix_s;

/// Seed of the token ids that stand for a text: speed does not depend on them.
const TOKEN_SEED: u64 = 1;
/// What prompts of models with a vocabulary are made of: about one token per word.
const PROMPT_WORDS: [&str; 8] = ["the", "quick", "brown", "fox", "jumps", "over", "a", "dog"];

/// llama.cpp, with times taken around each of its calls.
pub struct LlamaCpp {
    backend: LlamaBackend,
    loaded: Option<(PathBuf, LlamaModel)>,
}

impl std::fmt::Debug for LlamaCpp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlamaCpp").field("loaded", &self.loaded.as_ref().map(|(p, _)| p)).finish()
    }
}

impl LlamaCpp {
    /// Starts the library; once per process.
    ///
    /// # Errors
    /// If it runs already.
    pub fn new() -> Result<Self, EngineError> {
        let mut backend = LlamaBackend::init()
            .map_err(|e| EngineError::Start { program: NAME.to_owned(), reason: e.to_string() })?;
        backend.void_logs();
        Ok(LlamaCpp { backend, loaded: None })
    }
}

const NAME: &str = "llama.cpp";

fn failed(what: &str, error: impl std::fmt::Display) -> EngineError {
    EngineError::Failed { status: what.to_owned(), last_lines: error.to_string() }
}

impl Engine for LlamaCpp {
    fn name(&self) -> &str {
        NAME
    }

    fn spans_decode_only(&self) -> bool {
        true
    }

    fn unload(&mut self) {
        self.loaded = None;
    }

    fn run(&mut self, path: &Path, request: &Request) -> Result<EngineRun, EngineError> {
        let begun = Instant::now();
        let mut load_s = None;
        if self.loaded.as_ref().is_none_or(|(p, _)| p != path) {
            self.loaded = None;
            if !path.is_file() {
                return Err(failed("no such file", path.display()));
            }
            let params = LlamaModelParams::default();
            let model = LlamaModel::load_from_file(&self.backend, path, &params)
                .map_err(|e| failed("cannot load the model", e))?;
            self.loaded = Some((path.to_owned(), model));
            load_s = Some(begun.elapsed().as_secs_f64());
        }
        let Some((_, model)) = &self.loaded else {
            return Err(failed("no model", path.display()));
        };
        let tokens = request.prompt_tokens + request.generate_tokens + request.warm_up_tokens + 8;
        let threads = i32::try_from(request.threads).unwrap_or(i32::MAX);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(tokens))
            .with_n_batch(request.prompt_tokens.max(1))
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_no_perf(false);
        let mut context = model
            .new_context(&self.backend, params)
            .map_err(|e| failed("cannot make a context", e))?;
        let mut session = Session { context: &mut context, model, begun, request };
        let (timing, span) = session.run()?;
        Ok(EngineRun { timing: timing.check()?, load_s, span })
    }
}

/// One run on a fresh context.
struct Session<'a, 'm> {
    context: &'a mut LlamaContext<'m>,
    model: &'m LlamaModel,
    begun: Instant,
    request: &'a Request,
}

impl Session<'_, '_> {
    fn run(&mut self) -> Result<(StageTiming, Span), EngineError> {
        let request = self.request;
        let n_vocab = self.model.n_vocab().max(1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(TOKEN_SEED);
        let mut draw = || LlamaToken::new(rng.random_range(0..n_vocab));

        for position in 0..request.warm_up_tokens {
            self.forward(&[draw()], position)?;
        }
        self.context.clear_kv_cache();
        self.context.reset_timings();

        let words = PROMPT_WORDS.iter().cycle().take(request.prompt_tokens as usize);
        let text = words.copied().collect::<Vec<_>>().join(" ");
        let (prompt, tokenization_s) = match self.has_vocabulary() {
            true => {
                let begin = Instant::now();
                let mut tokens = self.model.vocab().tokenize(text.as_bytes(), true, false);
                let seconds = begin.elapsed().as_secs_f64();
                tokens.resize_with(request.prompt_tokens as usize, &mut draw);
                (tokens, Some(seconds))
            }
            false => ((0..request.prompt_tokens).map(|_| draw()).collect(), None),
        };
        let prefill_s = if prompt.is_empty() { None } else { Some(self.forward(&prompt, 0)?) };

        let (begin_unix_s, begin, cpu) = (now_unix_s(), Instant::now(), own_s());
        let mut generation_s = Vec::with_capacity(request.generate_tokens as usize);
        let mut generated = Vec::with_capacity(request.generate_tokens as usize);
        for i in 0..request.generate_tokens {
            let token = draw();
            generation_s.push(self.forward(&[token], request.prompt_tokens + i)?);
            generated.push(token);
        }
        let cpu_s = own_s() - cpu;
        let span = Span { begin_unix_s, wall_s: begin.elapsed().as_secs_f64(), cpu_s };

        let detokenization_s = tokenization_s.map(|_| {
            let begin = Instant::now();
            for token in &generated {
                let _ = self.model.vocab().token_to_piece(*token, false, None);
            }
            begin.elapsed().as_secs_f64() / generated.len().max(1) as f64
        });
        let counters = self.context.timings();
        let timing = StageTiming {
            tokenization_s,
            prefill_s,
            detokenization_s,
            counters: Some(Counters {
                prompt_eval_ms: counters.t_p_eval_ms(),
                eval_ms: counters.t_eval_ms(),
                n_prompt_eval: u32::try_from(counters.n_p_eval()).unwrap_or(0),
                n_eval: u32::try_from(counters.n_eval()).unwrap_or(0),
            }),
            ..StageTiming::of_tokens(generation_s)
        };
        Ok((timing, span))
    }

    /// A `no_vocab` model takes token ids only; asking such a model for its vocabulary's type
    /// panics, so the file's own word is taken.
    fn has_vocabulary(&self) -> bool {
        self.model.meta_val_str("tokenizer.ggml.model").is_ok_and(|name| name != "no_vocab")
    }

    /// A forward pass over tokens from `position` on, to its end, s. A pass cannot be
    /// interrupted, so the time limit is looked at between passes.
    fn forward(&mut self, tokens: &[LlamaToken], position: u32) -> Result<f64, EngineError> {
        if self.begun.elapsed() > self.request.timeout {
            return Err(EngineError::Timeout { seconds: self.request.timeout.as_secs() });
        }
        let mut batch = LlamaBatch::new(tokens.len(), 1);
        for (i, token) in tokens.iter().enumerate() {
            let at = i32::try_from(position as usize + i).unwrap_or(i32::MAX);
            let last = i + 1 == tokens.len();
            batch.add(*token, at, &[0], last).map_err(|e| failed("cannot make a batch", e))?;
        }
        let begin = Instant::now();
        self.context.decode(&mut batch).map_err(|e| failed("cannot decode", e))?;
        // Backends may return before their work is done.
        self.context.synchronize();
        Ok(begin.elapsed().as_secs_f64())
    }
}
