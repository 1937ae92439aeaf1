"""Decodes and crops images in every way: streams and files, interrupted, damaged; on the CPU."""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import io
import os
import shutil
import signal
import sys
import tarfile
import types
import unittest
from typing import Any
from unittest import mock

import updraft
from test_stream import add
from test_updraft import AttemptTest, Interruption, torch
from updraft import crops, decoding
from updraft import images as own

try:
    from PIL import Image

    import numpy
except ImportError:
    Image = None  # type: ignore[assignment]
try:
    import torchvision  # type: ignore[import-untyped]
except ImportError:
    torchvision = None

STOPS = ((1, signal.SIGKILL), (3, signal.SIGTERM), (2, signal.SIGKILL))
SIDES = [(40, 60), (64, 48), (33, 91), (120, 80), (32, 32), (50, 50)]


def picture(number: int, mode: str = "RGB") -> Any:
    """Smooth, as photographs are: what differs between decoders is at sharp edges."""
    height, width = SIDES[number % len(SIDES)]
    y, x = numpy.mgrid[:height, :width]
    waves = [127 + 90 * numpy.sin(x / (9 + number % 5) + channel) * numpy.cos(y / (7 + channel)) for channel in range(3)]
    return Image.fromarray(numpy.stack(waves, -1).astype("uint8")).convert(mode)


def encoded(number: int, mode: str = "RGB", how: str = "JPEG", **options: Any) -> bytes:
    file = io.BytesIO()
    picture(number, mode).save(file, how, **options)
    return file.getvalue()


def write_shards(folder: str, shards: int = 4, each: int = 7) -> None:
    os.makedirs(folder)
    for shard in range(shards):
        with tarfile.open(f"{folder}/train-{shard}.tar", "w") as archive:
            for number in range(each):
                add(archive, f"{shard}/{number:04d}.jpg", encoded(shard * each + number))
                add(archive, f"{shard}/{number:04d}.cls", b"%d" % (shard * each + number))


def digest(batch: Any) -> str:
    return hashlib.sha256(batch.cpu().numpy().tobytes()).hexdigest()[:12]


class Files:
    """As `ImageFolder(root, loader=str)` has them."""

    def __init__(self, folder: str) -> None:
        self.paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[str, int]:
        return self.paths[index], index


class ImagesTest(AttemptTest):
    def setUp(self) -> None:
        super().setUp()
        write_shards("source")
        os.mkdir("files")
        for number in range(14):
            with open(f"files/{number:04d}.jpg", "wb") as file:
                file.write(encoded(number))

    def stream(self, device: str = "cpu", workers: int = 0, size: int = 4, **options: Any) -> updraft.ImageLoader:
        stream = updraft.Stream("source", batch_size=size, seed=3, block=2)
        loader = torch.utils.data.DataLoader(stream, size, num_workers=workers)
        return updraft.ImageLoader(loader, updraft.RandomResizedCrop(24), device=device, **options)

    def files(self, data: Any = None, transform: Any = None, **options: Any) -> updraft.ImageLoader:
        shown = {"shuffle": True, "num_workers": options.pop("workers", 0)}
        loader = torch.utils.data.DataLoader(data or Files("files"), 4, **shown)
        return updraft.ImageLoader(loader, transform or updraft.RandomResizedCrop(24), device="cpu", **options)

    def bytes(self, *images: bytes, **options: Any) -> updraft.ImageLoader:
        loader = torch.utils.data.DataLoader([(one, n) for n, one in enumerate(images)], 8)
        return updraft.ImageLoader(loader, updraft.CenterCrop(24), **{"device": "cpu", **options})


@unittest.skipIf(torch is None or Image is None, "without PyTorch or Pillow")
class Images(ImagesTest):
    def without_torchvision(self) -> Any:
        return mock.patch.dict("sys.modules", torchvision=None, **{"torchvision.io": mock.Mock()})

    def train(self, make: Any, every: Any) -> Any:
        """A training's batches and their labels, saved after each batch."""
        seen: list[Any] = []
        torch.manual_seed(5)
        model = torch.nn.Linear(1, 1)
        with updraft.training(model, seen=seen, every=0) as run:
            loader = make()
            for _ in run.epochs(2):
                for pixels, labels in run.batches(loader):
                    drawn = torch.rand(()).item()
                    seen.append([run.epoch, run.batch, labels.tolist(), digest(pixels), drawn])
                    every.batch_done(run)
        return seen

    def test_images_are_normalized_and_have_their_labels(self) -> None:
        loader = self.stream()
        found = {}
        for pixels, labels in loader:
            self.assertEqual((pixels.shape[1:], pixels.dtype, labels.dtype), ((3, 24, 24), torch.float32, torch.int64))
            found.update(zip(labels.tolist(), pixels))
        self.assertEqual(sorted(found), list(range(28)))
        self.assertLess(max(one.abs().max().item() for one in found.values()), 2.7)
        self.assertEqual(loader.counts["all"], 28)
        self.assertEqual(len(loader), 7)

    def test_a_stream_resumes_with_the_same_crops(self) -> None:
        self.same_crops(self.stream)

    def test_a_stream_with_workers_resumes_with_the_same_crops(self) -> None:
        self.same_crops(lambda: self.stream(workers=2), [(3, signal.SIGTERM), (6, signal.SIGKILL)])

    def test_files_resume_with_the_same_crops(self) -> None:
        self.same_crops(self.files)
        self.same_crops(lambda: self.files(workers=2), [(2, signal.SIGKILL)])

    def same_crops(self, make: Any, stops: Any = STOPS) -> None:
        shutil.rmtree("saved", ignore_errors=True)

        def train(stop: Interruption) -> Any:
            torch.set_num_threads(1)
            return self.train(make, stop)

        self.same_after(train, list(stops), f"whole-{len(os.listdir())}")

    def test_crops_belong_to_samples_not_to_workers_threads_or_a_start(self) -> None:
        def crops(loader: updraft.ImageLoader, epoch: int = 0) -> dict[int, str]:
            loader.set_epoch(epoch)
            return {n: digest(one) for pixels, labels in loader for n, one in zip(labels.tolist(), pixels)}

        torch.manual_seed(1)
        first = crops(self.stream())
        self.assertEqual(crops(self.stream(workers=2)), first)
        self.assertEqual(crops(self.stream(threads=5)), first)
        self.assertEqual(crops(self.stream(size=7)), first)
        self.assertFalse(set(crops(self.stream(), 1).values()) & set(first.values()))
        self.assertFalse(set(crops(self.stream(seed=1)).values()) & set(first.values()))
        torch.manual_seed(2)
        self.assertFalse(set(crops(self.stream()).values()) & set(first.values()))

    def test_training_draws_what_it_would_draw_without(self) -> None:
        torch.manual_seed(1)
        list(self.files(data=Files("files")))
        drawn = torch.rand(())
        torch.manual_seed(1)
        list(torch.utils.data.DataLoader(range(14), 4, shuffle=True))
        self.assertEqual(drawn, torch.rand(()))

    def test_crops_are_those_of_torchvision(self) -> None:
        sides, flips, areas = [], 0, []
        for n in range(4000):
            view = updraft.RandomResizedCrop(24).view(300, 400, crops.draws((1, n)))
            self.assertTrue(0 <= view.top <= 300 - view.height and 0 <= view.left <= 400 - view.width)
            sides.append(view.width / view.height)
            areas.append(view.width * view.height / 120000)
            flips += view.flip
        self.assertTrue(0.74 < min(sides) < 0.77 and 1.3 < max(sides) < 1.35)
        self.assertTrue(0.07 < min(areas) < 0.09 and max(areas) > 0.95)
        self.assertAlmostEqual(flips / 4000, 0.5, delta=0.03)
        # An image in which no crop fits: its center.
        view = updraft.RandomResizedCrop(24, scale=(1, 1)).view(10, 100, crops.draws((1,)))
        self.assertEqual((view.top, view.left, view.height, view.width), (0, 43, 10, 13))

    def test_the_center_is_that_of_pillow(self) -> None:
        [[pixels, _]] = list(self.bytes(encoded(3, how="PNG"), encoded(1, how="PNG")))
        for number, found in zip((3, 1), pixels):
            image = picture(number)
            short = 27 / min(image.size)
            resized = image.resize([int(side * short) for side in image.size], Image.BILINEAR)
            left, top = (round((side - 24) / 2) for side in resized.size)
            expected = numpy.asarray(resized.crop((left, top, left + 24, top + 24)), dtype="float32")
            mean, std = (numpy.array(one) * 255 for one in (own.MEAN, own.STD))
            found = found.permute(1, 2, 0).numpy() * std + mean
            self.assertLess(numpy.abs(found - expected).max(), 1.1)

    def test_images_together_are_as_each_alone(self) -> None:
        pixels = [decoding.decode_on_cpu(encoded(number), "") for number in range(6)]
        for transform in (updraft.RandomResizedCrop(24), updraft.RandomResizedCrop(48), updraft.CenterCrop(24, resize=28)):
            views = [transform.view(*one.shape[1:], crops.draws((n,))) for n, one in enumerate(pixels)]
            alone = torch.cat([crops.alone(*one, transform.size) for one in zip(pixels, views)])
            together = crops.together(pixels, views, transform.size, torch.float32)
            self.assertLess((alone - together).abs().max().item(), 0.01)
        mirrored = [crops.View(0, 0, *one.shape[1:], 24, 24, flip=True) for one in pixels]
        plain = [crops.View(0, 0, *one.shape[1:], 24, 24) for one in pixels]
        flipped = crops.together(pixels, mirrored, 24, torch.float32).flip(-1)
        self.assertLess((flipped - crops.together(pixels, plain, 24, torch.float32)).abs().max().item(), 0.01)

    def test_every_kind_of_image_is_recognized(self) -> None:
        marks = b"Exif\0\0" + b"\xff\xc0" * 99
        kinds = {
            "": [encoded(0), encoded(1, quality=30), encoded(0, "L"), encoded(0, progressive=True), encoded(3, exif=marks)],
            "CMYK": [encoded(0, "CMYK")],
            "PNG": [encoded(0, how="PNG"), encoded(0, "P", how="PNG")],
            "other format": [encoded(0, how="BMP"), b"", b"abc"],
            "cut off": [encoded(3)[:-100], encoded(0)[:30], b"\xff\xd8"],
        }
        for kind, files in kinds.items():
            for data in files:
                self.assertEqual(decoding.kind_of(data), kind)

    def test_what_is_not_a_plain_jpeg_is_decoded_too(self) -> None:
        rare = [encoded(0, "L"), encoded(0, "CMYK"), encoded(0, progressive=True), encoded(0, how="PNG")]
        rare.append(encoded(0, "P", how="PNG"))
        [(pixels, labels)] = list(self.bytes(*rare, encoded(0)))
        self.assertEqual(labels.tolist(), list(range(6)))
        for one in (1, 2, 3):
            self.assertLess((pixels[one] - pixels[5]).abs().max().item(), 0.5)

    def test_a_damaged_image_is_named(self) -> None:
        with open("files/0005.jpg", "rb+") as file:
            file.truncate(300)
        with self.assertRaisesRegex(updraft.ImageError, "files/0005.jpg cannot be decoded: "):
            list(self.files())
        with tarfile.open("source/train-1.tar", "a") as archive:
            add(archive, "1/damaged.jpg", encoded(0)[:200])
            add(archive, "1/damaged.cls", b"3")
        with self.assertRaisesRegex(updraft.ImageError, "^1/damaged cannot be decoded: "):
            list(self.stream())
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            loader = self.stream(damaged="grey")
            self.assertEqual(sum(len(labels) for _, labels in loader), 29)
        self.assertEqual((loader.counts["damaged"], loader.counts["all"]), (1, 29))
        self.assertRegex(said.getvalue(), "1/damaged cannot be decoded: .*; it is grey\n.*1 of 29 images .*: .*1 damaged")
        with self.assertRaisesRegex(updraft.ImageError, "sample 1 of the epoch cannot be decoded"):
            list(self.bytes(encoded(0), b"abc"))

    def test_samples_that_it_cannot_use_are_named(self) -> None:
        with tarfile.open("source/train-1.tar", "w") as archive:
            add(archive, "1/a.txt", b"text")
        with self.assertRaisesRegex(updraft.ImageError, "1/a has no image that is not decoded yet, only txt"):
            list(self.stream())
        with tarfile.open("source/train-1.tar", "w") as archive:
            add(archive, "1/a.png", encoded(0, how="PNG"))
        with self.assertRaisesRegex(updraft.ImageError, "1/a has png and no cls: pass target="):
            list(self.stream())
        shown = [labels for _, labels in self.stream(target=lambda sample: sample["__key__"])]
        self.assertIn("1/a", sum(shown, []))
        with self.assertRaisesRegex(TypeError, r"ImageFolder\(root, loader=str\), not with a Image"):
            list(self.files(data=[(picture(0), 0)]))
        with self.assertRaisesRegex(TypeError, "needs a DataLoader, not a list"):
            updraft.ImageLoader([], updraft.CenterCrop(24))

    def test_batches_that_others_have_made_are_decoded(self) -> None:
        class Made(torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
            """As a pipeline of WebDataset that makes batches."""

            def __iter__(self) -> Any:
                for first in (0, 4):
                    yield [encoded(first + n) for n in range(4)], torch.arange(first, first + 4)

        loader = updraft.ImageLoader(torch.utils.data.DataLoader(Made(), None), updraft.CenterCrop(24), device="cpu")
        shown = [(tuple(pixels.shape), labels.tolist()) for pixels, labels in loader]
        self.assertEqual(shown, [((4, 3, 24, 24), [0, 1, 2, 3]), ((4, 3, 24, 24), [4, 5, 6, 7])])

    @unittest.skipIf(torchvision is None, "without torchvision")
    def test_torchvisions_folders_are_read(self) -> None:
        for place, kind in enumerate(("a", "b")):
            os.makedirs(f"folder/{kind}")
            with open(f"folder/{kind}/0.jpg", "wb") as file:
                file.write(encoded(place))
        data = torchvision.datasets.ImageFolder("folder", loader=str)
        loader = torch.utils.data.DataLoader(data, 4)
        [(pixels, labels)] = list(updraft.ImageLoader(loader, updraft.CenterCrop(24), device="cpu"))
        self.assertEqual((tuple(pixels.shape), labels.tolist()), ((2, 3, 24, 24), [0, 1]))

    def test_what_nvjpeg_refuses_is_decoded_on_the_cpu_and_counted(self) -> None:
        refused = encoded(2)

        def nvjpeg(files: list[Any]) -> list[Any]:
            if any(bytes(one.tolist()) == refused for one in files):
                raise RuntimeError("nvjpeg says no")
            return [decoding.decode_on_cpu(bytes(one.tolist()), "") for one in files]

        said = io.StringIO()
        loader = self.bytes(encoded(0), refused, encoded(0, "CMYK"), encoded(0, how="PNG"), encoded(1))
        with self.without_torchvision(), contextlib.redirect_stderr(said):
            loader._decoder.nvjpeg = nvjpeg
            [(pixels, _)] = list(loader)
        self.assertEqual(dict(loader.counts), {"all": 5, "gpu": 2, "refused by nvJPEG": 1, "CMYK": 1, "PNG": 1})
        self.assertIn("3 of 5 images are none that nvJPEG decodes: 1 CMYK, 1 PNG, 1 refused by nvJPEG", said.getvalue())
        plain = self.bytes(encoded(0), refused, encoded(0, "CMYK"), encoded(0, how="PNG"), encoded(1))
        self.assertTrue(torch.equal(pixels, next(iter(plain))[0]))

    def test_a_torchvision_whose_library_is_elsewhere_is_imported_whole(self) -> None:
        fake = types.ModuleType("torchvision.io")
        fake.ImageReadMode = types.SimpleNamespace(RGB=3)  # type: ignore[attr-defined]
        fake.decode_jpeg = lambda data, mode, device: data  # type: ignore[attr-defined]
        with mock.patch.dict(sys.modules, {"torchvision.io": fake}):
            sys.modules.pop("torchvision", None)
            with mock.patch("importlib.util.find_spec", return_value=None):
                decode = decoding._nvjpeg(torch.device("cpu"))
            self.assertEqual((decode(["one"]), decode(["one", "two"])), (["one"], ["one", "two"]))

    def test_an_nvjpeg_that_has_worked_is_asked_again(self) -> None:
        refused = encoded(2)

        def nvjpeg(files: list[Any]) -> list[Any]:
            if bytes(files[0].tolist()) == refused:
                raise RuntimeError("nvjpeg says no")
            return [decoding.decode_on_cpu(bytes(one.tolist()), "") for one in files]

        loader = self.bytes(encoded(0), threads=1)
        loader._decoder.nvjpeg = nvjpeg
        for file, counts in ((encoded(0), {"all": 1, "gpu": 1}), (refused, {"all": 1, "gpu": 0, "refused by nvJPEG": 1})):
            self.assertEqual(loader._decoder.decode([file], ["one"], False)[1], counts)
        self.assertIs(loader._decoder.nvjpeg, nvjpeg)

    def test_an_nvjpeg_that_never_works_is_left_alone(self) -> None:
        said, asked = io.StringIO(), []

        def nvjpeg(data: Any) -> Any:
            asked.append(data)
            raise RuntimeError("decode_jpeg is not compiled with GPU support")

        loader = self.bytes(*[encoded(number) for number in range(20)], threads=1)
        with self.without_torchvision(), contextlib.redirect_stderr(said):
            loader._decoder.nvjpeg = nvjpeg
            self.assertEqual(sum(len(labels) for _, labels in loader), 20)
        self.assertEqual(len(asked), 9)
        self.assertEqual(said.getvalue().count("nvJPEG does not work here: decode_jpeg is not compiled"), 1)

    def test_threads_leave_python_to_a_training_that_has_waited_for_its_gpu(self) -> None:
        loader, waits = self.bytes(encoded(0)), []
        gpu = types.SimpleNamespace(synchronize=lambda: waits.append(1))
        next_one: concurrent.futures.Future[None] = concurrent.futures.Future()
        with mock.patch.object(torch.cuda, "current_stream", lambda _: gpu):
            for on, is_made in (("cuda", False), ("cpu", True), ("cuda", True)):
                loader.device = types.SimpleNamespace(type=on)
                if is_made and not next_one.done():
                    next_one.set_result(None)
                loader._let_launch([next_one])
                self.assertEqual((len(waits), 0 < loader._rest <= 0.05), (1, True) if on == "cuda" and is_made else (0, False))


if __name__ == "__main__":
    unittest.main()
