//! Predictors of a device judged on models that they have not seen.

use enerinfer_datasets::LlmShape;
use enerinfer_datasets::sampler::TOTAL_PARAMS;
use enerinfer_device::SimulatedDevice;

/// A device, and what its predictors say of unseen models.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The device.
    pub device: SimulatedDevice,
    /// Held-out synthetic models.
    pub held_out: Vec<JudgedModel>,
    /// Real LLMs below 7 B parameters that fit the device, mixtures of experts included.
    pub real: Vec<JudgedModel>,
    /// Real LLMs below 7 B parameters that do not fit the device's memory.
    pub skipped: u32,
    /// Held-out throughput MAPE of the monolithic design, %.
    pub monolithic_mape_percent: Option<f64>,
    /// Other predictors of the device, which were trained on mixtures of experts too; only for the
    /// topic of mixtures.
    pub with_mixtures: Option<WithMixtures>,
}

/// Predictors that were trained on the dense synthetic models and on synthetic mixtures of experts,
/// judged on models that they have not seen.
#[derive(Clone, Debug)]
pub struct WithMixtures {
    /// Synthetic mixtures that fit the device, held-out ones included.
    pub models: u32,
    /// The held-out dense models of [`Judged::held_out`].
    pub held_out: Vec<JudgedModel>,
    /// Held-out mixtures.
    pub held_out_mixtures: Vec<JudgedModel>,
    /// Held-out mixtures as the predictors see them that were trained on dense models only.
    pub held_out_mixtures_by_dense: Vec<JudgedModel>,
    /// The LLMs of [`Judged::real`].
    pub real: Vec<JudgedModel>,
}

/// A model as it is simulated and as it is predicted.
#[derive(Clone, Debug)]
pub struct JudgedModel {
    /// Name.
    pub name: String,
    /// Structure.
    pub shape: LlmShape,
    /// With measurement noise.
    pub measured: Tables,
    /// Without noise: what the simulated device does.
    pub noiseless: Tables,
    /// By the integer arithmetic of the compiled predictors.
    pub predicted: Tables,
}

/// Values of a model at every operating point, in the order of the clock tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// Throughput, tok/s.
    pub tok_per_s: Vec<f64>,
    /// Power, W.
    pub power_w: Vec<f64>,
}

impl Tables {
    /// Efficiency, tok/J.
    pub fn tok_per_j(&self) -> Vec<f64> {
        self.tok_per_s.iter().zip(&self.power_w).map(|(r, p)| r / p).collect()
    }
}

impl JudgedModel {
    /// Whether the model is a mixture of experts.
    pub fn is_moe(&self) -> bool {
        self.shape.dims().experts > 1
    }
}

impl Judged {
    /// Name of the platform.
    pub(crate) fn platform(&self) -> &str {
        &self.device.platform().name
    }

    /// Real LLMs that are no mixtures of experts.
    pub(super) fn dense(&self) -> impl Iterator<Item = &JudgedModel> {
        self.real.iter().filter(|m| !m.is_moe())
    }

    /// Those of the sizes that synthetic models have.
    pub(super) fn dense_in_range(&self) -> impl Iterator<Item = &JudgedModel> {
        self.dense().filter(|m| TOTAL_PARAMS.contains(&m.shape.total_params()))
    }

    /// Real LLMs that the paper tests on this platform (Figure 12, Table 2); on others, those of
    /// the paper's platforms.
    pub(crate) fn papers_llms(&self) -> Vec<&JudgedModel> {
        let names: &[&str] = match self.platform() {
            "h_phone" | "m_phone" => &["LLaMA2-1.3B", "Qwen2-1.5B"],
            "laptop" => &["LLaMA2-1.3B", "Qwen2-1.5B", "Llama-3.2-3B"],
            "board" => &["Llama-3.2-1B", "Qwen2-1.5B", "Gemma-2-2B"],
            _ => &["LLaMA2-1.3B", "Qwen2-1.5B", "Gemma-2-2B", "Llama-3.2-1B", "Llama-3.2-3B"],
        };
        names.iter().filter_map(|name| self.real.iter().find(|m| m.name == *name)).collect()
    }
}
