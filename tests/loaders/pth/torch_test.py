"""Run by ctest: python3 torch_test.py PTH_DUMP

What PyTorch saves, read by Feedline: the same keys, labels and bytes. Skips itself (77) where there is no PyTorch.
"""

import collections
import os
import subprocess
import sys
import tempfile
import unittest
import zlib

try:
    import torch
except ImportError:
    system = "/usr/bin/python3"  # Debian's has its packages, another one in front of it has not
    if sys.executable != system and os.path.exists(system) and "FEEDLINE_TRIED" not in os.environ:
        os.environ["FEEDLINE_TRIED"] = "1"
        os.execv(system, [system, "-B", *sys.argv])
    print("Skipped: no PyTorch (Debian: python3-torch)")
    sys.exit(77)

DUMP = sys.argv.pop(1)


def bytes_of(tensor):
    flat = tensor.detach().contiguous().reshape(-1)
    if flat.numel() == 0:
        return b""
    if flat.dtype == torch.bfloat16:
        flat = flat.view(torch.int16)
    return flat.numpy().tobytes()


def line(key, tensor, label="-"):
    return f"{key}\t{label}\t{zlib.crc32(bytes_of(tensor)):08x}"


class TorchFiles(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        torch.manual_seed(1)

    def dump(self, saved, name="set.pth", **options):
        path = os.path.join(self.directory.name, name)
        torch.save(saved, path, **options)
        ended = subprocess.run([DUMP, path], capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.splitlines()

    def each_way(self, saved, expected):
        for options in ({}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}):
            with self.subTest(options):
                self.assertEqual(self.dump(saved, **options), expected)

    def test_types_and_views(self):
        base = torch.arange(24).reshape(2, 3, 4)
        tensors = collections.OrderedDict(
            f32=torch.randn(3, 4),
            f16=torch.randn(5).half(),
            bf16=torch.randn(5).bfloat16(),
            f64=torch.randn(2, 2).double(),
            boolean=torch.tensor([True, False]),
            int8=torch.tensor([-1, 2], dtype=torch.int8),
            complex64=torch.randn(3, dtype=torch.complex64),
            scalar=torch.tensor(4.0),
            empty=torch.zeros(0, 3),
            whole=base,
            slice=base[1, 1:],
            transposed=base.transpose(0, 2),
            every_second=base.reshape(-1)[::2],
            expanded=torch.tensor([1, 2]).expand(3, 2),
            channels_last=torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
            parameter=torch.nn.Parameter(torch.randn(3)),
        )
        self.each_way(tensors, [line(name, tensor) for name, tensor in tensors.items()])

    def test_state_dict_and_optimizer(self):
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(5, 6))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        optimizer.zero_grad()
        net[2](torch.randn(1, 5)).sum().backward()
        optimizer.step()
        saved = {"epoch": 3, "model": net.state_dict(), "optimizer": optimizer.state_dict(), "args": {"lr": 0.1, "b": (0.9, None)}}
        expected = [line(f"model.{name}", tensor) for name, tensor in net.state_dict().items()]
        state = optimizer.state_dict()["state"]
        expected += [
            line(f"optimizer.state.{index}.momentum_buffer", entry["momentum_buffer"])
            for index, entry in state.items()
            if entry["momentum_buffer"] is not None
        ]
        self.each_way(saved, expected)

    def test_batches(self):
        images = torch.randint(0, 256, (7, 2, 3), dtype=torch.uint8)
        labels = torch.arange(7) - 3
        rows = [line(f"set.pth#{i}", images[i], int(labels[i])) for i in range(7)]
        self.each_way((images, labels), rows)
        self.each_way({"images": images, "labels": labels.int()}, rows)
        self.each_way({"x": images, "y": labels.tolist()}, rows)
        self.each_way(images, [line(f"set.pth#{i}", images[i]) for i in range(7)])
        turned = images.permute(2, 0, 1)
        self.each_way(turned, [line(f"set.pth#{i}", turned[i]) for i in range(3)])

    def test_lists(self):
        tensors = [torch.randn(i + 1) for i in range(4)]
        self.each_way(tensors, [line(str(i), tensor) for i, tensor in enumerate(tensors)])
        self.each_way(
            [(tensor, i * 10) for i, tensor in enumerate(tensors)],
            [line(str(i), tensor, i * 10) for i, tensor in enumerate(tensors)],
        )

    def test_our_layout(self):
        payloads = [b"one", b"", b"three" * 1000]
        data = torch.tensor(list(b"".join(payloads)), dtype=torch.uint8)
        saved = {
            "data": data,
            "offsets": torch.tensor([0, 3, 3, 5003]),
            "labels": torch.tensor([4, 5, 4]),
            "keys": ["a/1.jpg", "b/ü.jpg", "a/2.jpg"],
            "classes": {"a": 4, "b": 5},
        }
        self.each_way(saved, [f"{key}\t{label}\t{zlib.crc32(payload):08x}" for key, label, payload in zip(saved["keys"], (4, 5, 4), payloads)])

    def test_what_would_run_code_is_refused(self):
        path = os.path.join(self.directory.name, "net.pth")
        torch.save(torch.nn.Linear(2, 2), path)
        ended = subprocess.run([DUMP, path], capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("torch.nn.modules.linear.Linear", ended.stderr)


if __name__ == "__main__":
    unittest.main()
