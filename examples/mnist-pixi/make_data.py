"""Write a small synthetic MNIST in the real format: four gzipped idx files. Each digit is a bar at its own angle."""

import argparse
import gzip
import math
import os
import random

SIDE = 28


def bars():
    """For each digit, which pixels belong to its bar."""
    half = range(-SIDE // 2, SIDE // 2)
    angles = [math.pi * digit / 10 for digit in range(10)]
    return [[abs(x * math.sin(a) - y * math.cos(a)) < 2 for y in half for x in half] for a in angles]


def pictures(generator, labels):
    """The bars with noise, each cut at random out of two long noisy strips, a bright and a dark one."""
    noise = [generator.gauss(0, 30) for _ in range(1 << 16)]
    dark, bright = (bytes(max(0, min(255, round(level + one))) for one in noise) for level in (10, 230))
    shapes = bars()
    for digit in labels:
        first = generator.randrange(len(noise) - SIDE * SIDE)
        pixels = zip(shapes[digit], dark[first : first + SIDE * SIDE], bright[first : first + SIDE * SIDE])
        yield bytes(high if is_bar else low for is_bar, low, high in pixels)


def write_idx(path, sizes, values):
    head = bytes([0, 0, 8, len(sizes)]) + b"".join(size.to_bytes(4, "big") for size in sizes)
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        packed.write(head)
        for value in values:
            packed.write(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="published")
    parser.add_argument("--images", type=int, default=600)
    args = parser.parse_args()
    generator = random.Random(1)
    os.makedirs(args.folder, exist_ok=True)
    for part, count in (("train", args.images), ("t10k", args.images // 5)):
        labels = bytes(generator.randrange(10) for _ in range(count))
        images = pictures(generator, labels)
        write_idx(os.path.join(args.folder, f"{part}-images-idx3-ubyte.gz"), (count, SIDE, SIDE), images)
        write_idx(os.path.join(args.folder, f"{part}-labels-idx1-ubyte.gz"), (count,), [labels])


if __name__ == "__main__":
    main()
