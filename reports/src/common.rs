//! Which models two records have in common.

use std::collections::{BTreeMap, BTreeSet};

use enerinfer_artifacts::ShapeDims;
use enerinfer_artifacts::record::Record;

/// Names that stand for models of different shapes in the two records: drawn models are numbered,
/// so every seed gives the same names to other models. A name whose shape one of the records does
/// not know is not among them: nothing says that it is another model.
pub(crate) fn namesakes<'a>(before: &'a Record, after: &Record) -> BTreeSet<&'a str> {
    let after: BTreeMap<&str, &ShapeDims> =
        after.details.heldout_shapes.iter().map(|s| (s.model.as_str(), &s.dims)).collect();
    let shapes = before.details.heldout_shapes.iter();
    shapes
        .filter(|s| after.get(s.model.as_str()).is_some_and(|dims| **dims != s.dims))
        .map(|s| s.model.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{SMALL, record};

    #[test]
    fn only_a_known_other_shape_makes_a_namesake() {
        let before = record(SMALL, 1);
        assert!(namesakes(&before, &record(SMALL, 2)).is_empty());
        let mut after = before.clone();
        after.details.heldout_shapes[1].dims.layers += 1;
        after.details.heldout_shapes[2].dims.tied ^= true;
        // The shapes' order says nothing.
        after.details.heldout_shapes.reverse();
        let expected = BTreeSet::from(["synthetic-001", "synthetic-002"]);
        assert_eq!(namesakes(&before, &after), expected);
        assert_eq!(namesakes(&after, &before), expected);
        after.details.heldout_shapes.retain(|s| s.model == "synthetic-002");
        let expected = BTreeSet::from(["synthetic-002"]);
        assert_eq!(namesakes(&before, &after), expected);
        assert_eq!(namesakes(&after, &before), expected);
        after.details.heldout_shapes.clear();
        assert!(namesakes(&before, &after).is_empty());
    }
}
