"""Write a small synthetic ImageNet in the real format: `ILSVRC2012_img_train.tar`, a tar with a tar of JPEG images for
each class, named after its WordNet id. Each class is a colour and a grating under noise.
"""

import argparse
import io
import os
import tarfile

import numpy
from PIL import Image


def class_names(count):
    """Ids in the form of ImageNet's: the first ones are real, the rest are made up."""
    real = ["n01440764", "n01443537", "n01484850", "n01491361", "n01494475", "n01496331", "n01498041", "n01514668"]
    return (real + [f"n1{number:07d}" for number in range(count)])[:count]


def picture(generator, label, side):
    y, x = numpy.mgrid[0:side, 0:side] / side
    angle = 2.4 * label
    wave = numpy.sin(2 * numpy.pi * (3 + label % 4) * (x * numpy.cos(angle) + y * numpy.sin(angle)))
    tint = numpy.array([numpy.cos(1.7 * label + shift) for shift in (0, 2.1, 4.2)])
    pixels = 127 + 60 * wave[..., None] + 60 * tint + generator.normal(0, 20, (side, side, 3))
    return Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8))


def add(archive, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def class_tar(generator, name, label, images, side):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for number in range(images):
            data = io.BytesIO()
            picture(generator, label, side + 8 * (number % 3)).save(data, "JPEG", quality=85)
            add(archive, f"{name}_{number}.JPEG", data.getvalue())
    return packed.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", default="ILSVRC2012_img_train.tar")
    parser.add_argument("--classes", type=int, default=6)
    parser.add_argument("--images-per-class", type=int, default=8)
    parser.add_argument("--side", type=int, default=96)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    generator = numpy.random.default_rng(args.seed)
    os.makedirs(os.path.dirname(args.output) or ".", exist_ok=True)
    with tarfile.open(args.output, "w", format=tarfile.USTAR_FORMAT) as archive:
        for label, name in enumerate(class_names(args.classes)):
            data = class_tar(generator, name, label, args.images_per_class, args.side)
            add(archive, f"{name}.tar", data)
    print(f"{args.output}: {args.classes} classes, {args.classes * args.images_per_class} images")


if __name__ == "__main__":
    main()
