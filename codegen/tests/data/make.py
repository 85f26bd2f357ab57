"""Makes the foreign forests of `import.rs`, with predictions by the libraries themselves.

Made with scikit-learn 1.9.1 and LightGBM 4.7.0: python make.py (in this folder).
"""

import json
import sys

import lightgbm
import numpy
from sklearn.ensemble import RandomForestRegressor

sys.path.insert(0, "../../import")
from export_sklearn import export

FEATURES = ["layers", "hidden", "vocab", "mem_khz"]
random = numpy.random.default_rng(7)
rows = numpy.stack(
    [
        random.integers(4, 80, 400),
        random.integers(1, 17, 400) * 512,
        # Beyond 2^24, where scikit-learn's 32-bit floats round.
        random.integers(16_777_200, 16_777_260, 400),
        random.choice([204_000, 665_600, 2_133_000, 3_199_000], 400),
    ],
    axis=1,
)
target = 1e4 / (rows[:, 0] * rows[:, 1]) + rows[:, 3] / 1e7 + (rows[:, 2] % 7) / 50

forest = RandomForestRegressor(n_estimators=7, max_depth=7, random_state=1).fit(rows, target)
export(forest, FEATURES, "sklearn.json")
booster = lightgbm.train(
    {"boosting": "rf", "objective": "regression", "bagging_fraction": 0.7, "bagging_freq": 1,
     "num_leaves": 31, "verbose": -1, "seed": 1, "deterministic": True},
    lightgbm.Dataset(rows.astype(float), target, feature_name=FEATURES),
    num_boost_round=7,
)
booster.save_model("lightgbm.txt")
with open("expected.json", "w", encoding="utf-8") as file:
    json.dump(
        {
            "rows": rows.tolist(),
            "sklearn": forest.predict(rows).tolist(),
            "lightgbm": booster.predict(rows.astype(float)).tolist(),
        },
        file,
    )
