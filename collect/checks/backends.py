"""Tables of what backends.sh has measured: python3 backends.py FOLDER."""

import csv
import statistics
import sys
from pathlib import Path

ENGINES = ["llama-cpp", "candle"]
FORMATS = ["q4_0", "q8_0"]
THREADS = [1, 2]
PROMPT_TOKENS = 32
# Quantity, unit, whether more is better.
QUANTITIES = {
    "prefill_tok_per_s": True,
    "ttft_ms": False,
    "decode_tok_per_s": True,
    "itl_ms": False,
}


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def cells(folder):
    """One row per model, format, threads and engine, medians of its runs."""
    out = []
    for threads in THREADS:
        for engine in ENGINES:
            params = {}
            for fmt in FORMATS:
                for row in rows(folder / f"{engine}-{threads}-{fmt}.csv"):
                    params[row["model"]] = row["total_params"]
            for row in rows(folder / f"{engine}-{threads}.spread.csv"):
                out.append(
                    {
                        "model": row["model"],
                        "total_params": params.get(row["model"], ""),
                        "format": row["format"],
                        "threads": threads,
                        "engine": engine,
                        "runs": row["runs"],
                        "discarded": row["discarded"],
                        "tokenize_ms": row["tokenize_ms"],
                        "prefill_tok_per_s": f"{1e3 * PROMPT_TOKENS / float(row['prefill_ms']):.2f}",
                        "ttft_ms": row["ttft_ms"],
                        "decode_tok_per_s": row["median_tok_per_s"],
                        "decode_spread_percent": row["spread_percent"],
                        "itl_ms": row["itl_ms"],
                        "detokenize_ms": row["detokenize_ms"],
                        "cpu_share": row["median_cpu_share"],
                    }
                )
    return out


def ratios(table, fmt, threads, quantity):
    """How many times better llama.cpp is than candle, model by model."""
    value = {}
    for cell in table:
        if cell["format"] == fmt and cell["threads"] == threads:
            value[cell["model"], cell["engine"]] = float(cell[quantity])
    models = sorted({model for model, _ in value})
    out = [value[m, ENGINES[0]] / value[m, ENGINES[1]] for m in models]
    return out if QUANTITIES[quantity] else [1 / r for r in out]


def main():
    folder = Path(sys.argv[1])
    table = cells(folder)
    with open(folder / "backends.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)

    print("| format | threads | " + " | ".join(QUANTITIES) + " |")
    print("|---" * (2 + len(QUANTITIES)) + "|")
    for fmt in FORMATS:
        for threads in THREADS:
            line = [fmt, str(threads)]
            for quantity in QUANTITIES:
                r = ratios(table, fmt, threads, quantity)
                line.append(f"{statistics.median(r):.2f} ({min(r):.2f} to {max(r):.2f})")
            print("| " + " | ".join(line) + " |")
    print("\n| engine | threads | runs | discarded | median spread of decoding, % | CPU share |")
    print("|---|---|---|---|---|---|")
    for engine in ENGINES:
        for threads in THREADS:
            of = [c for c in table if c["engine"] == engine and c["threads"] == threads]
            spread = statistics.median(float(c["decode_spread_percent"] or "nan") for c in of)
            share = statistics.median(float(c["cpu_share"]) for c in of)
            runs, discarded = (sum(int(c[k]) for c in of) for k in ("runs", "discarded"))
            print(f"| {engine} | {threads} | {runs} | {discarded} | {spread:.1f} | {share:.2f} |")


main()
