"""Decodes and crops images on a GPU as on the CPU. Not a part of `npm test`: run it where there is a GPU and torchvision."""

from __future__ import annotations

import unittest
from typing import Any

import torch

# Before the other tests hide it: their trainings fork.
HAS_GPU = torch.cuda.is_available() and torch.zeros(1).cuda().is_cuda

import updraft  # noqa: E402
from test_images import ImagesTest, encoded  # noqa: E402
from updraft import crops, decoding  # noqa: E402


def whole(height: int, width: int, size: int) -> crops.View:
    return crops.View(0, 0, height, width, size, size)


@unittest.skipUnless(HAS_GPU, "without a GPU")
class OnGpu(ImagesTest):
    def test_the_gpu_crops_as_the_cpu_does(self) -> None:
        torch.manual_seed(1)
        here = {n: one for pixels, labels in self.stream() for n, one in zip(labels.tolist(), pixels)}
        loader = self.stream("cuda")
        there = {n: one for pixels, labels in loader for n, one in zip(labels.tolist(), pixels.cpu())}
        self.assertEqual(loader.counts["gpu"], 28)
        for n, one in here.items():
            self.assertLess((one - there[n]).abs().mean().item(), 0.06, n)

    def test_every_kind_of_image_is_right_on_the_gpu(self) -> None:
        rare = [encoded(0, "L"), encoded(0, "CMYK"), encoded(0, progressive=True), encoded(0, how="PNG"), encoded(0)]
        loader = self.bytes(*rare, device="cuda")
        [(pixels, _)] = list(loader)
        self.assertEqual(dict(loader.counts), {"all": 5, "gpu": 3, "CMYK": 1, "PNG": 1})
        for one in (1, 2, 3):
            self.assertLess((pixels[one] - pixels[4]).abs().mean().item(), 0.1)
        with self.assertRaisesRegex(updraft.ImageError, "sample 1 of the epoch cannot be decoded"):
            list(self.bytes(encoded(0), encoded(3)[:-100], device="cuda"))
        large = decoding.decode_on_cpu(encoded(3), "").repeat(1, 9, 9).cuda()
        pixels, views = [large, large[:, :32, :32]], [whole(*large.shape[1:], 24), whole(32, 32, 24)]
        here = torch.cat([crops.alone(one.cpu(), view, 24) for one, view in zip(pixels, views)])
        both = crops.resample(list(pixels), list(views), 24, torch.ones(1, device="cuda"), torch.zeros(1, device="cuda"))
        self.assertLess((both.cpu() - here).abs().max().item(), 1)


if __name__ == "__main__":
    unittest.main()
