"""Write a small synthetic MNIST in the true format: four gzipped idx files. Each digit is a bar at an angle of its own."""

import argparse
import gzip
import os

import numpy


def pictures(generator, labels):
    y, x = numpy.mgrid[-14:14, -14:14]
    angle = (numpy.pi * labels / 10)[:, None, None]
    distance = numpy.abs(x * numpy.sin(angle) - y * numpy.cos(angle))
    clean = numpy.where(distance < 2, 230, 10)
    noisy = clean + generator.normal(0, 30, (len(labels), 28, 28))
    return numpy.clip(noisy, 0, 255).astype(numpy.uint8)


def write_idx(path, values):
    head = bytes([0, 0, 8, values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape)
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        packed.write(head + values.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="published")
    parser.add_argument("--images", type=int, default=600)
    args = parser.parse_args()
    generator = numpy.random.default_rng(1)
    os.makedirs(args.folder, exist_ok=True)
    for part, count in (("train", args.images), ("t10k", args.images // 5)):
        labels = generator.integers(0, 10, count).astype(numpy.uint8)
        write_idx(os.path.join(args.folder, f"{part}-images-idx3-ubyte.gz"), pictures(generator, labels))
        write_idx(os.path.join(args.folder, f"{part}-labels-idx1-ubyte.gz"), labels)


if __name__ == "__main__":
    main()
