"""Times a full table of one model, by a generated crate and by the C of m2cgen and tl2cgen.

    python peers.py MEASUREMENTS.csv [TREES DEPTH]

Trains scikit-learn forests on the table that `train` writes, gives the same forests to all three,
and prints CPU time per table: every operating point of a model,
throughput (peak and scale), power and accelerator power; the peers are called once per row.

Needs scikit-learn, m2cgen, treelite and tl2cgen; gcc and cargo.
"""

import csv
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "import"))
from export_sklearn import export  # noqa: E402

SHAPE = ["layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "total_params_k"]
CLOCKS = ["accel_khz", "mem_khz"]
MODELS = 40


def cpu_seconds(command):
    """User CPU time of a command, so that other load on the machine hardly counts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def per_repetition(command, repetitions):
    """Seconds per repetition: the difference of a long and a short run."""
    short = min(cpu_seconds([*command, "1"]) for _ in range(3))
    long = min(cpu_seconds([*command, str(repetitions)]) for _ in range(3))
    return (long - short) / (repetitions - 1)


C_DRIVER = """
#include <stdio.h>
#include <stdlib.h>
%s
int main(int argc, char **argv) {
    static double rows[%d][%d];
    FILE *file = fopen(argv[1], "rb");
    if (!file || fread(rows, sizeof rows, 1, file) != 1) return 1;
    double sum = 0;
    for (int r = atoi(argv[argc - 1]); r > 0; r--)
        for (int i = 0; i < %d; i++) {
            double *row = rows[i];
            %s
        }
    printf("%%.17g\\n", sum);
    return 0;
}
"""

RUST_DRIVER = """
use enerinfer_runtime::{Predictor, Shape};
use std::hint::black_box;

fn main() {
    let shapes = [%s];
    let repetitions: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut sum = 0u64;
    for _ in 0..repetitions {
        for shape in &shapes {
            let tables = Predictor::tables(black_box(shape)).tables;
            sum = tables.power.iter().fold(sum, |s, p| s.wrapping_add(u64::from(p.0)));
        }
    }
    println!("{sum}");
}
"""


def peer_time(work, name, sources, prologue, call, rows, repetitions):
    folder = work / name
    folder.mkdir(exist_ok=True)
    data = folder / "rows.bin"
    data.write_bytes(numpy.ascontiguousarray(rows, dtype="<f8").tobytes())
    driver = folder / "driver.c"
    driver.write_text(C_DRIVER % (prologue, *rows.shape, rows.shape[0], call))
    binary = folder / "driver"
    subprocess.run(["gcc", "-O3", "-w", "-o", binary, driver, *sources, "-lm"], check=True)
    return per_repetition([str(binary), str(data)], repetitions)


def main():
    import m2cgen
    import tl2cgen
    import treelite
    from sklearn.ensemble import RandomForestRegressor

    trees, depth = (int(v) for v in sys.argv[2:4]) if len(sys.argv) > 2 else (200, 6)
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    khz = lambda mhz: round(float(mhz) * 1000)
    for row in table:
        row["total_params_k"] = (int(row["total_params"]) + 500) // 1000
        row["accel_khz"], row["mem_khz"] = khz(row["accel_mhz"]), khz(row["mem_mhz"])
    accel = sorted({row["accel_khz"] for row in table})
    mem = sorted({row["mem_khz"] for row in table})
    points = len(accel) * len(mem)
    highest = {r["model"]: r for r in table if (r["accel_khz"], r["mem_khz"]) == (accel[-1], mem[-1])}
    columns = lambda rows, names: numpy.array([[int(r[n]) for n in names] for r in rows])
    peak = {m: float(r["throughput_tok_per_s"]) for m, r in highest.items()}
    targets = {
        "peak": (list(highest.values()), SHAPE, lambda r: float(r["throughput_tok_per_s"])),
        "scale": (table, SHAPE + CLOCKS,
                  lambda r: min(1.0, float(r["throughput_tok_per_s"]) / peak[r["model"]])),
        "power": (table, SHAPE + CLOCKS, lambda r: float(r["power_w"])),
        "accel_power": (table, SHAPE + CLOCKS, lambda r: float(r["accel_power_w"])),
    }
    models = list(highest)[:MODELS]
    times = {"m2cgen C": 0.0, "tl2cgen C": 0.0}
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        spec = {"platform": {"name": "peers", "engine": "-", "weight_format": "-",
                             "power_domain": "-", "source": "peers.py"},
                "clocks": {"accel_khz": accel, "mem_khz": mem}, "predictors": []}
        for target, (rows, names, value) in targets.items():
            x, y = columns(rows, names), numpy.array([value(r) for r in rows])
            forest = RandomForestRegressor(trees, max_depth=depth, random_state=1, n_jobs=2)
            forest.fit(x, y, sample_weight=1 / y**2)
            export(forest, names, work / f"{target}.json")
            spec["predictors"].append({"target": target, "format": "sklearn", "file": f"{target}.json"})
            asked = columns([r for r in rows if r["model"] in models], names).astype(float)
            code = work / f"{target}_m2cgen.c"
            code.write_text(m2cgen.export_to_c(forest))
            repetitions = 40 if len(asked) > MODELS else 40 * points
            calls = {
                "m2cgen C": peer_time(work, f"{target}_m", [code], "double score(double *);",
                                      "sum += score(row);", asked, repetitions)}
            tl_folder = work / f"{target}_tl"
            tl2cgen.generate_c_code(treelite.sklearn.import_model(forest), str(tl_folder),
                                    params={"parallel_comp": 8})
            sources = [str(p) for p in sorted(tl_folder.glob("*.c"))]
            prologue = f'#include "{tl_folder}/header.h"'
            call = (f"union Entry entry[{len(names)}]; double result = 0;"
                    f"for (int f = 0; f < {len(names)}; f++) entry[f].fvalue = row[f];"
                    "predict(entry, 0, &result); sum += result;")
            calls["tl2cgen C"] = peer_time(work, f"{target}_t", sources, prologue, call, asked,
                                           repetitions)
            for name, seconds in calls.items():
                times[name] += seconds / len(models)
                print(f"{name:12} {target:12} {seconds / len(asked) * 1e6:8.2f} us per row")
        (work / "import.json").write_text(json.dumps(spec))
        crate = work / "enerinfer-runtime"
        subprocess.run(["cargo", "run", "--quiet", "--manifest-path", HERE.parent / "Cargo.toml", "--bin",
                        "compile-forest", "--", work / "import.json", "--out", crate], check=True)
        probe = work / "probe"
        (probe / "src").mkdir(parents=True)
        shapes = ", ".join(
            "Shape::new({layers}, {hidden}, {heads}, {kv_heads}, {ffn}, {vocab})"
            ".with_total_params({total_params})".format(**highest[m]) for m in models)
        (probe / "src/main.rs").write_text(RUST_DRIVER % shapes)
        (probe / "Cargo.toml").write_text(
            '[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n'
            f'enerinfer-runtime = {{ path = "{crate}" }}\n[workspace]\n')
        target_folder = os.environ | {"CARGO_TARGET_DIR": str(work / "target")}
        subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=probe, env=target_folder, check=True)
        ours = per_repetition([str(work / "target/release/probe")], 400) / len(models)
    print(f"\n{trees} trees of depth {depth}, {points} operating points, CPU time per table:")
    for name, seconds in (times | {"enerinfer": ours}).items():
        print(f"{name:12} {seconds * 1e6:9.1f} us   {seconds / ours:6.1f} x")


if __name__ == "__main__":
    main()
