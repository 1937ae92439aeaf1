"""A small but real training: softmax regression by stochastic gradient descent over a folder of class folders.

The machine it runs on (machine.py) decides its speed. The same data, weights and seed give the same model, however
often it was interrupted and resumed: that is how check.py recognizes a valid one.
"""

import argparse
import hashlib
import json
import math
import os
import random
import urllib.request

EPOCHS = 5
STEPS = 4  # of each epoch
FEATURES = 16


def read_data(folder):
    """The features of every file, and its class."""
    examples = []
    names = sorted(name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))
    for label, name in enumerate(names):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            with open(os.path.join(folder, name, file), "rb") as stream:
                digest = hashlib.sha256(stream.read()).digest()
            examples.append(([byte / 255 for byte in digest[:FEATURES]], label))
    if not examples:
        raise SystemExit(f"{folder} has no pictures")
    return examples, len(names)


def pretrained(file, url):
    """The initial weights: sent with the job, or downloaded from the internet, as training scripts often do."""
    if not os.path.exists(file):
        urllib.request.urlretrieve(url, file)
    with open(file) as stream:
        return json.load(stream)


def add(numbers):
    """Adds one by one, the same in every release of Python: sum() rounds differently in newer ones."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def step(weights, examples, classes, seed, number):
    """One step of gradient descent; the batch depends only on the seed and the step. Returns the loss."""
    batch = random.Random(seed * 1000 + number).sample(examples, len(examples) // STEPS)
    loss = 0.0
    for features, label in batch:
        scores = [add(w * x for w, x in zip(weights[c], features)) for c in range(classes)]
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        total = add(powers)
        loss -= math.log(powers[label] / total)
        for c in range(classes):
            slope = powers[c] / total - (1 if c == label else 0)
            weights[c] = [w - 0.1 * slope * x for w, x in zip(weights[c], features)]
    return loss / len(batch)


def save(file, value):
    with open(file + ".part", "w") as stream:
        json.dump(value, stream)
    os.replace(file + ".part", file)


def restore(folder, weights):
    """The step to resume from, and the weights after it."""
    file = os.path.join(folder, "last.json") if folder else ""
    if not os.path.exists(file):
        return 0, weights
    with open(file) as stream:
        saved = json.load(stream)
    return saved["step"], saved["weights"]


def report(number, loss):
    """Reports progress, for people and for the agent."""
    done = {"epoch": number // STEPS, "epochs": EPOCHS, "step": number, "steps": EPOCHS * STEPS, "loss": loss}
    print("epoch {epoch}/{epochs} step {step}/{steps} loss {loss:.4f}".format(**done), flush=True)
    if "UPDRAFT_PROGRESS" in os.environ:
        with open(os.environ["UPDRAFT_PROGRESS"], "a") as stream:
            stream.write(json.dumps(done) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights-url", default="")
    parser.add_argument("--save-model", default="model.json")
    options = parser.parse_args()

    import machine

    here = machine.Machine(EPOCHS * STEPS)
    examples, classes = read_data(options.data)
    here.set_up()
    start, weights = restore(os.environ.get("UPDRAFT_CHECKPOINT"), pretrained("weights.json", options.weights_url))
    loss = math.nan
    for number in range(start + 1, EPOCHS * STEPS + 1):
        loss = step(weights, examples, classes, options.seed, number)
        here.compute()
        if "UPDRAFT_CHECKPOINT" in os.environ:
            save(os.path.join(os.environ["UPDRAFT_CHECKPOINT"], "last.json"), {"step": number, "weights": weights})
        report(number, loss)
    save(options.save_model, {"steps": EPOCHS * STEPS, "seed": options.seed, "weights": weights})


if __name__ == "__main__":
    main()
