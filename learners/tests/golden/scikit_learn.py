"""Golden figures of scikit-learn's forest and boosting, for `learners/tests/sklearn.rs`.

    python -m venv /tmp/venv && /tmp/venv/bin/pip install scikit-learn==1.9.1
    /tmp/venv/bin/python learners/tests/golden/scikit_learn.py > learners/tests/golden/scikit_learn.csv

The data is a formula on whole numbers and dyadic fractions that the Rust test repeats exactly.
"""

import sys

import numpy as np
import sklearn
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

MASK = (1 << 64) - 1


def splitmix64(state):
    """One step of SplitMix64 (Steele et al. 2014): new state, output."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


def table(models, points, seed):
    """`models` shapes of four features at `points` clocks; target with 1 % noise, in 1/1024."""
    state = seed
    rows, y, group = [], [], []
    for model in range(models):
        shape = []
        for size in (40, 25, 60, 5):
            state, z = splitmix64(state)
            shape.append(z % size + 1)
        for clock in range(1, points + 1):
            state, z = splitmix64(state)
            noise = z % 2001 + 99000
            work = shape[0] * shape[1] * 50 + shape[2] * shape[2] * 7 + shape[3] * 900 + 2000
            value = noise * clock * 40 * 1024 // (work + 300 * clock)
            rows.append(shape + [clock * 1000])
            y.append(value / 1024)
            group.append(model)
    return np.array(rows, dtype=float), np.array(y), np.array(group)


def main():
    print(f"# scikit-learn {sklearn.__version__}")
    print("# <parameters>,seed,held-out MAPE in %,R2")
    print("# tree_<depth>_<min leaf>,leaves,sum of p^2,sum of p*(i+1) over the training rows")
    print("# boosted_<leaves>,rounds,likewise; 9 leaves: with weights 1/y^2")
    x, y, group = table(150, 12, 1)
    train, test = group % 5 != 0, group % 5 == 0
    for name, params in {
        "all_features": dict(max_features=1.0),
        "all_features_leaf_3": dict(max_features=1.0, min_samples_leaf=3),
        "two_features_leaf_3": dict(max_features=2, min_samples_leaf=3),
    }.items():
        for seed in range(10):
            forest = RandomForestRegressor(
                n_estimators=100, max_depth=20, random_state=seed, n_jobs=2, **params
            ).fit(x[train], y[train])
            p = forest.predict(x[test])
            mape = 100 * np.mean(np.abs(p - y[test]) / y[test])
            r2 = 1 - np.sum((p - y[test]) ** 2) / np.sum((y[test] - y[test].mean()) ** 2)
            print(f"{name},{seed},{mape:.4f},{r2:.6f}")
    # One tree without bootstrap is CART; ties aside, there is one right answer.
    for depth, leaf in ((4, 1), (8, 5), (20, 1)):
        tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf, random_state=0)
        p = tree.fit(x[train], y[train]).predict(x[train])
        moment = np.sum(p * np.arange(1, len(p) + 1))
        print(f"tree_{depth}_{leaf},{tree.get_n_leaves()},{np.sum(p * p):.6f},{moment:.6f}")
    # Boosting without sampling has one right answer too.
    for leaves, weight in ((4, None), (9, 1 / y[train] ** 2)):
        boosted = GradientBoostingRegressor(
            n_estimators=40, learning_rate=0.25, max_leaf_nodes=leaves, max_depth=None,
            random_state=0,
        ).fit(x[train], y[train], sample_weight=weight)
        p = boosted.predict(x[train])
        moment = np.sum(p * np.arange(1, len(p) + 1))
        print(f"boosted_{leaves},40,{np.sum(p * p):.6f},{moment:.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
