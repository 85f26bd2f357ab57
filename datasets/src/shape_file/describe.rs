//! A model's shape in words, for a terminal.

use std::fmt::{Display, Write as _};

use super::{PerLayer, ReadShape};
use crate::table_error::shown;

/// What was read, line by line: sizes, weights, and every assumption.
pub fn describe(read: &ReadShape) -> String {
    let fields = &read.fields;
    let mut lines: Vec<(&str, String)> = vec![
        ("name", shown(&read.name)),
        ("architecture", stated(read.architecture.as_deref().map(shown))),
        ("layers", stated(fields.layers)),
        ("hidden", stated(fields.hidden)),
        ("heads", per_layer(fields.heads.as_ref(), fields.layers)),
        ("kv heads", per_layer(fields.kv_heads.as_ref(), fields.layers)),
        ("head size", stated(fields.head_dim)),
        ("ffn", per_layer(fields.ffn.as_ref(), fields.layers)),
        ("ffn kind", if fields.gated { "gated" } else { "plain" }.to_owned()),
    ];
    if let Some(moe) = &fields.moe {
        lines.push(("experts", format!("{} of {}", stated(moe.active_experts), moe.experts)));
        lines.push(("expert ffn", stated(moe.ffn)));
    }
    lines.extend([
        ("vocabulary", stated(fields.vocab)),
        ("embeddings", if fields.tied { "tied" } else { "untied" }.to_owned()),
        ("total parameters", stated(read.total_params.map(count))),
        ("active parameters", stated(read.active_params.map(count))),
        ("kv cache", stated(fields.kv_elements_per_token().map(|n| format!("{n} elements/token")))),
        ("weight format", stated(read.weight_format)),
        (
            "shape",
            match &read.shape {
                Ok(_) => "complete".to_owned(),
                Err(reason) => format!("none: {reason}"),
            },
        ),
    ]);
    let mut text = String::new();
    for (name, value) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<18}{value}");
    }
    for note in &read.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn stated(value: Option<impl Display>) -> String {
    value.map_or_else(|| "not stated".to_owned(), |value| value.to_string())
}

fn per_layer(value: Option<&PerLayer>, layers: Option<u32>) -> String {
    match value {
        None => stated(None::<u32>),
        Some(PerLayer::Same(value)) => value.to_string(),
        Some(list @ PerLayer::Each(values)) => {
            let (min, max) = (values.iter().min(), values.iter().max());
            format!(
                "{} to {} by layer, sum {}",
                stated(min),
                stated(max),
                list.sum(layers.unwrap_or(0))
            )
        }
    }
}

/// A count with its magnitude: `3.21 B (3212749824)`.
fn count(n: u64) -> String {
    let (divisor, unit) = if n >= 1_000_000_000 { (1_000_000_000, "B") } else { (1_000_000, "M") };
    let hundredths = (u128::from(n) * 100 + divisor / 2) / divisor;
    format!("{}.{:02} {unit} ({n})", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_rounded_to_hundredths() {
        assert_eq!(count(3_212_749_824), "3.21 B (3212749824)");
        assert_eq!(count(999_996_000), "1000.00 M (999996000)");
        assert_eq!(count(0), "0.00 M (0)");
    }
}
