//! Reading a list of models with their shapes: a table of a user, or a manifest of untrained models.

use std::collections::BTreeMap;
use std::path::Path;

use crate::sheet::{self, Sheet};
use crate::table_error::TableError;
use crate::table_read::{rule_broken, spec};
use crate::{LlmShape, Model};

const REQUIRED: [&str; 6] = ["model", "layers", "hidden", "heads", "ffn", "vocab"];
const OPTIONAL: [&str; 7] =
    ["kv_heads", "head_dim", "ffn_kind", "tied", "experts", "active_experts", "total_params"];

/// Reads the models of a CSV file, in file order, each once. Columns are the model columns of a
/// measurement table; `kv_heads`, `head_dim`, `ffn_kind`, `tied`, `experts`, `active_experts` and
/// `total_params` may be missing or empty, other columns are left out.
///
/// # Errors
/// The first fault, with row, column and value: an impossible shape, or one name with two shapes.
pub fn read_models(path: &Path) -> Result<Vec<Model>, TableError> {
    sheet::read_text(sheet::open(path)?)
        .and_then(|text| parse(&text))
        .map_err(|e| e.in_file(&path.display().to_string()))
}

fn parse(text: &str) -> Result<Vec<Model>, TableError> {
    let sheet = Sheet::parse(text, &REQUIRED, &OPTIONAL)?;
    let mut shapes: BTreeMap<&str, LlmShape> = BTreeMap::new();
    let mut models = Vec::new();
    for row in sheet.rows() {
        let name = row.text("model")?;
        let shape = LlmShape::new(spec(&row)?).map_err(|e| rule_broken(&row, e))?;
        match shapes.insert(name, shape) {
            None => models.push(Model { name: name.to_owned(), shape }),
            Some(first) if first == shape => {}
            Some(_) => {
                let message = "has another shape in an earlier row; give each model one shape";
                return Err(row.error("model", name, message));
            }
        }
    }
    Ok(models)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "model,layers,hidden,heads,kv_heads,ffn,vocab,ffn_kind,total_params\n";

    fn shape(row: &str) -> LlmShape {
        match parse(&format!("{HEADER}{row}\n")).as_deref() {
            Ok([model]) => model.shape,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_column_of_a_shape_counts() {
        let gated = shape("m,4,256,4,4,1024,32000,gated,");
        let plain = shape("m,4,256,4,4,1024,32000,plain,");
        assert!(gated.dims().gated && !plain.dims().gated);
        // One matrix fewer of 256 × 1,024 in each of four layers.
        assert_eq!(gated.total_params() - plain.total_params(), 4 * 256 * 1024);
        assert_eq!(shape("m,4,256,4,4,1024,32000,plain,20000000").total_params(), 20_000_000);
        // As in model configurations.
        assert_eq!(shape("m,4,256,4,,1024,32000,,").dims().kv_heads, 4);
    }

    #[test]
    fn a_model_is_listed_once_per_shape() {
        let row = "m,4,256,4,4,1024,32000,gated,\n";
        assert_eq!(parse(&format!("{HEADER}{row}{row}")).map(|m| m.len()).ok(), Some(1));
        for (rows, part) in [
            (format!("{row}m,4,256,4,4,1024,32000,plain,\n"), "another shape"),
            ("m,4,256,4,4,1024,32000,round,\n".to_owned(), "ffn_kind"),
            ("m,4,256,4,4,1.5,32000,gated,\n".to_owned(), "ffn"),
        ] {
            let message = parse(&format!("{HEADER}{rows}")).map_err(|e| e.to_string());
            assert!(message.as_ref().is_err_and(|m| m.contains(part)), "{message:?}");
        }
    }
}
