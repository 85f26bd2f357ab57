#!/bin/sh
# Our parse and fuse against the same work in pandas, in one run on one machine, and our growth from
# 1x to 10x the corpus. Prints CPU time, wall time and peak memory of each, and the ratio with and
# without the time that Python takes to import pandas: a small corpus measures little else.
#
# usage: against_pandas.sh [FILES] [PROMPTS]       (files and prompts per file of the 1x corpus)
#
# The default needs 2 GB below TMPDIR.
#
# ENERINFER_MEASURE names a command built elsewhere; else the release build is made and used.
# Exit code 3: python3, pip, the package registry or GNU time is missing; then nothing was measured.
set -eu

files=${1:-8}
prompts=${2:-200}
here=$(cd "$(dirname "$0")" && pwd)
cache=${ENERINFER_PYTHON_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/enerinfer-pandas}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missing() { echo "MISSING: $1: nothing is measured" >&2; exit 3; }

[ -x /usr/bin/time ] || missing "GNU time (/usr/bin/time)"
if ! "$cache/bin/python" -c 'import pandas' 2>/dev/null; then
    python3 -m venv "$cache" || missing "python3 with venv"
    "$cache/bin/pip" install --quiet pandas || missing "pip install pandas"
fi
if [ -n "${ENERINFER_MEASURE:-}" ]; then
    measure=$ENERINFER_MEASURE
else
    (cd "$here/../.." && cargo build --release --locked --package enerinfer-measure)
    measure=${CARGO_TARGET_DIR:-$here/../../target}/release/measure
fi

# Runs a command and prints its figures; its CPU time, s, stays in $cpu.
timed() {
    name=$1
    shift
    /usr/bin/time -o "$work/time" -f '%U %S %e %M' "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
    cpu=$(awk '{ print $1 + $2 }' "$work/time")
    awk -v name="$name" '{ printf "%-12s CPU %8.2f s  wall %8.2f s  peak %7.1f MB\n", name, $1 + $2, $3, $4 / 1024 }' "$work/time"
}

"$measure" hydra generate "$work/one" --files "$files" --prompts "$prompts" --time-scale 0.2
"$measure" hydra generate "$work/ten" --files "$files" --prompts $((10 * prompts)) --time-scale 0.2
timed "import" "$cache/bin/python" -c "import numpy, pandas"
import=$cpu
timed "pandas 1x" "$cache/bin/python" "$here/../benches/pandas_pipeline.py" "$work/one" "$work/pandas"
pandas=$cpu
timed "ours 1x" "$measure" fuse --mode hydra --corpus "$work/one"
one=$cpu
timed "ours 10x" "$measure" fuse --mode hydra --corpus "$work/ten"
ten=$cpu
awk -v p="$pandas" -v i="$import" -v one="$one" -v ten="$ten" 'BEGIN {
    printf "importing pandas: %.1f %% of its time\n", 100 * i / p
    printf "ratio of CPU time, pandas to ours: %.1f, without the import %.1f\n", p / one, (p - i) / one
    printf "ours, 10x to 1x: %.1f\n", ten / one
}'
