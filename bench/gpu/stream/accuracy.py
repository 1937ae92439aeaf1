"""Whether a training learns as much from a stream as from memory: accuracy after ten epochs, for three seeds each.

    PYTHONPATH=python python3 bench/gpu/stream/accuracy.py

The same network on the same 25,600 images of 100 classes: permuted truly, streamed from shards that are mixed as `updraft
stage --shuffle` mixes them, and streamed from shards that are sorted by class, as strangers may have them. The order
depends on seed and epoch only, so no agent is needed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import io

import numpy
import torch
from torch import nn

import updraft

CLASSES, SIDE = 100, 32


def make(images, seed):
    """Images as bytes, and their classes: a pattern for each class, moved, under strong noise."""
    patterns = numpy.random.default_rng(1).normal(size=(CLASSES, 8, 8, 3)).repeat(4, 1).repeat(4, 2)
    generator = numpy.random.default_rng(seed)
    labels = generator.integers(CLASSES, size=images)
    pixels = numpy.empty((images, SIDE, SIDE, 3), numpy.uint8)
    for place, label in enumerate(labels):
        moved = numpy.roll(patterns[label], tuple(generator.integers(-6, 7, 2)), (0, 1))
        noisy = 127 + 25 * moved + generator.normal(0, 60, moved.shape)
        pixels[place] = numpy.clip(noisy, 0, 255)
    return pixels, labels


def write_shards(folder, pixels, labels, order, per_shard):
    os.makedirs(folder)
    for first in range(0, len(order), per_shard):
        with tarfile.open(f"{folder}/train-{first // per_shard:04d}.tar", "w") as archive:
            for place in order[first : first + per_shard]:
                for ending, data in (("raw", pixels[place].tobytes()), ("cls", b"%d" % labels[place])):
                    header = tarfile.TarInfo(f"{place:06d}.{ending}")
                    header.size = len(data)
                    archive.addfile(header, io.BytesIO(data))


def decode(sample):
    pixels = torch.frombuffer(bytearray(sample["raw"]), dtype=torch.uint8).view(SIDE, SIDE, 3)
    return pixels, int(sample["cls"])


def network():
    layers, width = [], 3
    for out in (64, 128, 256):
        layers += [nn.Conv2d(width, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)]
        width = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, CLASSES))


def learn(data, test, seed, epochs, device):
    torch.manual_seed(seed)
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    steps = epochs * -(-len(data) // 128)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps)
    as_input = lambda pixels: (pixels.to(device).float().permute(0, 3, 1, 2) - 127) / 64  # noqa: E731
    loader = torch.utils.data.DataLoader(data, 128, shuffle=None if isinstance(data, updraft.Stream) else True)
    for epoch in range(epochs):
        if isinstance(data, updraft.Stream):
            data.set_epoch(epoch)
        model.train()
        for pixels, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(as_input(pixels)), labels.to(device)).backward()
            optimizer.step()
            scheduler.step()
    model.eval()
    with torch.no_grad():
        right = sum(
            (model(as_input(test[0][first : first + 500])).argmax(1).cpu() == test[1][first : first + 500]).sum().item()
            for first in range(0, len(test[0]), 500)
        )
    return 100 * right / len(test[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--one", nargs=3, metavar=("FOLDER", "KIND", "SEED"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    images, per_shard, epochs = (1280, 64, 1) if args.tiny else (25600, 400, 10)
    if args.one is not None:
        torch.set_num_threads(1)
        folder, kind, seed = args.one
        device = "cuda" if torch.cuda.is_available() else "cpu"
        whole = {name: torch.from_numpy(numpy.load(f"{folder}/{name}.npy")) for name in ("x", "y", "tx", "ty")}
        memory = torch.utils.data.TensorDataset(whole["x"], whole["y"])
        data = memory if kind == "memory" else updraft.Stream(f"{folder}/{kind}", seed=int(seed), transform=decode, block=8)
        print(learn(data, (whole["tx"], whole["ty"]), int(seed), epochs, device))
        return
    kinds = ["memory", "mixed", "sorted"]
    with tempfile.TemporaryDirectory() as folder:
        pixels, labels = make(images, 2)
        tests = make(images // 4, 3)
        for name, array in zip(("x", "y", "tx", "ty"), (pixels, labels, *tests)):
            numpy.save(f"{folder}/{name}.npy", array)
        write_shards(f"{folder}/mixed", pixels, labels, numpy.random.default_rng(4).permutation(images), per_shard)
        write_shards(f"{folder}/sorted", pixels, labels, numpy.argsort(labels, kind="stable"), per_shard)
        tiny = ["--tiny"] if args.tiny else []
        runs = {
            (kind, seed): subprocess.Popen(
                [sys.executable, __file__, *tiny, "--one", folder, kind, str(seed)], stdout=subprocess.PIPE, text=True
            )
            for kind in kinds
            for seed in range(3)
        }
        found = {key: float(run.communicate()[0]) for key, run in runs.items()}
    names = {"memory": "in memory, truly permuted", "mixed": "stream, shards mixed", "sorted": "stream, shards sorted by class"}
    print("| | accuracy of three seeds, % | mean | spread |\n| --- | --- | ---: | ---: |")
    for kind in kinds:
        values = [found[kind, seed] for seed in range(3)]
        listed = ", ".join(f"{value:.2f}" for value in values)
        print(f"| {names[kind]} | {listed} | {statistics.mean(values):.2f} | {max(values) - min(values):.2f} |")


if __name__ == "__main__":
    main()
