"""Train a ResNet on CIFAR-10 while its batches arrive, and test it after each epoch.

The five batches of the published archive appear one after the other in the data folder; while the file `.arriving` is
there, more are to come. The first epoch trains on each batch as soon as it is whole, the later ones on all of them.
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

RUN_ME_AGAIN = 85
BATCHES = [f"data_batch_{number}" for number in range(1, 6)]


class ResidualBlock(nn.Module):
    """Two convolutions with a shortcut: the input itself, or its projection where the shape changes."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride != 1 or channels_in != channels:
            projection = nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(channels))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """Four stages of two residual blocks; `width` is the number of channels of the first."""

    def __init__(self, width=64, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        blocks, channels_in = [], width
        for stage in range(4):
            channels = width * 2**stage
            blocks.append(ResidualBlock(channels_in, channels, stride=1 if stage == 0 else 2))
            blocks.append(ResidualBlock(channels, channels, stride=1))
            channels_in = channels
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(channels_in, classes)

    def forward(self, x):
        x = self.blocks(F.relu(self.bn1(self.conv1(x))))
        return self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Shards:
    """The batches of the archive, each read once as soon as it has arrived, and kept as bytes."""

    def __init__(self, root):
        # `waited`: seconds spent waiting for a batch.
        self.root, self.read, self.waited = root, {}, 0.0

    def wait_for_any(self, names, is_stopping):
        """The first batch that has arrived, and its images; none when asked to stop."""
        last_message = time.monotonic()
        while not is_stopping():
            # Checked first, so that a batch that arrives in between is not missed.
            more = os.path.exists(os.path.join(self.root, ".arriving"))
            for name in names:
                if name in self.read or os.path.exists(self.path(name)):
                    write_progress(waited=self.waited)
                    return name, self.load(name)
            if not more:
                sys.exit(f"{self.path(names[0])} is not there, and no more data is to come")
            if time.monotonic() - last_message > 30:
                last_message = time.monotonic()
                print(f"Waiting for {', '.join(names)}", flush=True)
            began = time.monotonic()
            time.sleep(0.05)
            self.waited += time.monotonic() - began
        return None, None

    def path(self, name):
        return os.path.join(self.root, "cifar-10-batches-py", name)

    def load(self, name):
        if name not in self.read:
            try:
                with open(self.path(name), "rb") as file:
                    batch = pickle.load(file, encoding="bytes")
                pixels = numpy.asarray(batch[b"data"], dtype=numpy.uint8).reshape(-1, 3, 32, 32)
                labels = torch.tensor(batch[b"labels"])
            except (KeyError, ValueError, TypeError, EOFError, pickle.UnpicklingError) as error:
                sys.exit(f"{self.path(name)} is no batch of CIFAR-10: {error!r}")
            if len(labels) == 0 or len(labels) != len(pixels):
                sys.exit(f"{self.path(name)} has {len(pixels)} images and {len(labels)} labels")
            self.read[name] = (torch.from_numpy(pixels.copy()), labels)
        return self.read[name]


class Training:
    """The state of a training: everything that a checkpoint contains."""

    def __init__(self, args, device):
        self.args, self.device = args, device
        self.model = ResNet18(args.width).to(device)
        self.optimizer = optim.SGD(
            self.model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=5e-4
        )
        # The remaining shards of the epoch, and how many steps of the first one are done.
        self.epoch, self.left, self.steps, self.history = 1, shuffled(BATCHES), 0, []
        self.shards = Shards(args.data_dir)
        self.began, self.first_batch_seconds = time.monotonic(), None
        self.stopping = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        self.stopping = True

    def is_stopping(self):
        return self.stopping

    def save(self):
        os.makedirs(self.args.checkpoint_dir, exist_ok=True)
        state = {"epoch": self.epoch, "left": self.left, "steps": self.steps, "history": self.history}
        state |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        write(state, os.path.join(self.args.checkpoint_dir, "checkpoint.pt"))

    def restore(self):
        path = os.path.join(self.args.checkpoint_dir, "checkpoint.pt")
        if not os.path.exists(path):
            return
        try:
            state = torch.load(path, map_location=self.device)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.epoch, self.left = state["epoch"], state["left"]
            self.steps, self.history = state["steps"], state["history"]
        except Exception as error:
            why = str(error).splitlines()[0]
            sys.exit(f"{path} is not a checkpoint of this training; remove it to start over: {why}")
        print(f"Resuming in epoch {self.epoch} with {len(self.left)} batches to go", flush=True)


def shuffled(names):
    return [names[index] for index in torch.randperm(len(names)).tolist()]


def write(state, path):
    """Written under another name, then renamed: the file is complete or absent."""
    torch.save(state, path + ".part")
    os.replace(path + ".part", path)


def write_progress(**fields):
    """Appends a line to the file from which Updraft reads progress; without Updraft there is no such file."""
    if "UPDRAFT_PROGRESS" in os.environ:
        with open(os.environ["UPDRAFT_PROGRESS"], "a") as file:
            file.write(json.dumps(fields) + "\n")


def prepare(pixels, device):
    return pixels.to(device).float().div_(127.5).sub_(1)


def augment(pixels):
    """Shifts images by up to four pixels, and mirrors half of them."""
    padded = F.pad(pixels, (4, 4, 4, 4))
    top, left = torch.randint(0, 9, (2,)).tolist()
    cut = padded[:, :, top : top + 32, left : left + 32]
    mirrored = torch.rand(len(cut), 1, 1, 1, device=cut.device) < 0.5
    return torch.where(mirrored, cut.flip(3), cut)


def train(training, shard):
    """Trains once on each image of the next shard, or on those that remain of it after a checkpoint."""
    args, model, device = training.args, training.model, training.device
    model.train()
    pixels, labels = shard
    done, number = len(BATCHES) - len(training.left), BATCHES.index(training.left[0])
    # The same order in every attempt, so that training can resume in the middle of an epoch.
    generator = torch.Generator().manual_seed(1000 * args.seed + 10 * training.epoch + number)
    batches = torch.randperm(len(labels), generator=generator).split(args.batch_size)
    for step, picked in enumerate(batches[training.steps :], start=training.steps):
        training.optimizer.zero_grad()
        loss = F.cross_entropy(model(augment(prepare(pixels[picked], device))), labels[picked].to(device))
        loss.backward()
        training.optimizer.step()
        if training.first_batch_seconds is None:
            training.first_batch_seconds = time.monotonic() - training.began
        if step % args.log_interval == 0:
            seen, total = done * len(labels) + step * args.batch_size, len(BATCHES) * len(labels)
            print(
                f"Train Epoch: {training.epoch}/{args.epochs} [{seen}/{total} ({100 * seen / total:.0f}%)]"
                f"\tLoss: {loss.item():.6f}",
                flush=True,
            )
            write_progress(epoch=training.epoch, epochs=args.epochs, step=seen, steps=total, loss=loss.item())
        training.steps = step + 1
        if training.stopping and training.steps < len(batches):
            return
    training.left, training.steps = training.left[1:], 0


@torch.no_grad()
def test(training, shard):
    """Share of the test images that the model classifies correctly."""
    model, device = training.model, training.device
    model.eval()
    pixels, labels = shard
    loss, correct = 0.0, 0
    for picked in torch.arange(len(labels)).split(training.args.test_batch_size):
        scores, target = model(prepare(pixels[picked], device)), labels[picked].to(device)
        loss += F.cross_entropy(scores, target, reduction="sum").item()
        correct += (scores.argmax(dim=1) == target).sum().item()
    accuracy = correct / len(labels)
    print(
        f"Test set: Average loss: {loss / len(labels):.4f}, "
        f"Accuracy: {correct}/{len(labels)} ({100 * accuracy:.0f}%)",
        flush=True,
    )
    write_progress(epoch=training.epoch, accuracy=accuracy)
    return accuracy


def run(training):
    args, shards = training.args, training.shards
    while training.epoch <= args.epochs:
        while training.left and not training.stopping:
            begun = training.left[: 1 if training.steps else None]
            name, shard = shards.wait_for_any(begun, training.is_stopping)
            if name is not None:
                training.left = [name, *(other for other in training.left if other != name)]
                train(training, shard)
        name, testing = shards.wait_for_any(["test_batch"], training.is_stopping)
        if name is None:
            training.save()
            print(f"Asked to stop: saved in epoch {training.epoch}", flush=True)
            sys.exit(RUN_ME_AGAIN)
        training.history.append(test(training, testing))
        training.epoch, training.left = training.epoch + 1, shuffled(BATCHES)
        training.save()


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
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=64, help="channels of the first stage")
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--checkpoint-dir", default=os.environ.get("UPDRAFT_CHECKPOINT", "checkpoints"))
    parser.add_argument("--save-model", action="store_true", help="write cifar10_resnet18.pt at the end")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    device = choose_device(args.device)
    print(f"PyTorch {torch.__version__} on {device}", flush=True)
    training = Training(args, device)
    training.restore()
    run(training)
    if args.save_model:
        write({"width": args.width, "model": training.model.state_dict()}, "cifar10_resnet18.pt")
    metrics = {"accuracy": training.history[-1], "history": training.history, "device": str(device)}
    with open("metrics.json", "w") as file:
        json.dump(metrics | {"first_batch_seconds": training.first_batch_seconds}, file, indent=2)


if __name__ == "__main__":
    main()
