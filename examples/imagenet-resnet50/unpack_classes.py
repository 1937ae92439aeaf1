"""Unpack ILSVRC2012_img_train.tar, a tar with a tar for each class, into class folders in `train` and, two in a hundred
images, in `val`. Lists the classes in `classes.txt`.
"""

import argparse
import os
import shutil
import tarfile
import zlib


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", nargs="?", default="ILSVRC2012_img_train.tar")
    parser.add_argument("--held-out", type=float, default=0.02, help="share of the images to validate with")
    args = parser.parse_args()
    classes = []
    with tarfile.open(args.archive) as archive:
        for entry in archive:
            classes.append(os.path.basename(entry.name).removesuffix(".tar"))
            with tarfile.open(fileobj=archive.extractfile(entry)) as images:
                for image in images:
                    # Chosen by name, so that everyone holds out the same images.
                    is_held_out = zlib.crc32(image.name.encode()) < args.held_out * 2**32
                    folder = os.path.join("val" if is_held_out else "train", classes[-1])
                    os.makedirs(folder, exist_ok=True)
                    with open(os.path.join(folder, os.path.basename(image.name)), "wb") as file:
                        shutil.copyfileobj(images.extractfile(image), file)
    with open("classes.txt", "w") as file:
        file.writelines(f"{name}\n" for name in sorted(classes))


if __name__ == "__main__":
    main()
