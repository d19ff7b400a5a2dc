#!/usr/bin/env python3
"""Packs a folder of small files as people do it with Python's libraries: python_packers.py tarfile|lmdb|h5py SRC DST

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


if __name__ == "__main__":
    kind, source, destination = sys.argv[1:]
    os.makedirs(destination)
    {"tarfile": pack_tarfile, "lmdb": pack_lmdb, "h5py": pack_h5py}[kind](source, destination)
