#!/usr/bin/env python3
"""One run of one candidate over a folder of files, with the page cache brought into a known state and looked at first.

    peer.py FOLDER --cache warm -- feedline bench --engine uring ...      (FOLDER, --json and the like are added)
    peer.py FOLDER --cache warm -- pread_pool --threads 2 --open openat --size known
    peer.py FOLDER --cache warm -- memcpy_pool --threads 2
    peer.py FOLDER --cache cold -- fio --engine psync --jobs 16 --depth 1
    peer.py FOLDER --cache warm -- torch --workers 2
    peer.py FOLDER -- index | find
    peer.py PACKED --samples N -- feedline bench --cache cold ...         (a packed dataset; device reads are the program's own figure)
    peer.py PACKED --samples N --cache cold -- fio-packed --like SRC      (random reads of the shards, of the sizes of the files of SRC)
    peer.py PACKED --samples N --cache cold -- fio-stream                 (the shards from begin to end, 1 MiB at a time)
    peer.py PACKED --samples N --cache cold -- open --index-cache DIR     (opens it and reads one sample)
    peer.py SRC --cache cold -- pack COMMAND...      (times COMMAND, which reads SRC and writes into its fourth word, then removes that)
    peer.py DESTINATION -- write COMMAND...    (times COMMAND and a sync of what it wrote to DESTINATION, then removes it)

Prints one line of JSON: files_per_second, bytes_per_second, seconds, cpu_seconds_per_gb, and, as seen from outside,
resident_before (share of the folder's pages in the page cache) and device_reads, device_reads_per_file,
device_reads_per_second of the block device below the folder. Exit codes: 0, 2 usage, 5 a run failed or was not what it
claims to be: not cold (over 1 % resident), not warm (under 99 %), or not all files read.
"""

import argparse
import ctypes
import json
import mmap
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = mmap.PAGESIZE
CACHESTAT = 451  # the same number on every architecture; Linux 6.5 and later


class PeerError(Exception):
    pass


def files_below(folder):
    found = []
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(where, name)
            found.append((path, os.lstat(path).st_size))
    if not found:
        raise PeerError(f"no files below {folder}")
    return found


# --- page cache ------------------------------------------------------------------------------------------------------


def each_open(files, work):
    for path, size in files:
        fd = os.open(path, os.O_RDONLY)
        try:
            work(fd, size)
        finally:
            os.close(fd)


def evict(files):
    os.sync()  # a page that is not yet written cannot be dropped
    each_open(files, lambda fd, size: os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED))


def warm(files):
    buffer = bytearray(1 << 20)

    def read_all(fd, size):
        while os.readv(fd, [buffer]):
            pass

    each_open(files, read_all)


def resident_pages_by_cachestat(fd, size, libc):
    asked = (ctypes.c_uint64 * 2)(0, size)
    answer = (ctypes.c_uint64 * 5)()
    return answer[0] if libc.syscall(CACHESTAT, fd, asked, answer, 0) == 0 else None


def resident_pages_by_mincore(fd, size, libc):
    pages = (size + PAGE - 1) // PAGE
    vector = (ctypes.c_ubyte * pages)()
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
    if address in (None, ctypes.c_void_p(-1).value):
        raise PeerError("cannot map a file to see its pages")
    libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), vector)
    libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return sum(byte & 1 for byte in vector)


def resident_fraction(files, limit=20000):
    """Share of pages resident, over all files or a random `limit` of them."""
    libc = ctypes.CDLL(None, use_errno=True)
    chosen = files if len(files) <= limit else random.Random(1).sample(files, limit)
    resident = pages = 0

    def look(fd, size):
        nonlocal resident, pages
        if size == 0:
            return
        count = resident_pages_by_cachestat(fd, size, libc)
        resident += resident_pages_by_mincore(fd, size, libc) if count is None else count
        pages += (size + PAGE - 1) // PAGE

    each_open(chosen, look)
    return resident / pages if pages else 0.0


# --- the device below ------------------------------------------------------------------------------------------------


def throttled_reads(device):
    """Reads that this process's cgroup (v1) has been let through to the device: counted before neighbours are merged."""
    try:
        with open("/proc/self/cgroup") as groups:
            group = next((line.rstrip().split(":", 2)[2] for line in groups if line.split(":")[1] == "blkio"), "/")
        if group == "/":
            return None
        with open(f"/sys/fs/cgroup/blkio{group}/blkio.throttle.io_serviced") as served:
            return sum(int(line.split()[2]) for line in served if line.startswith(f"{os.major(device)}:{os.minor(device)} Read"))
    except OSError:
        return None


def device_reads(folder):
    """Reads so far on the block device that holds `folder`; None where there is none (tmpfs, network)."""
    device = os.stat(folder).st_dev
    throttled = throttled_reads(device)
    if throttled is not None:
        return throttled
    try:
        with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat") as stat:
            return int(stat.read().split()[0])
    except OSError:
        return None


# --- candidates: each returns figures --------------------------------------------------------------------------------


def run(command, timeout_s, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, **more)
    if done.returncode != 0:
        raise PeerError(f"exit code {done.returncode} from {' '.join(command)}: {done.stderr.strip()[-1500:]}")
    return done.stdout


def last_json(output):
    return json.loads(output.strip().splitlines()[-1])


def run_feedline(folder, files, arguments, options):
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.join(scratch, "result.json")
        run([options.feedline, arguments[1], folder, *arguments[2:], "--device", "emulated", "--no-controls", "--no-progress", "--quiet", "--json", file], options.timeout)
        with open(file) as written:
            result = json.load(written)["results"][0]
    epoch = result["epochs"][-1]
    if not epoch["samples_delivered_once"]:
        raise PeerError("feedline did not deliver every sample once")
    if "cold" in arguments and epoch["cache"]["verdict"] != "cold":
        raise PeerError(f"the run was {epoch['cache']['verdict']}, not cold: {epoch['cache']['reason']}")
    reads = epoch["requests"]["device_reads"]
    return {
        "device_reads_per_sample": None if reads is None else reads / epoch["samples"],
        "device_reads_per_mib": None if reads is None else reads / (epoch["bytes"] / (1 << 20)),
        "files_per_second": epoch["samples_per_second"],
        "bytes_per_second": epoch["bytes_per_second"],
        "seconds": epoch["seconds"],
        "files": epoch["samples"],
        "bytes": epoch["bytes"],
        "cpu_seconds": epoch["cpu_seconds"],
        "cpu_seconds_per_gb": epoch["cpu_seconds"] / (epoch["bytes"] * 1e-9),
        "verdict": epoch["cache"]["verdict"],
        "name": result["name"],
    }


def run_program(folder, files, arguments, options):
    return last_json(run([os.path.join(options.programs, "feedline_peer_" + arguments[0]), folder, *arguments[1:]], options.timeout))


def write_iologs(files, jobs, scratch, seed=1):
    """fio's own replay format: each file once, whole, with one read of its own length, shuffled, dealt out to the jobs."""
    shuffled = list(files)
    random.Random(seed).shuffle(shuffled)
    paths = []
    for job in range(jobs):
        mine = [f for f in shuffled[job::jobs] if f[1] > 0]
        paths.append(os.path.join(scratch, f"log.{job}"))
        with open(paths[-1], "w") as log:
            log.write("fio version 2 iolog\n")
            log.writelines(f"{path} add\n" for path, _ in mine)
            log.writelines(f"{path} open\n{path} read 0 {size}\n{path} close\n" for path, size in mine)
    return paths


def run_fio(folder, files, arguments, options):
    parser = argparse.ArgumentParser(prog="fio")
    parser.add_argument("--engine", choices=["psync", "io_uring"], required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--depth", type=int, default=1, help="a job")
    mine = parser.parse_args(arguments[1:])
    if bad := [path for path, _ in files if " " in path or ":" in path or "\n" in path]:
        raise PeerError(f"fio's replay format cannot name {bad[0]!r}")
    with tempfile.TemporaryDirectory() as scratch:
        logs = write_iologs(files, mine.jobs, scratch)
        report = os.path.join(scratch, "report.json")
        run(["fio", "--name=replay", "--thread", f"--ioengine={mine.engine}", f"--numjobs={mine.jobs}", f"--iodepth={mine.depth}",
             "--invalidate=0", "--fadvise_hint=0", "--replay_no_stall=1", f"--read_iolog={':'.join(logs)}", "--group_reporting",
             "--output-format=json", f"--output={report}"], options.timeout, cwd=scratch)
        with open(report) as written:
            text = written.read()
    job = json.loads(text[text.index("{"):])["jobs"][0]
    read = job["read"]
    expected = sum(size for _, size in files)
    # fio 3.33 leaves out of its count what is in flight when a replay's last entry has been issued.
    uncounted = len(files) - read["total_ios"]
    if job["error"] or not 0 <= uncounted <= mine.jobs * (mine.depth - 1):
        raise PeerError(f"fio counts {read['total_ios']} reads of {len(files)} (error {job['error']})")
    seconds = read["runtime"] / 1000
    cpu_seconds = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
    return {
        "files_per_second": read["total_ios"] / seconds,
        "bytes_per_second": read["io_bytes"] / seconds,
        "seconds": seconds,
        "files": len(files),
        "bytes": expected,
        "uncounted_reads": uncounted,
        "cpu_seconds": cpu_seconds,
        "cpu_seconds_per_gb": cpu_seconds / (expected * 1e-9),
    }


def carve(shards, sizes):
    """As many extents of these sizes as there are, one after the other in the shards: (path, offset, length), as blocks of 4096."""
    extents, at, left = [], 0, list(shards)
    for size in sizes:
        while left and at + size > left[0][1]:
            left, at = left[1:], 0
        if not left:
            break
        begin, end = at // 4096 * 4096, min((at + size + 4095) // 4096 * 4096, left[0][1] // 4096 * 4096)
        if end > begin:
            extents.append((left[0][0], begin, end - begin))
        at += size
    return extents


def data_shards(files):
    return [(path, size) for path, size in files if not path.endswith((".samples", ".idx", ".json", "lock.mdb"))]


def run_fio_direct(arguments, lines, options):
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        # As processes: threads of fio 3.33 that replay into buffers of their own crash now and then.
        # Read-only: told a size, it would make shards that are shorter as long as that.
        run(["fio", "--readonly", "--ioengine=io_uring", "--direct=1", "--invalidate=0", "--group_reporting", "--output-format=json",
             f"--output={report}", *arguments, *lines(scratch)], options.timeout, cwd=scratch)
        with open(report) as written:
            text = written.read()
    job = json.loads(text[text.index("{"):])["jobs"][0]
    if job["error"]:
        raise PeerError(f"fio failed: {job['error']}")
    read, seconds = job["read"], job["read"]["runtime"] / 1000
    cpu_seconds = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
    return {"reads": read["total_ios"], "bytes": read["io_bytes"], "seconds": seconds, "bytes_per_second": read["io_bytes"] / seconds,
            "cpu_seconds_per_gb": cpu_seconds / (read["io_bytes"] * 1e-9)}


def run_fio_packed(folder, files, arguments, options):
    parser = argparse.ArgumentParser(prog="fio-packed")
    parser.add_argument("--like", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--depth", type=int, default=1, help="a job")
    mine = parser.parse_args(arguments[1:])
    extents = carve(data_shards(files), [size for _, size in files_below(mine.like)])
    random.Random(1).shuffle(extents)

    def logs(scratch):
        paths = []
        for job in range(mine.jobs):
            share = extents[job::mine.jobs]
            names = sorted({path for path, _, _ in share})
            paths.append(os.path.join(scratch, f"log.{job}"))
            with open(paths[-1], "w") as log:
                log.write("fio version 2 iolog\n")
                log.writelines(f"{name} add\n" for name in names)
                log.writelines(f"{name} open\n" for name in names)
                log.writelines(f"{path} read {offset} {length}\n" for path, offset, length in share)
        return [f"--read_iolog={':'.join(paths)}"]

    figures = run_fio_direct(["--name=replay", f"--numjobs={mine.jobs}", f"--iodepth={mine.depth}", "--replay_no_stall=1", "--fadvise_hint=0"], logs, options)
    if not 0 <= len(extents) - figures["reads"] <= mine.jobs * mine.depth:
        raise PeerError(f"fio counts {figures['reads']} reads of {len(extents)}")
    return {**figures, "files": options.samples, "files_per_second": figures["reads"] / figures["seconds"]}


def run_fio_stream(folder, files, arguments, options):
    parser = argparse.ArgumentParser(prog="fio-stream")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--depth", type=int, default=1, help="a job")
    mine = parser.parse_args(arguments[1:])
    shards = data_shards(files)
    jobs = []
    for job in range(mine.jobs):
        share = shards[job::mine.jobs]
        if share:
            jobs += [f"--name=stream{job}", "--rw=read", "--bs=1M", f"--iodepth={mine.depth}", "--file_service_type=sequential",
                     f"--filename={':'.join(path for path, _ in share)}"]
    figures = run_fio_direct([], lambda scratch: jobs, options)
    return {**figures, "files": options.samples, "files_per_second": options.samples / figures["seconds"]}


def run_open(folder, files, arguments, options):
    start = time.monotonic()
    run([options.feedline, "bench", folder, "--batch-size", "1", "--steps", "1", "--no-controls", "--no-progress", "--quiet", *arguments[1:]], options.timeout)
    return {"seconds": time.monotonic() - start, "files": options.samples}


def run_pack(folder, files, arguments, options):
    command = arguments[1:]
    destination = command[3]
    if os.path.lexists(destination):
        raise PeerError(f"{destination} is there already; this run would remove it")
    try:
        start = time.monotonic()
        run(command, options.timeout)
        seconds = time.monotonic() - start
        return {"seconds": seconds, "files": len(files), "files_per_second": len(files) / seconds, "bytes": sum(size for _, size in files)}
    finally:
        shutil.rmtree(destination, ignore_errors=True)


def run_torch(folder, files, arguments, options):
    # Debian's python3-torch belongs to Debian's own interpreter.
    return last_json(run(["/usr/bin/python3", os.path.join(HERE, "torch_loader.py"), folder, *arguments[1:]], options.timeout))


def run_find(folder, files, arguments, options):
    start = time.monotonic()
    with open(os.devnull, "w") as nowhere:
        subprocess.run(["find", folder, "-type", "f", "-printf", "%s %p\\n"], stdout=nowhere, check=True, timeout=options.timeout)
    seconds = time.monotonic() - start
    return {"seconds": seconds, "files": len(files), "files_per_second": len(files) / seconds}


def run_write(destination, arguments, options):
    if os.path.lexists(destination):
        raise PeerError(f"{destination} is there already; this run would remove it")
    try:
        os.sync()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        run(arguments[1:], options.timeout)
        run(["sync", "--file-system", destination], options.timeout)
        seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        written = files_below(destination)
        total = sum(size for _, size in written)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"seconds": seconds, "files": len(written), "bytes": total, "files_per_second": len(written) / seconds,
                "bytes_per_second": total / seconds, "cpu_seconds": cpu}
    finally:
        shutil.rmtree(destination, ignore_errors=True)


CANDIDATES = {"feedline": run_feedline, "pread_pool": run_program, "memcpy_pool": run_program, "index": run_program,
              "fio": run_fio, "fio-packed": run_fio_packed, "fio-stream": run_fio_stream, "open": run_open, "pack": run_pack, "torch": run_torch,
              "find": run_find}


def measure(options, candidate):
    if candidate[0] == "write":
        return run_write(options.folder, candidate, options)
    if candidate[0] not in CANDIDATES:
        raise PeerError(f"no candidate is called {candidate[0]}: {', '.join(CANDIDATES)}, write")
    files = files_below(options.folder)
    resident = None
    if options.cache == "cold":
        evict(files)
    elif options.cache == "warm" and resident_fraction(files) < 0.99:
        warm(files)
    if options.cache != "as-is":
        resident = resident_fraction(files)
        if options.cache == "cold" and resident > 0.01 or options.cache == "warm" and resident < 0.99:
            raise PeerError(f"asked for {options.cache}, but {resident:.1%} of the pages are in memory")
    before = device_reads(options.folder)
    figures = CANDIDATES[candidate[0]](options.folder, files, candidate, options)
    after = device_reads(options.folder)
    if figures["files"] != (options.samples or len(files)):
        raise PeerError(f"{candidate[0]} read {figures['files']} of {options.samples or len(files)}")
    figures["resident_before"] = resident
    if before is not None:
        figures["device_reads"] = after - before
        figures["device_reads_per_file"] = (after - before) / (options.samples or len(files))
        figures["device_reads_per_second"] = (after - before) / figures["seconds"]
    return figures


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = os.path.join(HERE, "..", "..", "build", "release")
    parser.add_argument("folder")
    parser.add_argument("--cache", choices=["cold", "warm", "as-is"], default="as-is")
    parser.add_argument("--samples", type=int, help="how many a packed dataset has; default: a sample a file")
    parser.add_argument("--timeout", type=float, default=600, help="seconds")
    parser.add_argument("--feedline", default=os.path.join(build, "cli", "feedline"), help="the feedline program")
    parser.add_argument("--programs", default=os.path.join(build, "bench", "peers"), help="where feedline_peer_* are")
    options = parser.parse_args(arguments[:split])
    candidate = arguments[split + 1:]
    if not candidate:
        parser.error("after -- comes the candidate and its options")
    try:
        print(json.dumps(measure(options, candidate)))
    except (PeerError, OSError, subprocess.SubprocessError, KeyError, ValueError) as problem:
        print(f"peer {candidate[0]}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
