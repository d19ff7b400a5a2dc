"""Rows over small files: reading, listing and writing them, and what the harness itself costs."""

import json
import os
import shlex
import shutil
import statistics
import subprocess

from harness import CORES, Bound, Skip, needs, needs_torch, threads_and_depth

SLAB_BYTES = 256 << 20


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
    n = bench.scale.tier_files
    with bench.tier(500, n * 130_000) as (mount, prefix):
        folder = os.path.join(mount, "images")
        bench.generate(folder, "--samples", n, "--classes", 20, "--sample-size", 112_000)
        commands = {
            "feedline": bench.peer(folder, "feedline", "bench", "--batch-size", 64, "--slots", 8, cache="cold", prefix=prefix),
            "fio psync, 16 jobs": bench.peer(folder, "fio", "--engine", "psync", "--jobs", 16, cache="cold", prefix=prefix),
        }
        return bench.compare(
            commands,
            [Bound("fio psync, 16 jobs", 0.98),
             Bound("fio psync, 16 jobs", 1 / 1.02, "device_reads_per_file", lower=True, text="at most 1.02 of fio's device reads a file")],
            repeat_unless=["fio psync, 16 jobs:device_reads_per_second>=490"])


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
