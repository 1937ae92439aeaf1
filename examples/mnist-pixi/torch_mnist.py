"""Train a small convolutional network on MNIST, and test it after each epoch.

Reads the four files of MNIST as they are published; nothing is downloaded, so that it runs where there is no network.
"""

import argparse
import gzip
import json
import os
import signal
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR

RUN_ME_AGAIN = 85


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = self.dropout1(F.max_pool2d(x, 2)).flatten(1)
        return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x)))), dim=1)


def read_idx(folder, name, dimensions):
    """An array from a file in MNIST's own format, anywhere below the folder."""
    for place in (os.path.join(folder, name), os.path.join(folder, name.split("-idx")[0], name)):
        if os.path.exists(place):
            break
    else:
        sys.exit(f"{name} is not in {folder}")
    try:
        with gzip.open(place) as file:
            data = file.read()
    except (OSError, EOFError) as error:
        sys.exit(f"{place} cannot be read: {error}")
    if len(data) < 4 or data[:4] != bytes([0, 0, 8, dimensions]):
        sys.exit(f"{place} is not an MNIST file: it begins with {data[:4].hex(' ')}")
    shape = [int.from_bytes(data[4 + 4 * n : 8 + 4 * n], "big") for n in range(dimensions)]
    values = numpy.frombuffer(data, dtype=numpy.uint8, offset=4 + 4 * dimensions)
    if values.size != numpy.prod(shape):
        sys.exit(f"{place} has {values.size} values where {numpy.prod(shape)} were promised")
    return torch.from_numpy(values.reshape(shape).copy())


def load(folder, part):
    images = read_idx(folder, f"{part}-images-idx3-ubyte.gz", 3)
    labels = read_idx(folder, f"{part}-labels-idx1-ubyte.gz", 1)
    return images.unsqueeze(1).float().div(255).sub(0.1307).div(0.3081), labels.long()


def train(args, model, device, data, optimizer, epoch, is_stopping):
    model.train()
    images, labels = data
    for step, picked in enumerate(torch.randperm(len(labels)).split(args.batch_size)):
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
        if args.dry_run or is_stopping():
            return


@torch.no_grad()
def test(args, model, device, data):
    model.eval()
    images, labels = data
    loss, correct = 0.0, 0
    for picked in torch.arange(len(labels)).split(args.test_batch_size):
        output, target = model(images[picked].to(device)), labels[picked].to(device)
        loss += F.nll_loss(output, target, reduction="sum").item()
        correct += (output.argmax(dim=1) == target).sum().item()
    print(
        f"Test set: Average loss: {loss / len(labels):.4f}, "
        f"Accuracy: {correct}/{len(labels)} ({100 * correct / len(labels):.0f}%)",
        flush=True,
    )
    return correct / len(labels)


def write(state, path):
    """Written under another name, then renamed: the file is complete or absent."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    torch.save(state, path + ".part")
    os.replace(path + ".part", path)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", default="data")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--test-batch-size", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--dry-run", action="store_true", help="one step of each epoch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--checkpoint-dir", default=os.environ.get("UPDRAFT_CHECKPOINT", "checkpoints"))
    parser.add_argument("--save-model", action="store_true", help="write mnist_cnn.pt at the end")
    return parser.parse_args()


def main():
    args = parse_arguments()
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("this machine has no GPU that PyTorch can use; --device auto would train on the CPU")
    device = torch.device("cuda" if args.device != "cpu" and torch.cuda.is_available() else "cpu")
    print(f"PyTorch {torch.__version__} on {device}", flush=True)
    torch.manual_seed(args.seed)
    training, testing = load(args.data_dir, "train"), load(args.data_dir, "t10k")
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    checkpoint = os.path.join(args.checkpoint_dir, "checkpoint.pt")
    first, asked = 1, []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    if os.path.exists(checkpoint):
        try:
            state = torch.load(checkpoint, map_location=device)
            for name, part in parts.items():
                part.load_state_dict(state[name])
        except Exception as error:
            why = str(error).splitlines()[0]
            sys.exit(f"{checkpoint} is not a checkpoint of this training; remove it to start over: {why}")
        first = state["epoch"] + 1
        print(f"Resuming after epoch {state['epoch']}", flush=True)
    accuracy = test(args, model, device, testing)
    for epoch in range(first, args.epochs + 1):
        train(args, model, device, training, optimizer, epoch, lambda: bool(asked))
        if asked:
            # An epoch takes seconds here: an unfinished one is trained again.
            write({"epoch": epoch - 1} | {name: part.state_dict() for name, part in parts.items()}, checkpoint)
            sys.exit(RUN_ME_AGAIN)
        accuracy = test(args, model, device, testing)
        scheduler.step()
        write({"epoch": epoch} | {name: part.state_dict() for name, part in parts.items()}, checkpoint)
    with open("metrics.json", "w") as file:
        json.dump({"accuracy": accuracy, "epochs": args.epochs, "device": str(device)}, file, indent=2)
    if args.save_model:
        write(model.state_dict(), "mnist_cnn.pt")


if __name__ == "__main__":
    main()
