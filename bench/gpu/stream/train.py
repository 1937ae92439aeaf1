"""Trains ResNet-50 on a stream of shards, or on single files in memory, or on one batch of noise."""

import argparse
import itertools
import json
import os
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

import updraft
from resnet50 import ResNet50


class Files(Dataset):
    def __init__(self, folder):
        self.folder = folder
        self.names = sorted(os.listdir(folder))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        return os.path.join(self.folder, name), int(name.split("-")[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", help="a folder of single files, instead of the stream")
    parser.add_argument("--bare", type=int, help="this number of images of noise, on the GPU: what it takes by itself")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--block", type=int)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--wait", type=int, default=5, help="read the loss each this number of steps")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if args.bare:
        size = args.bare
        noise = torch.randn(args.batch_size, 3, args.image_size, args.image_size, device=device)
        batch = noise, torch.arange(args.batch_size, device=device)
        loader = None
    else:
        stream = {"batch_size": args.batch_size, "block": args.block}
        dataset = Files(args.files) if args.files else updraft.Stream("data", **stream)
        size = len(dataset)
        # A last batch that is smaller would be compiled again.
        samples = DataLoader(dataset, args.batch_size, shuffle=True if args.files else None, drop_last=True)
        loader = updraft.ImageLoader(samples, updraft.RandomResizedCrop(args.image_size), device=device)
    torch.manual_seed(0)
    with device:
        model = ResNet50(1000)
    model = model.to(memory_format=torch.channels_last)
    step = torch.compile(model) if args.compile else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    half = device.type == "cuda" and torch.cuda.is_bf16_supported()
    waited, is_first = 0.0, True
    with updraft.training(model, optimizer) as run:
        for epoch in run.epochs(args.epochs):
            asked = time.monotonic()
            bare = itertools.repeat(batch, size // args.batch_size) if args.bare else None
            for number, (pixels, labels) in enumerate(bare or run.batches(loader)):
                waited += time.monotonic() - asked
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
                    loss = F.cross_entropy(step(pixels.to(memory_format=torch.channels_last)), labels)
                loss.backward()
                optimizer.step()
                place = number if args.bare else run.batch
                if not args.bare:
                    run.log(loss=loss)
                if is_first or place % args.wait == 0:
                    is_first = False
                    loss.item()
                seen = min(size, (place + 1) * args.batch_size)
                print(f"Train Epoch: {epoch + 1}/{args.epochs} [{seen}/{size}]\twaited {waited:.2f}", flush=True)
                asked = time.monotonic()
    if loader is not None:
        print(dict(loader.counts), flush=True)
    with open("metrics.json", "w") as file:
        json.dump({"loss": loss.item(), "waited": waited}, file)


if __name__ == "__main__":
    main()
