#!/usr/bin/env bash
# The same untrained models by llama.cpp and by candle, stage by stage: writes FOLDER/backends.csv
# and prints the tables of datasets/measured/BACKENDS.md. Each round visits every cell once, backend
# after backend, so that drift of the machine meets both. Called again with more rounds, it goes on
# where it was. Needs cmake, a C++ compiler, libclang and python3; a quiet machine for good figures.
# Usage: collect/checks/backends.sh FOLDER [ROUNDS] [MODELS]
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TERM_COLOR=never

out=${1:?a folder for journals and tables is needed}
rounds=${2:-5}
models=${3:-8}
mkdir -p "$out"
cargo build --release --locked -p enerinfer-measure --features engine-llama-cpp,engine-candle
for ((round = 1; round <= rounds; round++)); do
    for threads in 1 2; do
        for engine in llama-cpp candle; do
            # candle has its threads from the environment, one number in a process.
            RAYON_NUM_THREADS=$threads target/release/measure collect --platform host_cpu \
                --engine "$engine" --threads "$threads" --no-clocks \
                --synthesize "$models" --params 30M..400M --format q4_0,q8_0 --vocabulary \
                --prompt 32 --tokens 16 --warm-up 2 --min-cpu-share 0.9 \
                --repetitions "$round" --max-repetitions "$round" --quiet \
                --out "$out/$engine-$threads.csv" --spread "$out/$engine-$threads.spread.csv"
        done
    done
done
python3 collect/checks/backends.py "$out"
