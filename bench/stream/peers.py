"""Reads the same images with updraft.Stream and with its peers; `peers.ts` runs it, and says how.

    python3 peers.py make FOLDER             # tar shards, MDS, litdata's chunks
    python3 peers.py read PEER FOLDER …      # prints a line of JSON
"""

import argparse
import gc
import glob
import io
import itertools
import json
import multiprocessing
import os
import pickle
import random
import resource
import signal
import sys
import tarfile
import tempfile
import time
import zlib

import numpy
import torch
from PIL import Image

SHARD_BYTES = 16_000_000
SEED = 1


def jpegs(count):
    """Noise of many sizes, about 40 kB on average; a hundred are drawn, and numbered so that all differ."""
    chance = numpy.random.default_rng(SEED)
    drawn = []
    for side in chance.integers(90, 330, 100):
        data = io.BytesIO()
        small = chance.integers(0, 256, (side // 2, side // 2, 3), dtype=numpy.uint8)
        Image.fromarray(small).resize((side, side), Image.BILINEAR).save(data, "JPEG", quality=92)
        drawn.append(data.getvalue())
    return [drawn[number % 100] + b"%08d" % number for number in range(count)]


def make(args):
    images = list(enumerate(jpegs(args.images)))
    random.Random(SEED).shuffle(images)
    per_shard = SHARD_BYTES * len(images) // sum(len(data) for _, data in images)
    shards = os.path.join(args.folder, "shards")
    os.makedirs(shards)
    made = []
    for first in range(0, len(images), per_shard):
        part = images[first : first + per_shard]
        made.append({"name": f"train-{len(made):04d}.tar", "files": len(part), "samples": len(part)})
        with tarfile.open(os.path.join(shards, made[-1]["name"]), "w", format=tarfile.USTAR_FORMAT) as shard:
            for number, data in part:
                entry = tarfile.TarInfo(f"{number:08d}.jpg")
                entry.size = len(data)
                shard.addfile(entry, io.BytesIO(data))
    with open(os.path.join(shards, "made.json"), "w") as file:
        json.dump(made, file)
    from litdata.streaming.writer import BinaryWriter
    from streaming import MDSWriter

    with MDSWriter(
        out=os.path.join(args.folder, "mds"), columns={"id": "int", "jpg": "bytes"}, hashes=["xxh64"], size_limit=SHARD_BYTES
    ) as mds:
        for number, data in images:
            mds.write({"id": number, "jpg": data})
    chunks = os.path.join(args.folder, "litdata")
    writer = BinaryWriter(chunks, chunk_bytes=SHARD_BYTES)
    for place, (number, data) in enumerate(images):
        writer[place] = {"id": number, "jpg": data}
    writer.done()
    writer.merge()
    print(json.dumps({"images": len(images), "bytes": sum(len(data) for _, data in images), "check": check(images)}))


def check(images):
    """The same for the same images in any order."""
    total = 0
    for number, data in images:
        total ^= zlib.crc32(data, number)
    return total


class Collate:
    """In the workers: each image's number and checksum, and if it is to be decoded, a crop of it, as trainings take it."""

    decodes = False

    def __init__(self, number_of):
        self.number_of = number_of
        self.takes = cropped if Collate.decodes else lambda _: None

    def __call__(self, samples):
        read = [(self.number_of(sample), sample["jpg"]) for sample in samples]
        for _, data in read:
            self.takes(data)
        # MosaicML counts the samples of a batch by its first part.
        return [number for number, _ in read], [zlib.crc32(data, number) for number, data in read]


def cropped(data):
    """By torchvision, on the CPU."""
    import torchvision
    from torchvision.transforms import InterpolationMode, RandomResizedCrop, functional

    pixels = torchvision.io.decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), torchvision.io.ImageReadMode.RGB)
    top, left, height, width = RandomResizedCrop.get_params(pixels, (0.08, 1.0), (3 / 4, 4 / 3))
    seen = functional.resized_crop(pixels, top, left, height, width, [224, 224], InterpolationMode.BILINEAR, antialias=True)
    return functional.hflip(seen) if random.random() < 0.5 else seen


def by_key(sample):
    return int(os.path.basename(sample["__key__"]))


def by_id(sample):
    return int(sample["id"])


class Updraft:
    def __init__(self, args):
        import updraft

        self.updraft, self.folder = updraft, args.state or tempfile.mkdtemp()
        stream = updraft.Stream(args.folder, batch_size=args.batch, seed=SEED)
        collate = Collate(by_key)
        self.loader = torch.utils.data.DataLoader(stream, args.batch, num_workers=args.workers, collate_fn=collate)

    def batches(self, state):
        with self.updraft.training(folder=self.folder) as run:
            for _ in run.epochs(1):
                yield from run.batches(self.loader)

    def state(self):
        """It saves itself when it is asked to leave."""
        os.kill(os.getpid(), signal.SIGTERM)


class WebDataset:
    """Its order repeats with `detshuffle` and a seed; after a restart it is read again up to the place."""

    def __init__(self, args):
        import webdataset

        self.done, self.args = 0, args
        names = sorted(glob.glob(os.path.join(args.folder, "*.tar")))
        urls = names if args.urls is None else [args.urls % number for number in range(args.shards)]
        shuffled = webdataset.WebDataset(urls, shardshuffle=len(urls), detshuffle=True, seed=SEED, empty_check=False)
        dataset = shuffled.shuffle(1000, rng=random.Random(SEED))
        collate = Collate(by_key)
        # Its workers have shards of their own, and the last batch of each may be short.
        self.loader = torch.utils.data.DataLoader(dataset, args.batch, num_workers=args.workers, collate_fn=collate)

    def batches(self, state):
        for self.done, batch in enumerate(itertools.islice(self.loader, state or 0, None), (state or 0) + 1):
            yield batch

    def state(self):
        return self.done


class WithPosition:
    """A loader that knows its position."""

    def batches(self, state):
        if state is not None:
            self.loader.load_state_dict(state)
        yield from self.loader

    def state(self):
        return self.loader.state_dict()


class LitData(WithPosition):
    def __init__(self, args):
        from litdata import StreamingDataLoader, StreamingDataset

        folder = f"local:{args.remote}" if args.remote else args.folder
        options = {"cache_dir": args.folder, "max_cache_size": args.keep} if args.remote else {}
        dataset = StreamingDataset(folder, shuffle=True, seed=SEED, **options)
        collate = Collate(by_id)
        self.loader = StreamingDataLoader(dataset, batch_size=args.batch, num_workers=args.workers, collate_fn=collate)


class Mosaic(WithPosition):
    def __init__(self, args):
        from streaming import StreamingDataLoader, StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        clean_stale_shared_memory()
        options = {"remote": args.remote, "cache_limit": args.keep, "validate_hash": args.hash} if args.remote else {}
        local = {"local": args.folder, "shuffle": True, "shuffle_seed": SEED, "batch_size": args.batch}
        dataset = StreamingDataset(**local, **options)
        collate = Collate(by_id)
        self.loader = StreamingDataLoader(dataset, batch_size=args.batch, num_workers=args.workers, collate_fn=collate)


PEERS = {"updraft": Updraft, "webdataset": WebDataset, "litdata": LitData, "mosaicml-streaming": Mosaic}


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def read(args):
    """From making the loader to the end of the epoch, or of its first batches."""
    # What all of them import is not measured.
    peer, Collate.decodes = PEERS[args.peer], args.decode
    __import__({"mosaicml-streaming": "streaming"}.get(args.peer, args.peer))
    if args.decode:
        # One of them does it by itself.
        __import__("torchvision")
    state = None
    if args.state is not None and os.path.isfile(args.state):
        with open(args.state, "rb") as file:
            state = pickle.load(file)
    began, cpu = time.monotonic(), cpu_seconds()
    reader = peer(args)
    first, numbers, total = None, [], 0
    try:
        for done, batch in enumerate(reader.batches(state), 1):
            first = first or time.monotonic() - began
            numbers.extend(batch[0])
            for crc in batch[1]:
                total ^= crc
            if done == args.stop_after:
                break_off(args, reader, numbers)
    except SystemExit:
        report(numbers=numbers)
        raise
    seconds = time.monotonic() - began
    # What workers used is known when they have ended.
    del reader
    gc.collect()
    for worker in multiprocessing.active_children():
        worker.terminate()
        worker.join()
    report(numbers=numbers, seconds=seconds, first=first, cpu=cpu_seconds() - cpu, check=total)


def break_off(args, reader, numbers):
    state = reader.state()
    if state is None:
        return
    with open(args.state, "wb") as file:
        pickle.dump(state, file)
    report(numbers=numbers)
    # As if killed.
    os._exit(0)


def report(**figures):
    print(json.dumps(figures), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    maker = commands.add_parser("make")
    maker.add_argument("folder")
    maker.add_argument("--images", type=int, default=6000)
    maker.set_defaults(run=make)
    reader = commands.add_parser("read")
    reader.add_argument("peer", choices=PEERS)
    reader.add_argument("folder", help="of shards, or where they come to")
    reader.add_argument("--remote", help="a folder that shards come from")
    reader.add_argument("--urls", help="of shards, with a %%d for their number")
    reader.add_argument("--shards", type=int)
    reader.add_argument("--keep", help="limit of the disk for shards")
    reader.add_argument("--hash", help="verify MDS with this algorithm")
    reader.add_argument("--workers", type=int, default=2)
    reader.add_argument("--batch", type=int, default=64)
    reader.add_argument("--stop-after", type=int, help="batches")
    reader.add_argument("--state", help="a file for the position")
    reader.add_argument("--decode", action="store_true", help="each image by torchvision, too, on the CPU")
    reader.set_defaults(run=read)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    sys.exit(main())
