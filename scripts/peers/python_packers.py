#!/usr/bin/env python3
"""Packs a folder of small files as people do it with Python's libraries: python_packers.py KIND SRC DST

KIND: tarfile, lmdb, h5py (Debian has them); tensorflow, webdataset, streaming, litdata, ffcv (from pip, in an environment of their own).

One value a file, raw bytes, in the order of names; DST is a folder that is made. Each is used as its own documentation shows it, with the
faster choice where there is one (lmdb: few transactions, a large map, no flush until the end).
"""

import os
import sys


def files_below(source):
    for folder, folders, names in os.walk(source):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            yield os.path.relpath(path, source), path


def content(path):
    with open(path, "rb", buffering=0) as file:
        return file.read()


def pack_tarfile(source, destination):
    import tarfile

    with tarfile.open(os.path.join(destination, "set.tar"), "w") as tar:
        for name, path in files_below(source):
            tar.add(path, name, recursive=False)


def pack_lmdb(source, destination):
    import lmdb

    with lmdb.open(destination, map_size=1 << 40, sync=False, metasync=False, map_async=True) as environment:
        transaction = environment.begin(write=True)
        for i, (name, path) in enumerate(files_below(source)):
            transaction.put(b"%08d_%s" % (i, os.fsencode(name)), content(path), append=True)
            if i % 1000 == 999:
                transaction.commit()
                transaction = environment.begin(write=True)
        transaction.commit()
        environment.sync(True)


def pack_h5py(source, destination):
    import h5py
    import numpy

    every = list(files_below(source))
    with h5py.File(os.path.join(destination, "set.h5"), "w") as file:
        images = file.create_dataset("images", (len(every),), dtype=h5py.vlen_dtype(numpy.uint8))
        for i, (_, path) in enumerate(every):
            images[i] = numpy.frombuffer(content(path), dtype=numpy.uint8)


def pack_tensorflow(source, destination):
    import tensorflow

    feature, one = tensorflow.train.Feature, tensorflow.train.BytesList
    with tensorflow.io.TFRecordWriter(os.path.join(destination, "set.tfrecord")) as writer:
        for name, path in files_below(source):
            features = {"image/encoded": feature(bytes_list=one(value=[content(path)])),
                        "image/filename": feature(bytes_list=one(value=[os.fsencode(name)]))}
            writer.write(tensorflow.train.Example(features=tensorflow.train.Features(feature=features)).SerializeToString())


def pack_webdataset(source, destination):
    import webdataset

    with webdataset.ShardWriter(os.path.join(destination, "set-%06d.tar"), maxcount=10_000, maxsize=256 << 20, verbose=0) as writer:
        for i, (name, path) in enumerate(files_below(source)):
            writer.write({"__key__": f"{i:08d}", "bin": content(path), "txt": name})


def pack_streaming(source, destination):
    import streaming

    with streaming.MDSWriter(out=destination, columns={"name": "str", "data": "bytes"}) as writer:
        for name, path in files_below(source):
            writer.write({"name": name, "data": content(path)})


def litdata_sample(item):
    name, path = item
    return {"name": name, "data": content(path)}


def pack_litdata(source, destination):
    import litdata

    litdata.optimize(fn=litdata_sample, inputs=list(files_below(source)), output_dir=destination, num_workers=os.cpu_count(), chunk_bytes="64MB")


def pack_ffcv(source, destination):
    import numpy
    from ffcv.fields import BytesField
    from ffcv.writer import DatasetWriter

    every = list(files_below(source))

    class Files:
        def __len__(self):
            return len(every)

        def __getitem__(self, i):
            return (numpy.frombuffer(content(every[i][1]), dtype=numpy.uint8),)

    DatasetWriter(os.path.join(destination, "set.beton"), {"data": BytesField()}, num_workers=os.cpu_count()).from_indexed_dataset(Files())


if __name__ == "__main__":
    kind, source, destination = sys.argv[1:]
    os.makedirs(destination)
    globals()["pack_" + kind](source, destination)
