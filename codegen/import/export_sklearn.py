"""Writes a fitted scikit-learn forest in the JSON that compile-forest imports.

    from export_sklearn import export
    export(forest, ["layers", "hidden", "accel_khz", "mem_khz"], "scale.json", rows=x_train)

`forest` is a RandomForestRegressor or ExtraTreesRegressor with one output, fitted on whole
numbers; the names are those of EnerInfer's feature schema, in the order of the columns. With the
training rows (an array, a data frame or a list of rows) it makes sure that they are whole numbers.
"""

import json
import math

FORESTS = ("RandomForestRegressor", "ExtraTreesRegressor")


def _finite(values):
    # JSON has no infinity; the importer refuses null and names the node.
    return [float(v) if math.isfinite(v) else None for v in values]


def _check_rows(rows, features):
    # Iterating over a data frame gives its columns' names.
    rows = list(getattr(rows, "values", rows))
    if not rows:
        raise ValueError("rows is empty: pass the training rows, or leave it out")
    for row in rows:
        row = list(row) if hasattr(row, "__iter__") else [row]
        if len(row) != len(features):
            raise ValueError(f"a row of {len(row)} values for {len(features)} names")
        for name, value in zip(features, row):
            if isinstance(value, str) or value != value // 1 or not 0 <= value < 2**32:
                raise ValueError(f"{name} is {value}: the device has whole numbers from 0 to 2^32 - 1")


def export(forest, features, path, rows=None):
    # By name, so that scikit-learn is not imported. Other ensembles of trees do not predict the mean:
    # AdaBoost takes a weighted median, isolation forests the depth, bagging gives each tree some of
    # the columns, and a class of one's own whatever it likes.
    kind = type(forest).__name__
    if kind not in FORESTS:
        raise ValueError(f"a {' or '.join(FORESTS)} is needed, not {kind}")
    if not hasattr(forest, "estimators_"):
        raise ValueError(f"this {kind} was not fitted")
    if getattr(forest, "n_outputs_", 1) != 1:
        raise ValueError("one output per forest: fit one forest per target")
    if forest.n_features_in_ != len(features):
        raise ValueError(f"{len(features)} names for {forest.n_features_in_} columns")
    if rows is not None:
        _check_rows(rows, features)
    trees = [estimator.tree_ for estimator in forest.estimators_]
    dump = {
        "format": "enerinfer-sklearn-forest",
        "version": 1,
        "estimator": kind,
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
