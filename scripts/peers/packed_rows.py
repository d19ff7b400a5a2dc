"""Rows of reading packed datasets: on tiers that answer so many reads a second, on the bare disk, and opening large ones."""

import json
import os
import shlex
import shutil
import struct
import subprocess

from harness import CORES, FORMATS, Bound, Skip, measurement, needs


def packed_on(bench, mount, form, source):
    folder = os.path.join(mount, form)
    shutil.rmtree(folder, ignore_errors=True)
    bench.pack(source, folder, form)
    return folder


def reading(bench, folder, n, *more, prefix=()):
    return bench.peer(folder, "feedline", "bench", "--engine", "uring-direct", "--cache", "cold", "--batch-size", 64, "--slots", 8, *more, prefix=prefix,
                      samples=n)


def source_of(bench, n):
    return bench.dataset(f"tier-source-{n}", "--samples", n, "--classes", 20, "--sample-size", 112_000)


def packed_shuffled(bench):
    """Samples of 112 KB, shuffled, cold, from each packed format, with O_DIRECT, on a tier held at 2000 reads a second."""
    n, limit = bench.scale.packed_files * 4 // 7, 2000
    source = source_of(bench, n)
    measurements, every, commands = [], {}, {}
    with bench.tier(limit, n * 130_000) as (mount, prefix):
        for form in FORMATS:
            folder = packed_on(bench, mount, form, source)
            commands[form] = reading(bench, folder, n, prefix=prefix)
            every[form] = rounds = bench.rounds_of({form: commands[form]})
            shutil.rmtree(folder)
            measurements.append(bench.measured(rounds, form, "device_reads_per_sample", f"{form}: device reads a sample", at_most=1.02))
            measurements.append(bench.measured(rounds, form, "files_per_second", f"{form}: samples a second of the {limit}", scale=limit, at_least=0.98))
    return {"commands": commands, "measurements": measurements, "rounds": every}


def packed_sequential(bench):
    """The same one after the other, on a tier held at 500 reads a second, beside as many reads of small files, shuffled."""
    n, few, limit = bench.scale.packed_files, bench.scale.tier_files, 500
    source, small = source_of(bench, n), source_of(bench, few)
    measurements, comparisons, every, commands = [], [], {}, {}
    with bench.tier(limit, (n + few) * 130_000) as (mount, prefix):
        files = os.path.join(mount, "files")
        shutil.copytree(small, files)
        for form in FORMATS:
            folder = packed_on(bench, mount, form, source)
            ways = {form: reading(bench, folder, n, "--order", "sequential", prefix=prefix),
                    "small files": bench.peer(files, "feedline", "bench", "--batch-size", 64, "--cache", "cold", prefix=prefix, samples=few)}
            commands.update(ways)
            row = bench.compare(ways, [(form, Bound("small files", 8))])
            every[form] = row["rounds"]
            comparisons += row["comparisons"]
            shutil.rmtree(folder)
            measurements.append(bench.measured(row["rounds"], form, "device_reads_per_mib", f"{form}: device reads a MiB", at_most=1.05))
    return {"commands": commands, "comparisons": comparisons, "measurements": measurements, "rounds": every}


def packed_disk(bench):
    """Samples of 110 KB from each packed format on the bare disk, cold, beside fio over the same shards with the same sizes and depth."""
    needs("fio")
    source = bench.images()
    n, comparisons, every, commands = bench.scale.image_files, [], {}, {}
    for form in FORMATS:
        folder, depth = packed_on(bench, bench.data, form, source), 128
        ways = {
            f"{form}, shuffled": bench.peer(folder, "feedline", "bench", "--engine", "uring-direct", "--cache", "cold", "--batch-size", 256, "--slots", 8,
                                            "--queue-depth", depth, samples=n),
            "fio randread": bench.peer(folder, "fio-packed", "--like", source, "--jobs", CORES, "--depth", depth // CORES, cache="cold", samples=n),
            f"{form}, sequential": bench.peer(folder, "feedline", "bench", "--engine", "uring-direct", "--cache", "cold", "--batch-size", 256, "--slots", 8,
                                              "--order", "sequential", samples=n),
            "fio sequential": bench.peer(folder, "fio-stream", "--jobs", CORES, "--depth", 16, cache="cold", samples=n),
        }
        row = bench.compare(ways, [(f"{form}, shuffled", Bound("fio randread", 0.95, "bytes_per_second")),
                                   (f"{form}, sequential", Bound("fio sequential", 0.98, "bytes_per_second"))])
        comparisons += row["comparisons"]
        every[form] = row["rounds"]
        commands.update(ways)
        shutil.rmtree(folder)
    return {"commands": commands, "comparisons": comparisons, "rounds": every}


# --- a TFRecord set of which only the headers exist -----------------------------------------------------------------------


def crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


def masked_crc32c(data, table=crc32c_table()):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def sparse_tfrecords(folder, total_gb, shards=100, record_bytes=1_000_000):
    """Headers with a hole for each payload; opening reads nothing else. Returns how many records."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    length = struct.pack("<Q", record_bytes)
    header = length + struct.pack("<I", masked_crc32c(length))
    stride = record_bytes + 16
    each = total_gb * 1_000_000_000 // shards // stride
    for shard in range(shards):
        with open(os.path.join(folder, f"sparse-{shard:05d}-of-{shards:05d}.tfrecord"), "wb") as file:
            for record in range(each):
                file.seek(record * stride)
                file.write(header)
            file.truncate(each * stride)
    return each * shards


def tfrecord_index(bench):
    """Opening a sparse TFRecord set of 100 GB: without an index on a tier held at 2000 reads a second, and with the index that was kept."""
    limit, size = 2000, bench.scale.sparse_gb
    with bench.tier(limit, size * 12_000_000 + (64 << 20)) as (mount, prefix):
        folder = os.path.join(mount, "sparse")
        records = sparse_tfrecords(folder, size)
        cache = os.path.join(mount, "index-cache")
        ways = {"without an index": bench.peer(folder, "open", "--index-cache", "off", cache="cold", prefix=prefix, samples=records)}
        rounds = bench.rounds_of(ways)
        kept = {"first, keeps its index": bench.peer(folder, "open", "--index-cache", cache, cache="cold", samples=records)}
        bench.rounds_of(kept, 1)
        with_index = {"with the index": bench.peer(folder, "open", "--index-cache", cache, cache="cold", prefix=prefix, samples=records)}
        rounds_with = bench.rounds_of(with_index)
    return {"commands": {**ways, **kept, **with_index}, "rounds": rounds + rounds_with, "measurements": [
        bench.measured(rounds, "without an index", "device_reads_per_second", f"indexing {records:,} records: reads a second of the {limit}", scale=limit,
                       at_least=0.95),
        bench.measured(rounds_with, "with the index", "seconds", f"opening {size} GB with its index, cold", unit="s", at_most=1)]}


def crc32c(bench):
    """CRC32C over cached data, one core."""
    if not os.path.exists(bench.micro):
        raise Skip("feedline_micro is not built (Google Benchmark is missing)")
    command = [bench.micro, "--benchmark_filter=^crc32c", "--benchmark_format=json", "--benchmark_repetitions=5",
               "--benchmark_enable_random_interleaving=true"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = {}
    for entry in report["benchmarks"]:
        if entry.get("run_type") == "iteration":
            found.setdefault(entry["run_name"], []).append(entry["bytes_per_second"] / 1e9)
    return {"measurements": [measurement(name, values, "GB/s", at_least=10 if name.endswith("/65536") else None, command=shlex.join(command))
                             for name, values in found.items()]}
