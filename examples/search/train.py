"""Learns which points of a square are in a ring. Plain Python: it needs no packages, and shows what a search needs."""

import argparse
import json
import math
import os
import random
import signal
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--width", type=int, default=8)
parser.add_argument("--epochs", type=int, default=9)
parser.add_argument("--points", type=int, default=8000, help="of which a quarter tests")
args = parser.parse_args()

asked = False


def ask(*_):
    global asked
    asked = True


# Whoever stops the trial, or wants the machine back, sends this first.
signal.signal(signal.SIGTERM, ask)

numbers = random.Random(1)
points = [(numbers.uniform(-1, 1), numbers.uniform(-1, 1)) for _ in range(args.points)]
data = [(x, y, 1.0 if 0.4 < math.hypot(x, y) < 0.85 else 0.0) for x, y in points]
test, train = data[: len(data) // 4], data[len(data) // 4 :]

checkpoint = "checkpoints/state.json"
if os.path.exists(checkpoint):
    with open(checkpoint) as file:
        state = json.load(file)
else:
    weights = [[numbers.gauss(0, 2) for _ in range(4)] for _ in range(args.width)]
    state = {"epoch": 0, "weights": weights, "speed": [[0.0] * 4 for _ in weights], "bias": 0.0}
weights, speed = state["weights"], state["speed"]


def forward(x, y):
    hidden = [math.tanh(w[0] * x + w[1] * y + w[2]) for w in weights]
    total = state["bias"] + sum(w[3] * h for w, h in zip(weights, hidden))
    return hidden, 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


def save():
    os.makedirs("checkpoints", exist_ok=True)
    with open(checkpoint + ".part", "w") as file:
        json.dump(state, file)
    os.replace(checkpoint + ".part", checkpoint)


for epoch in range(state["epoch"], args.epochs):
    for x, y, label in train:
        if asked:
            sys.exit(85)  # what the last epoch saved is enough
        hidden, guess = forward(x, y)
        error = guess - label
        state["bias"] -= args.lr * error
        for w, v, h in zip(weights, speed, hidden):
            back = error * w[3] * (1 - h * h)
            for at, slope in enumerate((back * x, back * y, back, error * h)):
                v[at] = args.momentum * v[at] - args.lr * slope
                w[at] += v[at]
    right = sum((forward(x, y)[1] > 0.5) == (label > 0.5) for x, y, label in test)
    state["epoch"] = epoch + 1
    save()
    print(f"epoch {epoch + 1}/{args.epochs} val_accuracy {right / len(test):.4f}", flush=True)

with open("model.json", "w") as file:
    json.dump(weights, file)
