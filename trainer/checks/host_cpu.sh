#!/usr/bin/env bash
# Trains on the measurements of a real CPU (datasets/measured/host_cpu*.csv) with both feature sets:
# the compiled families on fewer and fewer models, and every family on all of them with fewer
# trials, since some are slow. Each seed holds out other models. Prints the tables of
# datasets/measured/HOST_CPU.md. Needs python3.
# Usage: trainer/checks/host_cpu.sh [FOLDER] [TRIALS] [TRIALS-OF-ALL-FAMILIES] [SEEDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TERM_COLOR=never

out=${1:-$(mktemp -d)}
trials=${2:-100}
family_trials=${3:-20}
seeds=${4:-5}
cargo build --release --locked -p enerinfer-trainer --bin train
for table in host_cpu host_cpu_q8_0; do
    for models in 20 40 80 all families; do
        for features in paper derived; do
            for seed in $(seq 1 "$seeds"); do
                run="$out/$table-$features-$models-$seed"
                [[ -f $run/report.json ]] && continue
                case $models in
                    all) how=(--trials "$trials") ;;
                    families) how=(--trials "$family_trials" --all-families) ;;
                    *) how=(--trials "$trials" --train-models "$models") ;;
                esac
                target/release/train --platform host_cpu \
                    --measurements "datasets/measured/$table.csv" --features "$features" \
                    --seed "$seed" "${how[@]}" --quiet --out "$run" >/dev/null
            done
        done
    done
    python3 trainer/checks/host_cpu.py "datasets/measured/$table.csv" "$out/$table"
done
