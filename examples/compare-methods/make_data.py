"""Makes a small data set of images of two kinds: `published/set.tar`, and the same images as tar shards.

Standard library only. An image is 32 x 32 bytes; ones of kind 1 are brighter in the middle.
"""

import io
import random
import sys
import tarfile
from pathlib import Path

IMAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
SHARDS = 8


def make_image(draw, kind):
    pixels = bytearray(draw.randbytes(1024))
    if kind == 1:
        for row in range(12, 20):
            for at in range(row * 32 + 12, row * 32 + 20):
                pixels[at] = min(255, pixels[at] // 2 + 128)
    return bytes(pixels)


def add(tar, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def main():
    draw = random.Random(1)
    folder = Path("published")
    folder.mkdir(exist_ok=True)
    shards = [tarfile.open(folder / f"set-{number:06}.tar", "w") for number in range(SHARDS)]
    with tarfile.open(folder / "set.tar", "w") as whole:
        for number in range(IMAGES):
            kind = number % 2
            image = make_image(draw, kind)
            for tar in (whole, shards[number // 2 % SHARDS]):
                add(tar, f"set/{number:06}.image", image)
                add(tar, f"set/{number:06}.kind", str(kind).encode())
    for shard in shards:
        shard.close()
    print(f"published: {IMAGES} images in set.tar, and in {SHARDS} shards")


main()
