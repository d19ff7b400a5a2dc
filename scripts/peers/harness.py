"""What every row has at hand: the datasets, one run of a candidate as a command, rounds and comparisons."""

import contextlib
import dataclasses
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time

import pairs

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CORES = os.cpu_count() or 1
THROTTLE = os.path.join(ROOT, "scripts", "tier-throttle")


class Skip(Exception):
    """A row that this machine cannot run."""


@dataclasses.dataclass
class Bound:
    """The median ratio of the first candidate over `other` in `metric` must be at least `ratio`; None: it is published."""

    other: str
    ratio: float | None
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
    packed_files: int
    sparse_gb: int


SCALES = {
    "full": Scale(rounds=11, image_files=20_000, small_files=200_000, tier_files=2_000, index_files=1_000_000, write_files=4_000,
                  null_runs=9, null_steps=200, packed_files=14_000, sparse_gb=100),
    "small": Scale(rounds=2, image_files=1_000, small_files=10_000, tier_files=1_600, index_files=20_000, write_files=500,
                   null_runs=2, null_steps=20, packed_files=1_600, sparse_gb=2),
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

    def peer(self, folder, *candidate, cache="as-is", prefix=(), samples=None):
        return shlex.join([*prefix, sys.executable, os.path.join(HERE, "peer.py"), folder, "--cache", cache, "--feedline", self.feedline,
                           "--programs", os.path.join(self.options.build, "bench", "peers"),
                           *(["--samples", str(samples)] if samples else []), "--", *map(str, candidate)])

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

    @contextlib.contextmanager
    def tier(self, reads_per_second, size_bytes):
        """A filesystem that answers so many reads a second to what runs behind `prefix`: yields (its folder, prefix)."""
        if os.geteuid() != 0:
            raise Skip("the throttled tier needs root")
        place = os.path.join(self.data, f"tier-{reads_per_second}")
        subprocess.run([THROTTLE, "down", place], check=True)
        subprocess.run([THROTTLE, "up", place, f"{(size_bytes >> 20) + 64}M", str(reads_per_second)], check=True, stdout=sys.stderr)
        try:
            yield os.path.join(place, "mnt"), [THROTTLE, "run", place]
        finally:
            subprocess.run([THROTTLE, "down", place], check=True)

    def pack(self, source, folder, form):
        subprocess.run([self.feedline, "pack", source, folder, "--format", form, "--quiet"], check=True, stdout=subprocess.DEVNULL)

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
            entry["text"] = bound.text or ("" if bound.ratio is None else f"at least {bound.ratio:g} of {bound.other}")
            entry["holds"] = None if bound.ratio is None else entry["ratio"] >= bound.ratio
            entries.append(entry)
        return {"commands": commands, "comparisons": entries, "rounds": rounds, "repeated_rounds": repeated}

    def rounds_of(self, commands, rounds=None):
        """Rounds over `commands` that are judged by bounds of their own and not beside each other."""
        return pairs.run_rounds(commands, rounds or self.rounds, seed=self.options.seed, timeout_s=1200, log=self.log)[0]

    def measured(self, rounds, name, metric, text, scale=1, unit="", at_least=None, at_most=None):
        return measurement(text, [r[name][metric] / scale for r in rounds], unit, at_least, at_most)

    def pread_pools(self, folder, cache, slab_bytes):
        return {
            f"pread pool, {where}, {how}": self.peer(folder, "pread_pool", "--threads", CORES, "--open", where, "--size", how,
                                                     "--slab-bytes", slab_bytes, cache=cache)
            for where in ("path", "openat") for how in ("known", "eof")
        }


# What each format's packer makes, and what our readers read.
FORMATS = ("tfrecord", "webdataset", "lmdb", "hdf5", "pth")


def bytes_below(folder):
    return sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(folder) for name in names)


def measurement(name, values, unit="", at_least=None, at_most=None, command=None):
    """The median of `values`, judged where there is a bound."""
    value = statistics.median(values)
    holds = None if at_least is None and at_most is None else (at_least is None or value >= at_least) and (at_most is None or value <= at_most)
    return {"name": name, "value": value, "unit": unit, "bound": at_most if at_least is None else at_least, "holds": holds,
            "command": command, "all": values}


def needs(program, why="run scripts/setup --peers"):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed; {why}")


def needs_torch():
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("python3-torch is not installed; run scripts/setup --peers")


def threads_and_depth(depth):
    return ["--threads", CORES, "--queue-depth", depth]
