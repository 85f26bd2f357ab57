#!/usr/bin/env bash
# Trains on the measurements of a real CPU (datasets/measured/host_cpu*.csv) with every family and
# both feature sets, and the compiled families on fewer and fewer models, over several seeds (each
# holds out other models), and prints the tables of datasets/measured/HOST_CPU.md. Needs python3.
# Usage: trainer/checks/host_cpu.sh [FOLDER] [TRIALS] [SEEDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TERM_COLOR=never

out=${1:-$(mktemp -d)}
trials=${2:-50}
seeds=${3:-5}
cargo build --release --locked --bin train
for table in host_cpu host_cpu_q8_0; do
    for features in paper derived; do
        for models in 20 40 80 all; do
            for seed in $(seq 1 "$seeds"); do
                run="$out/$table-$features-$models-$seed"
                [[ -f $run/report.json ]] && continue
                # Other families cannot be compiled: they are compared on all models only.
                how=(--all-families)
                [[ $models != all ]] && how=(--train-models "$models")
                target/release/train --platform host_cpu \
                    --measurements "datasets/measured/$table.csv" "${how[@]}" \
                    --features "$features" --trials "$trials" --seed "$seed" \
                    --quiet --out "$run" >/dev/null
            done
        done
    done
    python3 trainer/checks/host_cpu.py "datasets/measured/$table.csv" "$out/$table"
done
