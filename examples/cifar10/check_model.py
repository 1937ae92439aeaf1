"""Says by its exit status whether the result is valid: the model loads and names images better than chance."""

import json
import sys

import torch

from train import Net

model = Net()
model.load_state_dict(torch.load("cifar10_cnn.pt", map_location="cpu"))
with torch.no_grad():
    scores = model(torch.zeros(1, 3, 32, 32))
accuracy = json.load(open("metrics.json"))["accuracy"]
if not torch.isfinite(scores).all():
    sys.exit("the model's output is not finite")
if accuracy < 0.2:
    sys.exit(f"accuracy {accuracy:.3f} is no better than chance (0.1)")
print(f"the model loads; accuracy {accuracy:.3f}")
