#!/usr/bin/env bash
# llama.cpp from outside and from within: the same untrained models through the program llama-bench
# (--engine-command) and through the library, and the ratio of their decode speeds. Only that both
# measure every model is checked: how close they come depends on how quiet the machine is.
# Needs llama-bench on the PATH or in $LLAMA_BENCH, a measure that was built with llama.cpp, python3.
# Usage: collect/checks/llama_bench.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TERM_COLOR=never

bench=${LLAMA_BENCH:-$(command -v llama-bench || true)}
if [[ ! -x $bench ]]; then
    echo "MISSING: llama-bench (of llama.cpp); put it on the PATH, or name it in LLAMA_BENCH" >&2
    exit 3
fi
out=${1:-$(mktemp -d)}
mkdir -p "$out"
cargo build --release --locked -p enerinfer-measure --features engine-llama-cpp,engine-candle
collect() {
    target/release/measure collect --platform host_cpu --no-clocks --synthesize 4 \
        --params 30M..200M --format q4_0,q8_0 --vocabulary --prompt 32 --tokens 16 \
        --repetitions 3 --max-repetitions 3 --quiet \
        --out "$out/$1.csv" --spread "$out/$1.spread.csv" "${@:2}"
}
collect library --engine llama-cpp
collect program --engine-name llama-bench --pattern llama-bench --engine-command \
    "'$bench' -m {model} -t {threads} -p {prompt} -n {tokens} -r 1 -o json"
python3 - "$out" <<'PYTHON'
import csv, statistics, sys

def speeds(name):
    with open(f"{sys.argv[1]}/{name}.spread.csv", newline="") as file:
        return {(r["model"], r["format"]): r for r in csv.DictReader(file)}

library, program = speeds("library"), speeds("program")
for column in ("median_tok_per_s", "prefill_ms"):
    ratios = [float(program[k][column]) / float(library[k][column]) for k in library]
    print(f"{column}, program / library: median {statistics.median(ratios):.3f}, "
          f"{min(ratios):.3f} to {max(ratios):.3f} over {len(ratios)} model files")
PYTHON
