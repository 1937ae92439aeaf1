"""Check that a model is right for its data and seed: check.py MODEL DATA WEIGHTS SEED."""

import json
import sys

import train


def is_model(model_file, data, weights_file, seed):
    with open(model_file) as stream:
        model = json.load(stream)
    examples, classes = data
    with open(weights_file) as stream:
        weights = json.load(stream)
    for number in range(1, train.EPOCHS * train.STEPS + 1):
        train.step(weights, examples, classes, seed, number)
    pairs = zip(model["weights"], weights, strict=True)
    off = max(abs(a - b) for mine, due in pairs for a, b in zip(mine, due, strict=True))
    return model["seed"] == seed and off <= 1e-9


if __name__ == "__main__":
    model_file, data, weights_file, seed = sys.argv[1:]
    if not is_model(model_file, train.read_data(data), weights_file, int(seed)):
        raise SystemExit(f"{model_file} is not the model of this data")
