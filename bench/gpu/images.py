"""How much of a GPU a training gets, by who decodes its images: ResNet-50, bf16, channels_last, batches of 256.

    taskset -c 0-5 python3 bench/gpu/images.py --rounds 3          # and -c 0-1

All ways take turns of a few seconds in one process, with one model, on the same cores. Data is synthetic, in memory:
`small` images of 220 to 320 pixels a side and 37 kB, `large` ones of 300 to 560 pixels and 70 kB, about as ImageNet's;
as single files and as tar shards. CPU seconds are those of the process and its workers, during its turns.
"""

import argparse
import io
import json
import multiprocessing
import os
import statistics
import sys
import tarfile
import time

import numpy
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", part) for part in ("examples/imagenet-resnet50", "python")]
import updraft  # noqa: E402
from images import normalize, random_box, to_tensor  # noqa: E402
from make_data import add, picture  # noqa: E402
from resnet50 import ResNet50  # noqa: E402

SIZES = {"small": (220, 320, 89), "large": (300, 560, 84)}
DRAWN, COPIES, PER_SHARD, BATCH = 1600, 10, 800, 256


def draw(task):
    """One image: noise of a strength that gives its kind the size that it should have."""
    kind, number = task
    low, high, quality = SIZES[kind]
    generator = numpy.random.default_rng(number)
    height, width = (int(side) for side in generator.integers(low, high + 1, 2))
    pixels = picture(generator, number % 100, max(height, width)).crop((0, 0, width, height))
    file = io.BytesIO()
    pixels.save(file, "JPEG", quality=quality)
    return file.getvalue()


def make(folder, kind, drawn):
    """Files and shards of one kind; one in ten images is drawn, and written under ten names."""
    files, shards = f"{folder}/{kind}/files", f"{folder}/{kind}/shards"
    os.makedirs(files)
    os.makedirs(shards)
    with multiprocessing.Pool() as pool:
        images = pool.map(draw, [(kind, number) for number in range(drawn)], chunksize=20)
    order = numpy.random.default_rng(1).permutation(drawn * COPIES)
    for place, number in enumerate(order):
        with open(f"{files}/{place:06d}-{number % 100}.jpg", "wb") as file:
            file.write(images[number % drawn])
    for first in range(0, len(order), PER_SHARD):
        with tarfile.open(f"{shards}/train-{first // PER_SHARD:04d}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for number in order[first : first + PER_SHARD]:
                add(archive, f"{first}/{number}.jpg", images[number % drawn])
                add(archive, f"{first}/{number}.cls", b"%d" % (number % 100))
    return statistics.mean(map(len, images))


class Files(Dataset):
    """Paths, or what is decoded of them."""

    def __init__(self, folder, decode=None):
        self.paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        self.decode = decode

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        return path if self.decode is None else self.decode(path), int(path[:-4].rpartition("-")[2])


def by_pillow(path):
    from PIL import Image

    with Image.open(path) as image:
        return to_tensor(image, 224, True)


def by_torchvision(path):
    import torchvision
    from torchvision.transforms.v2 import functional

    pixels = torchvision.io.decode_jpeg(torchvision.io.read_file(path), torchvision.io.ImageReadMode.RGB)
    left, top, right, bottom = map(int, random_box(pixels.shape[2], pixels.shape[1]))
    height, width = max(1, bottom - top), max(1, right - left)
    seen = functional.resized_crop(pixels, top, left, height, width, [224, 224], antialias=True)
    return functional.horizontal_flip(seen) if torch.rand(()) < 0.5 else seen


def one_thread(_):
    torch.set_num_threads(1)


def workers(folder, decode, device, cores):
    options = {"num_workers": cores, "pin_memory": True, "worker_init_fn": one_thread}
    loader = DataLoader(Files(folder, decode), BATCH, shuffle=True, drop_last=True, **options)
    while True:
        for pixels, labels in loader:
            yield normalize(pixels, device), labels.to(device, non_blocking=True)


def ours(data, device, threads, **options):
    loader = DataLoader(data, BATCH, drop_last=True, **options)
    images = updraft.ImageLoader(loader, updraft.RandomResizedCrop(224), device=device, threads=threads)
    while True:
        yield from images


def alone(device):
    batch = torch.randn(BATCH, 3, 224, 224, device=device), torch.randint(100, (BATCH,), device=device)
    while True:
        yield batch


def ways(folder, device, cores, wants):
    """By name: what makes the batches, and whether the model is compiled."""
    files, shards = (lambda kind: f"{folder}/{kind}/files"), (lambda kind: f"{folder}/{kind}/shards")
    stream = lambda kind: updraft.Stream(shards(kind), batch_size=BATCH, block=8)  # noqa: E731
    made = {"the GPU alone": (lambda: alone(device), False), "the GPU alone, compiled": (lambda: alone(device), True)}
    for kind in SIZES:
        made[f"{kind}, Pillow, {cores} workers"] = (lambda k=kind: workers(files(k), by_pillow, device, cores), False)
        made[f"{kind}, torchvision on the CPU, {cores} workers"] = (
            lambda k=kind: workers(files(k), by_torchvision, device, cores), False
        )
        for threads in (1, 2, 3):
            name = f"{threads} thread{'s' * (threads > 1)}"
            made[f"{kind}, ImageLoader, files, {name}"] = (
                lambda k=kind, t=threads: ours(Files(files(k)), device, t, shuffle=True), False
            )
            made[f"{kind}, ImageLoader, Stream, {name}"] = (lambda k=kind, t=threads: ours(stream(k), device, t), False)
            made[f"{kind}, ImageLoader, Stream, {name}, compiled"] = (lambda k=kind, t=threads: ours(stream(k), device, t), True)
    return {name: way for name, way in made.items() if not wants or any(want in name for want in wants)}


def cpu_seconds():
    """Of this process and its children that are alive."""
    ticks, me = 0, str(os.getpid())
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if pid == me or fields[1] == me:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Trainer:
    def __init__(self, device):
        self.device = device
        self.model = ResNet50(width=64).to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.compiled = None

    def step(self, model, batch):
        pixels, labels = batch
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(pixels.contiguous(memory_format=torch.channels_last)), labels)
        loss.backward()
        self.optimizer.step()

    def turn(self, batches, is_compiled, seconds, warm):
        """Images and CPU seconds per second, once it is warm."""
        if is_compiled and self.compiled is None:
            self.compiled = torch.compile(self.model)
        model = self.compiled if is_compiled else self.model
        until = time.monotonic() + warm
        steps = 0
        while time.monotonic() < until or steps < 8:
            self.step(model, next(batches))
            steps += 1
        sync(self.device)
        began, cpu, steps = time.monotonic(), cpu_seconds(), 0
        while time.monotonic() < began + seconds:
            self.step(model, next(batches))
            steps += 1
            if steps % 8 == 0:
                # So that the clock does not run ahead of the GPU.
                sync(self.device)
        sync(self.device)
        took = time.monotonic() - began
        return steps * BATCH / took, (cpu_seconds() - cpu) * 1000 / (steps * BATCH)


def sync(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="/dev/shm/updraft-images")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--warm", type=float, default=1)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no further turn begins")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--json")
    parser.add_argument("--tiny", action="store_true", help="a rehearsal without a GPU: figures mean nothing")
    args = parser.parse_args()
    global BATCH
    if args.tiny:
        BATCH = 4
    for kind in SIZES:
        if not os.path.exists(f"{args.folder}/{kind}"):
            print(f"{kind}: {make(args.folder, kind, 20 if args.tiny else DRAWN):.0f} bytes an image", flush=True)
    cores = len(os.sched_getaffinity(0))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    trainer, began = Trainer(device), time.monotonic()
    found = {}
    for _ in range(args.rounds):
        for name, (open_way, is_compiled) in ways(args.folder, device, cores, args.only).items():
            if time.monotonic() - began > args.limit:
                continue
            batches = open_way()
            try:
                found.setdefault(name, []).append(trainer.turn(batches, is_compiled, args.seconds, args.warm))
            finally:
                batches.close()
            print(name, *(f"{value:.2f}" for value in found[name][-1]), flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(found, file)
    alones = {False: "the GPU alone", True: "the GPU alone, compiled"}
    pace = {key: statistics.median(v[0] for v in found[name]) for key, name in alones.items() if name in found}
    print(f"| {cores} cores | images/s, each | median | of the GPU's pace | CPU s per 1,000 images |")
    print("| --- | --- | ---: | ---: | ---: |")
    for name, turns in found.items():
        median = statistics.median(turn[0] for turn in turns)
        of = pace.get("compiled" in name)
        listed = ", ".join(f"{turn[0]:.0f}" for turn in turns)
        share = "" if of is None else f"{median / of:.2f}"
        print(f"| {name} | {listed} | {median:.0f} | {share} | {statistics.median(turn[1] for turn in turns):.2f} |")


if __name__ == "__main__":
    main()
