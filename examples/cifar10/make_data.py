"""Write a synthetic CIFAR-10 in the real file format: `cifar-10-python.tar.gz` with the folder
`cifar-10-batches-py`, five training batches, a test batch and `batches.meta`, as pickled dictionaries, and a page
`readme.html`: the published archive's eight files.

Each class is a colour and a grating under noise: easy enough to learn in an epoch, not trivial.
"""

import argparse
import gzip
import io
import os
import pickle
import struct
import tarfile

import numpy

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


class Python2Pickler(pickle._Pickler):
    """The published batches were pickled by Python 2, whose strings are bytes: readers that ask for
    `encoding="bytes"` or `"latin1"` must find the same here."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_string(self, value):
        data = value if isinstance(value, bytes) else value.encode("latin1")
        if len(data) < 256:
            self.write(pickle.SHORT_BINSTRING + bytes([len(data)]) + data)
        else:
            self.write(pickle.BINSTRING + struct.pack("<i", len(data)) + data)
        self.memoize(value)

    dispatch[bytes] = save_string
    dispatch[str] = save_string


def pickled(value):
    buffer = io.BytesIO()
    Python2Pickler(buffer, protocol=2).dump(value)
    return buffer.getvalue()


def patterns():
    """One clean 32 x 32 picture per class."""
    y, x = numpy.mgrid[0:32, 0:32] / 32.0
    pictures = []
    for label in range(10):
        angle = numpy.pi * label / 10
        wave = numpy.sin(2 * numpy.pi * (2 + label % 5) * (x * numpy.cos(angle) + y * numpy.sin(angle)))
        tint = numpy.array([numpy.cos(2.1 * label + shift) for shift in (0, 2.1, 4.2)])
        pictures.append(wave[None] * 0.5 + tint[:, None, None] * 0.15)
    return numpy.stack(pictures)


def batch(generator, pictures, count, name):
    labels = generator.integers(0, 10, count)
    shift = generator.integers(0, 32, count)
    clean = numpy.stack([numpy.roll(pictures[k], s, axis=2) for k, s in zip(labels, shift)])
    noisy = clean + generator.normal(0, 1.6, clean.shape)
    pixels = numpy.clip(127.5 + 60 * noisy, 0, 255).astype(numpy.uint8)
    return {
        "batch_label": name,
        "labels": [int(k) for k in labels],
        "data": pixels.reshape(count, 3072),
        "filenames": [f"{CLASSES[k]}_s_{i:06d}.png" for i, k in enumerate(labels)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", default="published/cifar-10-python.tar.gz")
    parser.add_argument("--images-per-batch", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    generator = numpy.random.default_rng(args.seed)
    os.makedirs(os.path.dirname(args.output) or ".", exist_ok=True)
    pictures = patterns()
    members = {
        "batches.meta": {"num_cases_per_batch": args.images_per_batch, "label_names": CLASSES, "num_vis": 3072}
    }
    for n in range(1, 6):
        label = f"training batch {n} of 5"
        members[f"data_batch_{n}"] = batch(generator, pictures, args.images_per_batch, label)
    members["readme.html"] = b"<html><body>Synthetic images in the format of CIFAR-10.</body></html>\n"
    members["test_batch"] = batch(generator, pictures, args.images_per_batch, "testing batch 1 of 1")
    # No time stamps anywhere: the same seed gives the same bytes, and so the same hash.
    with open(args.output, "wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, content in members.items():
                data = content if isinstance(content, bytes) else pickled(content)
                entry = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    main()
