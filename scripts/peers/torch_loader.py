#!/usr/bin/env python3
"""PyTorch's DataLoader over a folder of files: raw bytes, no decoding. One line of JSON for the last epoch.

As kind to PyTorch as it can be: the list of files is made beforehand, workers stay alive between epochs, a batch is a plain
list of bytes objects (nothing is stacked or converted), and the first batch of the reported epoch is asked for with the
workers already running.
"""

import argparse
import json
import os
import resource
import time

import torch
from torch.utils.data import DataLoader, Dataset


class RawFiles(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb", buffering=0) as file:
            return file.read()


def as_it_is(batch):
    return batch


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    paths = sorted(os.path.join(where, name) for where, _, names in os.walk(options.folder) for name in names)
    loader = DataLoader(RawFiles(paths), batch_size=options.batch_size, shuffle=True, num_workers=options.workers,
                        collate_fn=as_it_is, persistent_workers=options.workers > 0)
    for _ in range(options.epochs):
        files = total = 0
        start = time.monotonic()
        for batch in loader:
            files += len(batch)
            total += sum(map(len, batch))
        seconds = time.monotonic() - start
    del loader
    print(json.dumps({"files_per_second": files / seconds, "bytes_per_second": total / seconds, "seconds": seconds,
                      "files": files, "bytes": total, "cpu_seconds_all_epochs": cpu_seconds()}))


if __name__ == "__main__":
    main()
