"""Compares Parquet partitions, as DuckDB reads them, with the CSV tables of the same records.

    python3 duckdb_reads.py FLEET CSV_FOLDER
"""

import csv
import math
import pathlib
import sys

import duckdb

KEYS = ["platform", "backend", "model", "format", "sweep"]
INT64 = {"prompt", "start_ns", "end_ns", "samples", "record_schema"}
STRING = {"phase", "board", "flags", "total_definition", "accel_definition", "rails_w", "model_name"}

fleet, folder = map(pathlib.Path, sys.argv[1:3])
parquet = f"read_parquet('{fleet}/**/*.parquet', hive_partitioning = true)"
types = {name: kind for name, kind, *_ in duckdb.sql(f"DESCRIBE SELECT * FROM {parquet}").fetchall()}
rows = []
for path in sorted(folder.glob("*.csv")):
    with open(path, newline="") as file:
        rows += list(csv.DictReader(file))

assert rows, "no CSV records"
assert all(key in types for key in KEYS), f"partition keys: {types}"
for name, kind in types.items():
    if name not in KEYS:
        expected = "BIGINT" if name in INT64 else "VARCHAR" if name in STRING else "DOUBLE"
        assert kind == expected, f"{name}: {kind}, not {expected}"

count = duckdb.sql(f"SELECT count(*) FROM {parquet}").fetchall()[0][0]
assert count == len(rows), f"{count} rows in Parquet, {len(rows)} in CSV"
files = duckdb.sql(f"SELECT count(DISTINCT ({', '.join(KEYS)})) FROM {parquet}").fetchall()[0][0]
assert files == len(list(folder.glob("*.csv"))), f"{files} partitions"

compared = []
for name, kind in types.items():
    if name in KEYS or name not in rows[0] or kind == "VARCHAR":
        continue
    cells = [float(row[name]) for row in rows if row[name] != ""]
    found, total = duckdb.sql(f'SELECT count("{name}"), sum("{name}") FROM {parquet}').fetchall()[0]
    assert found == len(cells), f"{name}: {found} values in Parquet, {len(cells)} in CSV"
    if cells:
        assert math.isclose(total, math.fsum(cells), rel_tol=1e-9), f"{name}: {total}"
    compared.append(name)
assert "total_energy_j" in compared and len(compared) > 10, f"compared only {compared}"
print(f"DuckDB {duckdb.__version__}: {count} rows of {files} partitions, {len(types)} columns; "
      f"sums and nulls of {len(compared)} columns equal the CSV tables")
