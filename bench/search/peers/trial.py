"""A trial of peers.ts: a network that learns which points lie in a ring, in NumPy, saved and resumed at each epoch.

Each epoch is filled up to EPOCH_SECONDS, and is recorded in the file LOG, whoever runs the trial. Those that KILLS names
(TRIAL-EPOCH) end with SIGKILL just before their end, once: of this process, or of its agent with KILL_AGENT.

    python3 trial.py train NUMBER      prints the metric of each epoch, from the checkpoint in ./checkpoints on
    python3 trial.py record            prints the accuracies of all trials in TRIALS after each epoch
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

EPOCHS = 27
POINTS = 1000
METRIC = "val_accuracy"


def make_points(seed):
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 1, (POINTS, 2))
    radius = np.hypot(x[:, 0], x[:, 1])
    is_wrong = draw.random(POINTS) < 0.05
    return 3 * x, (((radius > 0.4) & (radius < 0.85)) != is_wrong).astype(float)


class Training:
    """One hidden layer, trained by SGD with momentum."""

    def __init__(self, number, trial):
        self.number, self.trial, self.done = number, trial, 0
        width = trial["width"]
        draw = np.random.default_rng([3, number])
        self.parts = [draw.uniform(-1, 1, shape) for shape in ((2, width), (width,), (width,), (1,))]
        self.speeds = [np.zeros_like(part) for part in self.parts]

    def load(self, folder):
        with np.load(Path(folder) / "state.npz") as saved:
            arrays = [saved[f"arr_{at}"] for at in range(9)]
        self.parts, self.speeds, self.done = arrays[:4], arrays[4:8], int(arrays[8])

    def save(self, folder):
        draft = Path(folder) / "state.part"
        with open(draft, "wb") as file:
            np.savez(file, *self.parts, *self.speeds, self.done)
        draft.rename(Path(folder) / "state.npz")

    def learn(self):
        """One epoch: the accuracy on points that were not learnt from."""
        (x, wanted), batch = make_points(1), self.trial["batch"]
        for at in range(0, POINTS, batch):
            some, first = x[at : at + batch], self.parts
            hidden = np.tanh(some @ first[0] + first[1])
            error = 1 / (1 + np.exp(-(hidden @ first[2] + first[3]))) - wanted[at : at + batch]
            back = error[:, None] * first[2] * (1 - hidden * hidden)
            slopes = (some.T @ back, back.sum(0), hidden.T @ error, error.sum(keepdims=True))
            for part, speed, slope in zip(self.parts, self.speeds, slopes):
                speed *= self.trial["momentum"]
                speed -= self.trial["lr"] * (slope / batch + self.trial["decay"] * part)
                part += speed
        x, wanted = make_points(2)
        guess = np.tanh(x @ self.parts[0] + self.parts[1]) @ self.parts[2] + self.parts[3] > 0
        self.done += 1
        return round(float((guess == (wanted > 0.5)).mean()), 4)

    def epochs(self):
        """The epochs that are left: the number and the accuracy of each, to be saved and reported."""
        seconds = float(os.environ["EPOCH_SECONDS"])
        while self.done < EPOCHS:
            began, name = time.monotonic(), f"{self.number}-{self.done + 1}"
            share = None
            try:
                accuracy = self.learn()
                time.sleep(max(0, began + 0.95 * seconds - time.monotonic()))
                if name in os.environ["KILLS"].split() and is_first(name):
                    share = 0.95
                    log(name, share)
                    kill()
                time.sleep(max(0, began + seconds - time.monotonic()))
                share = 1
                log(name, share, accuracy)
            finally:
                # Asked to leave.
                if share is None:
                    log(name, (time.monotonic() - began) / seconds)
            yield self.done, accuracy


def log(name, share, accuracy=None):
    number, epoch = map(int, name.split("-"))
    entry = {"trial": number, "epoch": epoch, "share": share, "value": accuracy}
    with open(os.environ["LOG"], "a") as file:
        file.write(json.dumps(entry) + "\n")


def is_first(name):
    try:
        os.close(os.open(f"{os.environ['LOG']}.{name}", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def kill():
    """As a slot that is taken back at once."""
    pid = os.getpid()
    while "KILL_AGENT" in os.environ:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if Path(f"/proc/{pid}/cmdline").read_text().endswith("order.json\0"):
            os.kill(pid, signal.SIGKILL)
            break
    os.kill(os.getpid(), signal.SIGKILL)


def leave(*_):
    sys.exit(85)


def read_trials():
    return json.loads(Path(os.environ["TRIALS"]).read_text())


def record():
    np.seterr(all="ignore")
    trainings = [Training(number, trial) for number, trial in enumerate(read_trials())]
    print(json.dumps([[one.learn() for _ in range(EPOCHS)] for one in trainings]))


def train(number):
    np.seterr(all="ignore")
    signal.signal(signal.SIGTERM, leave)
    training = Training(number, read_trials()[number])
    if Path("checkpoints/state.npz").exists():
        training.load("checkpoints")
    for epoch, accuracy in training.epochs():
        training.save("checkpoints")
        print(f"epoch {epoch}/{EPOCHS} {METRIC} {accuracy}", flush=True)
    Path("done").write_text("done")


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(int(sys.argv[2]))
    else:
        record()
