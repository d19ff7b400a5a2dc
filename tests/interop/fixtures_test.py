"""Run by ctest: python3 fixtures_test.py FEEDLINE SOURCE_DIR

Small real files that other tools wrote, outside the repository: in $FEEDLINE_FIXTURES, or in ../shared/fixtures. FIXTURES.tsv there says
what each holds. Skips itself (77) where they are not.

Each is either read, with the samples that it has, or refused in one line that names it, for a reason that stands here.
"""

import csv
import json
import os
import subprocess
import sys
import unittest

FEEDLINE, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
FIXTURES = os.environ.get("FEEDLINE_FIXTURES", os.path.join(SOURCE, "..", "shared", "fixtures"))
LIST = os.path.join(FIXTURES, "FIXTURES.tsv")
if not os.path.exists(LIST):
    print("Skipped: no fixtures (set FEEDLINE_FIXTURES)")
    sys.exit(77)

CHOOSE = "--hdf5-dataset"  # several datasets, of which one has to be chosen
NO_SAMPLES = "no samples in these tar archives"  # members whose names have no extension belong to no sample
# path -> what the refusal says
REFUSED = {
    "hdf5/PyTables-Tables_lzo1.h5": "compound",
    "hdf5/PyTables-times-nested-be.h5": "time",
    "hdf5/h5py-compound-dtype-complex.h5": "compound",
    "hdf5/jhdf-globalheaps_test.hdf5": "no dataset",
    "hdf5/jhdf-test_userblock_latest.hdf5": "no dataset",
    "hdf5/jhdf-test_scalar_empty_datasets_latest.hdf5": "no dataset with samples",
    "hdf5/kerchunk-hdf5_compression_blosc_lz4_bitshuffle.h5": "blosc (32001)",
    "hdf5/kerchunk-hdf5_compression_zstd.h5": "zstd (32015)",
    "hdf5/kerchunk-hdf5_mali_chunk2.h5": "zstd (32015)",
    "lmdb/mmpretrain-test.lmdb/data.mdb": "holds no samples",
    "pth/burn-broken.pt": "no known dataset format",
    "pth/burn-tar_float32.tar": "before 0.1.10",
    "tfrecord/DALI_extra-small_coco.tfrecord": "Git LFS pointer",
    "webdataset/DALI_extra-train.tar": "Git LFS pointer",
    "webdataset/tar-rs-duplicate_dirs.tar": NO_SAMPLES,
    "webdataset/tar-rs-pax_size.tar": NO_SAMPLES,
    "webdataset/tar-rs-simple_missing_last_header.tar": NO_SAMPLES,
    "webdataset/tar-rs-spaces.tar": NO_SAMPLES,
    "webdataset/tar-rs-sparse.tar": NO_SAMPLES,
    "webdataset/tar-rs-xattrs.tar": NO_SAMPLES,
    "webdataset/tar-stream-incomplete.tar": NO_SAMPLES,
}
for name in ("PyTables-flavored_vlarrays-format1.6.h5", "datumaro-nyu-1.h5", "h5py-vlen_string_s390x.h5", "io-tdset.h5",
             "jhdf-chunked_v4_datasets.hdf5", "jhdf-fixed_array_paged_datasets.hdf5", "jhdf-fletcher32_datasets_latest.hdf5",
             "jhdf-implicit_index_datasets.hdf5", "jhdf-lz4_datasets.hdf5", "jhdf-superblock-extension.hdf5",
             "jhdf-test_chunked_datasets_earliest.hdf5", "jhdf-test_compact_datasets_latest.hdf5", "jhdf-test_large_group_latest.hdf5",
             "jhdf-test_odd_datasets_latest.hdf5", "jhdf-test_string_datasets_earliest.hdf5", "jhdf-test_vlen_datasets_latest.hdf5"):
    REFUSED["hdf5/" + name] = CHOOSE
# What lies beside data.mdb is no dataset.
BESIDE = ("lock.mdb", "meta_info.txt")
PACKED = ("hdf5", "lmdb", "pth", "tfrecord", "webdataset")


def rows():
    with open(LIST, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def inspect(path):
    return subprocess.run([FEEDLINE, "inspect", path, "--json"], capture_output=True, text=True, timeout=60)


class Fixtures(unittest.TestCase):
    def test_packed_formats(self):
        read = 0
        for row in rows():
            path = row["path"]
            if row["format"] not in PACKED or path.endswith(BESIDE):
                continue
            with self.subTest(path):
                ended = inspect(os.path.join(FIXTURES, path))
                if path in REFUSED:
                    self.assertIn(ended.returncode, (2, 5), ended.stdout[:200])
                    self.assertIn(REFUSED[path], ended.stderr)
                    self.assertIn(path, ended.stderr)
                    self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
                    continue
                self.assertEqual(ended.returncode, 0, ended.stderr)
                told = json.loads(ended.stdout)
                self.assertEqual((told["format"], told["samples"]), (row["format"], int(row["samples"])))
                self.assertEqual([sample for sample in told["first"] if "problem" in sample], [])
                read += 1
        self.assertGreater(read, 50)

    def test_folders(self):
        for row in rows():
            if row["format"] == "dir":
                with self.subTest(row["path"]):
                    told = json.loads(inspect(os.path.join(FIXTURES, row["path"])).stdout)
                    self.assertEqual((told["format"], told["samples"]), ("files", int(row["samples"])))


if __name__ == "__main__":
    unittest.main()
