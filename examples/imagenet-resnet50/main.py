"""Train ResNet-50 on ImageNet, on a GPU if there is one, or in several processes, and validate after each epoch.

Reads the shards that `updraft stage --shuffle` made, while they arrive. `updraft.training` saves, resumes at the very
next image, and reports progress.
"""

import argparse
import json
import math
import os
import random
import sys

import torch
import torch.nn.functional as F
from torch import distributed, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import updraft  # comes with every job; on a laptop, from Updraft's wheel
from images import BadData, Decode, normalize
from resnet50 import ResNet50


def load(args, folder, classes, device, is_training):
    """Batches of a folder of shards, decoded in worker processes."""
    decode = Decode(classes, args.image_size, is_training)
    options = {"seed": args.seed, "shuffle": is_training}
    stream = updraft.Stream(folder, batch_size=args.batch_size, transform=decode, **options)
    return DataLoader(
        stream,
        args.batch_size,
        num_workers=args.workers,
        # A last batch of one image would be none for batch normalization.
        drop_last=is_training,
        pin_memory=device.type == "cuda",
        worker_init_fn=use_one_thread,
    )


def use_one_thread(_):
    torch.set_num_threads(1)


def autocast(device):
    half = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=half)


def train(args, run, model, device, loader, optimizer):
    """One epoch, or the rest of one; returns the last loss."""
    model.train()
    loss = torch.zeros(())
    for pixels, labels in run.batches(loader):
        optimizer.zero_grad(set_to_none=True)
        with autocast(device):
            loss = F.cross_entropy(model(normalize(pixels, device)), labels.to(device))
        loss.backward()
        optimizer.step()
        run.log(loss=loss)
        if run.batch % args.log_interval == 0:
            seen, size = (run.batch + 1) * args.batch_size, len(loader) * args.batch_size
            print(f"Train Epoch: {run.epoch + 1}/{args.epochs} [{seen}/{size}]\tLoss: {loss:.6f}", flush=True)
    if not math.isfinite(loss):
        sys.exit(f"the loss of epoch {run.epoch + 1} is {loss}: the training has diverged")
    return loss.item()


@torch.no_grad()
def validate(model, device, loader):
    """Mean loss and accuracy on the images that are held out."""
    model.eval()
    loss, correct, total = 0.0, 0, 0
    for pixels, labels in loader:
        with autocast(device):
            scores = model(normalize(pixels, device)).float()
        labels = labels.to(device)
        loss += F.cross_entropy(scores, labels, reduction="sum").item()
        correct += (scores.argmax(dim=1) == labels).sum().item()
        total += len(labels)
    print(f"Validation: Average loss: {loss / total:.4f}, Accuracy: {correct}/{total}", flush=True)
    return {"validation_loss": loss / total, "accuracy": correct / total}


def join_processes(args):
    """The device of this process, and its number: one that is started alone is the first one."""
    device = choose_device(args.device)
    if "RANK" not in os.environ:
        return device, 0
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return device, distributed.get_rank()


def choose_device(wanted):
    if wanted == "cuda" and not torch.cuda.is_available():
        sys.exit("this machine has no GPU that PyTorch can use; --device auto would train on the CPU")
    return torch.device("cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu")


def load_weights(model, path):
    try:
        model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:
        sys.exit(f"{path} holds no weights of ResNet-50: {str(error).splitlines()[0]}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train-dir", default="data/train", help="a folder of shards")
    parser.add_argument("--val-dir", default="data/val", help="a folder of shards to validate with")
    parser.add_argument("--classes", default="classes.txt", help="a file with their names, in the order of their numbers")
    parser.add_argument("--batch-size", type=int, default=256, help="of all processes together")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--width", type=int, default=64, help="channels of the first stage")
    parser.add_argument("--weights", help="a file of published ResNet-50 weights to start from")
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    parser.add_argument("--workers", type=int, default=max(1, int(os.environ.get("UPDRAFT_CPUS", 4)) // processes))
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--save-model", action="store_true", help="write imagenet_resnet50.pt at the end")
    return parser.parse_args()


def main():
    args = parse_arguments()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device, rank = join_processes(args)
    print(f"PyTorch {torch.__version__} on {device}", flush=True)
    with open(args.classes) as file:
        classes = file.read().split()
    # Before the model, so that the first images are read meanwhile.
    training = load(args, args.train_dir, classes, device, True)
    validation = load(args, args.val_dir, classes, device, False)
    model = ResNet50(width=args.width).to(device, memory_format=torch.channels_last)
    if args.weights is not None:
        load_weights(model, args.weights)
    trained = model if not distributed.is_initialized() else DistributedDataParallel(model)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=1e-4)
    history = []  # saved and restored with the model
    with updraft.training(model, optimizer, history) as run:
        for epoch in run.epochs(args.epochs):
            loss = train(args, run, trained, device, training, optimizer)
            # Each process by itself: the results are the same.
            figures = validate(model, device, validation)
            run.log(accuracy=figures["accuracy"])
            history.append({"epoch": epoch + 1, "loss": loss, **figures})
    if rank > 0:
        return
    if args.save_model:
        torch.save(model.state_dict(), "imagenet_resnet50.pt")
    with open("metrics.json", "w") as file:
        figures = {"accuracy": history[-1]["accuracy"], "epochs": history}
        json.dump({**figures, "device": str(device), "seed": args.seed}, file, indent=2)


if __name__ == "__main__":
    try:
        main()
    except (BadData, updraft.StreamError) as error:
        # A worker process sends its whole traceback; the last line is the message.
        sys.exit(str(error).strip().splitlines()[-1].rpartition("BadData: ")[2])
