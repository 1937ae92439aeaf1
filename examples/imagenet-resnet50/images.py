"""ImageNet as one folder per class: finds the images and turns them into tensors.

While the file `.arriving` is in the folder, more is to come: classes one after the other, each when it is whole, or
images of all classes mixed, as `updraft stage --shuffle` packs them.
"""

import os
import random
import time
import zlib

import numpy
import torch
from PIL import Image
from torch.utils.data import Dataset

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1) * 255
DEVIATION = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1) * 255
ENDINGS = (".jpeg", ".jpg", ".png")


class BadData(Exception):
    """The dataset is not what it should be; the message names the file or folder."""


class ClassFolders(Dataset):
    """Training and held-out images. An item is a path and the number of its class; it is decoded on demand."""

    def __init__(self, root, size, held_out=0.02, most=1000):
        self.root, self.size, self.held_out, self.most = root, size, held_out, most
        self.classes, self.present, self.listed = [], {}, {}
        self.training, self.validation = [], []
        # Seconds spent waiting for data.
        self.waited = 0.0

    def scan(self):
        """Adds the images that have arrived since the last time; returns whether more are to come."""
        # Checked first, so that what arrives in between is not missed.
        more = os.path.exists(os.path.join(self.root, ".arriving"))
        folders = {entry.name: entry for entry in os.scandir(self.root) if entry.is_dir() and entry.name[0] != "."}
        # Sorted: the order of a directory differs between machines.
        for name in sorted(folders):
            changed = folders[name].stat().st_mtime_ns
            # File systems have coarse clocks: at the end every folder is read once more.
            if not more or self.listed.get(name) != changed:
                self.listed[name] = changed
                self.add(name)
        return more

    def add(self, name):
        """The new images of a class: all of them if each class is one archive, some if files arrive mixed."""
        if name not in self.present:
            self.present[name] = set()
            if name not in self.classes:
                self.classes.append(name)
            if len(self.classes) > self.most:
                raise BadData(f"{self.root} has more than {self.most} classes, the last of which is {name}")
        label, known = self.classes.index(name), self.present[name]
        found = {file for file in os.listdir(os.path.join(self.root, name)) if file.lower().endswith(ENDINGS)}
        for image in sorted(found - known):
            known.add(image)
            # Chosen by name, so that every machine and every attempt holds out the same images.
            held = zlib.crc32(f"{name}/{image}".encode()) < self.held_out * 2**32
            (self.validation if held else self.training).append((os.path.join(self.root, name, image), label))

    def finish(self, expected):
        """Everything has arrived: numbers the classes in the order of their names, and returns the old number of each."""
        missing = sorted(set(self.classes) - set(self.present))
        if missing:
            raise BadData(f"{self.root} lacks {len(missing)} classes of the checkpoint, such as {missing[0]}")
        for name, images in self.present.items():
            if not images:
                raise BadData(f"the class folder {os.path.join(self.root, name)} has no images")
        if expected is not None and len(self.classes) != expected:
            raise BadData(f"{self.root} has {len(self.classes)} classes, {expected} were expected")
        if not self.validation or not self.training:
            raise BadData(f"{self.root} has too few images to hold some out ({len(self.training)} in all)")
        order = sorted(range(len(self.classes)), key=self.classes.__getitem__)
        number = {old: new for new, old in enumerate(order)}
        self.classes = [self.classes[old] for old in order]
        self.training = [(path, number[label]) for path, label in self.training]
        self.validation = [(path, number[label]) for path, label in self.validation]
        return order

    def __len__(self):
        return len(self.training)

    def __getitem__(self, item):
        path, label, training, new = item
        try:
            with Image.open(path) as image:
                return to_tensor(image, self.size, training), label, new
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise BadData(f"{path} cannot be decoded: {error}") from None


def to_tensor(image, size, training):
    """Bytes of a square crop: random and perhaps mirrored for training, the center otherwise."""
    width, height = image.size
    if training:
        box = random_box(width, height)
    else:
        side = min(width, height) * 0.875
        box = ((width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2)
    # A JPEG can be decoded at half, quarter or eighth scale for a fraction of the work.
    scale = min(box[2] - box[0], box[3] - box[1]) / size
    image.draft("RGB", (max(1, int(width / scale)), max(1, int(height / scale))))
    shrunk = image.size[0] / width
    image = image.convert("RGB").resize((size, size), Image.BILINEAR, box=[side * shrunk for side in box])
    pixels = numpy.asarray(image)
    if training and random.random() < 0.5:
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


def whole_batches(items, batch_size, generator, skip):
    """An epoch over complete data, from its `skip`th image on."""
    order = torch.randperm(len(items), generator=generator).tolist()[skip:]
    for first in range(0, len(order), batch_size):
        # Batch normalization needs more than one image.
        if len(order) - first > 1:
            yield [(*items[index], True, True) for index in order[first : first + batch_size]]


def arriving_batches(dataset, batch_size, mix, skip, is_stopping):
    """An epoch over data that still arrives: each image once, drawn from those that have arrived.

    Classes come one after the other, so that a batch is drawn only when `mix` images wait: the more, the better mixed.
    Where few of those that came wait, half of a batch is drawn again from the others: else the last classes would
    displace the first.
    """
    waiting, used, known, last_message = [], [], 0, time.monotonic()
    while not is_stopping():
        more = dataset.scan()
        waiting.extend(dataset.training[known:])
        known = len(dataset.training)
        until = time.monotonic() + 1
        while time.monotonic() < until and len(waiting) >= (max(mix, batch_size) if more else 1):
            if not more and skip + len(used) >= known:
                return
            few = len(waiting) < known / (4 if more else 16)
            batch = [draw(waiting) for _ in range(min(len(waiting), (batch_size + 1) // 2 if few else batch_size))]
            again = random.sample(used, min(len(used), batch_size - len(batch))) if few else []
            used.extend(batch)
            if len(batch) + len(again) > 1:
                yield [(*item, True, True) for item in batch] + [(*item, True, False) for item in again]
            last_message = time.monotonic()
        if not more and (not waiting or skip + len(used) >= known):
            return
        if more and len(waiting) < max(mix, batch_size):
            began = time.monotonic()
            time.sleep(0.1)
            dataset.waited += time.monotonic() - began
            if time.monotonic() - last_message > 30:
                print(f"{len(dataset.present)} classes are there, waited={dataset.waited:.0f}", flush=True)
                last_message = time.monotonic()


def draw(items):
    """Removes a random item, in constant time."""
    index = random.randrange(len(items))
    items[index], items[-1] = items[-1], items[index]
    return items.pop()
