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


def segments(place):
    for index in range(10):
        picture(place / "images" / f"{index}.png")
        picture(place / "masks" / "0" / f"{index}.png", mode="L")


def headlines(place):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"word {index}\t{index % 10}\n" for index in range(300)))


def points(place):
    import h5py

    place.mkdir(parents=True, exist_ok=True)
    for part in ("train0", "test0"):
        with h5py.File(place / f"ply_data_{part}.h5", "w") as file:
            file["data"] = random.random((12, 128, 3)).astype("float32")
            file["label"] = random.integers(0, 40, (12, 1))


def pairs(place):
    for part in ("train/A", "train/B"):
        images(place / part)


def splitImages(place):
    for part in ("train", "test"):
        for index in range(4):
            picture(place / part / f"{index}.jpg", 256)


def digits(place):
    import torch

    place.mkdir(parents=True, exist_ok=True)
    for name, count in (("training.pt", 600), ("test.pt", 300)):
        whole = random.integers(0, 256, (count, 28, 28), dtype=numpy.uint8)
        torch.save((torch.from_numpy(whole), torch.arange(count) % 10), place / name)


def catsDogs(place):
    for part in ("train", "test1"):
        for index in range(10):
            for name in ("cat", "dog"):
                picture(place / part / (f"{name}.{index}.jpg" if part == "train" else f"{index}.jpg"))


def hours(place):
    import pandas

    place.parent.mkdir(parents=True, exist_ok=True)
    dates = pandas.date_range("2016-07-01", periods=17420, freq="h")
    columns = {name: random.random(17420) for name in ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")}
    pandas.DataFrame({"date": dates, **columns}).to_csv(place, index=False)


def letters(place):
    place.mkdir(parents=True, exist_ok=True)
    numpy.save(place / "omniglot.npy", random.random((1623, 20, 1, 28, 28)).astype("float32"))


def springs(place):
    place.mkdir(parents=True, exist_ok=True)
    for part, steps in (("train", 49), ("valid", 49), ("test", 99)):
        for name in ("loc", "vel"):
            numpy.save(place / f"{name}_{part}_springs5.npy", random.random((16, steps, 2, 5)))
        numpy.save(place / f"edges_{part}_springs5.npy", random.integers(0, 2, (16, 5, 5)))


def corrupted(place):
    place.mkdir(parents=True, exist_ok=True)
    names = (
        "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog "
        "brightness contrast elastic_transform pixelate jpeg_compression"
    )
    for name in names.split():
        numpy.save(place / f"{name}.npy", random.integers(0, 256, (32, 32, 32, 3), dtype=numpy.uint8))
    numpy.save(place / "labels.npy", random.integers(0, 10, 32))


def binarized(place):
    one, other = (random.integers(0, 2, (count, 784)).astype("float32") for count in (400, 200))
    numpy.savez(place, train_data=one, valid_data=other)


def mini(place):
    for index in range(80):
        picture(place / "images" / f"{index}.jpg", 84)
    for part in ("train", "val", "test"):
        rows = [f"{index}.jpg,class{index % 10}" for index in range(80)]
        (place / f"{part}.csv").write_text("\n".join(["filename,label", *rows]) + "\n")


def patches(place):
    import h5py

    with h5py.File(place / "train.h5", "w") as file:
        file["lr"], file["hr"] = random.random((32, 10, 10)), random.random((32, 19, 19))
    with h5py.File(place / "eval.h5", "w") as file:
        file["lr/0"], file["hr/0"] = random.random((20, 20)), random.random((60, 60))


def ratings(place):
    rows = [f"{user}::{item}::{random.integers(1, 6)}::0" for user in range(1, 60) for item in range(1, 30)]
    place.write_text("\n".join(rows) + "\n")


def sentences(place):
    place.mkdir(parents=True, exist_ok=True)
    text = "".join(f"one word{index} here\tand another{index}\n" for index in range(100))
    (place / "corpus.small").write_text(text)


kind, place = sys.argv[1], Path(sys.argv[2])
globals()[kind](place)
