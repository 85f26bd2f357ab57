//! The survey of real LLMs: public shapes, embedded with their sources.

use std::sync::OnceLock;

use crate::sheet::{Sheet, SheetRow};
use crate::table_error::TableError;
use crate::{LlmShape, ShapeSpec};

/// A real LLM of the survey. Distinct models have distinct shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyModel {
    /// Name.
    pub name: String,
    /// Family that the model belongs to.
    pub family: String,
    /// Structure; total parameters by formula.
    pub shape: LlmShape,
    /// Other models of the very same shape.
    pub aliases: Vec<String>,
    /// Where the shape can be read.
    pub source: String,
    /// Whether the shape was concluded from partial information rather than read.
    pub inferred: bool,
}

/// All models, in the order of the data file.
pub fn all() -> &'static [SurveyModel] {
    static MODELS: OnceLock<Vec<SurveyModel>> = OnceLock::new();
    // A test holds the embedded file to parse, so the survey is never empty in a released build.
    MODELS.get_or_init(|| parse(DATA).unwrap_or_default())
}

/// The model of a name or alias, ignoring case.
pub fn find(name: &str) -> Option<&'static SurveyModel> {
    let is = |other: &str| other.eq_ignore_ascii_case(name);
    all()
        .iter()
        .find(|m| is(&m.name))
        .or_else(|| all().iter().find(|m| m.aliases.iter().any(|a| is(a))))
}

const DATA: &str = include_str!("../data/survey.csv");

/// `matrix_params` restates the parameters of all matrices in the source's count; it is read by
/// the test that guards the other columns.
const COLUMNS: [&str; 17] = [
    "name",
    "family",
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "ffn_kind",
    "vocab",
    "tied",
    "experts",
    "active_experts",
    "matrix_params",
    "inferred",
    "aliases",
    "source",
];

fn parse(text: &str) -> Result<Vec<SurveyModel>, TableError> {
    Sheet::parse(text, &COLUMNS, &[])?.rows().map(|row| model(&row)).collect()
}

fn model(row: &SheetRow<'_>) -> Result<SurveyModel, TableError> {
    let spec = ShapeSpec {
        layers: row.whole("layers")?,
        hidden: row.whole("hidden")?,
        heads: row.whole("heads")?,
        kv_heads: row.whole("kv_heads")?,
        head_dim: Some(row.whole("head_dim")?),
        ffn: row.whole("ffn")?,
        vocab: row.whole("vocab")?,
        gated: Some(row.text("ffn_kind")? == "gated"),
        tied: Some(row.whole("tied")?),
        experts: Some(row.whole("experts")?),
        active_experts: Some(row.whole("active_experts")?),
        total_params: None,
    };
    Ok(SurveyModel {
        name: row.text("name")?.to_owned(),
        family: row.text("family")?.to_owned(),
        shape: LlmShape::new(spec)
            .map_err(|e| row.error(e.field, row.optional(e.field).unwrap_or(""), e.message))?,
        aliases: row
            .optional("aliases")
            .map(|cell| cell.split(';').map(str::to_owned).collect())
            .unwrap_or_default(),
        source: row.text("source")?.to_owned(),
        inferred: row.whole("inferred")?,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Gemv;

    #[test]
    fn the_embedded_survey_parses_and_its_models_are_distinct() -> Result<(), TableError> {
        let models = parse(DATA)?;
        assert_eq!(models, all());
        assert!(models.len() > 200);
        let shapes: BTreeSet<LlmShape> = models.iter().map(|m| m.shape).collect();
        assert_eq!(shapes.len(), models.len());
        let names: Vec<String> = models
            .iter()
            .flat_map(|m| m.aliases.iter().chain([&m.name]))
            .map(|n| n.to_ascii_lowercase())
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        Ok(())
    }

    /// The source's own count of matrix parameters would differ if a dimension were mistyped.
    #[test]
    fn dimensions_agree_with_the_stated_parameters() -> Result<(), TableError> {
        let sheet = Sheet::parse(DATA, &COLUMNS, &[])?;
        for (row, model) in sheet.rows().zip(all()) {
            let d = model.shape.dims();
            let norms = u64::from(2 * d.layers + 1) * u64::from(d.hidden);
            let stated: u64 = row.whole("matrix_params")?;
            assert_eq!(model.shape.total_params() - norms, stated, "{}", model.name);
        }
        Ok(())
    }

    #[test]
    fn names_are_found_in_any_case_and_by_alias() {
        let llama = find("LLAMA-7b").map(|m| m.name.as_str());
        assert_eq!(llama, Some("LLaMA-7B"));
        assert_eq!(find("llama-2-7b").map(|m| m.name.as_str()), Some("LLaMA-7B"));
        assert_eq!(find("no such model"), None);
    }

    #[test]
    fn products_read_the_weights_of_a_token_once() {
        for model in all() {
            let shape = &model.shape;
            let weights = |g: Gemv| u64::from(g.outputs) * u64::from(g.inputs) * u64::from(g.count);
            let read: u64 = shape.gemvs().into_iter().map(weights).sum();
            let embedding_row = u64::from(shape.dims().hidden);
            assert_eq!(read + embedding_row, shape.dims().read_params(), "{}", model.name);
        }
    }

    /// Published (total, active) parameters of the mixtures of experts, in millions. Active ones are
    /// published rounded, and with or without the input embedding.
    #[test]
    fn mixtures_of_experts_have_their_published_sizes() {
        let published = [
            ("OLMoE-1B-7B", 6920, 1300),
            ("Granite-3.0-1B-A400M", 1330, 400),
            ("Granite-3.0-3B-A800M", 3300, 800),
            ("Qwen1.5-MoE-A2.7B", 14_300, 2700),
        ];
        let ours: Vec<&SurveyModel> = all().iter().filter(|m| m.shape.dims().experts > 1).collect();
        assert_eq!(ours.len(), published.len());
        for (name, total, active) in published {
            let Some(model) = find(name) else { panic!("{name} is not in the survey") };
            let within = |value: u64, percent: u64, stated: u64| {
                value.abs_diff(stated * 1_000_000) <= stated * 1_000_000 / 100 * percent
            };
            assert!(within(model.shape.total_params(), 1, total), "{name}");
            assert!(within(model.shape.dims().read_params(), 13, active), "{name}");
        }
    }

    #[test]
    fn the_papers_13b_shape_is_labelled_inferred() {
        let inferred: Vec<&str> =
            all().iter().filter(|m| m.inferred).map(|m| m.name.as_str()).collect();
        assert_eq!(inferred, ["LLaMA2-1.3B"]);
        let total = find("LLaMA2-1.3B").map(|m| m.shape.total_params());
        assert_eq!(total.map(|n| n / 10_000_000), Some(126), "1.26 B as the paper says");
    }
}
