#!/bin/sh
# Another engine reads our partitioned Parquet: DuckDB from PyPI compares rows, types, nulls and
# sums with the CSV tables of the same records.
#
# usage: duckdb.sh [MEASURE]       (the command; built with cargo if absent)
#
# Exit code 3: python3, pip or the package registry is missing; then nothing was proved.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${ENERINFER_PYTHON_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/enerinfer-duckdb}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missing() { echo "MISSING: $1: that another engine reads our Parquet is NOT checked" >&2; exit 3; }

if ! "$cache/bin/python" -c 'import duckdb' 2>/dev/null; then
    python3 -m venv "$cache" || missing "python3 with venv"
    "$cache/bin/pip" install --quiet duckdb || missing "pip install duckdb"
fi
if [ $# -gt 0 ]; then
    measure=$1
else
    (cd "$here/../.." && cargo build --locked --package enerinfer-measure)
    measure=${CARGO_TARGET_DIR:-$here/../../target}/debug/measure
fi

"$measure" hydra generate "$work/corpus" --prompts 3 --time-scale 0.02 --files 4
"$measure" fuse --corpus "$work/corpus" --parquet "$work/fleet"
mkdir "$work/csv"
n=0
for info in $(find "$work/corpus" -name 'INFO_*.csv' | sort); do
    log=$(dirname "$info")/$(basename "$info" | sed 's/^INFO_/TGS_/')
    "$measure" fuse --prompts "$info" --log "$log" --out "$work/csv/$n.csv" 2>"$work/fuse.err" ||
        { cat "$work/fuse.err" >&2; exit 1; }
    n=$((n + 1))
done
"$cache/bin/python" "$here/duckdb_reads.py" "$work/fleet" "$work/csv"
