"""Writes a fitted scikit-learn forest in the JSON that compile-forest imports.

    from export_sklearn import export
    export(forest, ["layers", "hidden", "accel_khz", "mem_khz"], "scale.json", rows=x_train)

`forest` is a RandomForestRegressor or ExtraTreesRegressor with one output, fitted on whole
numbers; the names are those of EnerInfer's feature schema, in the order of the columns. With the
training rows it makes sure that they are whole numbers.
"""

import json
import math


def _finite(values):
    # JSON has no infinity; the importer refuses null and names the node.
    return [float(v) if math.isfinite(v) else None for v in values]


def export(forest, features, path, rows=None):
    if hasattr(forest, "classes_"):
        raise ValueError("a classifier: leaves of a regressor are needed")
    if not isinstance(getattr(forest, "estimators_", None), list):
        raise ValueError("a fitted RandomForestRegressor or ExtraTreesRegressor is needed")
    if getattr(forest, "n_outputs_", 1) != 1:
        raise ValueError("one output per forest: fit one forest per target")
    if forest.n_features_in_ != len(features):
        raise ValueError(f"{len(features)} names for {forest.n_features_in_} columns")
    for row in [] if rows is None else rows:
        for name, value in zip(features, row):
            if value != value // 1 or not 0 <= value < 2**32:
                raise ValueError(f"{name} is {value}: the device has whole numbers from 0 to 2^32 - 1")
    trees = [estimator.tree_ for estimator in forest.estimators_]
    dump = {
        "format": "enerinfer-sklearn-forest",
        "version": 1,
        "features": list(features),
        "whole_numbers": rows is not None,
        "trees": [
            {
                "feature": [int(v) for v in tree.feature],
                "threshold": _finite(tree.threshold),
                "left": [int(v) for v in tree.children_left],
                "right": [int(v) for v in tree.children_right],
                "value": _finite(value[0][0] for value in tree.value),
            }
            for tree in trees
        ],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(dump, file, allow_nan=False)
