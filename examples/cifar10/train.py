"""Train a small convolutional network on CIFAR-10, on a GPU if there is one.

Reads the folder `cifar-10-batches-py` as the published archive lays it out. `updraft.training` saves, resumes at the
very next batch, and reports progress.
"""

import argparse
import json
import os
import pickle
import sys
import time

import numpy
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

import updraft  # comes with every job; on a laptop, from Updraft's wheel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc1 = nn.Linear(32 * 8 * 8, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return F.log_softmax(self.fc2(x), dim=1)


def load_batches(folder, names):
    """Images as floats around zero and their labels, from the pickled batches of the archive."""
    images, labels = [], []
    for name in names:
        path = os.path.join(folder, "cifar-10-batches-py", name)
        try:
            with open(path, "rb") as file:
                batch = pickle.load(file, encoding="bytes")
            images.append(numpy.asarray(batch[b"data"], dtype=numpy.uint8).reshape(-1, 3, 32, 32))
            labels.extend(batch[b"labels"])
        except (OSError, KeyError, ValueError, TypeError, EOFError, pickle.UnpicklingError) as error:
            sys.exit(f"{path} is no batch of CIFAR-10: {error!r}")
    pixels = torch.from_numpy(numpy.concatenate(images))
    return TensorDataset(pixels.float().div_(127.5).sub_(1), torch.tensor(labels))


def train(args, run, model, device, loader, optimizer, scheduler):
    model.train()
    for images, labels in run.batches(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        scheduler.step()
        run.log(loss=loss)
        if run.batch % 10 == 0:
            place = f"epoch {run.epoch + 1}/{args.epochs}, step {run.batch}/{len(loader)} of {args.batch_size} images"
            print(f"{place}\tLoss: {loss:.6f}", flush=True)


def test(model, device, loader):
    """Share of the test images that the model classifies correctly."""
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images.to(device)).argmax(dim=1).cpu() == labels).sum().item()
            total += len(labels)
    print(f"Test set: Accuracy: {correct}/{total} ({100 * correct / total:.0f}%)", flush=True)
    return correct / total


def choose_device(wanted):
    if wanted == "cuda" and not torch.cuda.is_available():
        sys.exit("this machine has no GPU that PyTorch can use; --device auto would train on the CPU")
    return torch.device("cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", default="data")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--save-model", action="store_true", help="write cifar10_cnn.pt at the end")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    device = choose_device(args.device)
    print(f"PyTorch {torch.__version__} on {device}", flush=True)
    training = load_batches(args.data_dir, [f"data_batch_{n}" for n in range(1, 6)])
    testing = DataLoader(load_batches(args.data_dir, ["test_batch"]), 1000)
    loader = DataLoader(training, args.batch_size, shuffle=True)
    model = Net().to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    # Ever smaller steps, so that the last batches do not decide the result.
    scheduler = optim.lr_scheduler.LinearLR(optimizer, 1, 0.001, args.epochs * len(loader))
    began = time.monotonic()
    with updraft.training(model, optimizer, scheduler) as run:
        for _ in run.epochs(args.epochs):
            train(args, run, model, device, loader, optimizer, scheduler)
            run.log(accuracy=test(model, device, testing))
    metrics = {
        "accuracy": test(model, device, testing),
        "epochs": args.epochs,
        "seed": args.seed,
        "seconds": time.monotonic() - began,
    }
    with open("metrics.json", "w") as file:
        json.dump(metrics, file, indent=2)
    if args.save_model:
        torch.save(model.state_dict(), "cifar10_cnn.pt")


if __name__ == "__main__":
    main()
