"""Trains ResNet-50 on a stream of shards, or on single files in memory. Everything else is the same."""

import argparse
import io
import json
import os
import time

import torch
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import updraft
from images import normalize, to_tensor
from resnet50 import ResNet50


class Decode:
    def __init__(self, size):
        self.size = size

    def __call__(self, sample):
        with Image.open(io.BytesIO(sample["jpg"])) as image:
            return to_tensor(image, self.size, True), int(sample["cls"])


class Files(Dataset):
    def __init__(self, folder, size):
        self.folder, self.size = folder, size
        self.names = sorted(os.listdir(folder))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        with Image.open(os.path.join(self.folder, name)) as image:
            return to_tensor(image, self.size, True), int(name.split("-")[0])


def one_thread(_):
    torch.set_num_threads(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", help="a folder of single files, instead of the stream")
    parser.add_argument("--bare", action="store_true", help="one batch of random pixels: what PyTorch takes by itself")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--block", type=int)
    parser.add_argument("--workers", type=int, default=int(os.environ.get("UPDRAFT_CPUS", 6)))
    args = parser.parse_args()
    if args.bare:
        pixels = torch.randint(256, (3, args.image_size, args.image_size), dtype=torch.uint8)
        dataset, shuffle, args.workers = [(pixels, place) for place in range(args.batch_size)], False, 0
    elif args.files is None:
        options = {"batch_size": args.batch_size, "transform": Decode(args.image_size), "block": args.block}
        dataset, shuffle = updraft.Stream("data", **options), None
    else:
        dataset, shuffle = Files(args.files, args.image_size), True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(
        dataset,
        args.batch_size,
        shuffle=shuffle,
        num_workers=args.workers,
        pin_memory=device.type == "cuda",
        worker_init_fn=one_thread,
    )
    if isinstance(dataset, updraft.Stream):
        updraft.prefetch(loader)
    torch.manual_seed(0)
    with device:
        model = ResNet50(1000)
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    half = device.type == "cuda" and torch.cuda.is_bf16_supported()
    size, waited, is_first = len(dataset), 0.0, True
    with updraft.training(model, optimizer) as run:
        for epoch in run.epochs(args.epochs):
            asked = time.monotonic()
            for pixels, labels in run.batches(loader):
                waited += time.monotonic() - asked
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
                    loss = F.cross_entropy(model(normalize(pixels, device)), labels.to(device))
                loss.backward()
                optimizer.step()
                run.log(loss=loss)
                if is_first or run.batch % 5 == 0:
                    is_first = False
                    loss.item()
                seen = min(size, (run.batch + 1) * args.batch_size)
                print(f"Train Epoch: {epoch + 1}/{args.epochs} [{seen}/{size}]\twaited {waited:.2f}", flush=True)
                asked = time.monotonic()
    with open("metrics.json", "w") as file:
        json.dump({"loss": loss.item(), "waited": waited}, file)


if __name__ == "__main__":
    main()
