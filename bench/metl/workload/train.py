"""A training whose epochs go as METL's attempts went at the site where it runs.

The folder that METL_SCENARIO names says how (scenario.json), and has a mark of each start. What a slot does is drawn
from the seed, the model, the number of its start and the epoch. The model is a chain of digests over the data, so that
one that skipped or repeated a step is another one.
"""

import argparse
import hashlib
import json
import os
import random
import re
import sys
import time

STEPS = 20  # of each epoch


def attribute(file, name):
    with open(file, errors="replace") as stream:
        return re.search(rf'^{name} = "?([^"\n]*)', stream.read(), re.MULTILINE).group(1)


def start_of(scenario, model):
    """How often this model was started before."""
    number = 0
    while True:
        try:
            os.mkdir(os.path.join(scenario, "starts", f"{model}.{number}"))
            return number
        except FileExistsError:
            number += 1


def save(file, value):
    with open(file + ".part", "w") as stream:
        json.dump(value, stream)
    os.replace(file + ".part", file)


def restore(file):
    if not os.path.exists(file):
        return {"step": 0, "digest": ""}
    with open(file) as stream:
        return json.load(stream)


class Slot:
    """Where the training runs."""

    def __init__(self, scenario, model):
        with open(os.path.join(scenario, "scenario.json")) as stream:
            script = json.load(stream)
        self._scenario, self._model, self._start = scenario, model, start_of(scenario, model)
        self._seed, self.is_first = script["seed"], True
        self._site = script["sites"][attribute(os.environ["_CONDOR_MACHINE_AD"], "GLIDEIN_ResourceName")]
        self._due = time.monotonic()

    def begin(self, epoch):
        """What becomes of an epoch: how long each step takes, and when the slot is lost, in which way."""
        chance = random.Random(f"{self._seed}.{self._model}.{self._start}.{epoch}")
        status, seconds = chance.choice(self._site["first" if self.is_first else "later"])
        self.is_first, self._status = False, status
        is_done = status == "completed"
        pace = seconds if is_done else chance.choice(self._site["done"])
        self._step = pace / STEPS
        self._lost = None if is_done else self._due + seconds
        # One that was lost after longer than an epoch takes had stopped to train somewhere.
        self._hangs = self._due + chance.random() * pace if self._lost and seconds > pace else None

    def compute(self):
        self._due += self._step
        if self._hangs is not None and self._hangs < self._due:
            self._due = self._lost
        if self._lost is None or self._lost > self._due:
            time.sleep(max(0.0, self._due - time.monotonic()))
            return
        time.sleep(max(0.0, self._lost - time.monotonic()))
        if self._status == "failed":
            print("RuntimeError: CUDA error: uncorrectable ECC error encountered", file=sys.stderr, flush=True)
            os._exit(1)
        job = ".".join(attribute(os.environ["_CONDOR_JOB_AD"], name) for name in ("ClusterId", "ProcId"))
        os.mkdir(os.path.join(self._scenario, "lost", f"{job}.{self._model}.{self._start}.{self._status}"))
        while True:
            time.sleep(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=int, default=0)
    parser.add_argument("--until", type=int, default=1, help="the number of epochs that are done in the end")
    parser.add_argument("--data", default="data.bin")
    parser.add_argument("--state", default="state.json")
    parser.add_argument("--save-model", default="model.json")
    options = parser.parse_args()
    with open(options.data, "rb") as stream:
        data = hashlib.sha256(stream.read()).hexdigest()
    slot = Slot(os.environ["METL_SCENARIO"], options.model)
    state = restore(options.state)
    while state["step"] < options.until * STEPS:
        number = state["step"] + 1
        epoch = state["step"] // STEPS
        if state["step"] % STEPS == 0 or slot.is_first:
            slot.begin(epoch)
        slot.compute()
        digest = hashlib.sha256(f"{state['digest']} {options.model} {number} {data}".encode()).hexdigest()
        state = {"step": number, "digest": digest}
        save(options.state, state)
        print(f"epoch {number // STEPS}/{options.until} step {number} loss {1 / number:.4f}", flush=True)
    save(options.save_model, state)


if __name__ == "__main__":
    main()
