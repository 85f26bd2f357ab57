//! Figure 3: hyper-parameters of the surveyed LLMs.

use enerinfer_artifacts::exhibit::{
    Axis, Chart, Column, DataTable, Drawing, Exhibit, FiveNumbers, Provenance, Series,
};
use enerinfer_datasets::{LlmShape, survey};

/// Largest model of the figure, total parameters.
const LARGEST: u64 = 7_000_000_000;

/// Name for anchors, name, and value of a hyper-parameter.
type Parameter = (&'static str, &'static str, fn(&LlmShape) -> f64);

const PARAMETERS: [Parameter; 6] = [
    ("layers", "Layers", |s| f64::from(s.dims().layers)),
    ("hidden", "Hidden size", |s| f64::from(s.dims().hidden)),
    ("heads", "Attention heads", |s| f64::from(s.dims().heads)),
    ("kv_group", "Heads per key/value head", |s| {
        f64::from(s.dims().heads) / f64::from(s.dims().kv_heads)
    }),
    ("ffn_ratio", "FFN size / hidden size", |s| {
        f64::from(s.dims().ffn) / f64::from(s.dims().hidden)
    }),
    ("vocab", "Vocabulary", |s| f64::from(s.dims().vocab)),
];

pub(super) fn exhibit(synthetic: &[LlmShape]) -> Exhibit {
    let surveyed: Vec<LlmShape> = survey::all()
        .iter()
        .map(|m| m.shape)
        .filter(|s| s.total_params() <= LARGEST && s.dims().experts == 1)
        .collect();
    let sets = [
        ("surveyed LLMs", Provenance::Published, &surveyed[..]),
        ("synthetic models", Provenance::Simulated, synthetic),
    ];
    let mut charts = Vec::new();
    let mut tables = Vec::new();
    let summaries = |shapes: &[LlmShape]| -> Vec<Option<FiveNumbers>> {
        let values = PARAMETERS.iter().map(|(.., of)| shapes.iter().map(of).collect::<Vec<_>>());
        values.map(|v| FiveNumbers::of(&v)).collect()
    };
    for (name, provenance, shapes) in sets {
        let summaries = summaries(shapes);
        let column = |name: &str, of: fn(&FiveNumbers) -> f64| {
            Column::optional(name, "", provenance, 1, summaries.iter().map(|s| s.as_ref().map(of)))
        };
        tables.push(DataTable {
            id: format!("fig3_{}", name.split(' ').next().unwrap_or_default()),
            caption: format!("{} {name}", shapes.len()),
            columns: vec![
                Column::key("Hyper-parameter", PARAMETERS.iter().map(|p| p.1)),
                column("Smallest", |s| s.min),
                column("First quartile", |s| s.q1),
                column("Median", |s| s.median),
                column("Third quartile", |s| s.q3),
                column("Largest", |s| s.max),
            ],
        });
    }
    for (id, label, of) in PARAMETERS {
        let series = sets.map(|(name, provenance, shapes)| {
            Series::cdf(name, provenance, &shapes.iter().map(of).collect::<Vec<_>>())
        });
        charts.push(Chart {
            id: format!("fig3_{id}"),
            caption: format!("{label} of LLMs up to 7 B parameters"),
            drawing: Drawing::Lines {
                x: Axis::new(label, ""),
                y: Axis::new("Models up to this value", "%"),
                series: series.to_vec(),
            },
        });
    }
    Exhibit {
        id: "fig3".to_owned(),
        title: "Hyper-parameters of the surveyed LLMs".to_owned(),
        source: "EnerInfer Figure 3".to_owned(),
        caption: format!(
            "The paper surveys 126 LLMs up to 7 B; this survey has {} distinct dense shapes, each \
             with its public source. What predictors learn from, the synthetic models, should be \
             distributed like them.",
            surveyed.len()
        ),
        tables,
        charts,
    }
}
