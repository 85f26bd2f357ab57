"""Times a full table of one model and single operating points of it, by a generated crate, and by
the C of m2cgen and tl2cgen and the Rust of m2cgen.

    python peers.py MEASUREMENTS.csv [TREES DEPTH [OPTION OF compile-forest...]]

Trains scikit-learn forests on the table that `train` writes, gives the same forests to all,
checks that all compute them, and prints CPU time per table (every operating point of a model,
throughput (peak and scale), power and accelerator power), for which the peers are called once per
row, and per single operating point of the same rows, all four forests included.

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
# What `compile-forest --optimise` chooses.
OPT_LEVELS = {"speed": "3", "size": "z"}
# Peers add the same numbers as scikit-learn, in another order perhaps.
ROUNDING = 1e-12


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


def printed(command):
    """The numbers that a driver prints for zero repetitions: what it computes for every row."""
    done = subprocess.run([*command, "0"], check=True, stdout=subprocess.PIPE, text=True)
    return numpy.array([[float(v) for v in line.split()] for line in done.stdout.splitlines()])


def agree(name, values, expected, bound):
    """Ends the comparison unless every value is within its bound of what is expected."""
    if values.shape != expected.shape:
        sys.exit(f"error: {name} gave {values.shape} values instead of {expected.shape}")
    off = numpy.abs(values - expected) - bound
    if not (off <= 0).all():  # not (…): NaN counts as disagreement
        at = numpy.unravel_index(numpy.nanargmax(off), off.shape)
        sys.exit(f"error: {name} does not compute the same function: "
                 f"{values[at]!r} instead of {expected[at]!r} at {at}")


C_DRIVER = """
#include <stdio.h>
#include <stdlib.h>
%s
int main(int argc, char **argv) {
    static double rows[%d][%d];
    FILE *file = fopen(argv[1], "rb");
    if (!file || fread(rows, sizeof rows, 1, file) != 1) return 1;
    double sum = 0;
    int repetitions = atoi(argv[argc - 1]);
    for (int r = repetitions ? repetitions : 1; r > 0; r--)
        for (int i = 0; i < %d; i++) {
            double *row = rows[i];
            if (!repetitions) sum = 0;
            %s
            if (!repetitions) printf("%%.17g\\n", sum);
        }
    if (repetitions) printf("%%.17g\\n", sum);
    return 0;
}
"""

RUST_PEER_DRIVER = """
mod score;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&args[1]).unwrap();
    let values: Vec<f64> =
        bytes.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let repetitions: u32 = args.last().unwrap().parse().unwrap();
    let mut sum = 0.0;
    for _ in 0..repetitions.max(1) {
        for row in values.chunks(%d) {
            let value = score::score(row.to_vec());
            if repetitions == 0 {
                println!("{value}");
            }
            sum += value;
        }
    }
    if repetitions > 0 {
        println!("{sum}");
    }
}
"""

RUST_DRIVER = """
use enerinfer_runtime::model::POINTS;
use enerinfer_runtime::{Predictor, Shape};
use std::hint::black_box;

fn main() {
    let shapes = [%s];
    let args: Vec<String> = std::env::args().collect();
    let (kind, repetitions): (&str, u32) = (&args[1], args[2].parse().unwrap());
    if repetitions == 0 {
        for shape in &shapes {
            let t = Predictor::tables(shape).tables;
            for (point, ((r, p), a)) in t.throughput.iter().zip(&t.power).zip(&t.accel_power).enumerate() {
                let one = Predictor::at_point(shape, point as u16).unwrap();
                assert_eq!((*r, *p, *a), (one.throughput, one.power, one.accel_power));
                println!("{} {} {}", r.0, p.0, a.0);
            }
        }
        return;
    }
    let mut sum = 0u64;
    for _ in 0..repetitions {
        for shape in &shapes {
            if kind == "table" {
                let tables = Predictor::tables(black_box(shape)).tables;
                sum = tables.power.iter().fold(sum, |s, p| s.wrapping_add(u64::from(p.0)));
            } else {
                for point in 0..POINTS as u16 {
                    let one = Predictor::at_point(black_box(shape), black_box(point)).unwrap();
                    let all = u64::from(one.throughput.0 ^ one.power.0 ^ one.accel_power.0);
                    sum = sum.wrapping_add(all);
                }
            }
        }
    }
    println!("{sum}");
}
"""


def read_table(path):
    """Rows of measurements with the features as whole numbers, and the clocks."""
    with open(path, newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    for row in table:
        row["total_params_k"] = (int(row["total_params"]) + 500) // 1000
        row["accel_khz"], row["mem_khz"] = (
            round(float(row[name]) * 1000) for name in ("accel_mhz", "mem_mhz"))
    return table, *(sorted({row[name] for row in table}) for name in CLOCKS)


def columns(rows, names):
    return numpy.array([[int(row[name]) for name in names] for row in rows])


def peer(folder, sources, prologue, call, rows):
    """Builds a peer's code with a driver; returns the command."""
    folder.mkdir(exist_ok=True)
    data = folder / "rows.bin"
    data.write_bytes(numpy.ascontiguousarray(rows, dtype="<f8").tobytes())
    driver = folder / "driver.c"
    driver.write_text(C_DRIVER % (prologue, *rows.shape, rows.shape[0], call))
    binary = folder / "driver"
    subprocess.run(["gcc", "-O3", "-w", "-o", binary, driver, *sources, "-lm"], check=True)
    return [str(binary), str(data)]


def rust_peer(folder, source, rows):
    """The same for m2cgen's Rust, which takes a row as a `Vec`."""
    folder.mkdir()
    data = folder / "rows.bin"
    data.write_bytes(numpy.ascontiguousarray(rows, dtype="<f8").tobytes())
    (folder / "score.rs").write_text(source.replace("fn score(", "pub fn score(", 1))
    (folder / "main.rs").write_text(RUST_PEER_DRIVER % rows.shape[1])
    binary = folder / "driver"
    subprocess.run(["rustc", "--edition", "2021", "-Awarnings", "-Copt-level=3", "-o", binary,
                    folder / "main.rs"], check=True)
    return [str(binary), str(data)]


def peers(work, forest, names, rows):
    """Name and command of every peer, for one forest."""
    import m2cgen
    import tl2cgen
    import treelite

    code = work / "score.c"
    code.write_text(m2cgen.export_to_c(forest))
    yield "m2cgen C", peer(work / "m2cgen", [code], "double score(double *);",
                           "sum += score(row);", rows)
    yield "m2cgen Rust", rust_peer(work / "m2cgen-rust", m2cgen.export_to_rust(forest), rows)
    folder = work / "tl2cgen"
    tl2cgen.generate_c_code(treelite.sklearn.import_model(forest), str(folder),
                            params={"parallel_comp": 8})
    sources = [str(p) for p in sorted(folder.glob("*.c"))]
    call = (f"union Entry entry[{len(names)}]; double result = 0;"
            f"for (int f = 0; f < {len(names)}; f++) entry[f].fvalue = row[f];"
            "predict(entry, 0, &result); sum += result;")
    yield "tl2cgen C", peer(folder / "driver", sources, f'#include "{folder}/header.h"', call, rows)


def ours(work, spec, options, shapes):
    """Compiles and builds our crates with a driver; returns the commands and the error bounds."""
    (work / "import.json").write_text(json.dumps(spec))
    constructors = ", ".join(
        "Shape::new({layers}, {hidden}, {heads}, {kv_heads}, {ffn}, {vocab})"
        ".with_total_params({total_params})".format(**shape) for shape in shapes)
    commands = {}
    for goal, level in OPT_LEVELS.items():
        folder = work / goal
        crate, probe = folder / "enerinfer-runtime", folder / "probe"
        subprocess.run(["cargo", "run", "--quiet", "--manifest-path", HERE.parent / "Cargo.toml", "--bin",
                        "compile-forest", "--", work / "import.json", "--out", crate, "--optimise", goal,
                        *options], check=True)
        manifest = json.loads((crate / "MANIFEST.json").read_text())
        bounds = {p["target"]: p["error_bound"] for p in manifest["predictors"]}
        (probe / "src").mkdir(parents=True)
        (probe / "src/main.rs").write_text(RUST_DRIVER % constructors)
        (probe / "Cargo.toml").write_text(
            '[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n'
            f'enerinfer-runtime = {{ path = "{crate}" }}\n[workspace]\n')
        environment = os.environ | {"CARGO_TARGET_DIR": str(folder / "target"),
                                    "CARGO_PROFILE_RELEASE_OPT_LEVEL": level}
        subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=probe, env=environment, check=True)
        commands[goal] = str(folder / "target/release/probe")
    return commands, bounds


def main():
    from sklearn.ensemble import RandomForestRegressor

    trees, depth = (int(v) for v in sys.argv[2:4]) if len(sys.argv) > 2 else (200, 6)
    table, accel, mem = read_table(sys.argv[1])
    points = len(accel) * len(mem)
    highest = {r["model"]: r for r in table if (r["accel_khz"], r["mem_khz"]) == (accel[-1], mem[-1])}
    models = list(highest)[:MODELS]
    at = {(r["model"], r["mem_khz"], r["accel_khz"]): r for r in table}
    asked = [at[m, mem_khz, accel_khz] for m in models for mem_khz in mem for accel_khz in accel]
    throughput = lambda r: float(r["throughput_tok_per_s"])
    targets = {
        "peak": (list(highest.values()), SHAPE, throughput),
        "scale": (table, SHAPE + CLOCKS,
                  lambda r: min(1.0, throughput(r) / throughput(highest[r["model"]]))),
        "power": (table, SHAPE + CLOCKS, lambda r: float(r["power_w"])),
        "accel_power": (table, SHAPE + CLOCKS, lambda r: float(r["accel_power_w"])),
    }
    times = {"m2cgen C": 0.0, "m2cgen Rust": 0.0, "tl2cgen C": 0.0}
    single = dict(times)
    expected = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        spec = {"platform": {"name": "peers", "engine": "-", "weight_format": "-",
                             "power_domain": "-", "source": "peers.py"},
                "clocks": {"accel_khz": accel, "mem_khz": mem}, "predictors": []}
        for target, (rows, names, value) in targets.items():
            x, y = columns(rows, names), numpy.array([value(r) for r in rows])
            forest = RandomForestRegressor(trees, max_depth=depth, random_state=1, n_jobs=2)
            forest.fit(x, y, sample_weight=1 / y**2)
            export(forest, names, work / f"{target}.json", rows=x)
            spec["predictors"].append({"target": target, "format": "sklearn", "file": f"{target}.json"})
            # `peak` is asked once per model.
            questions = [highest[m] for m in models] if target == "peak" else asked
            inputs = columns(questions, names).astype(float)
            expected[target] = forest.predict(inputs)
            (work / target).mkdir()
            for name, command in peers(work / target, forest, names, inputs):
                agree(f"{name} of {target}", printed(command)[:, 0], expected[target],
                      ROUNDING * numpy.abs(expected[target]))
                seconds = per_repetition(command, 40 * len(asked) // len(questions))
                times[name] += seconds / len(models)
                single[name] += seconds / len(questions)
                print(f"{name:12} {target:12} {seconds / len(questions) * 1e6:8.2f} us per row")
        commands, bounds = ours(work, spec, sys.argv[4:], [highest[m] for m in models])
        peak, scale = numpy.repeat(expected["peak"], points), expected["scale"].copy()
        scale[points - 1::points] = 1  # by definition: the highest clocks reach the peak
        off = peak * bounds["scale"] + scale * bounds["peak"] + bounds["peak"] * bounds["scale"]
        rounding = 1e-6  # whole units of the device
        ours_at = {}
        for goal, command in commands.items():
            values = printed([command, "table"]) / 1e6
            agree("our throughput", values[:, 0], peak * scale, off + rounding)
            agree("our power", values[:, 1], expected["power"], bounds["power"] + rounding)
            agree("our accelerator power", values[:, 2], expected["accel_power"],
                  bounds["accel_power"] + rounding)
            name = f"enerinfer {goal}"
            ours_at[name] = per_repetition([command, "table"], 400) / len(models)
            single[name] = per_repetition([command, "points"], 20) / len(models) / points
    relative = numpy.abs(values[:, 0] / (peak * scale) - 1)
    print(f"\nAll compute the same: peers to {ROUNDING:g}, ours within the bounds of rounded leaves "
          f"(throughput differs by {relative.mean() * 100:.3f} % on average, {relative.max() * 100:.3f} % at most)")
    fastest = min(ours_at.values())
    fastest_single = min(single[name] for name in ours_at)
    print(f"{trees} trees of depth {depth}, CPU time per table of {points} operating points, and per single one:")
    for name, value in (times | ours_at).items():
        one = single[name]
        print(f"{name:16} {value * 1e6:9.2f} us   {value / fastest:6.1f} x "
              f"{one * 1e6:9.2f} us   {one / fastest_single:6.1f} x")


if __name__ == "__main__":
    main()
