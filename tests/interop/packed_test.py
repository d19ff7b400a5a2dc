"""Run by ctest: python3 packed_test.py FEEDLINE

What `feedline pack` writes, read by Python's tarfile, protobuf's Python classes and py-lmdb; and what those write, read by Feedline.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

from readers import messages, records, require, tar_of, write_records

require("lmdb", "google.protobuf")

import lmdb  # noqa: E402

FEEDLINE = sys.argv.pop(1)
Example, Datum = messages()


def pattern(size, seed):
    return bytes((seed * 31 + k * (k + 7)) % 251 for k in range(size))


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def feedline(self, *words):
        ended = subprocess.run([FEEDLINE, *words], capture_output=True, text=True, timeout=100)
        self.assertEqual(ended.returncode, 0, ended.stderr + ended.stdout)
        return ended.stdout

    def samples(self, dataset):
        """What Feedline finds in a dataset: [(content, label or None)], through a WebDataset archive."""
        self.feedline("pack", dataset, self.path("as-tar"), "--format", "webdataset", "--overwrite", "--quiet")
        found = []
        for name in sorted(os.listdir(self.path("as-tar"))):
            if not name.endswith(".tar"):
                continue
            with tarfile.open(self.path("as-tar", name)) as tar:
                for member in tar:
                    content = tar.extractfile(member).read()
                    if member.name.endswith(".cls"):
                        found[-1] = (found[-1][0], int(content))
                    else:
                        found.append((content, None))
        return found


class PackedByFeedline(Case):
    def setUp(self):
        super().setUp()
        self.files = {b"at the root": b"no label"}
        for i, size in enumerate((0, 1, 511, 512, 513, 4095, 4096, 4097, 100_000)):
            self.files[b"cats/%d.JPEG" % i] = pattern(size, i)
        self.files[b"dogs/" + b"n" * 180 + b".jpg"] = b"a long name"
        self.files[b"dogs/\xff \xe7\x8c\xab.png"] = b"raw bytes in its name"
        self.files[b"dogs/a.b.jpg"] = b"dots"
        self.files[b"dogs/x.jpg"] = b"one"
        self.files[b"dogs/x.png"] = b"another"
        for name, content in self.files.items():
            path = os.path.join(os.fsencode(self.path("source")), name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)

    def pack(self, *options):
        self.feedline("pack", self.path("source"), self.path("packed"), "--quiet", *options)
        return [self.path("packed", name) for name in sorted(os.listdir(self.path("packed")))]

    def label(self, path):
        return {b"cats": 0, b"dogs": 1}.get(path.split(b"/")[0] if b"/" in path else b"")

    def test_webdataset_by_tarfile(self):
        shards = [path for path in self.pack("--format", "webdataset", "--shards", "3") if path.endswith(".tar")]
        self.assertEqual(len(shards), 3)
        samples = {}
        for shard in shards:
            with open(shard + ".idx", encoding="utf-8") as file:
                first, *lines = file.read().splitlines()
            self.assertEqual(first.split(" "), ["v1.2", str(len(lines))])
            with tarfile.open(shard) as tar, open(shard, "rb") as raw:
                for member in tar:
                    base = os.path.dirname(member.name) + "/" + os.path.basename(member.name).split(".", 1)[0]
                    samples.setdefault(base, {})[os.path.basename(member.name).split(".", 1)[1]] = tar.extractfile(member).read()
                # DALI reads by the index alone.
                for line in lines:
                    words = line.split(" ")
                    self.assertEqual(len(words) % 4, 0)
                    for extension, offset, size, name in zip(*[iter(words)] * 4):
                        raw.seek(int(offset))
                        self.assertEqual(raw.read(int(size)), tar.extractfile(name).read())
                        self.assertTrue(name.endswith("." + extension))
        self.assertEqual(len(samples), len(self.files))
        found = sorted((next(v for k, v in parts.items() if k != "cls"), int(parts["cls"]) if "cls" in parts else -1)
                       for parts in samples.values())
        wanted = sorted((content, -1 if self.label(path) is None else self.label(path)) for path, content in self.files.items())
        self.assertEqual(found, wanted)

    def test_tfrecord_by_protobuf(self):
        shards = [path for path in self.pack("--format", "tfrecord", "--shards", "2") if path.endswith(".tfrecord")]
        found = {}
        for shard in shards:
            with open(shard + ".idx", encoding="ascii") as file:
                index = [tuple(map(int, line.split())) for line in file]
            payloads = list(records(shard))
            at = 0
            self.assertEqual(len(index), len(payloads))
            for (offset, size), payload in zip(index, payloads):
                self.assertEqual((offset, size), (at, len(payload) + 16))
                at += size
                features = Example.FromString(payload).features.feature
                value = lambda key: features[key].bytes_list.value[0]  # noqa: E731
                labels = list(features["image/class/label"].int64_list.value) if "image/class/label" in features else [None]
                found[value("image/filename")] = (value("image/encoded"), labels[0])
                if labels[0] is not None:
                    self.assertEqual(value("image/class/text"), (b"cats", b"dogs")[labels[0]])
        self.assertEqual(found, {path: (content, self.label(path)) for path, content in self.files.items()})

    def test_lmdb_by_py_lmdb(self):
        shards = [path for path in self.pack("--format", "lmdb", "--shards", "2") if path.endswith(".lmdb")]
        found = {}
        for shard in shards:
            with lmdb.open(shard, readonly=True, lock=False) as environment, environment.begin() as transaction:
                for key, value in transaction.cursor():
                    datum = Datum.FromString(bytes(value))
                    self.assertTrue(datum.encoded)
                    found[bytes(key).split(b"_", 1)[1]] = (datum.data, datum.label if datum.HasField("label") else None)
        self.assertEqual(found, {path: (content, self.label(path)) for path, content in self.files.items()})


class WrittenByOthers(Case):
    contents = [pattern(size, size) for size in (0, 1, 511, 512, 513, 4096, 70_000)]

    def test_tarfile_in_all_its_formats(self):
        for name in ("USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"):
            with self.subTest(name):
                long = "d" * 60 + "/" + "n" * 60  # USTAR splits it, the others extend the header
                members = []
                for i, content in enumerate(self.contents):
                    members += [(f"{long}{i}.jpg", content), (f"{long}{i}.cls", b"%d" % i)]
                with open(self.path("set.tar"), "wb") as file:
                    file.write(tar_of(members, format=getattr(tarfile, name)))
                self.assertEqual(self.samples(self.path("set.tar")), [(c, i) for i, c in enumerate(self.contents)])

    def test_examples_by_protobuf(self):
        payloads = []
        for i, content in enumerate(self.contents):
            example = Example()
            example.features.feature["image/encoded"].bytes_list.value.append(content)
            example.features.feature["image/class/label"].int64_list.value.append(i)
            example.features.feature["image/height"].int64_list.value.append(7)
            payloads.append(example.SerializeToString())
        write_records(self.path("set.tfrecord"), payloads)
        self.assertEqual(self.samples(self.path("set.tfrecord")), [(c, i) for i, c in enumerate(self.contents)])

    def test_datums_by_py_lmdb(self):
        for subdir in (True, False):
            with self.subTest(subdir=subdir):
                path = self.path("set-dir" if subdir else "set.mdb")
                with lmdb.open(path, map_size=1 << 24, subdir=subdir, lock=False) as environment:
                    with environment.begin(write=True) as transaction:
                        for i, content in enumerate(self.contents):
                            datum = Datum(data=content, label=i, encoded=True)
                            transaction.put(b"%08d_%d" % (i, i), datum.SerializeToString())
                self.assertEqual(self.samples(path), [(c, i) for i, c in enumerate(self.contents)])

    def test_inspect_tells_what_they_are(self):
        with open(self.path("set.tar"), "wb") as file:
            file.write(tar_of([("a.jpg", b"x"), ("a.json", b"{}"), ("b.jpg", b"y"), ("b.json", b"{}")]))
        told = json.loads(self.feedline("inspect", self.path("set.tar"), "--json"))
        self.assertEqual((told["format"], told["samples"]), ("webdataset", 2))
        self.assertEqual([part["name"] for part in told["first"][0]["parts"]], ["jpg", "json"])


if __name__ == "__main__":
    unittest.main()
