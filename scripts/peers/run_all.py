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
import dataclasses
import datetime
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import pairs

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CORES = os.cpu_count() or 1
SLAB_BYTES = 256 << 20
THROTTLE = os.path.join(ROOT, "scripts", "tier-throttle")


class Skip(Exception):
    """A row that this machine cannot run."""


@dataclasses.dataclass
class Bound:
    """The median ratio of the first candidate over `other` in `metric` must be at least `ratio`."""

    other: str
    ratio: float
    metric: str = "files_per_second"
    lower: bool = False
    text: str = ""


@dataclasses.dataclass
class Scale:
    rounds: int
    image_files: int
    small_files: int
    tier_files: int
    index_files: int
    write_files: int
    null_runs: int
    null_steps: int


SCALES = {
    "full": Scale(rounds=11, image_files=20_000, small_files=200_000, tier_files=2_000, index_files=1_000_000, write_files=4_000,
                  null_runs=9, null_steps=200),
    "small": Scale(rounds=2, image_files=1_000, small_files=10_000, tier_files=1_600, index_files=20_000, write_files=500,
                   null_runs=2, null_steps=20),
}


class Bench:
    def __init__(self, options):
        self.options = options
        self.scale = SCALES[options.scale]
        self.rounds = options.rounds or self.scale.rounds
        self.data = os.path.abspath(options.data)
        self.feedline = os.path.join(options.build, "cli", "feedline")
        self.micro = os.path.join(options.build, "bench", "micro", "feedline_micro")

    def log(self, line):
        print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)

    def peer(self, folder, *candidate, cache="as-is", prefix=()):
        return shlex.join([*prefix, sys.executable, os.path.join(HERE, "peer.py"), folder, "--cache", cache, "--feedline", self.feedline,
                           "--programs", os.path.join(self.options.build, "bench", "peers"), "--", *map(str, candidate)])

    def dataset(self, name, *arguments):
        """A generated dataset below --data; made once, under another name until it is whole."""
        folder = os.path.join(self.data, name)
        if not os.path.isdir(folder):
            self.log(f"generating {name}")
            shutil.rmtree(folder + ".part", ignore_errors=True)
            self.generate(folder + ".part", *arguments)
            os.rename(folder + ".part", folder)
        return folder

    def generate(self, folder, *arguments):
        subprocess.run([self.feedline, "generate", folder, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    def images(self):
        n = self.scale.image_files
        return self.dataset(f"images-{n}", "--samples", n, "--classes", max(1, n // 100), "--sample-size", 110_000, "--sample-stddev", 30_000)

    def small(self):
        n = self.scale.small_files
        return self.dataset(f"small-{n}", "--samples", n, "--classes", max(1, n // 1000), "--sample-size", 3_100, "--sample-stddev", 600)

    def same_pages(self, folder):
        """Brings the whole folder through the cache once: files just written lie in larger folios than files read."""
        subprocess.run(self.peer(folder, "pread_pool", "--threads", CORES, "--epochs", 1, cache="cold"), shell=True, check=True,
                       stdout=subprocess.DEVNULL)

    def compare(self, commands, bounds, best=None, repeat_unless=()):
        """Rounds over `commands` (name -> command), then one comparison a bound: of the first command, or of the one that stands
        before it, as in ("feedline lmdb", Bound("tar", 2)). `best` = (name, of which): their best a round."""
        rounds, repeated = pairs.run_rounds(commands, self.rounds, seed=self.options.seed, timeout_s=1200,
                                            repeat_unless=[pairs.parse_condition(c) for c in repeat_unless], log=self.log)
        if len(rounds) < self.rounds:
            raise RuntimeError(f"{repeated} rounds had to be repeated, given up")
        first = next(iter(commands))
        if best:
            for figures in rounds:
                figures[best[0]] = max((figures[name] for name in best[1]), key=lambda f: f["files_per_second"])
        entries = []
        for one in bounds:
            name, bound = one if isinstance(one, tuple) else (first, one)
            entry = pairs.compare(rounds, name, bound.other, bound.metric, bound.lower)
            entry["bound"] = bound.ratio
            entry["text"] = bound.text or f"at least {bound.ratio:g} of {bound.other}"
            entry["holds"] = entry["ratio"] >= bound.ratio
            entries.append(entry)
        return {"commands": commands, "comparisons": entries, "rounds": rounds, "repeated_rounds": repeated}

    def pread_pools(self, folder, cache, slab_bytes):
        return {
            f"pread pool, {where}, {how}": self.peer(folder, "pread_pool", "--threads", CORES, "--open", where, "--size", how,
                                                     "--slab-bytes", slab_bytes, cache=cache)
            for where in ("path", "openat") for how in ("known", "eof")
        }


def needs(program, why="run scripts/setup --peers"):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed; {why}")


def needs_torch():
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("python3-torch is not installed; run scripts/setup --peers")


def threads_and_depth(depth):
    return ["--threads", CORES, "--queue-depth", depth]


# --- rows ------------------------------------------------------------------------------------------------------------


def null_storage(bench):
    """How fast the harness itself can feed: storage that completes at once."""
    runs = {
        "3 KB, shuffled, batch 256": (bench.small(), ["--batch-size", 256, "--order", "shuffle"], 256, 3100),
        "761 B, sequential, batch 16384": (
            bench.dataset("records-65536", "--samples", 65536, "--classes", 16, "--sample-size", 761),
            ["--batch-size", 16384, "--order", "sequential"], 16384, 761),
    }
    step_s = 0.000375
    measurements = []
    for name, (folder, arguments, batch, _) in runs.items():
        figures = []
        file = os.path.join(bench.data, "null.json")
        command = [bench.feedline, "bench", folder, *map(str, arguments), "--step-time", "375us", "--slots", "8",
                   "--steps", str(bench.scale.null_steps), "--no-progress", "--quiet", "--json", file]
        for _ in range(bench.scale.null_runs):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            with open(file) as written:
                figures.append(json.load(written)["results"][0]["controls"]["null_storage"])
            os.remove(file)
        utilization = statistics.median(f["utilization"] for f in figures)
        rate = statistics.median(f["samples_per_second"] for f in figures)
        judged = batch == 256
        measurements.append({
            "name": f"{name}: utilization at a step of 375 us", "value": utilization, "unit": "",
            "bound": 0.998 if judged else None, "holds": utilization >= 0.998 if judged else None, "command": shlex.join(command),
            "all": [f["utilization"] for f in figures], "notes": sorted({f.get("note") or "" for f in figures})})
        measurements.append({
            "name": f"{name}: rate over demand ({batch / step_s:,.0f} samples/s)", "value": rate / (batch / step_s), "unit": "",
            "bound": 1.5 if judged else None, "holds": rate / (batch / step_s) >= 1.5 if judged else None, "command": shlex.join(command),
            "all": [f["samples_per_second"] for f in figures]})
    return {"measurements": measurements}


def cold_throttled(bench):
    """Files of 112 KB, shuffled, cold, on a tier held at 500 reads a second."""
    needs("fio")
    if os.geteuid() != 0:
        raise Skip("the throttled tier needs root")
    tier = os.path.join(bench.data, "tier-500")
    subprocess.run([THROTTLE, "down", tier], check=True)
    n = bench.scale.tier_files
    subprocess.run([THROTTLE, "up", tier, f"{n * 130_000 // 1_000_000 + 64}M", "500"], check=True)
    try:
        folder = os.path.join(tier, "mnt", "images")
        bench.generate(folder, "--samples", n, "--classes", 20, "--sample-size", 112_000)
        prefix = [THROTTLE, "run", tier]
        commands = {
            "feedline": bench.peer(folder, "feedline", "bench", "--batch-size", 64, "--slots", 8, cache="cold", prefix=prefix),
            "fio psync, 16 jobs": bench.peer(folder, "fio", "--engine", "psync", "--jobs", 16, cache="cold", prefix=prefix),
        }
        return bench.compare(
            commands,
            [Bound("fio psync, 16 jobs", 0.98),
             Bound("fio psync, 16 jobs", 1 / 1.02, "device_reads_per_file", lower=True, text="at most 1.02 of fio's device reads a file")],
            repeat_unless=["fio psync, 16 jobs:device_reads_per_second>=490"])
    finally:
        subprocess.run([THROTTLE, "down", tier], check=True)


def cold_disk(bench):
    """Files of 110 KB, shuffled, cold, on the disk as it is."""
    needs("fio")
    folder = bench.images()
    others = {
        "fio psync, 16 jobs": bench.peer(folder, "fio", "--engine", "psync", "--jobs", 16, cache="cold"),
        "fio io_uring, depth 32": bench.peer(folder, "fio", "--engine", "io_uring", "--jobs", CORES, "--depth", 32 // CORES, cache="cold"),
        "pread pool, 16 threads": bench.peer(folder, "pread_pool", "--threads", 16, "--epochs", 1, "--slab-bytes", SLAB_BYTES, cache="cold"),
    }
    # What --cache cold picks; here peer.py sees to the cache, so the program does not know.
    ours = {"feedline": bench.peer(folder, "feedline", "bench", "--engine", "uring-direct", "--batch-size", 256, "--slots", 8, cache="cold")}
    return bench.compare({**ours, **others}, [Bound("the better of fio and the pread pool", 1.0)],
                         best=("the better of fio and the pread pool", list(others)))


def cold_cpu(bench):
    """CPU seconds a GB, cold, with the same kind of reader and the same depth."""
    needs("fio")
    folder = bench.images()
    results = []
    for ours, theirs, name in (
        (["--engine", "uring", *threads_and_depth(32)], ["--engine", "io_uring", "--jobs", CORES, "--depth", 32 // CORES], "io_uring, depth 32"),
        (["--engine", "pread", "--threads", 16], ["--engine", "psync", "--jobs", 16], "pread, 16 threads"),
    ):
        commands = {
            f"feedline {name}": bench.peer(folder, "feedline", "bench", "--batch-size", 256, "--slots", 8, *ours, cache="cold"),
            f"fio {name}": bench.peer(folder, "fio", *theirs, cache="cold"),
        }
        results.append(bench.compare(commands, [Bound(f"fio {name}", 1.0, "cpu_seconds_per_gb", lower=True,
                                                      text=f"no more CPU a GB than fio {name}")]))
    return {"commands": results[0]["commands"] | results[1]["commands"], "comparisons": results[0]["comparisons"] + results[1]["comparisons"],
            "rounds": [r["rounds"] for r in results]}


def compare_warm_110k(bench, folder):
    needs_torch()
    pools = bench.pread_pools(folder, "warm", SLAB_BYTES)
    commands = {
        # As many slots of small batches as fill 256 MB: while the consumer keeps up, batches return to the slab's start, and
        # what is used of it stays in the processor's cache. Few reads in flight a ring: a copy of 110 KB drives what the
        # ring opened before out of the core's own.
        "feedline": bench.peer(folder, "feedline", "bench", "--engine", "uring", *threads_and_depth(8 * CORES), "--batch-size", 32,
                               "--slots", 64, "--epochs", 3, cache="warm"),
        "feedline, large batches": bench.peer(folder, "feedline", "bench", "--engine", "uring", *threads_and_depth(8 * CORES),
                                              "--batch-size", 256, "--slots", 8, "--epochs", 3, cache="warm"),
        "memcpy": bench.peer(folder, "memcpy_pool", "--threads", CORES, "--slab-bytes", SLAB_BYTES, cache="warm"),
        **pools,
        **{f"torch DataLoader, {w} workers": bench.peer(folder, "torch", "--workers", w, cache="warm") for w in (0, 1, 2)},
    }
    return bench.compare(
        commands,
        [Bound("memcpy", 0.65, "bytes_per_second"), Bound("the best pread pool", 1.03), Bound("torch DataLoader, 0 workers", 3),
         Bound("torch DataLoader, 1 workers", 10), Bound("torch DataLoader, 2 workers", 10),
         Bound("feedline, large batches", 1, text="what small batches are worth")],
        best=("the best pread pool", list(pools)))


def warm_110k(bench):
    """Files of 110 KB from the page cache, into which they were read, into 256 MB of staging memory."""
    folder = bench.images()
    bench.same_pages(folder)
    return compare_warm_110k(bench, folder)


def warm_110k_written(bench):
    """The same, but the files have just been written: the page cache holds them in larger folios than reading makes."""
    name = f"images-{bench.scale.image_files}-written"
    shutil.rmtree(os.path.join(bench.data, name), ignore_errors=True)
    n = bench.scale.image_files
    return compare_warm_110k(bench, bench.dataset(name, "--samples", n, "--classes", max(1, n // 100), "--sample-size", 110_000,
                                                  "--sample-stddev", 30_000))


def warm_3k(bench):
    """Files of 3 KB from the page cache into 64 MB of staging memory."""
    folder = bench.small()
    bench.same_pages(folder)
    slab = 64 << 20
    pools = bench.pread_pools(folder, "warm", slab)
    commands = {
        "feedline": bench.peer(folder, "feedline", "bench", "--engine", "uring", *threads_and_depth(32 * CORES), "--batch-size", 640,
                               "--slots", 32, "--epochs", 3, cache="warm"),
        **pools,
    }
    return bench.compare(commands, [Bound("the best pread pool", 1.25), Bound("pread pool, path, eof", 1.5, text="at least 1.5 of fstat + read to EOF")],
                         best=("the best pread pool", list(pools)))


def index(bench):
    """Listing a tree with sizes, warm, against find -printf '%s %p\\n'."""
    n = bench.scale.index_files
    folder = bench.dataset(f"index-{n}", "--samples", n, "--classes", max(1, n // 1000), "--sample-size", 16)
    result = bench.compare({"feedline": bench.peer(folder, "index"), "find": bench.peer(folder, "find")}, [Bound("find", 1.8)])
    anonymous = max(r["feedline"]["anonymous_bytes"] for r in result["rounds"])
    allowed = (64 << 20) + 64 * n
    result["measurements"] = [{
        "name": f"anonymous memory after indexing {n:,} files (at most 64 MiB + 64 bytes a file = {allowed:,})", "value": anonymous,
        "unit": "bytes", "bound": allowed, "holds": anonymous <= allowed, "all": [r["feedline"]["anonymous_bytes"] for r in result["rounds"]]}]
    return result


def write(bench):
    """Writing a dataset, against copying the same tree; both end with a sync of the filesystem."""
    n = bench.scale.write_files
    arguments = ["--samples", n, "--classes", max(1, n // 40), "--sample-size", 110_000, "--sample-stddev", 30_000]
    source = bench.dataset(f"write-{n}", *arguments)
    made, copied = os.path.join(bench.data, "made"), os.path.join(bench.data, "copied")
    bench.same_pages(source)
    return bench.compare(
        {"feedline generate": bench.peer(made, "write", bench.feedline, "generate", made, *arguments),
         "cp -r": bench.peer(copied, "write", "cp", "-r", source, copied)},
        [Bound("cp -r", 1.5)])


def packers(bench, source, below):
    """Every way to pack `source` into folders below `below`: name -> command."""
    ways = {}
    for form in ("tfrecord", "webdataset", "lmdb", "hdf5", "pth"):
        into = os.path.join(below, form)
        ways[f"feedline {form}"] = bench.peer(into, "write", bench.feedline, "pack", source, into, "--format", form, "--quiet")
    into = os.path.join(below, "tar")
    ways["GNU tar"] = bench.peer(into, "write", "sh", "-c", f"mkdir {into} && tar -cf {into}/set.tar -C {source} .")
    for kind in ("tarfile", "lmdb", "h5py"):
        into = os.path.join(below, "py-" + kind)
        python = "/usr/bin/python3"  # Debian's, which has Debian's modules
        if subprocess.run([python, "-c", f"import {kind}"], capture_output=True).returncode == 0:
            ways["Python " + kind] = bench.peer(into, "write", python, os.path.join(HERE, "python_packers.py"), kind, source, into)
    return ways


def pack_memory(bench):
    """Packing files of 110 KB, warm, onto a tmpfs: the programs' own speed."""
    below = tempfile.mkdtemp(prefix="feedline-peers-", dir="/dev/shm")
    try:
        source = bench.images()
        bench.same_pages(source)
        ways = packers(bench, source, below)
        bounds = []
        for form in ("tfrecord", "webdataset", "lmdb", "hdf5", "pth"):
            for other, ratio in (("GNU tar", 2), ("Python lmdb", 2), ("Python tarfile", 5), ("Python h5py", 5)):
                if other in ways:
                    bounds.append((f"feedline {form}", Bound(other, ratio, metric="seconds", lower=True)))
        return bench.compare(ways, bounds)
    finally:
        shutil.rmtree(below, ignore_errors=True)


def pack_disk(bench):
    """Packing warm files of 110 KB onto the disk, against dd of as many bytes with fsync."""
    source = bench.images()
    bench.same_pages(source)
    total = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(source) for name in names)
    into = os.path.join(bench.data, "dd")
    ways = {name: command for name, command in packers(bench, source, bench.data).items() if name.startswith("feedline")}
    ways["dd"] = bench.peer(into, "write", "sh", "-c", f"mkdir {into} && dd if=/dev/zero of={into}/zeros bs=1M count={total >> 20} conv=fsync status=none")
    return bench.compare(ways, [(name, Bound("dd", 0.9, metric="seconds", lower=True)) for name in ways if name != "dd"])


def device(bench):
    """What one step on the emulated accelerator costs in CPU time: the device itself; and the whole pipeline, beside one sleep and one wake."""
    command = [bench.micro, "--benchmark_filter=^(emulated_device_step|pipeline_step|sleep_and_wake_floor)", "--benchmark_format=json",
               "--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true"]
    if not os.path.exists(bench.micro):
        raise Skip("feedline_micro is not built (Google Benchmark is missing)")
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = {}
    for entry in report["benchmarks"]:
        if entry.get("run_type") == "iteration":
            found.setdefault(entry["run_name"], []).append(entry["cpu_us_a_step"])
    if not any(name.startswith("emulated_device_step") for name in found):
        raise RuntimeError("feedline_micro has no benchmark emulated_device_step")
    measurements = []
    for name, values in found.items():
        median = statistics.median(values)
        judged = name.startswith("emulated_device_step")
        measurements.append({"name": f"{name}: CPU a step", "value": median, "unit": "us", "bound": 20 if judged else None,
                             "holds": median <= 20 if judged else None, "command": shlex.join(command), "all": values})
    return {"measurements": measurements}


ROWS = {
    "null-storage": null_storage,
    "cold-throttled": cold_throttled,
    "cold-disk": cold_disk,
    "cold-cpu": cold_cpu,
    "warm-110k": warm_110k,
    "warm-110k-written": warm_110k_written,
    "warm-3k": warm_3k,
    "index": index,
    "write": write,
    "pack-memory": pack_memory,
    "pack-disk": pack_disk,
    "device": device,
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
        text = json.dumps(report, indent=1).replace(bench.data, "DATA").replace(ROOT + "/", "").replace(options.build, "build/release").replace(sys.executable, "python3")
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
