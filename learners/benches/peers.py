"""One forest of scikit-learn on the benches' table: CPU time of the fit, held-out MAPE.

    cargo run --release -p enerinfer-learners --example bench_table > /tmp/table.csv
    python -m venv /tmp/venv && /tmp/venv/bin/pip install scikit-learn==1.9.1
    /tmp/venv/bin/python learners/benches/peers.py /tmp/table.csv

Ours on the same table: cargo run --release -p enerinfer-learners --example forest_once
"""

import sys
import time

import numpy as np
from sklearn.ensemble import RandomForestRegressor

SHAPES, POINTS = 300, 45


def main():
    data = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
    x, y = data[:, :-1], data[:, -1]

    def fit(rows):
        forest = RandomForestRegressor(n_estimators=200, max_depth=20, random_state=1, n_jobs=1)
        started = time.process_time()
        forest.fit(x[rows], y[rows])
        return forest, time.process_time() - started

    _, seconds = fit(slice(None))
    train = np.arange(SHAPES * POINTS) < 240 * POINTS
    forest, _ = fit(train)
    mape = 100 * np.mean(np.abs(forest.predict(x[~train]) / y[~train] - 1))
    print(f"scikit-learn: {seconds:.2f} CPU-s for 13,500 rows; held-out MAPE {mape:.3f} %")


if __name__ == "__main__":
    main()
