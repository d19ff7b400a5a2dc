"""Run by ctest: python3 torch_pack_test.py FEEDLINE

What `feedline pack --format pth` writes, read by PyTorch. Skips itself (77) where there is no PyTorch.
"""

import inspect
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

try:
    import torch
except ImportError:
    system = "/usr/bin/python3"  # Debian's has its packages, another one in front of it has not
    if sys.executable != system and os.path.exists(system) and "FEEDLINE_TRIED" not in os.environ:
        os.environ["FEEDLINE_TRIED"] = "1"
        os.execv(system, [system, "-B", *sys.argv])
    print("Skipped: no PyTorch (Debian: python3-torch)")
    sys.exit(77)

FEEDLINE = sys.argv.pop(1)


class PackedByFeedline(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.source = os.path.join(directory.name, "source")
        self.packed = os.path.join(directory.name, "packed")
        self.files = {b"root.bin": b"no label"}
        for i, size in enumerate((0, 1, 511, 512, 513, 4096, 100_000)):
            self.files[b"cats/%d.jpg" % i] = bytes((size + 7 * k) % 256 for k in range(size))
        self.files[b"dogs/\xff \xe7\x8c\xab.png"] = b"raw bytes in its name"
        for name, content in self.files.items():
            path = os.path.join(os.fsencode(self.source), name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)

    def pack(self, *options):
        ended = subprocess.run(
            [FEEDLINE, "pack", self.source, self.packed, "--format", "pth", *options],
            capture_output=True, text=True, timeout=60,
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return sorted(os.path.join(self.packed, name) for name in os.listdir(self.packed) if name.endswith(".pth"))

    def test_every_way_of_loading(self):
        shards = self.pack("--shards", "2")
        self.assertEqual(len(shards), 2)
        known = inspect.signature(torch.load).parameters
        ways = [{}] + [{way: True} for way in ("weights_only", "mmap") if way in known]
        for way in ways:
            with self.subTest(way):
                found, labels = {}, {}
                for shard in shards:
                    loaded = torch.load(shard, **way)
                    self.assertEqual(loaded["classes"], {"cats": 0, "dogs": 1})
                    self.assertEqual(loaded["data"].dtype, torch.uint8)
                    offsets = loaded["offsets"].tolist()
                    self.assertEqual(len(offsets), len(loaded["keys"]) + 1)
                    for i, key in enumerate(loaded["keys"]):
                        found[os.fsencode(key)] = bytes(loaded["data"][offsets[i] : offsets[i + 1]].tolist())
                        if "labels" in loaded:
                            labels[os.fsencode(key)] = loaded["labels"][i].item()
                self.assertEqual(found, self.files)
                self.assertEqual(labels[b"cats/3.jpg"], 0)
                self.assertEqual(labels[b"dogs/\xff \xe7\x8c\xab.png"], 1)
                self.assertEqual(labels.get(b"root.bin", torch.iinfo(torch.int64).min), torch.iinfo(torch.int64).min)

    def test_saving_it_again_changes_nothing_for_feedline(self):
        (shard,) = self.pack("--shards", "1")
        self.assertIsNone(zipfile.ZipFile(shard).testzip())
        torch.save(torch.load(shard), shard)
        ended = subprocess.run(
            [FEEDLINE, "bench", shard, "--no-controls", "--quiet", "--batch-size", str(len(self.files))],
            capture_output=True, text=True, timeout=60,
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)


if __name__ == "__main__":
    unittest.main()
