"""Tables of what host_cpu.sh has trained: python3 host_cpu.py TABLE.csv RUNS-PREFIX."""

import csv
import glob
import json
import statistics
import sys

BITS = {"q4_0": 4.5, "q8_0": 8.5}


def table(path):
    """{model: (bytes read per token, {threads: tokens/s})}."""
    models = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            read = int(row["total_params"])
            if row["tied"] != "true":
                read -= int(row["vocab"]) * int(row["hidden"])  # one row of the embedding is read
            entry = models.setdefault(row["model"], (read * BITS[row["format"]] / 8, {}))
            entry[1][int(float(row["accel_mhz"]))] = float(row["throughput_tok_per_s"])
    return models


def line(points):
    """Least squares of relative errors: time per token = a + b · bytes."""
    s0 = s1 = s2 = t0 = t1 = 0.0
    for x, y in points:
        w = 1 / y**2
        s0, s1, s2 = s0 + w, s1 + w * x, s2 + w * x * x
        t0, t1 = t0 + w * y, t1 + w * x * y
    b = (s0 * t1 - s1 * t0) / (s0 * s2 - s1 * s1)
    return (t0 - b * s1) / s0, b


def bytes_alone(models, train, test):
    """Percentage errors of throughput for `test`, fitted to `train`, each thread count apart."""
    errors = []
    for threads in next(iter(models.values()))[1]:
        a, b = line([(models[m][0], 1 / models[m][1][threads]) for m in train])
        for m in test:
            truth = models[m][1][threads]
            errors.append(100 * abs(1 / (a + b * models[m][0]) - truth) / truth)
    return errors


def tau_b(x, y):
    """Kendall's tau-b."""
    concordant = discordant = ties_x = ties_y = 0
    for i in range(len(x)):
        for j in range(i):
            dx, dy = x[i] - x[j], y[i] - y[j]
            if dx == 0 or dy == 0:
                ties_x += dx == 0 and dy != 0
                ties_y += dy == 0 and dx != 0
            elif dx * dy > 0:
                concordant += 1
            else:
                discordant += 1
    pairs = concordant + discordant
    return (concordant - discordant) / ((pairs + ties_x) * (pairs + ties_y)) ** 0.5


def runs(prefix, features, models):
    for path in sorted(glob.glob(f"{prefix}-{features}-{models}-*/report.json")):
        with open(path) as file:
            yield json.load(file)


def shown(values):
    values = [v for v in values if v is not None]
    if not values:
        return "–"
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def compiled(record):
    """Held-out MAPE and tau-b of what the device computes."""
    points = record["scatter"]
    measured = [p["measured_tok_per_s"] for p in points]
    predicted = [p["predicted_tok_per_s"] for p in points]
    mape = statistics.mean(100 * abs(p - m) / m for p, m in zip(predicted, measured))
    return mape, tau_b(predicted, measured)


def main():
    models = table(sys.argv[1])
    prefix = sys.argv[2]
    names = list(models)
    alone = [e for m in names for e in bytes_alone(models, [n for n in names if n != m], [m])]
    print(f"\n## {sys.argv[1]}: {len(names)} models, {len(list(runs(prefix, 'paper', 'all')))} seeds\n")
    print(f"Bytes alone, leave one out: MAPE {statistics.mean(alone):.2f} %\n")

    print("Held-out MAPE (%) by family and design, all training models (no flash budget):\n")
    print("| family | paper, disaggregated | paper, monolithic | derived, disaggregated | derived, monolithic |")
    print("|---|---|---|---|---|")
    designs = {f: list(runs(prefix, f, "families")) for f in ("paper", "derived")}
    families = [d["family"] for d in designs["paper"][0]["details"]["designs"]]
    for family in families:
        cells = []
        for records in designs.values():
            for design in ("disaggregated_mape_percent", "monolithic_mape_percent"):
                found = [
                    d[design]
                    for r in records
                    for d in r["details"]["designs"]
                    if d["family"] == family
                ]
                cells.append(shown(found))
        print(f"| {family} | " + " | ".join(cells) + " |")

    print("\nCompiled predictors as the device computes them, and bytes alone on the same models:\n")
    print("| training models | features | held-out MAPE, % | tau-b over all held-out points | bytes alone, % |")
    print("|---|---|---|---|---|")
    for count in ("20", "40", "80", "all"):
        for features in ("paper", "derived"):
            records = list(runs(prefix, features, count))
            scores = [compiled(r) for r in records]
            mark = []
            for r in records:
                test = [s["model"] for s in r["details"]["heldout_shapes"]]
                train = [n for n in names if n not in test]
                mark.append(statistics.mean(bytes_alone(models, train, test)))
            size = records[0]["data"]["train_models"]
            print(
                f"| {size} | {features} | {shown([s[0] for s in scores])} | "
                f"{shown([s[1] for s in scores])} | {shown(mark)} |"
            )


main()
