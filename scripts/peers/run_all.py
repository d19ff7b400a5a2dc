#!/usr/bin/env python3
"""Every speed claim of the project, measured in interleaved rounds on this machine, as Markdown and JSON.

    scripts/setup --peers
    cmake --preset release -DFEEDLINE_PEERS=ON && cmake --build --preset release
    scripts/peers/run_all.py --data /path/on/the/disk [--scale small] [--rows warm-110k,index] [--out results]

Writes OUT/DATE-FINGERPRINT/speed.md and speed.json after every row, so that an interrupted run keeps what it has. Needs a
quiet machine; root for the row on the throttled tier (a row that cannot run here is listed as skipped, with the reason).
At scale full it writes about 5 GB below DATA and takes about half an hour; what it wrote below DATA stays for the next run.
Exit code 1 where a bound does not hold, 5 where a row failed.
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys

import file_rows
import packed_rows
import packing_rows
import pairs
from harness import CORES, ROOT, SCALES, Bench, Skip

ROWS = {
    "null-storage": file_rows.null_storage,
    "cold-throttled": file_rows.cold_throttled,
    "cold-disk": file_rows.cold_disk,
    "cold-cpu": file_rows.cold_cpu,
    "warm-110k": file_rows.warm_110k,
    "warm-110k-written": file_rows.warm_110k_written,
    "warm-3k": file_rows.warm_3k,
    "index": file_rows.index,
    "write": file_rows.write,
    "pack-memory": packing_rows.pack_memory,
    "pack-writers": packing_rows.pack_writers,
    "pack-disk": packing_rows.pack_disk,
    "pack-cold": packing_rows.pack_cold,
    "packed-shuffled": packed_rows.packed_shuffled,
    "packed-sequential": packed_rows.packed_sequential,
    "packed-disk": packed_rows.packed_disk,
    "tfrecord-index": packed_rows.tfrecord_index,
    "crc32c": packed_rows.crc32c,
    "device": file_rows.device,
}


# --- report ----------------------------------------------------------------------------------------------------------


def verdict(holds):
    return {True: "holds", False: "**does not hold**", None: "published"}[holds]


def markdown(report):
    host = report["host"]
    lines = [
        "# Speed, measured in pairs", "",
        f"{report['time']}, {host['cpu']}, {host['cores']} cores, {host['memory_gb']:.0f} GB, Linux {host['kernel']}; load before the run "
        f"{host['load_before']:.2f}; scale {report['scale']}; commit {report['commit']}.", "",
        f"Made by `{report['command']}`. Each ratio is the median over interleaved rounds; the interval is the exact one for a median, with the",
        "confidence beside it. All figures and commands are in speed.json.", ""]
    for name, row in report["rows"].items():
        lines += [f"## {name}", "", row["what"], ""]
        if "skipped" in row or "failed" in row:
            lines += [f"{'Skipped' if 'skipped' in row else 'Failed'}: {row.get('skipped') or row.get('failed')}", ""]
            continue
        if row.get("comparisons"):
            lines += [pairs.MARKDOWN_HEAD.replace("rounds |\n", "rounds | wanted | |\n").replace("---: |\n", "---: |") + " --- | --- |"]
            lines += [f"{pairs.markdown_row(c)} {c['text']} | {verdict(c['holds'])} |" for c in row["comparisons"]] + [""]
        if row.get("measurements"):
            lines += ["| figure | median | wanted | |", "| --- | ---: | ---: | --- |"]
            lines += [f"| {m['name']} | {pairs.figure(m['value'])} {m['unit']} | {'' if m['bound'] is None else pairs.figure(m['bound'])} | "
                      f"{verdict(m['holds'])} |" for m in row["measurements"]] + [""]
        if row.get("absent"):
            lines += [f"Not installed: {', '.join(row['absent'])}.", ""]
        if row.get("repeated_rounds"):
            lines += [f"{row['repeated_rounds']} rounds were repeated because fio missed the tier's own limit.", ""]
    return "\n".join(lines)


def host():
    cpu = "unknown CPU"
    with open("/proc/cpuinfo") as info:
        cpu = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), cpu)
    return {"cpu": cpu, "cores": CORES, "kernel": platform.release(), "load_before": os.getloadavg()[0],
            "memory_gb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9}


def fingerprint(bench):
    """Feedline's own: it says which figures are comparable."""
    folder = bench.dataset("fingerprint", "--samples", 16, "--classes", 1, "--sample-size", 1000)
    file = os.path.join(bench.data, "fingerprint.json")
    subprocess.run([bench.feedline, "bench", folder, "--batch-size", "4", "--no-controls", "--no-progress", "--quiet", "--json", file],
                   check=True, stdout=subprocess.DEVNULL)
    with open(file) as written:
        return json.load(written)["context"]["fingerprint"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder on the disk to measure; datasets are made and kept there")
    parser.add_argument("--scale", choices=list(SCALES), default="full")
    parser.add_argument("--rows", default=",".join(ROWS), help="comma list")
    parser.add_argument("--rounds", type=int, help="default: the scale's")
    parser.add_argument("--seed", type=int, default=0, help="of the order of runs")
    parser.add_argument("--out", default=os.path.join(ROOT, "results"))
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has tensorflow, webdataset, streaming, litdata, ffcv")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    rows = options.rows.split(",")
    if unknown := [row for row in rows if row not in ROWS]:
        parser.error(f"no row is called {unknown[0]}: {', '.join(ROWS)}")
    os.makedirs(options.data, exist_ok=True)
    bench = Bench(options)

    now = datetime.datetime.now(datetime.timezone.utc)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    shown = ["scripts/peers/run_all.py", "--data", "DATA", "--scale", options.scale, "--rows", options.rows, "--seed", str(options.seed)]
    report = {"time": now.strftime("%Y-%m-%d %H:%M UTC"), "host": host(), "scale": options.scale, "commit": commit or "unknown",
              "command": shlex.join(shown + (["--rounds", str(options.rounds)] if options.rounds else [])), "rows": {}}
    out = os.path.join(options.out, f"{now:%Y-%m-%d}-{fingerprint(bench)}")
    os.makedirs(out, exist_ok=True)

    for name in rows:
        bench.log(f"row {name}")
        row = {"what": ROWS[name].__doc__}
        try:
            row.update(ROWS[name](bench))
        except Skip as reason:
            row["skipped"] = str(reason)
        except (RuntimeError, OSError, KeyError, TypeError, subprocess.SubprocessError) as problem:
            row["failed"] = f"{type(problem).__name__}: {problem}"
            bench.log(f"row {name} failed: {problem}")
        report["rows"][name] = row
        # Commands hold this machine's paths, which mean nothing elsewhere.
        text = json.dumps(report, indent=1).replace(bench.data, "DATA").replace(ROOT + "/", "").replace(options.build, "build/release").replace(options.python, "python3").replace(sys.executable, "python3")
        with open(os.path.join(out, "speed.json"), "w") as file:
            file.write(text + "\n")
        with open(os.path.join(out, "speed.md"), "w") as file:
            file.write(markdown(json.loads(text)))
    print(os.path.join(out, "speed.md"))

    judged = [entry["holds"] for row in report["rows"].values() for entry in row.get("comparisons", []) + row.get("measurements", [])]
    if any("failed" in row for row in report["rows"].values()):
        return 5
    return 1 if False in judged else 0


if __name__ == "__main__":
    sys.exit(main())
