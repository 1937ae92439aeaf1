"""python3 bench/search/curves.py TASK TRIALS SEED > FILE: the curves of this number of trainings, with NumPy only.

Networks of two hidden layers, trained by SGD, many at once. TASK is digits (accuracy) or digits-loss (--digits names
scikit-learn's digits.csv.gz, of which 300 train), or teacher (squared error; what is learnt is another network).
"""

import argparse
import json
import math
import random

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("task", choices=["digits", "digits-loss", "teacher"])
parser.add_argument("trials", type=int)
parser.add_argument("seed", type=int)
parser.add_argument("--digits", default="digits.csv.gz")
args = parser.parse_args()
epochs, width, f = 27, 48, np.float32


def load_digits():
    rows = np.loadtxt(args.digits, delimiter=",").astype(f)
    rows = rows[np.random.default_rng(7).permutation(len(rows))]
    x, y = rows[:, :64] / 16 - f(0.3), rows[:, 64].astype(int)
    return x[:300], y[:300], x[-597:], y[-597:]


def make_teacher():
    numbers = np.random.default_rng(11)
    first, second = numbers.normal(size=(10, 12)) * 0.8, numbers.normal(size=12)
    x = numbers.normal(size=(1000, 10))
    y = np.sin(x @ first) @ second / 3.5 + 0.1 * numbers.normal(size=1000)
    x, y = x.astype(f), y.astype(f)
    return x[:400], y[:400], x[400:], y[400:]


is_number = args.task == "teacher"
seen, answers, unseen, wanted = make_teacher() if is_number else load_digits()
outputs = 1 if is_number else 10
draw = random.Random(f"{args.task}{args.seed}")


def log_uniform(low, high):
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def draw_trial():
    return {
        "lr": log_uniform(1e-4, 3),
        "momentum": draw.uniform(0, 0.95),
        "width": draw.randint(4, width),
        "decay": log_uniform(1e-6, 0.1),
        "drop": draw.uniform(0, 0.5),
        "batch": draw.choice([16, 64, 128]),
        "scale": log_uniform(0.3, 3),
    }


def turned(a):
    return a.transpose(0, 2, 1)


def train(trials, batch, numbers):
    """The metric of each trial after each epoch; the first dimension of every array is the trial."""
    count, size = len(trials), seen.shape[1]

    def of(name):
        return np.array([one[name] for one in trials], f).reshape(count, 1, 1)

    def normal(*shape):
        return numbers.standard_normal((count, *shape), dtype=f) * of("scale")

    used = (np.arange(width)[None, None] < of("width")).astype(f)
    root = np.sqrt(of("width"))
    weights = [normal(size, width) / f(math.sqrt(size)), normal(width, width) / root, normal(width, outputs) / root]
    weights += [np.zeros((count, 1, n), f) for n in (width, width, outputs)]
    speeds = [np.zeros_like(one) for one in weights]
    lr, momentum, decay, drop = of("lr"), of("momentum"), of("decay"), of("drop")

    def forward(x, kept=1):
        one = np.tanh(x @ weights[0] + weights[3]) * used
        two = np.maximum((one * kept) @ weights[1] + weights[4], 0) * used
        return one, two, two @ weights[2] + weights[5]

    def likely(z):
        z = z - z.max(-1, keepdims=True)
        return z - np.log(np.exp(z).sum(-1, keepdims=True))

    def judge(z):
        if is_number:
            return ((z[..., 0] - wanted) ** 2).mean(1)
        if args.task == "digits-loss":
            return -likely(z)[:, np.arange(len(wanted)), wanted].mean(1)
        return (z.argmax(2) == wanted).mean(1)

    curves = np.zeros((count, epochs))
    for epoch in range(epochs):
        order = numbers.permutation(len(seen))
        for at in range(0, len(seen) - batch + 1, batch):
            x, y = seen[order[at : at + batch]][None], answers[order[at : at + batch]]
            kept = (numbers.random((count, batch, width), dtype=f) > drop) / (1 - drop)
            one, two, z = forward(x, kept)
            if is_number:
                wrong = 2 * (z - y[None, :, None])
            else:
                wrong = np.exp(likely(z))
                wrong[:, np.arange(batch), y] -= 1
            wrong /= batch
            back = (wrong @ turned(weights[2])) * (two > 0)
            first = (back @ turned(weights[1])) * kept * used * (1 - one * one)
            slopes = [turned(x) @ first, turned(one * kept) @ back, turned(two) @ wrong]
            slopes += [part.sum(1, keepdims=True) for part in (first, back, wrong)]
            for weight, speed, slope in zip(weights, speeds, slopes):
                speed *= momentum
                speed -= lr * (slope + decay * weight)
                weight += speed
        curves[:, epoch] = judge(forward(unseen[None])[2])
    return [[round(float(one), 5) if math.isfinite(one) else None for one in curve] for curve in curves]


np.seterr(all="ignore")
trials = [draw_trial() for _ in range(args.trials)]
curves = [[] for _ in trials]
for batch in (128, 64, 16):
    chosen = [at for at, one in enumerate(trials) if one["batch"] == batch]
    for at in range(0, len(chosen), 50):
        part = chosen[at : at + 50]
        found = train([trials[one] for one in part], batch, np.random.default_rng([args.seed, batch, at]))
        for one, curve in zip(part, found):
            curves[one] = curve
print(json.dumps({"isLowerBetter": args.task != "digits", "curves": curves}))
