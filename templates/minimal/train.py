"""A place to start: fits a line to noisy points with plain Python, and saves what it has learned."""

import argparse
import json
import random

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()

random.seed(args.seed)
points = [(x, 3 * x + 1 + random.gauss(0, 0.1)) for x in (random.uniform(-1, 1) for _ in range(1000))]
slope = offset = 0.0
for epoch in range(1, args.epochs + 1):
    total = 0.0
    for x, y in points:
        error = slope * x + offset - y
        slope -= args.lr * error * x
        offset -= args.lr * error
        total += error * error
    print(f"Train Epoch: {epoch}/{args.epochs}\tLoss: {total / len(points):.6f}", flush=True)

with open("model.json", "w") as file:
    json.dump({"slope": slope, "offset": offset}, file)
