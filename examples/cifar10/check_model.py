"""Exits with 0 if the result is valid: the model loads and classifies images better than chance."""

import argparse
import json
import sys

import torch

from train import Net

argparse.ArgumentParser(description=__doc__).parse_args()

model = Net()
model.load_state_dict(torch.load("cifar10_cnn.pt", map_location="cpu", weights_only=True))
model.eval()
with torch.no_grad():
    scores = model(torch.zeros(1, 3, 32, 32))
with open("metrics.json") as file:
    accuracy = json.load(file)["accuracy"]
if not torch.isfinite(scores).all():
    sys.exit("the model's output is not finite")
if accuracy < 0.2:
    sys.exit(f"accuracy {accuracy:.3f} is no better than chance (0.1)")
print(f"the model loads; accuracy {accuracy:.3f}")
