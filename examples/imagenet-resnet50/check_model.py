"""Exits with 0 if the result is valid: the model loads, and was validated after every epoch."""

import argparse
import json
import math
import sys

import torch

from resnet50 import ResNet50

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--min-accuracy", type=float, default=0.0)
parser.add_argument("--epochs", type=int, required=True)
args = parser.parse_args()

weights = torch.load("imagenet_resnet50.pt", map_location="cpu", weights_only=True)
model = ResNet50(width=len(weights["bn1.weight"]))
model.load_state_dict(weights)
model.eval()
with torch.no_grad():
    scores = model(torch.zeros(1, 3, 64, 64))
if not torch.isfinite(scores).all():
    sys.exit("the model's output is not finite")
with open("metrics.json") as file:
    metrics = json.load(file)
epochs = metrics["epochs"]
if [entry["epoch"] for entry in epochs] != list(range(1, args.epochs + 1)):
    sys.exit(f"{args.epochs} epochs were requested, and {len(epochs)} are reported")
if not all(math.isfinite(entry["loss"]) and math.isfinite(entry["validation_loss"]) for entry in epochs):
    sys.exit("the loss is not finite")
if metrics["accuracy"] < args.min_accuracy:
    sys.exit(f"accuracy {metrics['accuracy']:.4f} is below {args.min_accuracy}")
print(f"the model loads; accuracy {metrics['accuracy']:.4f}")
