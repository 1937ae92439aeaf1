"""Exits with 0 if the result is valid: the model loads and classifies images better than chance."""

import argparse
import json
import sys

import torch

from cifar10_resnet import ResNet18

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--min-accuracy", type=float, default=0.2)
args = parser.parse_args()

saved = torch.load("cifar10_resnet18.pt", map_location="cpu", weights_only=True)
model = ResNet18(saved["width"])
model.load_state_dict(saved["model"])
model.eval()
with torch.no_grad():
    scores = model(torch.zeros(1, 3, 32, 32))
if not torch.isfinite(scores).all():
    sys.exit("the model's output is not finite")
with open("metrics.json") as file:
    accuracy = json.load(file)["accuracy"]
if accuracy < args.min_accuracy:
    sys.exit(f"accuracy {accuracy:.3f} is below {args.min_accuracy} (chance is 0.1)")
print(f"the model loads; accuracy {accuracy:.3f}")
