"""Our forest beside others', in one run: CPU time of a fit, peak memory, held-out MAPE; how both
the forest and the search of one grow.

    cargo build --release -p enerinfer-learners --examples
    python -m venv /tmp/venv && /tmp/venv/bin/pip install scikit-learn==1.9.1 lightgbm==4.7.0
    /tmp/venv/bin/python learners/benches/peers.py [engines] [growth] [search]

200 trees of depth 20 on 13,500 rows × 9 features, all features at each split, one thread;
held out are the last 60 of 300 models. smartcore and biosphere come from crates.io and are built
into the examples.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import time

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SHAPES, POINTS, TREES = 300, 45, 200
LIMIT = 120  # seconds for a peer in Python


def example(name, *args):
    """What an example prints."""
    path = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"), "release", "examples", name)
    command = [path, *map(str, args)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def numbers(text):
    return [float(number) for number in text.split()]


def ours(engine, shapes=SHAPES, trees=TREES):
    return numbers(example("forest_once", engine, shapes, trees))


def python_peer(name):
    """CPU time of a fit, peak memory and held-out MAPE of an engine in this process."""
    import numpy as np

    table = example("bench_table").splitlines()
    data = np.loadtxt(table, delimiter=",", skiprows=1)
    x, y = data[:, :-1], data[:, -1]
    share = 1
    if name == "scikit-learn":
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(
            n_estimators=TREES, max_depth=20, random_state=1, n_jobs=1)

        def fit(rows):
            return forest.fit(x[rows], y[rows])
    else:
        import lightgbm

        # Its nearest to the same forest: bagging is without replacement, trees are grown by leaf,
        # and the bins hold every distinct value. Made for small trees, it is slow at full depth:
        # a tenth of the trees are fitted, and their time is counted ten times.
        trees, share = TREES // 10, 10
        params = dict(
            boosting="rf", objective="regression", bagging_freq=1, bagging_fraction=0.632,
            num_leaves=len(y), max_depth=20, min_data_in_leaf=1, min_sum_hessian_in_leaf=0,
            min_data_in_bin=1, max_bin=1024, histogram_pool_size=64, num_threads=1, seed=1, verbosity=-1)

        def fit(rows):
            return lightgbm.train(params, lightgbm.Dataset(x[rows], y[rows]), trees)

    everything = np.ones(len(y), bool)
    started = time.process_time()
    fit(everything)
    seconds = share * (time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    train = np.arange(len(y)) < SHAPES * 4 // 5 * POINTS
    predicted = fit(train).predict(x[~train])
    mape = 100 * np.mean(np.abs(predicted / y[~train] - 1))
    print(f"{seconds:.3f} {peak:.0f} {mape:.3f}")


def engines():
    first = None
    print("engine         CPU-s  ratio  peak MB  held-out MAPE %")
    # The last: of 20 trees, time × 10.
    for engine in ("enerinfer", "smartcore", "biosphere", "scikit-learn", "LightGBM rf"):
        if engine in ("enerinfer", "smartcore", "biosphere"):
            seconds, peak, mape = ours(engine)
        else:
            command = [sys.executable, __file__, "--peer", engine]
            env = {**os.environ, **{name: "1" for name in THREADS}}
            try:
                out = subprocess.run(
                    command, check=True, capture_output=True, text=True, env=env, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                print(f"{engine:<13} stopped: two fits took more than {LIMIT} s")
                continue
            seconds, peak, mape = numbers(out.stdout)
        first = first or seconds
        print(f"{engine:<13}{seconds:7.2f}{seconds / first:7.1f}{peak:9.0f}{mape:17.3f}", flush=True)


def growth():
    for what, shapes, trees in (("rows", 2 * SHAPES, TREES // 2), ("trees", SHAPES, TREES)):
        # A forest has 200 trees at most: doubling starts at half of them.
        base = ours("enerinfer", SHAPES, TREES // 2)[0]
        seconds = ours("enerinfer", shapes, trees)[0]
        print(f"twice the {what}: {base:.2f} -> {seconds:.2f} CPU-s, factor {seconds / base:.2f}")


def search():
    print("search: 5 folds, 2 threads   CPU-s  wall s  peak MB")
    base = None
    for what, shapes, trials in (
            ("1,000 trials, 10,800 rows", 240, 1000), ("2,000 trials, 10,800 rows", 240, 2000),
            ("1,000 trials, 21,600 rows", 480, 1000)):
        cpu, wall, peak, _ = numbers(example("search_once", shapes, trials))
        base = base or cpu
        print(f"{what:<26}{cpu:8.1f}{wall:8.1f}{peak:9.0f}   factor {cpu / base:.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {"engines": engines, "growth": growth, "search": search}
    parser.add_argument("part", nargs="*", help="engines, growth or search [default: all]")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.part) - set(parts):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if args.peer:
        python_peer(args.peer)
    else:
        for name, part in parts.items():
            if not args.part or name in args.part:
                part()
