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

use crate::engine::{Engine, EngineError, EngineRun, Request};
use crate::session::{self, Decoder, failed};
use crate::timing::Counters;

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
        let context = model
            .new_context(&self.backend, params)
            .map_err(|e| failed("cannot make a context", e))?;
        let (timing, span) = session::run(&mut Loaded { context, model }, request, begun)?;
        Ok(EngineRun { timing: timing.check()?, load_s, span })
    }
}

/// A model and the context of one run.
struct Loaded<'m> {
    context: LlamaContext<'m>,
    model: &'m LlamaModel,
}

impl Decoder for Loaded<'_> {
    fn vocab(&self) -> u32 {
        u32::try_from(self.model.n_vocab()).unwrap_or(0)
    }

    fn clear(&mut self) {
        self.context.clear_kv_cache();
        self.context.reset_timings();
    }

    fn forward(&mut self, tokens: &[u32], position: u32) -> Result<(), EngineError> {
        let mut batch = LlamaBatch::new(tokens.len(), 1);
        for (i, token) in tokens.iter().enumerate() {
            let at = i32::try_from(position as usize + i).unwrap_or(i32::MAX);
            let last = i + 1 == tokens.len();
            batch
                .add(of_id(*token), at, &[0], last)
                .map_err(|e| failed("cannot make a batch", e))?;
        }
        self.context.decode(&mut batch).map_err(|e| failed("cannot decode", e))?;
        // Backends may return before their work is done.
        self.context.synchronize();
        Ok(())
    }

    /// A `no_vocab` model takes token ids only; asking such a model for its vocabulary's type
    /// panics, so the file's own word is taken.
    fn tokenize(&self, text: &str) -> Option<Vec<u32>> {
        let kind = self.model.meta_val_str("tokenizer.ggml.model").ok()?;
        let tokens = (kind != "no_vocab")
            .then(|| self.model.vocab().tokenize(text.as_bytes(), true, false))?;
        Some(tokens.into_iter().filter_map(|t| u32::try_from(t.0).ok()).collect())
    }

    fn detokenize(&self, tokens: &[u32]) {
        for token in tokens {
            let _ = self.model.vocab().token_to_piece(of_id(*token), false, None);
        }
    }

    fn counters(&mut self) -> Option<Counters> {
        let counters = self.context.timings();
        Some(Counters {
            prompt_eval_ms: counters.t_p_eval_ms(),
            eval_ms: counters.t_eval_ms(),
            n_prompt_eval: u32::try_from(counters.n_p_eval()).unwrap_or(0),
            n_eval: u32::try_from(counters.n_eval()).unwrap_or(0),
        })
    }
}

fn of_id(token: u32) -> LlamaToken {
    LlamaToken::new(i32::try_from(token).unwrap_or(i32::MAX))
}
