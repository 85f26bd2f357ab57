"""The same work in pandas: parse Hydra's raw logs by regular expression, average by phase, write
the UNIFIED tables. Written for comparison only, in the way such pipelines usually are.

    python3 pandas_pipeline.py CORPUS OUT [PLATFORM]
"""

import pathlib
import re
import sys
import time

import numpy as np
import pandas as pd

STAMP = re.compile(r"(\d\d-\d\d-\d{4} \d\d:\d\d:\d\d)\.(\d{1,9})")
RAM = re.compile(r"RAM (\d+)/(\d+)MB \(lfb (\d+)x(\d+)MB\)")
SWAP = re.compile(r"SWAP (\d+)/(\d+)MB \(cached (\d+)MB\)")
CPU = re.compile(r"CPU \[(.*?)\]")
EMC = re.compile(r"EMC_FREQ (\d+)%@(\d+)")
GR3D = re.compile(r"GR3D_FREQ (\d+)?%?@\[([\d,]+)\]")
APE = re.compile(r"APE (\d+)")
UTIL = re.compile(r"GPU_UTIL (\d+)% MEM_UTIL (\d+)%")
TEMPERATURES = [re.compile(rf"{n}@(-?[\d.]+)C") for n in
                ["cpu", "CPU", "gpu", "GPU", "tj", "soc0", "soc1", "soc2", "soc012", "soc345", "AUX"]]
RAILS = [(n, re.compile(rf" {n} (\d+)mW/(\d+)mW")) for n in
         ["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", "VDDQ_VDD2_1V8AO", "GPU", "CPU", "SOC", "SYS5V",
          "VDDRQ", "VDD_GPU", "VDD_CPU_SOC_MSS", "VIN"]]


def parse(line):
    row = {}
    stamp = STAMP.search(line)
    if stamp is None:
        return None
    row["stamp"], row["fraction"] = stamp.group(1), int(stamp.group(2).ljust(9, "0"))
    for name, pattern in [("ram", RAM), ("swap", SWAP), ("emc", EMC), ("util", UTIL)]:
        found = pattern.search(line)
        if found:
            for i, value in enumerate(found.groups()):
                row[f"{name}_{i}"] = float(value)
    found = CPU.search(line)
    if found:
        for i, core in enumerate(found.group(1).split(",")):
            load, _, mhz = core.partition("%@")
            row[f"cpu_{i}_load"] = float("nan") if core == "off" else float(load)
            row[f"cpu_{i}_freq"] = float("nan") if core == "off" else float(mhz)
    found = GR3D.search(line)
    if found:
        row["gpu_load"] = float(found.group(1) or "nan")
        for i, mhz in enumerate(found.group(2).split(",")):
            row[f"gpc{i}_freq"] = float(mhz)
    found = APE.search(line)
    if found:
        row["ape"] = float(found.group(1))
    for pattern in TEMPERATURES:
        found = pattern.search(line)
        if found:
            row[pattern.pattern] = float(found.group(1))
    for name, pattern in RAILS:
        found = pattern.search(line)
        if found:
            row[f"{name}_cur"], row[f"{name}_avg"] = map(float, found.groups())
    return row


def unify(info_path, log_path, out_path):
    info = pd.read_csv(info_path)
    with open(log_path) as log:
        rows = [row for row in map(parse, log) if row is not None]
    frame = pd.DataFrame(rows)
    local = pd.to_datetime(frame.pop("stamp"), format="%m-%d-%Y %H:%M:%S")
    utc = local.dt.tz_localize("America/New_York", ambiguous=True).dt.tz_convert("UTC")
    frame["timestamp"] = utc.astype("datetime64[ns, UTC]").astype("int64") + frame.pop("fraction")
    start, end = info["start_time"], info["end_time"]
    boundary = start + ((info["tokenization_time"] + info["prefill_time"]) * 1e9).astype("int64")
    parts = [info]
    for name, left, right in [("prompt", start, end), ("prefill", start, boundary),
                              ("decode", boundary, end)]:
        windows = pd.IntervalIndex.from_arrays(left, right, closed="both")
        index = windows.get_indexer(frame["timestamp"])
        inside = frame[index >= 0].groupby(index[index >= 0])
        for statistic in ["mean", "std"]:
            values = getattr(inside, statistic)()
            parts.append(values.add_suffix(f"_{name}_{statistic}").reindex(np.arange(len(info))))
    pd.concat(parts, axis=1).to_csv(out_path, index=False)
    return len(rows)


def main():
    corpus, out = map(pathlib.Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    lines = 0
    for i, info in enumerate(sorted(corpus.rglob("INFO_*.csv"))):
        log = info.with_name(info.name.replace("INFO_", "TGS_", 1))
        lines += unify(info, log, out / f"{i}_{info.name}")
    seconds = time.perf_counter() - started
    print(f"{lines} lines in {seconds:.2f} s: {lines / seconds:.0f} lines/s")


main()
