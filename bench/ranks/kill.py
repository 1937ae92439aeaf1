"""Kills one of four processes of a training at a random moment, as a machine that takes one away would, ends the others
as the agent does, and goes on with two. Is a sample lost, or trained on twice? How far away is the next step?

    python3 bench/ranks/kill.py [KILLS]
"""

import gc
import json
import mmap
import os
import random
import shutil
import signal
import socket
import statistics
import struct
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))

import torch
import updraft

SAMPLES, BATCH, EPOCHS = 640, 32, 2
GRACE = 15.0
"""What the agent gives the others once one has failed."""

steps = mmap.mmap(-1, 16)
"""The steps that are done, and when the first one of an attempt was."""


class Noisy(torch.utils.data.Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return index, torch.full((8,), index / SAMPLES) + 0.1 * torch.rand(8)


def train(rank, count):
    torch.manual_seed(1)
    torch.distributed.init_process_group("gloo")
    model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Noisy(), batch_size=BATCH, shuffle=True)
    # What the weights have learned from, and which augmentation of it: saved and restored with them.
    seen = {"times": torch.zeros(EPOCHS, SAMPLES), "noise": torch.zeros(EPOCHS, SAMPLES)}
    is_first = rank == 0
    with updraft.training(model, optimizer, seen=seen, every=0.1) as run:
        for epoch in run.epochs(EPOCHS):
            for step, (indices, images) in run.enumerate(loader):
                optimizer.zero_grad()
                loss = (model(images).squeeze(1) - indices / SAMPLES).pow(2).mean()
                loss.backward()
                optimizer.step()
                mine = torch.cat([indices.double(), images.double().sum(1)])
                for part in gathered(mine, count):
                    places = part[: len(part) // 2].long()
                    seen["times"][epoch, places] += 1
                    seen["noise"][epoch, places] = part[len(part) // 2 :].float()
                time.sleep(0.005)
                if rank == 0:
                    first = time.time() if is_first else struct.unpack("qd", steps[:])[1]
                    steps[:] = struct.pack("qd", epoch * SAMPLES // BATCH + step + 1, first)
                    is_first = False
    if rank == 0:
        torch.save(seen, "seen.pt")


def gathered(mine, count):
    parts = [torch.empty_like(mine) for _ in range(count)]
    torch.distributed.all_gather(parts, mine)
    return parts


def start(count):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [start_one(rank, count, port) for rank in range(count)]


def start_one(rank, count, port):
    child = os.fork()
    if child > 0:
        return child
    code = 1
    try:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), UPDRAFT_CHECKPOINT="saved")
        with open("errors.txt", "a") as errors:
            os.dup2(errors.fileno(), 2)
        train(rank, count)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def end(children):
    """Their exit codes. Once one has failed, the others are asked to end, and killed after a while."""
    codes, until = {}, float("inf")
    while len(codes) < len(children):
        for child in set(children) - set(codes):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                codes[child] = os.waitstatus_to_exitcode(status)
                if codes[child] != 0 and until == float("inf"):
                    until = time.monotonic() + GRACE
                    signal_all(set(children) - set(codes), signal.SIGTERM)
        if time.monotonic() > until:
            signal_all(set(children) - set(codes), signal.SIGKILL)
        time.sleep(0.001)
    return [codes[child] for child in children]


def signal_all(children, number):
    for child in children:
        os.kill(child, number)


def whole():
    """Of an undisturbed training: how long its steps take, and the augmentation of each sample."""
    if end(start(4)) != [0] * 4:
        sys.exit(open("errors.txt").read())
    return time.time() - struct.unpack("qd", steps[:])[1], torch.load("seen.pt")["noise"]


def trial(seconds, noise):
    """One kill; nothing if the training was over before."""
    shutil.rmtree("saved", ignore_errors=True)
    steps[:] = struct.pack("qd", 0, 0)
    children = start(4)
    while steps[0] == 0:
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            signal_all(children, signal.SIGKILL)
            sys.exit(f"it did not begin: {open('errors.txt').read()}")
        time.sleep(0.001)
    time.sleep(random.uniform(0, seconds))
    killed = random.randrange(4)
    if os.waitpid(children[killed], os.WNOHANG)[0]:
        end([one for one in children if one != children[killed]])
        return None
    os.kill(children[killed], signal.SIGKILL)
    at, (done, _) = time.time(), struct.unpack("qd", steps[:])
    codes = end(children)
    if -signal.SIGKILL not in codes:
        return None
    codes = end(start(2))
    if codes != [0, 0]:
        sys.exit(f"{codes}: {open('errors.txt').read()}")
    seen = torch.load("seen.pt")
    return {
        "rank": killed,
        "step": done,
        "lost": int((seen["times"] < 1).sum()),
        "twice": int((seen["times"] > 1).sum()),
        "augmented otherwise": int((seen["noise"] != noise).sum()),
        "seconds": struct.unpack("qd", steps[:])[1] - at,
    }


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    # Processes that leave run what is to run at an exit: a TemporaryDirectory would be removed by them.
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        report(kills)
    finally:
        shutil.rmtree(folder)


def report(kills):
    gc.freeze()
    random.seed(1)
    seconds, noise = whole()
    found = []
    while len(found) < kills:
        one = trial(seconds, noise)
        if one is not None:
            found.append(one)
            print(json.dumps(one), file=sys.stderr, flush=True)
    waits = sorted(one["seconds"] for one in found)
    total = {name: sum(one[name] for one in found) for name in ("lost", "twice", "augmented otherwise")}
    print(f"PyTorch {torch.__version__}; an undisturbed training of {EPOCHS * SAMPLES // BATCH} steps took {seconds:.1f} s\n")
    print("| kills | of rank 0 | lost | trained on twice | augmented otherwise | s to the next step, median | 90 % | longest |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    first = sum(one["rank"] == 0 for one in found)
    figures = [f"{statistics.median(waits):.1f}", f"{waits[int(0.9 * len(waits))]:.1f}", f"{waits[-1]:.1f}"]
    print("|", " | ".join(map(str, [len(found), first, *total.values(), *figures])), "|")


main()
