#!/usr/bin/env python3
"""Datasets across the border: what Feedline packs, read by training libraries from pip; what those write, read by Feedline.

    python3 -m venv ENV && ENV/bin/pip install tensorflow-cpu webdataset torch h5py lmdb nvidia-dali-cuda130
    ENV/bin/python scripts/peers/interop.py [--feedline build/release/cli/feedline] > interop.md

Prints a Markdown table, a line a library and direction; a library that is not installed is listed as such. Every sample's bytes and
label are compared. Exit codes: 0 all that could be tried agrees, 1 something does not, 2 usage.
"""

import argparse
import importlib
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = (0, 1, 511, 512, 513, 4095, 4096, 4097, 100_000)


def make_source(folder):
    """{content: label} of three classes; contents differ, so that they name their sample."""
    found = {}
    rng = random.Random(1)
    for label, name in enumerate(("cats", "dogs", "owls")):
        os.makedirs(os.path.join(folder, name))
        for i, size in enumerate(SIZES):
            content = bytes([label, i]) + rng.randbytes(size)
            found[content] = label
            with open(os.path.join(folder, name, f"{i}.jpg"), "wb") as file:
                file.write(content)
    return found


class Lab:
    def __init__(self, feedline, folder):
        self.feedline, self.folder = feedline, folder
        self.source = os.path.join(folder, "source")
        self.expected = make_source(self.source)

    def run(self, *words):
        done = subprocess.run([self.feedline, *words], capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"feedline {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def packed(self, form):
        """The shards of the source in that format."""
        into = os.path.join(self.folder, form)
        if not os.path.isdir(into):
            self.run("pack", self.source, into, "--format", form, "--shards", "2", "--quiet")
        return [os.path.join(into, name) for name in sorted(os.listdir(into)) if not name.endswith((".samples", ".idx", ".json"))]

    def read_by_feedline(self, dataset):
        """{content: label or None} of a dataset of any format, through a tar that Python reads."""
        into = os.path.join(self.folder, "again-" + os.path.basename(dataset))
        self.run("pack", dataset, into, "--format", "webdataset", "--quiet")
        found, last = {}, None
        for name in sorted(os.listdir(into)):
            if not name.endswith(".tar"):
                continue
            with tarfile.open(os.path.join(into, name)) as tar:
                for member in tar:
                    content = tar.extractfile(member).read()
                    if member.name.endswith(".cls"):
                        found[last] = int(content)
                    elif not member.name.endswith((".txt", ".json")):
                        found[content], last = None, content
        return found


def differ(expected, found, labels=True):
    if not labels:
        expected, found = set(expected), set(found)
    if expected != found:
        raise AssertionError(f"{len(found)} samples of {len(expected)}; not the same")


# --- what Feedline wrote, read by ... ------------------------------------------------------------------------------------


def tensorflow_reads(lab):
    """tf.data.TFRecordDataset"""
    import tensorflow as tf

    features = {"image/encoded": tf.io.FixedLenFeature([], tf.string), "image/class/label": tf.io.FixedLenFeature([], tf.int64)}
    found = {}
    for record in tf.data.TFRecordDataset(lab.packed("tfrecord")):
        example = tf.io.parse_single_example(record, features)
        found[example["image/encoded"].numpy()] = int(example["image/class/label"])
    differ(lab.expected, found)


def webdataset_reads(lab):
    """webdataset.WebDataset"""
    import webdataset

    found = {}
    for shard in lab.packed("webdataset"):
        for sample in webdataset.WebDataset(shard, shardshuffle=False):
            found[sample["jpg"]] = int(sample["cls"])
    differ(lab.expected, found)


def torch_reads(lab):
    """torch.load: plain, weights_only, mmap"""
    import torch

    for way in ({"weights_only": False}, {"weights_only": True}, {"weights_only": True, "mmap": True}):
        found = {}
        for shard in lab.packed("pth"):
            loaded = torch.load(shard, **way)
            offsets = loaded["offsets"].tolist()
            for i, label in enumerate(loaded["labels"].tolist()):
                found[bytes(loaded["data"][offsets[i]:offsets[i + 1]].numpy())] = label
        differ(lab.expected, found)


def h5py_reads(lab):
    """h5py.File"""
    import h5py

    found = {}
    for shard in lab.packed("hdf5"):
        with h5py.File(shard) as file:
            offsets, labels, data = file["offsets"][:], file["labels"][:], file["data"]
            for i, label in enumerate(labels):
                found[data[offsets[i]:offsets[i + 1]].tobytes()] = int(label)
    differ(lab.expected, found)


def lmdb_reads(lab):
    """lmdb.open; Caffe's Datum is decoded by hand"""
    import lmdb

    found = set()
    for shard in lab.packed("lmdb"):
        with lmdb.open(shard, readonly=True, lock=False) as environment, environment.begin() as transaction:
            found.update(bytes(value) for _, value in transaction.cursor())
    missing = [content for content in lab.expected if not any(content in value for value in found)]
    if missing or len(found) < len(lab.expected):
        raise AssertionError(f"{len(missing)} samples are missing")


def dali_pipeline(lab, make):
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def reading():
        return make()

    built = reading()
    built.build()
    found = {}
    for _ in lab.expected:
        content, label = built.run()
        label = label.at(0).tobytes()
        found[content.at(0).tobytes()] = int(label) if label.isdigit() else int.from_bytes(label, "little")
    differ(lab.expected, found)


def dali_reads_tfrecord(lab):
    """DALI readers.tfrecord, with our .idx"""
    from nvidia.dali import fn, tfrecord, types

    shards = lab.packed("tfrecord")

    def make():
        out = fn.readers.tfrecord(path=shards, index_path=[shard + ".idx" for shard in shards],
                                  features={"image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, ""),
                                            "image/class/label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)})
        return out["image/encoded"], fn.cast(out["image/class/label"], dtype=types.INT64)

    dali_pipeline(lab, make)


def dali_reads_webdataset(lab):
    """DALI readers.webdataset, with our .idx"""
    from nvidia.dali import fn

    shards = lab.packed("webdataset")
    dali_pipeline(lab, lambda: tuple(fn.readers.webdataset(paths=shards, index_paths=[shard + ".idx" for shard in shards], ext=["jpg", "cls"])))


# --- what ... wrote, read by Feedline ------------------------------------------------------------------------------------


def tensorflow_writes(lab):
    """tf.io.TFRecordWriter: plain, GZIP, ZLIB"""
    import tensorflow as tf

    def value(**one):
        return tf.train.Feature(**{name: getattr(tf.train, kind)(value=[what]) for name, (kind, what) in one.items()})

    for compression in ("", "GZIP", "ZLIB"):
        folder = os.path.join(lab.folder, "tensorflow" + compression)
        os.makedirs(folder)
        with tf.io.TFRecordWriter(os.path.join(folder, "set.tfrecord"), tf.io.TFRecordOptions(compression_type=compression)) as writer:
            for content, label in lab.expected.items():
                features = {"image/encoded": value(bytes_list=("BytesList", content)), "image/class/label": value(int64_list=("Int64List", label))}
                writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
        differ(lab.expected, lab.read_by_feedline(folder))


def webdataset_writes(lab):
    """webdataset.ShardWriter: plain and .tar.gz"""
    import webdataset

    for suffix in ("tar", "tar.gz"):
        folder = os.path.join(lab.folder, "webdataset-" + suffix)
        os.makedirs(folder)
        with webdataset.ShardWriter(os.path.join(folder, f"set-%06d.{suffix}"), maxcount=10, verbose=0) as writer:
            for i, (content, label) in enumerate(lab.expected.items()):
                writer.write({"__key__": f"{i:06d}", "jpg": content, "cls": label})
        differ(lab.expected, lab.read_by_feedline(folder))


def torch_writes(lab):
    """torch.save: a batch tensor, a list of tensors, a dict of tensors, the legacy form"""
    import torch

    rows = torch.arange(40 * 7, dtype=torch.int32).reshape(40, 7)
    wanted = {row.numpy().tobytes() for row in rows}
    several = {"batch": rows, "list": [row.clone() for row in rows], "dict": {f"k{i}": row.clone() for i, row in enumerate(rows)}}
    for name, thing in several.items():
        for legacy in (False, True):
            path = os.path.join(lab.folder, f"{name}{'-legacy' if legacy else ''}.pth")
            torch.save(thing, path, _use_new_zipfile_serialization=not legacy)
            differ(wanted, lab.read_by_feedline(path), labels=False)


def h5py_writes(lab):
    """h5py: contiguous, chunked, gzip, variable length"""
    import h5py
    import numpy

    rows = numpy.arange(40 * 7, dtype=numpy.int32).reshape(40, 7)
    ways = {"contiguous": {}, "chunked": {"chunks": (3, 7)}, "gzip": {"chunks": (8, 7), "compression": "gzip"}}
    for name, how in ways.items():
        path = os.path.join(lab.folder, name + ".h5")
        with h5py.File(path, "w") as file:
            file.create_dataset("images", data=rows, **how)
        differ({row.tobytes() for row in rows}, lab.read_by_feedline(path), labels=False)
    path = os.path.join(lab.folder, "vlen.h5")
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (len(lab.expected),), dtype=h5py.vlen_dtype(numpy.uint8))
        for i, content in enumerate(lab.expected):
            images[i] = numpy.frombuffer(content, dtype=numpy.uint8)
    differ(lab.expected, lab.read_by_feedline(path), labels=False)


def lmdb_writes(lab):
    """lmdb: raw values under plain keys, in a directory and as one file"""
    import lmdb

    for subdir in (True, False):
        path = os.path.join(lab.folder, "py-lmdb" if subdir else "py.lmdb")
        with lmdb.open(path, map_size=1 << 28, subdir=subdir) as environment, environment.begin(write=True) as transaction:
            for i, content in enumerate(lab.expected):
                transaction.put(b"%08d" % i, content)
        differ(lab.expected, lab.read_by_feedline(path), labels=False)


def folder2lmdb_writes(lab):
    """as folder2lmdb: pickles of (bytes, label), __keys__ and __len__"""
    import pickle

    import lmdb

    path = os.path.join(lab.folder, "folder2lmdb.lmdb")
    with lmdb.open(path, map_size=1 << 28, subdir=False) as environment, environment.begin(write=True) as transaction:
        keys = [str(i).encode() for i in range(len(lab.expected))]
        for key, pair in zip(keys, lab.expected.items()):
            transaction.put(key, pickle.dumps(pair))
        transaction.put(b"__keys__", pickle.dumps(keys))
        transaction.put(b"__len__", pickle.dumps(len(keys)))
    differ(lab.expected, lab.read_by_feedline(path))


CHECKS = (
    ("tensorflow", tensorflow_reads), ("webdataset", webdataset_reads), ("torch", torch_reads), ("h5py", h5py_reads), ("lmdb", lmdb_reads),
    ("nvidia.dali", dali_reads_tfrecord), ("nvidia.dali", dali_reads_webdataset),
    ("tensorflow", tensorflow_writes), ("webdataset", webdataset_writes), ("torch", torch_writes), ("h5py", h5py_writes), ("lmdb", lmdb_writes), ("lmdb", folder2lmdb_writes),
)


def attempt(module, check, feedline):
    try:
        version = getattr(importlib.import_module(module), "__version__", "?")
    except ImportError as missing:
        return "-", f"not tried: {missing}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(Lab(feedline, folder))
            return version, "agrees"
        except Exception as problem:  # whatever a library throws is an outcome
            traceback.print_exc()
            return version, f"**{type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}**"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feedline", default=os.path.join(HERE, "..", "..", "build", "release", "cli", "feedline"))
    options = parser.parse_args()
    print("| library | version | direction | by | outcome |\n| --- | --- | --- | --- | --- |")
    failed = False
    for module, check in CHECKS:
        version, outcome = attempt(module, check, os.path.abspath(options.feedline))
        direction = "Feedline writes" if "_reads" in check.__name__ else "Feedline reads"
        print(f"| {module} | {version} | {direction} | {check.__doc__} | {outcome} |", flush=True)
        failed = failed or outcome.startswith("**")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
