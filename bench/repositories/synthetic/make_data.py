"""Writes the small data that a training reads from its folder: `make_data.py KIND PLACE`."""

import pickle
import sys
from pathlib import Path

import numpy
from PIL import Image

random = numpy.random.default_rng(1)


def picture(file, side=64, mode="RGB"):
    file.parent.mkdir(parents=True, exist_ok=True)
    shape = (side, side, 3) if mode == "RGB" else (side, side)
    values = random.integers(0, 256 if mode == "RGB" else 2, shape, dtype=numpy.uint8)
    Image.fromarray(values, mode).save(file)


def classes(place):
    for part in ("train", "val"):
        for name in ("cat", "dog"):
            for index in range(8):
                picture(place / part / name / f"{index}.jpg")


def masks(place):
    for index in range(10):
        picture(place / "imgs" / f"{index}.png")
        picture(place / "masks" / f"{index}.png", mode="L")


def images(place):
    for index in range(8):
        picture(place / f"{index}.png", 128)


def text(place):
    place.parent.mkdir(parents=True, exist_ok=True)
    words = [f"word{index}" for index in range(200)]
    lines = [" ".join(random.choice(words, 12)) for _ in range(2000)]
    place.write_text("\n".join(lines) + "\n")


def corpus(place):
    for part in ("train", "valid", "test"):
        text(place / f"{part}.txt")


def table(place):
    place.parent.mkdir(parents=True, exist_ok=True)
    numpy.savetxt(place, random.random((1200, 8)), delimiter=",")


def tokens(place):
    place.mkdir(parents=True, exist_ok=True)
    for part in ("train", "val"):
        random.integers(0, 65, 20_000).astype(numpy.uint16).tofile(place / f"{part}.bin")
    names = [chr(48 + index) for index in range(65)]
    meta = {"vocab_size": 65, "itos": dict(enumerate(names)), "stoi": {one: at for at, one in enumerate(names)}}
    (place / "meta.pkl").write_bytes(pickle.dumps(meta))


def graph(place):
    place.mkdir(parents=True, exist_ok=True)
    rows = [
        "\t".join([str(index), *map(str, random.integers(0, 2, 30)), f"class{index % 7}"]) for index in range(1600)
    ]
    (place / "cora.content").write_text("\n".join(rows) + "\n")
    edges = random.integers(0, 1600, (4000, 2))
    (place / "cora.cites").write_text("\n".join(f"{one}\t{other}" for one, other in edges) + "\n")


def attributes(place):
    images(place / "images")
    names = "Black_Hair Blond_Hair Brown_Hair Male Young"
    rows = [f"{index % 8}.png " + " ".join(random.choice(["1", "-1"], 5)) for index in range(2100)]
    (place / "list_attr_celeba.txt").write_text("\n".join(["2100", names, *rows]) + "\n")


kind, place = sys.argv[1], Path(sys.argv[2])
globals()[kind](place)
