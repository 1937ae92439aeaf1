"""Train a small convolutional network on CIFAR-10, on a GPU if there is one.

Reads the folder `cifar-10-batches-py` as the published archive lays it out, resumes at the very batch where its
checkpoint was saved, saves when it is asked to end, and prints one line per interval that Updraft turns into progress.
"""

import argparse
import json
import os
import pickle
import signal
import sys
import time

import numpy
import torch
import torch.nn.functional as F
from torch import nn, optim


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
    return pixels.float().div_(127.5).sub_(1), torch.tensor(labels)


asked_to_end = []
signal.signal(signal.SIGTERM, lambda *_: asked_to_end.append(True))  # eviction, or the time limit


def train(args, model, device, data, optimizer, epoch, first):
    model.train()
    images, labels = data
    # The same order in every attempt, so that training can resume in the middle of an epoch.
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(args.seed + epoch))
    batches = order.split(args.batch_size)
    for step, picked in enumerate(batches):
        if step < first:
            continue
        if asked_to_end:
            save_checkpoint(args.checkpoint_dir, epoch, step, model, optimizer)
            sys.exit(85)  # saved: run this again
        # Ever smaller steps, so that the last batches do not decide the result.
        for group in optimizer.param_groups:
            group["lr"] = args.lr * (1 - (epoch - 1 + step / len(batches)) / args.epochs)
        optimizer.zero_grad()
        loss = F.nll_loss(model(images[picked].to(device)), labels[picked].to(device))
        loss.backward()
        optimizer.step()
        if step % args.log_interval == 0:
            seen = step * args.batch_size
            print(
                f"Train Epoch: {epoch}/{args.epochs} [{seen}/{len(labels)} ({100 * seen / len(labels):.0f}%)]"
                f"\tLoss: {loss.item():.6f}",
                flush=True,
            )


def test(args, model, device, data):
    """Share of the test images that the model classifies correctly."""
    model.eval()
    images, labels = data
    loss, correct = 0.0, 0
    with torch.no_grad():
        for picked in torch.arange(len(labels)).split(args.test_batch_size):
            output = model(images[picked].to(device))
            target = labels[picked].to(device)
            loss += F.nll_loss(output, target, reduction="sum").item()
            correct += (output.argmax(dim=1) == target).sum().item()
    accuracy = correct / len(labels)
    print(
        f"Test set: Average loss: {loss / len(labels):.4f}, "
        f"Accuracy: {correct}/{len(labels)} ({100 * accuracy:.0f}%)",
        flush=True,
    )
    return accuracy


def save_checkpoint(folder, epoch, step, model, optimizer):
    """Where training resumes. Written under another name, then renamed: a checkpoint is complete or absent."""
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, "checkpoint.pt")
    state = {"epoch": epoch, "step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, target + ".part")
    os.replace(target + ".part", target)


def load_checkpoint(folder, model, optimizer, device):
    """The epoch and the batch from which training resumes."""
    path = os.path.join(folder, "checkpoint.pt")
    if not os.path.exists(path):
        return 1, 0
    try:
        state = torch.load(path, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    except Exception as error:
        why = str(error).splitlines()[0]
        sys.exit(f"{path} is not a checkpoint of this training; remove it to start over: {why}")
    print(f"Resuming in epoch {state['epoch']}", flush=True)
    return state["epoch"], state["step"]


def choose_device(wanted):
    if wanted == "cuda" and not torch.cuda.is_available():
        sys.exit("this machine has no GPU that PyTorch can use; --device auto would train on the CPU")
    return torch.device("cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", default="data")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--test-batch-size", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--checkpoint-dir", default=os.environ.get("UPDRAFT_CHECKPOINT", "checkpoints"))
    parser.add_argument("--save-model", action="store_true", help="write cifar10_cnn.pt at the end")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    device = choose_device(args.device)
    print(f"PyTorch {torch.__version__} on {device}", flush=True)
    training = load_batches(args.data_dir, [f"data_batch_{n}" for n in range(1, 6)])
    testing = load_batches(args.data_dir, ["test_batch"])
    model = Net().to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    first, step = load_checkpoint(args.checkpoint_dir, model, optimizer, device)
    accuracy = test(args, model, device, testing)
    began = time.monotonic()
    for epoch in range(first, args.epochs + 1):
        train(args, model, device, training, optimizer, epoch, step if epoch == first else 0)
        save_checkpoint(args.checkpoint_dir, epoch + 1, 0, model, optimizer)
        accuracy = test(args, model, device, testing)
    metrics = {"accuracy": accuracy, "epochs": args.epochs, "seed": args.seed, "seconds": time.monotonic() - began}
    with open("metrics.json", "w") as file:
        json.dump(metrics, file, indent=2)
    if args.save_model:
        torch.save(model.state_dict(), "cifar10_cnn.pt")


if __name__ == "__main__":
    main()
