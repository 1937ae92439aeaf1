"""What checkpoints of updraft cost a training on a GPU, and whether an interrupted one learns the same.

    PYTHONPATH=python python3 bench/gpu/saving.py

Trains a network of 29 million parameters (AdamW, batches of 64 in 4 workers) without Updraft and with it, alternating;
then twice undisturbed and once killed three times, and compares the losses.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

import updraft
from updraft.store import Store


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        return torch.relu(x + self.layers(x))


class Losses(list):
    def state_dict(self):
        return {"losses": list(self)}

    def load_state_dict(self, state):
        self[:] = state["losses"]


def make():
    torch.manual_seed(0)
    blocks = [Block(512) for _ in range(12)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(512, 1000)]
    model = nn.Sequential(nn.Conv2d(3, 512, 7, 4, 3), *blocks, *head).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    data = torch.utils.data.TensorDataset(torch.randn(4096, 3, 96, 96), torch.randint(0, 1000, (4096,)))
    options = {"num_workers": 4, "pin_memory": True, "persistent_workers": True}
    return model, optimizer, torch.utils.data.DataLoader(data, 64, shuffle=True, **options)


def step(model, optimizer, images, labels):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images.cuda(non_blocking=True)), labels.cuda(non_blocking=True))
    loss.backward()
    optimizer.step()
    return loss


class Speed:
    """Images per second, without the first epoch."""

    def __init__(self):
        self.images, self.began = 0, time.monotonic()

    def epoch_done(self, epoch, images):
        torch.cuda.synchronize()
        if epoch == 0:
            self.__init__()
        else:
            self.images += images

    def __str__(self):
        return f"{self.images / (time.monotonic() - self.began):.0f} images/s"


def plain(epochs):
    model, optimizer, loader = make()
    speed = Speed()
    for epoch in range(epochs):
        for images, labels in loader:
            step(model, optimizer, images, labels)
        speed.epoch_done(epoch, 4096)
    print(f"without Updraft  {speed}", flush=True)


def saving(epochs):
    model, optimizer, loader = make()
    speed, waits, save = Speed(), [], Store.save_soon

    def timed(*arguments):
        began = time.monotonic()
        save(*arguments)
        waits.append(time.monotonic() - began)

    Store.save_soon = timed
    with tempfile.TemporaryDirectory() as folder, updraft.training(model, optimizer, folder=folder) as run:
        began = time.monotonic()
        for epoch in run.epochs(epochs):
            for images, labels in run.batches(loader):
                run.log(loss=step(model, optimizer, images, labels))
            speed.epoch_done(epoch, 4096)
        share = sum(waits) / (time.monotonic() - began)
        print(f"with updraft  {speed}, {len(waits)} saves, waited {100 * share:.2f} % of the time", flush=True)


def attempt(folder, kill_after):
    model, optimizer, loader = make()
    losses = Losses()
    done = 0
    with updraft.training(model, optimizer, losses=losses, folder=folder, every=1) as run:
        for _ in run.epochs(2):
            for images, labels in run.batches(loader):
                losses.append(step(model, optimizer, images, labels).item())
                done += 1
                if done == kill_after:
                    os.kill(os.getpid(), signal.SIGKILL)
    with open(os.path.join(folder, "losses.json"), "w") as file:
        json.dump(losses, file)


def learn(folder, kills):
    for kill_after in [*kills, 0]:
        subprocess.run([sys.executable, __file__, "--attempt", folder, "--kill-after", str(kill_after)])
    with open(os.path.join(folder, "losses.json")) as file:
        return json.load(file)


def compare():
    folder = tempfile.mkdtemp()
    try:
        one, other = (learn(os.path.join(folder, name), []) for name in ("one", "other"))
        killed = learn(os.path.join(folder, "killed"), [45, 30, 20])
    finally:
        shutil.rmtree(folder)
    apart = [max(abs(a - b) for a, b in zip(one, these)) for these in (other, killed)]
    print(f"losses: {len(one)}; undisturbed differ by {apart[0]:.4f}, undisturbed and killed by {apart[1]:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--attempt", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--kill-after", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.attempt is not None:
        attempt(args.attempt, args.kill_after)
        return
    for _ in range(args.rounds):
        plain(args.epochs)
        saving(args.epochs)
    compare()


if __name__ == "__main__":
    main()
