"""Write an ImageNet-like data set, on all cores, as WebDataset shards (a JPEG and its class for each image, classes mixed
as `updraft stage --shuffle` mixes them) and, if asked, as single files for a training without Updraft.

Only one in ten images is drawn, and written under ten names: moving and decoding them costs the same.
"""

import argparse
import io
import json
import multiprocessing
import os
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "imagenet-resnet50"))
import tarfile  # noqa: E402

from make_data import add, class_names, picture  # noqa: E402

COPIES = 10


def write_shard(task):
    number, args = task
    generator = numpy.random.default_rng(number)
    drawn = []
    for place in range(-(-args.per_shard // COPIES)):
        label = int(generator.integers(args.classes))
        data = io.BytesIO()
        picture(generator, label, args.side + 8 * (place % 3)).save(data, "JPEG", quality=92)
        drawn.append((label, data.getvalue()))
    name = f"{os.path.basename(args.shards)}-{number:06d}.tar"
    names = class_names(args.classes)
    with tarfile.open(os.path.join(args.shards, name), "w", format=tarfile.USTAR_FORMAT) as archive:
        for place in range(args.per_shard):
            label, data = drawn[place % len(drawn)]
            key = f"{number:06d}-{place:04d}"
            add(archive, f"{names[label]}/{key}.jpg", data)
            add(archive, f"{names[label]}/{key}.cls", b"%d" % label)
            if args.files is not None:
                with open(os.path.join(args.files, f"{label}-{key}.jpg"), "wb") as file:
                    file.write(data)
    return {"name": name, "files": 2 * args.per_shard, "samples": args.per_shard}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shards")
    parser.add_argument("files", nargs="?")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--per-shard", type=int, default=800)
    parser.add_argument("--classes", type=int, default=120)
    parser.add_argument("--side", type=int, default=256)
    args = parser.parse_args()
    for folder in filter(None, (args.shards, args.files)):
        os.makedirs(folder, exist_ok=True)
    with open(os.path.join(args.shards, "classes.txt"), "w") as file:
        file.writelines(f"{name}\n" for name in class_names(args.classes))
    with multiprocessing.Pool() as pool, open(os.path.join(args.shards, "made.json"), "w") as file:
        json.dump(pool.map(write_shard, [(number, args) for number in range(args.count)], chunksize=1), file)


if __name__ == "__main__":
    main()
