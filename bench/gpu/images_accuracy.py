"""Whether a training learns as much from images that the GPU decodes as from Pillow's: accuracy after ten epochs, three
seeds each.

    PYTHONPATH=python python3 bench/gpu/images_accuracy.py

A small network, 6,400 JPEGs of 100 classes (a pattern of colours for each, moved, under strong noise), random crops and
flips: decoded and cropped by Pillow in workers, or by `updraft.ImageLoader`. Each is validated with both decoders.
"""

import argparse
import io
import json
import os
import random
import statistics
import subprocess
import sys

import numpy
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader

import updraft

CLASSES, SIZE = 100, 64
STRENGTH = float(os.environ.get("STRENGTH", 10))
"""Of the pattern, in grey levels; the noise has 60."""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make(images, seed):
    """JPEGs of different sizes, with their classes."""
    patterns = numpy.random.default_rng(1).normal(size=(CLASSES, 6, 6, 3)).repeat(16, 1).repeat(16, 2)
    generator = numpy.random.default_rng(seed)
    made = []
    for label in generator.integers(CLASSES, size=images):
        moved = numpy.roll(patterns[label], tuple(generator.integers(-40, 41, 2)), (0, 1))
        height, width = generator.integers(76, 97, 2)
        pixels = 127 + STRENGTH * moved[:height, :width] + generator.normal(0, 60, (height, width, 3))
        file = io.BytesIO()
        Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8)).save(file, "JPEG", quality=85)
        made.append((file.getvalue(), int(label)))
    return made


class Pillow:
    """The same crops, by Pillow."""

    def __init__(self, samples, is_training):
        self.samples, self.is_training = samples, is_training

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        data, label = self.samples[index]
        image = Image.open(io.BytesIO(data)).convert("RGB")
        transform = updraft.RandomResizedCrop(SIZE, SCALE) if self.is_training else updraft.CenterCrop(SIZE)
        view = transform.view(image.height, image.width, iter(random.random, None))
        image = image.crop((view.left, view.top, view.left + view.width, view.top + view.height))
        image = image.resize((view.columns, view.rows), Image.BILINEAR)
        pixels = numpy.asarray(image)[view.y : view.y + SIZE, view.x : view.x + SIZE]
        return torch.from_numpy(pixels[:, :: -1 if view.flip else 1].transpose(2, 0, 1).copy()), label


SCALE = (0.3, 1.0)


def batches(samples, decoder, is_training, device):
    options = {"batch_size": 128, "shuffle": is_training}
    if decoder == "gpu":
        crop = updraft.RandomResizedCrop(SIZE, SCALE) if is_training else updraft.CenterCrop(SIZE)
        return updraft.ImageLoader(DataLoader(samples, **options), crop, device=device)
    return DataLoader(Pillow(samples, is_training), num_workers=2, persistent_workers=True, **options)


def as_input(pixels, device):
    if pixels.dtype != torch.uint8:
        return pixels
    mean, std = (torch.tensor(one, device=device).view(1, 3, 1, 1) for one in (MEAN, STD))
    return (pixels.to(device).float() / 255 - mean) / std


def network():
    layers, width = [], 3
    for out in (48, 96, 192, 384):
        layers += [nn.Conv2d(width, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)]
        width = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, CLASSES))


def accuracy(model, loader, device):
    model.eval()
    right, total = 0, 0
    with torch.no_grad():
        for pixels, labels in loader:
            right += (model(as_input(pixels, device)).argmax(1) == labels.to(device)).sum().item()
            total += len(labels)
    return 100 * right / total


def learn(decoder, seed, images, epochs):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    random.seed(seed)
    torch.manual_seed(seed)
    train, held_out = make(images, 2), make(images // 4, 3)
    loader, model = batches(train, decoder, True, device), network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=epochs * len(loader))
    for _ in range(epochs):
        model.train()
        for pixels, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(as_input(pixels, device)), labels.to(device)).backward()
            optimizer.step()
            scheduler.step()
    return {kind: accuracy(model, batches(held_out, kind, False, device), device) for kind in ("gpu", "pillow")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="a rehearsal: figures mean nothing")
    parser.add_argument("--one", nargs=2, metavar=("DECODER", "SEED"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        torch.set_num_threads(1)
        print(json.dumps(learn(args.one[0], int(args.one[1]), *((256, 1) if args.tiny else (6400, 10)))))
        return
    tiny = ["--tiny"] if args.tiny else []
    runs = {
        (decoder, seed): subprocess.Popen(
            [sys.executable, __file__, *tiny, "--one", decoder, str(seed)], stdout=subprocess.PIPE, text=True
        )
        for decoder in ("pillow", "gpu")
        for seed in range(3)
    }
    found = {key: json.loads(run.communicate()[0]) for key, run in runs.items()}
    print("| trained with, validated with | three seeds, % | mean | spread |\n| --- | --- | ---: | ---: |")
    for decoder, other in (("pillow", "pillow"), ("gpu", "gpu"), ("gpu", "pillow"), ("pillow", "gpu")):
        values = [found[decoder, seed][other] for seed in range(3)]
        listed = ", ".join(f"{value:.2f}" for value in values)
        print(f"| {decoder}, {other} | {listed} | {statistics.mean(values):.2f} | {max(values) - min(values):.2f} |")


if __name__ == "__main__":
    main()
