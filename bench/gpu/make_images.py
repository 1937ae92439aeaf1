"""Write an ImageNet in the real format and with real image sizes, on all cores: a tar with a tar of 1300 JPEG images of
about 110 kB for each class, and, for a training without Updraft, the same images as a folder for each class.

Only one in ten images of a class is drawn, and written under ten names: moving and decoding them costs the same.
"""

import argparse
import io
import multiprocessing
import os
import sys
import tarfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "examples", "imagenet-resnet50"))
from make_data import add, class_names, picture  # noqa: E402

COPIES = 10


def jpeg(generator, label, side):
    data = io.BytesIO()
    picture(generator, label, side).save(data, "JPEG", quality=92)
    return data.getvalue()


def write_class(task):
    """The class's folder and its tar, whose bytes come back."""
    name, label, args = task
    generator = numpy.random.default_rng(label)
    folder = os.path.join(args.unpacked, name)
    os.makedirs(folder)
    drawn = [jpeg(generator, label, args.side + 8 * (number % 3)) for number in range(args.images // COPIES)]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for number in range(args.images):
            data = drawn[number % len(drawn)]
            add(archive, f"{name}_{number}.JPEG", data)
            with open(os.path.join(folder, f"{name}_{number}.JPEG"), "wb") as file:
                file.write(data)
    return name, packed.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    parser.add_argument("unpacked")
    parser.add_argument("--classes", type=int, required=True)
    parser.add_argument("--images", type=int, default=1300, help="of each class")
    parser.add_argument("--side", type=int, default=424)
    args = parser.parse_args()
    tasks = [(name, label, args) for label, name in enumerate(class_names(args.classes))]
    with multiprocessing.Pool() as pool, tarfile.open(args.output, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in pool.imap(write_class, tasks):
            add(archive, f"{name}.tar", data)


if __name__ == "__main__":
    main()
