"""Trains a linear classifier on the images of the data set, from files or from shards that still arrive.

PyTorch only; every method trains with the same number of batches, so that only the data's way differs.
"""

import argparse
import glob
import json
import os

import torch
from torch.utils.data import DataLoader, TensorDataset

import updraft  # comes with every job

BATCH = 50


def to_tensors(sample):
    image = torch.frombuffer(bytearray(sample["image"]), dtype=torch.uint8)
    return image.float().div_(127.5).sub_(1), torch.tensor(int(sample["kind"]))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def loader_of(folder, seed):
    if os.path.isdir(os.path.join(folder, ".stream")):
        stream = updraft.Stream(folder, batch_size=BATCH, seed=seed, transform=to_tensors)
        return DataLoader(stream, batch_size=BATCH)
    names = sorted(glob.glob(os.path.join(folder, "set", "*.image")))
    samples = [to_tensors({"image": read(name), "kind": read(name[: -len("image")] + "kind")}) for name in names]
    images, kinds = (torch.stack(part) for part in zip(*samples))
    return DataLoader(TensorDataset(images, kinds), batch_size=BATCH, shuffle=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = torch.nn.Linear(1024, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = loader_of("data", args.seed)
    accuracy = 0.0
    with updraft.training(model, optimizer) as run:
        for _ in run.epochs(args.epochs):
            right = seen = 0
            for images, kinds in run.batches(loader):
                optimizer.zero_grad()
                outputs = model(images)
                loss = torch.nn.functional.cross_entropy(outputs, kinds)
                loss.backward()
                optimizer.step()
                right += int((outputs.argmax(1) == kinds).sum())
                seen += len(kinds)
                accuracy = right / seen
                run.log(loss=loss, accuracy=accuracy)
    with open("metrics.json", "w", encoding="utf-8") as file:
        json.dump({"accuracy": accuracy, "images": seen}, file)
    print(f"accuracy {accuracy:.3f} on {seen} images")


main()
