"""What a training loses where it reads its loss: images/s, how late Python's lock comes, and what threads do meanwhile.

    PYTHONPATH=python taskset -c 0-5 python3 bench/gpu/waits.py --wait 1 5

ResNet-50 as in `images.py`, in turns: the GPU alone, and `updraft.ImageLoader` over files and a stream, as it is and without
its wait for the GPU. The loss is read each `--wait` steps. A thread asks for Python's lock every 0.2 ms; where it comes
more than 1 ms late, it notes what the loader's threads were in. Collections of garbage hold the lock, too.
"""

import argparse
import collections
import gc
import importlib.util
import os
import sys
import threading
import time

import torch

from updraft import crops, decoding
from updraft import images as loaders

here = os.path.dirname(os.path.abspath(__file__))
# The example has another module of this name.
spec = importlib.util.spec_from_file_location("bench_images", os.path.join(here, "images.py"))
images = sys.modules["bench_images"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(images)

LATE = 0.001


class Probe(threading.Thread):
    """Notes how late it gets Python's lock, while `is_on`."""

    def __init__(self):
        super().__init__(daemon=True, name="probe")
        self.steps, self.is_on, self.late, self.collections = {}, False, [], []
        gc.callbacks.append(self.collects)

    def collects(self, phase, _):
        if phase == "start":
            self.began = time.monotonic()
        elif self.is_on:
            self.collections.append(time.monotonic() - self.began)

    def run(self):
        while True:
            before = time.monotonic()
            time.sleep(0.0002 if self.is_on else 0.01)
            waited = time.monotonic() - before - 0.0002
            if self.is_on and waited > LATE:
                self.late.append((waited, " + ".join(sorted(filter(None, self.steps.values())))))

    def watch(self, holder, *names):
        """Has a thread that is in one of these functions be in a step of this name."""
        for name in names:
            setattr(holder, name, self.watched(getattr(holder, name), name))

    def watched(self, inner, name):
        def watched(*args, **kwargs):
            me = threading.get_ident()
            before, self.steps[me] = self.steps.get(me), name
            try:
                return inner(*args, **kwargs)
            finally:
                self.steps[me] = before

        return watched

    def report(self):
        late, self.late, by_step = self.late, [], collections.defaultdict(list)
        for wait, steps in late:
            by_step[steps or "none"].append(wait)
        longest = max(self.collections, default=0)
        print(f"  late {len(late)} times, {sum(wait for wait, _ in late):.3f} s; longest collection {longest:.3f} s")
        self.collections = []
        for steps, each in sorted(by_step.items(), key=lambda one: -sum(one[1]))[:5]:
            print(f"    {steps}: {len(each)} times, {sum(each):.3f} s, at most {max(each):.4f} s", flush=True)


def turn(trainer, batches, args, wait, probe):
    """Images per second; nothing but the loss, each `wait` steps, waits for the GPU."""
    began, steps, until = 0.0, 0, time.monotonic() + args.warm
    while True:
        pixels, labels = next(batches)
        trainer.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(trainer.device.type, dtype=torch.bfloat16):
            scores = trainer.model(pixels.contiguous(memory_format=torch.channels_last))
            loss = torch.nn.functional.cross_entropy(scores, labels)
        loss.backward()
        trainer.optimizer.step()
        steps += 1
        if steps % wait == 0:
            loss.item()
            now = time.monotonic()
            if began == 0 and now > until:
                began, steps, probe.is_on = now, 0, True
            elif began > 0 and now > began + args.seconds:
                probe.is_on = False
                return steps * images.BATCH / (now - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="/dev/shm/updraft-waits")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warm", type=float, default=0.5)
    parser.add_argument("--wait", type=int, nargs="+", default=[5])
    parser.add_argument("--tiny", action="store_true", help="a rehearsal without a GPU: figures mean nothing")
    args = parser.parse_args()
    if args.tiny:
        images.BATCH, made = 4, images.ResNet50
        images.ResNet50 = lambda width: made(width=4)
    images.COPIES = 40
    if not os.path.exists(f"{args.folder}/small"):
        images.make(args.folder, "small", 20 if args.tiny else 400)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    trainer, probe = images.Trainer(device), Probe()
    probe.start()
    probe.watch(decoding.Decoder, "_on_gpu")
    probe.watch(crops, "together")
    probe.watch(loaders, "resample")
    probe.watch(loaders.ImageLoader, "_parts", "_work")
    stream = lambda: images.updraft.Stream(f"{args.folder}/small/shards", batch_size=images.BATCH, block=8)  # noqa: E731
    files = lambda: images.Files(f"{args.folder}/small/files")  # noqa: E731
    as_it_is, without = loaders.ImageLoader._let_launch, lambda *_: None
    ways = {
        "the GPU alone": (as_it_is, lambda: images.alone(device)),
        "files": (as_it_is, lambda: images.ours(files(), device, None, shuffle=True)),
        "files, without the wait": (without, lambda: images.ours(files(), device, None, shuffle=True)),
        "stream": (as_it_is, lambda: images.ours(stream(), device, None)),
        "stream, without the wait": (without, lambda: images.ours(stream(), device, None)),
    }
    for _ in range(args.rounds):
        for wait in args.wait:
            for name, (loaders.ImageLoader._let_launch, open_way) in ways.items():
                batches = open_way()
                pace = turn(trainer, batches, args, wait, probe)
                batches.close()
                print(f"{name}, loss read each {wait} steps: {pace:.0f} images/s", flush=True)
                probe.report()


if __name__ == "__main__":
    main()
