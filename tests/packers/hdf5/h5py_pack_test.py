#!/usr/bin/env python3
"""What `feedline pack --format hdf5` writes, h5py reads; what h5py writes, `feedline bench` reads.

Usage: h5py_pack_test.py FEEDLINE. Exits with 77 where there is no h5py.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

DEBIAN = "/usr/bin/python3"
try:
    import h5py
    import numpy as np
except ImportError:
    # Another Python may stand before the one that Debian's python3-h5py belongs to.
    if os.path.exists(DEBIAN) and os.path.realpath(DEBIAN) != os.path.realpath(sys.executable):
        os.execv(DEBIAN, [DEBIAN, "-B", *sys.argv])
    print("h5py_pack_test: no h5py (Debian: python3-h5py)")
    sys.exit(77)

FEEDLINE = ""


def feedline(*arguments):
    return subprocess.run([FEEDLINE, *arguments], check=True, capture_output=True, timeout=60)


class Hdf5(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)

    def pack(self, files):
        for name, content in files.items():
            self.write("source/" + name, content)
        feedline("pack", self.path("source"), self.path("packed"), "--format", "hdf5", "--name", "set")
        return h5py.File(self.path("packed/set-00000.h5"), "r")

    def bench(self, path):
        feedline("bench", path, "--batch-size", "1", "--no-controls", "--quiet", "--json", self.path("result.json"))
        with open(self.path("result.json"), encoding="utf-8") as file:
            return json.load(file)["results"][0]

    def test_h5py_reads_what_is_packed(self):
        files = {"cat/a.jpg": b"first", "cat/\N{CAT}.png": b"", "dog/b.jpg": bytes(range(256)) * 40}
        file = self.pack(files)
        data, offsets = file["data"], file["offsets"]
        self.assertIsNone(data.chunks)
        self.assertEqual(offsets.shape, (4,))
        keys = [key.decode() for key in file["keys"]]
        self.assertEqual(sorted(keys), sorted(files))
        names = {int(label): name.decode() for label, name in zip(file["labels"].attrs["class_labels"],
                                                                   file["labels"].attrs["class_names"])}
        self.assertEqual(names, {0: "cat", 1: "dog"})
        for i, key in enumerate(keys):
            self.assertEqual(data[offsets[i]:offsets[i + 1]].tobytes(), files[key])
            self.assertEqual(names[int(file["labels"][i])], key.split("/")[0])

    def test_keys_that_are_no_text_are_bytes(self):
        file = self.pack({"x/" + os.fsdecode(b"\xff\xfe.bin"): b"1", "x/" + "n" * 250 + ".bin": b"2"})
        keys, offsets = file["keys"][:], file["key_offsets"][:]
        found = [keys[offsets[i]:offsets[i + 1]].tobytes() for i in range(2)]
        self.assertEqual(sorted(found), sorted([b"x/\xff\xfe.bin", b"x/" + b"n" * 250 + b".bin"]))

    def test_feedline_reads_what_h5py_writes(self):
        images = np.arange(20 * 8 * 8 * 3, dtype=np.uint8).reshape(20, 8, 8, 3)
        for name, options, layout in [
            ("plain", {}, "images uint8 [8,8,3] with labels"),
            ("chunks", {"chunks": (5, 8, 8, 3)}, "images uint8 [8,8,3] with labels"),
            ("gzip", {"compression": "gzip"}, "only the library"),
            ("shuffle", {"compression": "gzip", "shuffle": True, "chunks": (5, 8, 8, 3)}, "shuffle"),
            ("fletcher32", {"fletcher32": True, "chunks": (5, 8, 8, 3)}, "fletcher32"),
        ]:
            with self.subTest(name), h5py.File(self.path(name + ".h5"), "w") as file:
                file["labels"] = np.arange(20) % 4
                file.create_dataset("images", data=images, **options)
                file.close()
                result = self.bench(self.path(name + ".h5"))
                self.assertEqual(result["dataset"]["samples"], 20)
                self.assertEqual(result["dataset"]["bytes"], images.nbytes)
                self.assertEqual([c["samples"] for c in result["dataset"]["classes"]], [5, 5, 5, 5])
                self.assertIn(layout, result["dataset"]["layout"])

    def test_feedline_reads_encoded_images_of_variable_length(self):
        with h5py.File(self.path("vlen.h5"), "w") as file:
            rows = file.create_dataset("jpegs", (3,), dtype=h5py.vlen_dtype(np.uint8))
            for i, size in enumerate([10, 0, 5000]):
                rows[i] = np.zeros(size, np.uint8)
        self.assertEqual(self.bench(self.path("vlen.h5"))["dataset"]["bytes"], 5010)


if __name__ == "__main__":
    FEEDLINE = sys.argv.pop(1)
    unittest.main()
