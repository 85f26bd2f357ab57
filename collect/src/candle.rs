//! candle in this process: the second engine, in pure Rust.

use std::any::Any;
use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use candle_core::quantized::gguf_file::{Content, TensorInfo};
use candle_core::utils::{barrier_pool, get_num_threads};
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::{MAX_SEQ_LEN, ModelWeights};
use enerinfer_datasets::read_shape;

use crate::engine::{Engine, EngineError, EngineRun, Request};
use crate::session::{self, Decoder, failed};

const NAME: &str = "candle";
/// The only architecture that candle's quantized llama reads.
const ARCHITECTURE: &str = "llama";

/// candle's quantized llama on the CPU, with times taken around each forward pass.
///
/// It has no tokeniser and no counters: those stages and
/// [`StageTiming::counters`](crate::StageTiming::counters) are `None`.
#[derive(Default)]
pub struct Candle {
    loaded: Option<(PathBuf, Loaded)>,
}

struct Loaded {
    weights: ModelWeights,
    vocab: u32,
}

impl std::fmt::Debug for Candle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Candle").field("loaded", &self.loaded.as_ref().map(|(p, _)| p)).finish()
    }
}

impl Candle {
    /// Makes the engine, without a model.
    pub fn new() -> Self {
        Self::default()
    }

    /// Threads that candle uses in this process: `RAYON_NUM_THREADS`, else the physical cores.
    /// Both of its pools are made once and stay as they are, so that there is no other number
    /// until the process ends. `None` if `CANDLE_NUM_THREADS` makes the pools differ.
    pub fn threads() -> Option<u32> {
        let threads = get_num_threads();
        // The thread that asks for work takes part in it.
        let same = barrier_pool().n_workers() + 1 == threads;
        u32::try_from(threads).ok().filter(|_| same)
    }
}

impl Engine for Candle {
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
        let has = Self::threads();
        if has != Some(request.threads) {
            return Err(EngineError::Threads { wanted: request.threads, has });
        }
        let tokens = request.prompt_tokens.saturating_add(request.generate_tokens);
        let longest = tokens.max(request.warm_up_tokens);
        if usize::try_from(longest).is_ok_and(|n| n > MAX_SEQ_LEN) {
            let reason =
                format!("candle's llama takes at most {MAX_SEQ_LEN} tokens, not {longest}");
            return Err(failed("too long", reason));
        }
        let (mut loaded, load_s) = match self.loaded.take().filter(|(p, _)| p == path) {
            Some((_, loaded)) => (loaded, None),
            None => {
                let loaded = guarded("cannot load the model", || load(path))?;
                (loaded, Some(begun.elapsed().as_secs_f64()))
            }
        };
        let session = || session::run(&mut loaded, request, begun);
        let (timing, span) = guarded("cannot decode", || Device::Cpu.with_context(session))?;
        // After a failure the model is let go of: its cache may be in any state.
        self.loaded = Some((path.to_owned(), loaded));
        Ok(EngineRun { timing: timing.check()?, load_s, span })
    }
}

/// candle checks fewer sizes than a damaged file can get wrong, and panics over some of the rest.
fn guarded<T>(what: &str, call: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(failed(what, message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("candle panicked")
}

/// Loads a file whose sizes were checked first: candle allocates by some of them unseen, and a
/// failed allocation ends the process.
fn load(path: &Path) -> Result<Loaded, EngineError> {
    let unfit = |error: &dyn std::fmt::Display| failed("cannot load the model", error);
    let read = read_shape(path).map_err(|e| unfit(&e))?;
    if read.architecture.as_deref() != Some(ARCHITECTURE) {
        return Err(unfit(&"its architecture is not llama, which is all that this engine reads"));
    }
    if read.fields.moe.is_some() {
        return Err(unfit(&"it is a mixture of experts, which this engine does not measure"));
    }
    let shape = read.shape.map_err(|e| unfit(&e))?;

    let file = File::open(path).map_err(|e| unfit(&e))?;
    let file_bytes = file.metadata().map_err(|e| unfit(&e))?.len();
    let mut file = BufReader::new(file);
    let content = Content::read(&mut file).map_err(|e| unfit(&e))?;
    // candle makes an unsound slice of no bytes.
    if content.tensor_infos.values().any(|t| t.shape.elem_count() == 0) {
        return Err(unfit(&"it has a tensor without elements"));
    }
    // candle takes the embedding for an LM head that it cannot read.
    let end_of = |t: &TensorInfo| {
        let blocks = t.shape.elem_count() / t.ggml_dtype.block_size();
        let bytes = blocks.saturating_mul(t.ggml_dtype.type_size()) as u64;
        content.tensor_data_offset.saturating_add(t.offset).saturating_add(bytes)
    };
    if content.tensor_infos.values().any(|t| end_of(t) > file_bytes) {
        return Err(unfit(&"the file is cut: its tensors end behind it; fetch it again"));
    }
    let rope_key = "llama.rope.dimension_count";
    let rope_dim = content.metadata.get(rope_key).and_then(|v| v.to_u32().ok());
    let (hidden, heads) = (shape.dims().hidden, shape.dims().heads);
    if rope_dim.is_none_or(|dim| u64::from(dim) * u64::from(heads) != u64::from(hidden)) {
        let reason = format!("candle needs {rope_key} = hidden / heads ({hidden} / {heads})");
        return Err(unfit(&reason));
    }
    let embedding = content.tensor_infos.get("token_embd.weight");
    let rows = embedding.and_then(|t| t.shape.dims().first().copied()).unwrap_or(0);
    let vocab = u32::try_from(rows).unwrap_or(0);
    if vocab == 0 {
        return Err(unfit(&"it has no token_embd.weight"));
    }
    let weights =
        ModelWeights::from_gguf(content, &mut file, &Device::Cpu).map_err(|e| unfit(&e))?;
    Ok(Loaded { weights, vocab })
}

impl Decoder for Loaded {
    fn vocab(&self) -> u32 {
        self.vocab
    }

    fn clear(&mut self) {
        self.weights.clear_kv_cache();
    }

    /// On the CPU candle returns when the pass is over.
    fn forward(&mut self, tokens: &[u32], position: u32) -> Result<(), EngineError> {
        Tensor::new(tokens, &Device::Cpu)
            .and_then(|input| input.unsqueeze(0))
            .and_then(|input| self.weights.forward(&input, position as usize))
            .map(drop)
            .map_err(|e| failed("cannot decode", e))
    }
}
