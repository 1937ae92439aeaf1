"""Exits with 0 if the result is valid: the model loads and classifies digits better than chance."""

import argparse
import json
import sys

import torch

from torch_mnist import Net

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--min-accuracy", type=float, default=0.9)
args = parser.parse_args()

model = Net()
model.load_state_dict(torch.load("mnist_cnn.pt", map_location="cpu", weights_only=True))
model.eval()
with torch.no_grad():
    if not torch.isfinite(model(torch.zeros(1, 1, 28, 28))).all():
        sys.exit("the model's output is not finite")
with open("metrics.json") as file:
    accuracy = json.load(file)["accuracy"]
if accuracy < args.min_accuracy:
    sys.exit(f"accuracy {accuracy:.3f} is below {args.min_accuracy}")
print(f"the model loads; accuracy {accuracy:.3f}")
