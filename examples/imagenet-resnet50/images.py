"""Turns samples of the stream into tensors."""

import io
import os
import random

import numpy
import torch
from PIL import Image

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1) * 255
DEVIATION = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1) * 255
ENDINGS = ("jpeg", "jpg", "png")


class BadData(Exception):
    """The data set is not what it should be; the message names the image."""


class Decode:
    """Pixels and class of a sample. Its name is `CLASS/IMAGE`; classes are numbered in the order of their list."""

    def __init__(self, classes, size, is_training):
        self.numbers = {name: number for number, name in enumerate(classes)}
        self.size, self.is_training = size, is_training

    def __call__(self, sample):
        name = sample["__key__"]
        number = self.numbers.get(os.path.dirname(name))
        data = next((sample[ending] for ending in ENDINGS if ending in sample), None)
        if number is None or data is None:
            raise BadData(f"{name} is {'of no known class' if number is None else 'no image'}")
        try:
            with Image.open(io.BytesIO(data)) as image:
                return to_tensor(image, self.size, self.is_training), number
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise BadData(f"{name} cannot be decoded: {error}") from None


def to_tensor(image, size, is_training):
    """Bytes of a square crop: random and perhaps mirrored for training, the center otherwise."""
    width, height = image.size
    if is_training:
        box = random_box(width, height)
    else:
        side = min(width, height) * 0.875
        box = ((width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2)
    # A JPEG can be decoded at half, quarter or eighth scale for a fraction of the work.
    scale = min(box[2] - box[0], box[3] - box[1]) / size
    image.draft("RGB", (max(1, int(width / scale)), max(1, int(height / scale))))
    # Each side is rounded up.
    across, down = image.size[0] / width, image.size[1] / height
    left, top, right, bottom = box
    box = (left * across, top * down, min(right * across, image.size[0]), min(bottom * down, image.size[1]))
    image = image.convert("RGB").resize((size, size), Image.BILINEAR, box=box)
    pixels = numpy.asarray(image)
    if is_training and random.random() < 0.5:
        pixels = pixels[:, ::-1]
    return torch.from_numpy(pixels.transpose(2, 0, 1).copy())


def random_box(width, height):
    """A crop of 8 to 100 % of the image, with an aspect ratio between 3:4 and 4:3."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        shape = random.uniform(3 / 4, 4 / 3)
        w, h = (area * shape) ** 0.5, (area / shape) ** 0.5
        if w <= width and h <= height:
            left, top = random.uniform(0, width - w), random.uniform(0, height - h)
            return (left, top, left + w, top + h)
    return (0, 0, width, height)


def normalize(pixels, device):
    return (pixels.to(device, non_blocking=True).float() - MEAN.to(device)) / DEVIATION.to(device)
