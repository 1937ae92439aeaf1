"""Train ResNet-50 on ImageNet, on a GPU if there is one, and validate after each epoch.

The first epoch may begin while the data set still arrives. A checkpoint is written after each epoch, every few
minutes and on SIGTERM; training resumes from it if there is one.
"""

import argparse
import atexit
import json
import math
import multiprocessing
import os
import random
import signal
import sys
import time

import torch
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader

from images import BadData, ClassFolders, arriving_batches, normalize, whole_batches
from resnet50 import ResNet50

RUN_ME_AGAIN = 85
CLASSES = 1000


def write_progress(**fields):
    """Appends a line to the file from which Updraft reads progress; without Updraft there is no such file."""
    if "UPDRAFT_PROGRESS" in os.environ:
        with open(os.environ["UPDRAFT_PROGRESS"], "a") as file:
            file.write(json.dumps(fields) + "\n")


class Training:
    """The state of a training: everything that a checkpoint contains."""

    def __init__(self, args, device):
        self.args, self.device = args, device
        self.model = ResNet50(CLASSES).to(device, memory_format=torch.channels_last)
        self.optimizer = optim.SGD(self.model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=1e-4)
        self.dataset = ClassFolders(args.data_dir, args.image_size, args.held_out, CLASSES)
        # In this epoch: images used, and how many of those were used again.
        self.epoch, self.seen, self.again, self.history = 1, 0, 0, []
        self.began = self.saved = time.monotonic()
        self.first_batch_seconds = None
        self.is_stopping = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        self.is_stopping = True

    @property
    def checkpoint(self):
        return os.path.join(self.args.checkpoint_dir, "checkpoint.pt")

    def save(self):
        os.makedirs(self.args.checkpoint_dir, exist_ok=True)
        state = {
            "epoch": self.epoch,
            "seen": self.seen,
            "again": self.again,
            "history": self.history,
            "classes": self.dataset.classes,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        write(state, self.checkpoint)
        self.saved = time.monotonic()

    def restore(self):
        if not os.path.exists(self.checkpoint):
            return
        try:
            state = torch.load(self.checkpoint, map_location=self.device)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.epoch, self.seen, self.again = state["epoch"], state["seen"], state["again"]
            self.history, self.dataset.classes = state["history"], list(state["classes"])
        except Exception as error:
            why = str(error).splitlines()[0]
            sys.exit(f"{self.checkpoint} is not a checkpoint of this training; remove it to start over: {why}")
        print(f"Resuming in epoch {self.epoch} after {self.seen} images", flush=True)

    def start_from(self, path):
        """Loads published weights. While data arrives, the classes have no final numbers: the last layer starts fresh."""
        try:
            weights = torch.load(path, map_location=self.device, weights_only=True)
            if os.path.exists(os.path.join(self.args.data_dir, ".arriving")):
                weights |= {f"fc.{name}": value for name, value in self.model.fc.state_dict().items()}
            self.model.load_state_dict(weights)
        except Exception as error:
            sys.exit(f"{path} holds no weights of ResNet-50: {str(error).splitlines()[0]}")

    def renumber(self, order):
        """Moves the rows of the last layer, and their momentum, to the final numbers of the classes."""
        rows = torch.tensor(order + list(range(len(order), CLASSES)), device=self.device)
        for parameter in self.model.fc.parameters():
            parameter.data = parameter.data[rows]
            buffer = self.optimizer.state[parameter].get("momentum_buffer")
            if buffer is not None:
                self.optimizer.state[parameter]["momentum_buffer"] = buffer[rows]


def write(state, path):
    """Written under another name, then renamed: the file is complete or absent."""
    torch.save(state, path + ".part")
    os.replace(path + ".part", path)


def load(training, batches):
    """Decodes in worker processes, which ignore signals: the training ends them."""
    return DataLoader(
        training.dataset,
        batch_sampler=batches,
        num_workers=training.args.workers,
        pin_memory=training.device.type == "cuda",
        worker_init_fn=prepare_worker,
    )


def prepare_worker(_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    random.seed(torch.initial_seed() % 2**32)
    torch.set_num_threads(1)


def end_workers():
    """After an error in the middle of an epoch: they ignore Python's SIGTERM, and Python would wait for them forever."""
    for worker in multiprocessing.active_children():
        worker.kill()


def train_epoch(training, batches):
    """One epoch, or the rest of one; returns the mean loss."""
    args, model, device = training.args, training.model, training.device
    model.train()
    total, images, began = torch.zeros((), device=device), 0, time.monotonic()
    for step, (pixels, labels, new) in enumerate(load(training, batches)):
        training.optimizer.zero_grad(set_to_none=True)
        with autocast(device):
            loss = F.cross_entropy(model(normalize(pixels, device)), labels.to(device))
        loss.backward()
        training.optimizer.step()
        # Not read here: that would wait for the GPU.
        total += loss.detach() * len(labels)
        training.seen += int(new.sum())
        training.again += int((~new).sum())
        images += len(labels)
        if training.first_batch_seconds is None:
            training.first_batch_seconds = time.monotonic() - training.began
        if step % args.log_interval == 0:
            report(training, loss.item(), images / (time.monotonic() - began))
        if training.is_stopping:
            break
        if time.monotonic() - training.saved > 60 * args.checkpoint_minutes:
            training.save()
    mean = total.item() / max(1, images)
    if not math.isfinite(mean):
        sys.exit(f"the loss of epoch {training.epoch} is {mean}: the training has diverged")
    return mean


def report(training, loss, rate):
    epoch, epochs = training.epoch, training.args.epochs
    seen, size = training.seen + training.again, len(training.dataset) + training.again
    print(
        f"Train Epoch: {epoch}/{epochs} [{seen}/{size} ({100 * seen / size:.0f}%)]\tLoss: {loss:.6f}\t{rate:.1f} images/s",
        flush=True,
    )
    write_progress(epoch=epoch, epochs=epochs, step=seen, steps=size, loss=loss, waited=training.dataset.waited)


def autocast(device):
    half = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=half)


@torch.no_grad()
def validate(training):
    """Mean loss and accuracy on the held-out images."""
    model, device, items = training.model, training.device, training.dataset.validation
    model.eval()
    size = training.args.batch_size
    batches = [[(*item, False, True) for item in items[at : at + size]] for at in range(0, len(items), size)]
    loss, correct = 0.0, 0
    for pixels, labels, _ in load(training, batches):
        with autocast(device):
            scores = model(normalize(pixels, device)).float()
        labels = labels.to(device)
        loss += F.cross_entropy(scores, labels, reduction="sum").item()
        correct += (scores.argmax(dim=1) == labels).sum().item()
    accuracy = correct / len(items)
    print(
        f"Validation: Average loss: {loss / len(items):.4f}, "
        f"Accuracy: {correct}/{len(items)} ({100 * accuracy:.1f}%)",
        flush=True,
    )
    write_progress(epoch=training.epoch, epochs=training.args.epochs, accuracy=accuracy, waited=training.dataset.waited)
    return loss / len(items), accuracy


def train(training):
    args, dataset = training.args, training.dataset
    more = dataset.scan()
    if not more:
        training.renumber(dataset.finish(args.expect_classes))
    while training.epoch <= args.epochs:
        began, before = time.monotonic(), training.seen + training.again
        if more:
            batches = arriving_batches(
                dataset, args.batch_size, args.mix, training.seen, lambda: training.is_stopping
            )
        else:
            generator = torch.Generator().manual_seed(args.seed * 1000 + training.epoch)
            batches = whole_batches(dataset.training, args.batch_size, generator, training.seen)
        loss = train_epoch(training, batches)
        if training.is_stopping:
            training.save()
            print(f"Asked to stop: saved after {training.seen} images of epoch {training.epoch}", flush=True)
            sys.exit(RUN_ME_AGAIN)
        if more:
            more = False
            training.renumber(dataset.finish(args.expect_classes))
        seconds = time.monotonic() - began
        validation_loss, accuracy = validate(training)
        training.history.append(
            {
                "epoch": training.epoch,
                "loss": loss,
                "validation_loss": validation_loss,
                "accuracy": accuracy,
                "images_per_second": (training.seen + training.again - before) / seconds,
            }
        )
        training.epoch, training.seen, training.again = training.epoch + 1, 0, 0
        training.save()


def choose_device(wanted):
    if wanted == "cuda" and not torch.cuda.is_available():
        sys.exit("this machine has no GPU that PyTorch can use; --device auto would train on the CPU")
    return torch.device("cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", default="data", help="a folder for each class")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--held-out", type=float, default=0.02, help="share of the images to validate with")
    parser.add_argument("--mix", type=int, default=2048, help="images to draw from while data arrives")
    parser.add_argument("--expect-classes", type=int, help="refuse a dataset with more or fewer")
    parser.add_argument("--weights", help="a file of published ResNet-50 weights to start from")
    parser.add_argument("--workers", type=int, default=int(os.environ.get("UPDRAFT_CPUS", 4)))
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--checkpoint-dir", default=os.environ.get("UPDRAFT_CHECKPOINT", "checkpoints"))
    parser.add_argument("--checkpoint-minutes", type=float, default=30)
    parser.add_argument("--save-model", action="store_true", help="write imagenet_resnet50.pt at the end")
    return parser.parse_args()


def main():
    args = parse_arguments()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    atexit.register(end_workers)
    device = choose_device(args.device)
    print(f"PyTorch {torch.__version__} on {device}", flush=True)
    training = Training(args, device)
    if args.weights is not None:
        training.start_from(args.weights)
    training.restore()
    try:
        train(training)
    except BadData as error:
        # A worker process sends its whole traceback; the last line is the message.
        sys.exit(str(error).strip().splitlines()[-1].removeprefix("images.BadData: "))
    if args.save_model:
        write(training.model.state_dict(), "imagenet_resnet50.pt")
    with open("classes.txt", "w") as file:
        file.writelines(f"{name}\n" for name in training.dataset.classes)
    with open("metrics.json", "w") as file:
        json.dump(
            {
                "accuracy": training.history[-1]["accuracy"],
                "epochs": training.history,
                "first_batch_seconds": training.first_batch_seconds,
                "device": str(device),
                "seed": args.seed,
            },
            file,
            indent=2,
        )


if __name__ == "__main__":
    main()
