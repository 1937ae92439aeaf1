"""
Data sets of torchvision with a few random images in place of a download, for trainings that nobody changed. Where
there is no GPU, what is sent to one stays on the CPU.
"""

import importlib.abc
import importlib.machinery
import sys

TRAIN, TEST = 64, 32


def fill(datasets):
    import numpy
    import torch

    def images(count, *shape):
        return numpy.random.default_rng(count).integers(0, 256, (count, *shape), dtype=numpy.uint8)

    def make(cls, classes, shape, as_tensor=False, labels="targets"):
        def start(self, root="", train=True, transform=None, target_transform=None, download=False, **rest):
            self.root, self.transform, self.target_transform = str(root), transform, target_transform
            split = train if isinstance(train, str) else rest.get("split", "train" if train is True else "test")
            self.train = split.startswith("train")
            self.split, self.transforms = split, None
            count = TRAIN if self.train or "extra" in split or "unlabeled" in split else TEST
            data = images(count, *shape)
            targets = [index % classes for index in range(count)]
            self.data = torch.from_numpy(data) if as_tensor else data
            kept = torch.tensor(targets) if as_tensor else targets if labels == "targets" else numpy.array(targets)
            setattr(self, labels, kept)
            if not as_tensor:
                self.classes = [str(one) for one in range(classes)]
                self.class_to_idx = {str(one): one for one in range(classes)}

        cls.__init__ = start

    for name in ("MNIST", "FashionMNIST", "KMNIST"):
        make(getattr(datasets, name), 10, (28, 28), as_tensor=True)
    make(datasets.CIFAR10, 10, (32, 32, 3))
    make(datasets.CIFAR100, 100, (32, 32, 3))
    make(datasets.SVHN, 10, (3, 32, 32), labels="labels")
    make(datasets.STL10, 10, (3, 96, 96), labels="labels")


def stay_here(torch):
    if torch.cuda.is_available():
        return

    def is_gpu(value):
        return str(value).startswith("cuda")

    for cls in (torch.Tensor, torch.nn.Module):
        cls.cuda = lambda self, *args, **rest: self

        def to(self, *args, own=cls.to, **rest):
            kept = [one for one in args if not is_gpu(one)]
            rest = {name: value for name, value in rest.items() if not (name == "device" and is_gpu(value))}
            return own(self, *kept, **rest) if kept or rest else self

        cls.to = to
    for name in "zeros ones rand randn randint arange tensor full empty linspace randperm eye".split():

        def make(*args, own=getattr(torch, name), **rest):
            return own(*args, **{key: value for key, value in rest.items() if not is_gpu(value)})

        setattr(torch, name, make)


FILLED = {"torchvision.datasets": fill, "torch.utils.data": lambda _: stay_here(sys.modules["torch"])}


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in FILLED:
            return None
        fill = FILLED.pop(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        loader = spec.loader
        run = loader.exec_module

        def exec_module(module):
            run(module)
            fill(module)

        loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
