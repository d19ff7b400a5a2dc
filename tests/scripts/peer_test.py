"""Run by ctest: python3 peer_test.py DIRECTORY_OF_PEER_PY"""

import collections
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = sys.argv.pop(1)
sys.path.insert(0, SCRIPTS)
import peer  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = os.path.join(scratch.name, "data")
        for k in range(10):
            path = os.path.join(self.root, str(k % 3), f"f{k}")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(bytes(5000 * k))
        self.files = peer.files_below(self.root)


class Iologs(Folder):
    def test_every_file_is_replayed_once_whole_by_one_job(self):
        with tempfile.TemporaryDirectory() as scratch:
            reads, actions = [], []
            for path in peer.write_iologs(self.files, 3, scratch):
                with open(path) as log:
                    self.assertEqual(log.readline(), "fio version 2 iolog\n")
                    for line in log:
                        name, action, *numbers = line.split()
                        actions.append((name, action))
                        if action == "read":
                            reads.append((name, int(numbers[0]), int(numbers[1])))
            self.assertCountEqual(reads, [(path, 0, size) for path, size in self.files if size > 0])
            self.assertEqual(set(collections.Counter(actions).values()), {1})

    def test_the_order_is_shuffled_and_repeatable(self):
        def order(seed):
            with tempfile.TemporaryDirectory() as scratch, open(peer.write_iologs(self.files, 1, scratch, seed)[0]) as log:
                return log.read()

        self.assertEqual(order(1), order(1))
        self.assertNotEqual(order(1), order(2))


class Cache(Folder):
    def test_what_was_just_read_is_resident_by_both_ways_of_asking(self):
        peer.warm(self.files)
        self.assertEqual(peer.resident_fraction(self.files), 1.0)
        libc = ctypes.CDLL(None, use_errno=True)
        path, size = self.files[-1]
        with open(path, "rb") as file:
            pages = -(-size // peer.PAGE)
            self.assertEqual(peer.resident_pages_by_mincore(file.fileno(), size, libc), pages)
            self.assertIn(peer.resident_pages_by_cachestat(file.fileno(), size, libc), (pages, None))  # None: an older kernel


class Program(Folder):
    def run_peer(self, *arguments):
        return subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "peer.py"), *arguments], capture_output=True, text=True)

    def test_write_refuses_to_remove_what_it_did_not_make(self):
        done = self.run_peer(self.root, "--", "write", "true")
        self.assertEqual(done.returncode, 5)
        self.assertIn("is there already", done.stderr)
        self.assertEqual(len(peer.files_below(self.root)), 10)

    def test_write_counts_and_cleans_up(self):
        copy = self.root + ".copy"
        done = self.run_peer(copy, "--", "write", "cp", "-r", self.root, copy)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"files": 10, "bytes": 225000', done.stdout)
        self.assertFalse(os.path.exists(copy))

    def test_bad_input(self):
        self.assertEqual(self.run_peer(self.root).returncode, 2)
        self.assertEqual(self.run_peer(self.root, "--", "nobody").returncode, 5)
        self.assertEqual(self.run_peer(self.root + "/missing", "--", "find").returncode, 5)


unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
