//! What model families leave unsaid in their files.
//!
//! Defaults are those of the configuration classes of Hugging Face transformers 4.57.1
//! (`models/*/configuration_*.py`; a class without `tie_word_embeddings` has the base class's
//! `True`), and of the models' own code for families that are not part of it. The FFN kind is that
//! of the family's MLP module.

/// Defaults of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// FFN with a gate matrix.
    pub(super) gated: bool,
    /// Input embedding shared with the LM head.
    pub(super) tied: bool,
    /// The intermediate size is four times the hidden size unless stated.
    pub(super) ffn_is_4_hidden: bool,
    /// Head size unless stated; `None`: hidden / heads.
    pub(super) head_dim: Option<u32>,
}

impl Family {
    /// What is assumed of a family that is not listed: a gated FFN as in most models of today, and
    /// the tied embeddings of the base configuration class.
    pub(super) const UNKNOWN: Family = gated(true);
}

const fn gated(tied: bool) -> Family {
    Family { gated: true, tied, ffn_is_4_hidden: false, head_dim: None }
}

const fn plain(tied: bool, ffn_is_4_hidden: bool) -> Family {
    Family { gated: false, tied, ffn_is_4_hidden, head_dim: None }
}

/// Names of model types and GGUF architectures, as [`normalised`] gives them, separated by spaces.
const FAMILIES: [(&str, Family); 8] = [
    (
        "arctic baichuan bailingmoe bitnet chatglm dbrx deci deepseek deepseek2 deepseekv2 \
         deepseekv3 diffllama dots1 exaone exaone4 flexolmo glm glm4 glm4moe gptoss granite \
         granitehybrid granitemoe granitemoehybrid granitemoeshared helium hunyuandense \
         hunyuanmoe hunyuanv1dense hunyuanv1moe internlm internlm2 internlm3 llama llama4 \
         minimax minimaxm2 ministral ministral3 mistral mistral3 mixtral olmo olmo2 olmo3 \
         olmoe orion phi3 phimoe qwen qwen2 qwen25vl qwen2moe qwen2vl qwen3moe qwen3vl \
         qwen3vlmoe seedoss stablelm xverse",
        gated(false),
    ),
    ("qwen3", Family { head_dim: Some(128), ..gated(false) }),
    ("gemma gemma2 gemma3 gemma3n vaultgemma", Family { head_dim: Some(256), ..gated(true) }),
    (
        "cohere cohere2 commandr ernie45 ernie45moe gemma4 minicpm minicpm3 openelm smollm3",
        gated(true),
    ),
    (
        "bloom falcon gpt2 gptbigcode gptneo mpt refinedweb refinedwebmodel starcoder",
        plain(true, true),
    ),
    ("codegen gptj phimsft", plain(false, true)),
    ("biogpt opt starcoder2 xglm", plain(true, false)),
    ("apertus arcee gptneox nemotron persimmon phi phi2", plain(false, false)),
];

/// Families whose layers are not all attention and FFN, or that do more than decode.
const UNSUPPORTED: [(&str, &str); 4] = [
    (
        "mamba mamba2 falconmamba rwkv rwkv5 rwkv6 rwkv7 arwkv7",
        "a recurrent model without attention",
    ),
    (
        "bamba falconh1 jamba kimilinear lfm2 lfm2moe nemotronh nemotronhmoe plamo2 qwen3next \
         recurrentgemma zamba zamba2",
        "a hybrid of attention and other layers",
    ),
    (
        "albert bart bert bertgeneration bigbird camembert clip data2vec deberta debertav2 \
         distilbert electra ernie eurobert longformer megatronbert modernbert mpnet neobert \
         nomicbert rembert roberta robertaprelayernorm rocbert roformer t5 t5encoder whisper \
         xlmroberta xlmrobertaxl xlnet",
        "an encoder or encoder–decoder",
    ),
    ("jetmoe longcatflash", "a model whose layers have several attention blocks"),
];

/// A family's name without case, separators and the suffix of text-only configurations.
fn normalised(name: &str) -> String {
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let stem = name.strip_suffix("model").unwrap_or(&name);
    stem.strip_suffix("text").map_or(name.clone(), str::to_owned)
}

fn holds(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|n| n == name)
}

/// The defaults of a family by `model_type` or GGUF architecture.
pub(super) fn find(name: &str) -> Option<Family> {
    let name = normalised(name);
    FAMILIES.iter().find(|(names, _)| holds(names, &name)).map(|(_, family)| *family)
}

/// Why a family has no shape, if so.
pub(super) fn unsupported(name: &str) -> Option<&'static str> {
    let name = normalised(name);
    UNSUPPORTED.iter().find(|(names, _)| holds(names, &name)).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_stand_once_and_as_they_are_looked_up() {
        let names: Vec<&str> = FAMILIES
            .iter()
            .map(|(names, _)| *names)
            .chain(UNSUPPORTED.iter().map(|(names, _)| *names))
            .flat_map(str::split_whitespace)
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            assert_eq!(normalised(name), name);
        }
    }

    #[test]
    fn spellings_of_configurations_and_gguf_meet() {
        assert_eq!(find("gpt_neox"), find("gptneox"));
        assert_eq!(find("gemma3_text"), find("gemma3"));
        assert_eq!(find("command-r"), find("cohere"));
        assert_eq!(find("no such family"), None);
        assert!(unsupported("falcon-h1").is_some());
    }
}
