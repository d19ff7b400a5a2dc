"""Rows of packing: small files into each format, beside other packers, a disk's own speed and a slow source."""

import os
import shutil
import subprocess
import tempfile

from harness import FORMATS, HERE, Bound, bytes_below

DEBIANS_PYTHON = "/usr/bin/python3"  # has Debian's modules; others come from --python


def has_module(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def feedline_packers(bench, source, below):
    return {f"feedline {form}": bench.peer(os.path.join(below, form), "write", bench.feedline, "pack", source, os.path.join(below, form),
                                           "--format", form, "--quiet")
            for form in FORMATS}


def python_packer(bench, python, kind, source, below):
    into = os.path.join(below, "py-" + kind)
    return bench.peer(into, "write", python, os.path.join(HERE, "python_packers.py"), kind, source, into)


def pack_memory(bench):
    """Packing files of 110 KB, warm, onto a tmpfs: the programs' own speed."""
    below = tempfile.mkdtemp(prefix="feedline-peers-", dir="/dev/shm")
    try:
        source = bench.images()
        bench.same_pages(source)
        ways = feedline_packers(bench, source, below)
        into = os.path.join(below, "tar")
        ways["GNU tar"] = bench.peer(into, "write", "sh", "-c", f"mkdir {into} && tar -cf {into}/set.tar -C {source} .")
        for kind in ("tarfile", "lmdb", "h5py"):
            if has_module(DEBIANS_PYTHON, kind):
                ways["Python " + kind] = python_packer(bench, DEBIANS_PYTHON, kind, source, below)
        bounds = []
        for form in FORMATS:
            for other, ratio in (("GNU tar", 2), ("Python lmdb", 2), ("Python tarfile", 5), ("Python h5py", 5)):
                if other in ways:
                    bounds.append((f"feedline {form}", Bound(other, ratio, metric="seconds", lower=True)))
        return bench.compare(ways, bounds)
    finally:
        shutil.rmtree(below, ignore_errors=True)


def pack_writers(bench):
    """Packing warm files of 110 KB onto a tmpfs beside the writers that come with training libraries, each in its own format."""
    ours = {"tensorflow": "tfrecord", "webdataset": "webdataset", "streaming": "webdataset", "litdata": "webdataset", "ffcv": "webdataset"}
    below = tempfile.mkdtemp(prefix="feedline-peers-", dir="/dev/shm")
    try:
        source = bench.images()
        bench.same_pages(source)
        found = [module for module in ours if has_module(bench.options.python, module)]
        ways = {name: command for name, command in feedline_packers(bench, source, below).items()
                if name.removeprefix("feedline ") in {ours[module] for module in found}}
        bounds = []
        for module in found:
            ways[module] = python_packer(bench, bench.options.python, module, source, below)
            bounds.append((f"feedline {ours[module]}", Bound(module, None, metric="seconds", lower=True, text="")))
        result = bench.compare(ways, bounds)
        result["absent"] = [module for module in ours if module not in found]
        return result
    finally:
        shutil.rmtree(below, ignore_errors=True)


def pack_disk(bench):
    """Packing warm files of 110 KB onto the disk, against dd of as many bytes with fsync."""
    source = bench.images()
    bench.same_pages(source)
    into = os.path.join(bench.data, "dd")
    ways = feedline_packers(bench, source, bench.data)
    ways["dd"] = bench.peer(into, "write", "sh", "-c",
                            f"mkdir {into} && dd if=/dev/zero of={into}/zeros bs=1M count={bytes_below(source) >> 20} conv=fsync status=none")
    return bench.compare(ways, [(name, Bound("dd", 0.9, metric="seconds", lower=True)) for name in ways if name != "dd"])


def pack_cold(bench):
    """Packing cold files of 112 KB from a tier held at 500 reads a second, against that limit, over the whole run."""
    n, limit = 3 * bench.scale.tier_files, 500  # the end of a run, when nothing is left to read, is a small part of it
    with bench.tier(limit, n * 130_000) as (mount, prefix):
        source = os.path.join(mount, "images")
        bench.generate(source, "--samples", n, "--classes", 20, "--sample-size", 112_000)
        below = tempfile.mkdtemp(prefix="feedline-peers-", dir=bench.data)
        try:
            ways = {name: command for name, command in
                    ((form, bench.peer(source, "pack", bench.feedline, "pack", source, os.path.join(below, form), "--format", form, "--quiet",
                                       cache="cold", prefix=prefix)) for form in FORMATS)}
            rounds = bench.rounds_of(ways)
        finally:
            shutil.rmtree(below, ignore_errors=True)
    measurements = []
    for form in FORMATS:
        measurements.append(bench.measured(rounds, form, "device_reads_per_second", f"{form}: reads a second of the {limit}", scale=limit, at_least=0.95))
        measurements.append(bench.measured(rounds, form, "device_reads_per_file", f"{form}: device reads a file"))
    return {"commands": ways, "measurements": measurements, "rounds": rounds}
