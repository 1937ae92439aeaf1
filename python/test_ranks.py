"""Trainings of several processes, interrupted in every way, and resumed by as many or fewer."""

from __future__ import annotations

import contextlib
import gc
import json
import operator
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
import unittest
import zlib
from datetime import timedelta
from typing import Any, Callable

import updraft
from test_updraft import Noisy, torch

os.environ["GLOO_SOCKET_IFNAME"] = "lo"

if torch is not None:
    import numpy

SAMPLES = 30
EPOCHS = 5
"""As many that an interruption never comes in the last batches, in which a request to leave finds nothing to do."""


class Killed:
    """Ends one process, or asks all of them to leave, after some batches of its own."""

    def __init__(self, rank: int, after: int, by: int, group: int = 0) -> None:
        self.rank, self.left, self.by, self.group = rank, after, by, group

    def batch_done(self, rank: int, run: Any) -> None:
        self.left -= 1
        if rank == self.rank and self.left == 0:
            if self.by == signal.SIGKILL:
                run._store.wait()
            (os.killpg if self.group else os.kill)(self.group or os.getpid(), self.by)


NEVER = Killed(-1, 0, 0)


def store_at(port: int, is_master: bool) -> Any:
    # Debian's PyTorch has no libuv.
    older = {"use_libuv": False} if "use_libuv" in (torch.distributed.TCPStore.__init__.__doc__ or "") else {}
    return torch.distributed.TCPStore("127.0.0.1", port, None, is_master, timedelta(seconds=60), wait_for_workers=False, **older)


class RanksTest(unittest.TestCase):
    def setUp(self) -> None:
        # A process that leaves runs all exit functions: one of tempfile's own would remove it.
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)

    def attempt(self, train: Callable[..., Any], count: int, killed: Killed, folder: str, **env: str) -> list[int]:
        """Runs the training in several processes, as torchrun and the agent do; their exit codes, as they end."""
        store = store_at(0, is_master=True)
        children = [self._start(rank, count, store.port, train, killed, {"UPDRAFT_CHECKPOINT": folder, **env}) for rank in range(count)]
        codes: dict[int, int] = {}
        while children:
            child, status = os.waitpid(-1, 0)
            codes[child] = os.waitstatus_to_exitcode(status)
            children = [one for one in children if one != child]
            if codes[child] not in (0, updraft.SAVED):
                for one in children:
                    os.kill(one, signal.SIGKILL)
        if -signal.SIGSEGV in codes.values() and torch.__version__.startswith("1."):
            # Pure Python cannot cause it: DistributedDataParallel of Debian's 1.13, on a Python that it was not made for.
            self.skipTest("PyTorch 1 crashed by itself")
        return list(codes.values())

    def _start(self, rank: int, count: int, port: int, train: Any, killed: Killed, env: dict[str, str]) -> int:
        child = os.fork()
        if child > 0:
            return child
        code = 70
        gc.freeze()
        try:
            os.environ.update(env, RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank))
            # Batches of a millisecond: in half a second, the training would be over.
            updraft.ranks._MAX_AHEAD = 2
            with open(f"stderr-{rank}.txt", "a") as errors, contextlib.redirect_stderr(errors):
                if count > 1:
                    store = store_at(port, is_master=False)
                    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=count)
                result = train(rank, count, killed)
                with open(f"result-{rank}.json", "w") as file:
                    json.dump(result, file)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            with open(f"stderr-{rank}.txt", "a") as errors:
                print(end, file=errors)
        except BaseException:
            with open(f"stderr-{rank}.txt", "a") as errors:
                traceback.print_exc(file=errors)
            if killed is NEVER:
                traceback.print_exc()
        finally:
            os._exit(code)
        return 0

    def results(self, count: int) -> list[Any]:
        found = []
        for rank in range(count):
            with open(f"result-{rank}.json") as file:
                found.append(json.load(file))
        return found

    def said(self, rank: int = 0) -> str:
        with open(f"stderr-{rank}.txt") as file:
            return file.read()


class Tape:
    """What a process saw is its own, and not saved: it is appended to a file."""

    def __init__(self, rank: int) -> None:
        self._path = f"tape-{rank}.jsonl"

    def add(self, line: Any) -> None:
        with open(self._path, "a") as file:
            file.write(json.dumps(line) + "\n")


def tapes(count: int) -> dict[tuple[int, int], dict[int, Any]]:
    """By epoch and batch, what each process saw there last."""
    found: dict[tuple[int, int], dict[int, Any]] = {}
    for rank in range(count):
        with open(f"tape-{rank}.jsonl") as file:
            for epoch, batch, *line in map(json.loads, file):
                found.setdefault((epoch, batch), {})[rank] = line
        os.remove(f"tape-{rank}.jsonl")
    return found


def samples(tape: dict[tuple[int, int], dict[int, Any]]) -> dict[tuple[int, int], list[Any]]:
    """The same whoever read them: each sample with its augmentation, by epoch and batch."""
    read = {place: sorted(sum((line[0] for line in each.values()), [])) for place, each in tape.items()}
    return {place: each for place, each in read.items() if place[1] >= 0}


def nearly(one: Any, other: Any) -> bool:
    """But for the last bits."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(nearly(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(nearly, one, other))
    return bool(one == other or abs(one - other) < 1e-5)


def learn(rank: int, count: int, killed: Killed, workers: int = 0, distributed: bool = False) -> Any:
    random.seed(rank)
    numpy.random.seed(rank)
    torch.manual_seed(rank)
    layers = [torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)]
    model: Any = torch.nn.Sequential(*layers)
    if count > 1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    dataset: Any = Noisy()
    how: dict[str, Any] = {"batch_size": 8, "shuffle": True}
    if distributed:
        sampler = torch.utils.data.DistributedSampler(dataset, count, rank)
        how = {"batch_size": 8 // count, "sampler": sampler}
    loader = torch.utils.data.DataLoader(dataset, num_workers=workers, **how)
    tape = Tape(rank)
    with updraft.training(model, optimizer, scheduler=scheduler, every=0) as run:
        for epoch in run.epochs(EPOCHS):
            random.random()
            if distributed:
                sampler.set_epoch(epoch)
            for step, (indices, images) in run.enumerate(loader):
                optimizer.zero_grad()
                loss = (model(images).squeeze(1) - indices / 30).pow(2).mean()
                loss.backward()
                optimizer.step()
                mean = run.mean(loss=loss.item())["loss"]
                seen = [[int(index), image.tolist()] for index, image in zip(indices, images)]
                tape.add([epoch, step, seen, loss.item(), random.random()])
                run.log(loss=loss)
                killed.batch_done(rank, run)
            tape.add([epoch, -1, [[mean, step]], scheduler.get_last_lr()])
            scheduler.step()
    return [one.tolist() for one in model.parameters()]


def in_parts(rank: int, count: int, killed: Killed) -> Any:
    """FSDP2: no process has all of the model, unless it is the only one."""
    random.seed(rank)
    numpy.random.seed(rank)
    torch.manual_seed(1)
    model: Any = torch.nn.Sequential(torch.nn.Linear(8, 17), torch.nn.LayerNorm(17), torch.nn.Linear(17, 1))
    if count > 1:
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (count,))
        for part in (model[0], model[2], model):
            torch.distributed.fsdp.fully_shard(part, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader: Any = torch.utils.data.DataLoader(Noisy(), batch_size=8, shuffle=True)
    tape = Tape(rank)
    with updraft.training(model, optimizer, every=0) as run:
        for epoch in run.epochs(EPOCHS):
            for step, (indices, images) in run.enumerate(loader):
                optimizer.zero_grad()
                loss = (model(images).squeeze(1) - indices / 30).pow(2).mean()
                loss.backward()
                optimizer.step()
                seen = [[int(index), image.tolist()] for index, image in zip(indices, images)]
                tape.add([epoch, step, seen, loss.item()])
                killed.batch_done(rank, run)
    return [(one.full_tensor() if count > 1 else one).tolist() for one in model.parameters()]


def has_parts() -> bool:
    """Whether PyTorch has FSDP2, which its gloo can run since 2.7."""
    with contextlib.suppress(ImportError):
        return torch is not None and tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 7) and hasattr(torch.distributed.fsdp, "fully_shard")
    return False


@unittest.skipIf(torch is None, "needs PyTorch")
class SeveralProcesses(RanksTest):
    @unittest.skipUnless(has_parts(), "needs FSDP2")
    def test_models_in_parts(self) -> None:
        self.assertEqual(self.attempt(in_parts, 2, NEVER, "whole"), [0, 0])
        whole, result, saved = tapes(2), self.results(2), os.listdir("whole")
        self.assertEqual(result[0], result[1])
        self.assertEqual([os.path.isdir(f"whole/{name}") for name in saved], [True])
        for killed in (Killed(1, 2, signal.SIGKILL), Killed(1, 3, signal.SIGTERM), Killed(0, 2, signal.SIGTERM)):
            codes = self.attempt(in_parts, 2, killed, "saved")
            self.assertEqual(codes if killed.by == signal.SIGTERM else -9 in codes, [85, 85] if killed.by == signal.SIGTERM else True, self.said())
        self.assertEqual(self.attempt(in_parts, 2, NEVER, "saved"), [0, 0], self.said(0) + self.said(1))
        self.assertEqual(self.results(2), result)
        self.assertEqual(tapes(2), whole)

    @unittest.skipUnless(has_parts(), "needs FSDP2")
    def test_models_in_parts_go_on_with_other_numbers_of_processes(self) -> None:
        self.assertEqual(self.attempt(in_parts, 4, NEVER, "whole"), [0] * 4)
        whole, seen = samples(tapes(4)), {}
        for count in (4, 2):
            self.assertEqual(self.attempt(in_parts, count, Killed(1, 3, signal.SIGTERM), "saved"), [85] * count, self.said())
            seen.update(samples(tapes(count)))
        name = next(one for one in os.listdir("saved") if one.startswith("checkpoint-"))
        shutil.copytree(f"saved/{name}", "saved/checkpoint-000000000999-" + name[-8:])
        with open(f"saved/checkpoint-000000000999-{name[-8:]}/__1_0.distcp", "r+b") as file:
            file.write(b"?")
        self.assertEqual(self.attempt(in_parts, 1, NEVER, "saved"), [0], self.said())
        self.assertIn("is damaged; trying the one before it", self.said())
        seen.update(samples(tapes(1)))
        self.assertEqual(seen, whole)

    @unittest.skipUnless(has_parts(), "needs FSDP2")
    def test_a_planted_list_of_parts_runs_nothing(self) -> None:
        self.assertEqual(self.attempt(in_parts, 2, Killed(0, 2, signal.SIGTERM), "saved"), [85, 85], self.said())
        name = next(one for one in os.listdir("saved") if one.startswith("checkpoint-"))
        files = json.loads(open(f"saved/{name}/manifest.json").read())
        planted = b"cposix\nsystem\n(S'touch planted'\ntR."
        for file, data in ((".metadata", planted), ("manifest.json", b"")):
            if file == "manifest.json":
                files[".metadata"] = [len(planted), zlib.crc32(planted)]
                data = json.dumps(files).encode()
            with open(f"saved/{name}/{file}", "wb") as out:
                out.write(data)
        os.rename(f"saved/{name}", f"saved/{name[:-8]}{zlib.crc32(data):08x}")
        self.assertIn(1, self.attempt(in_parts, 2, Killed(-1, 0, 0), "saved"))
        self.assertRegex(self.said(0) + self.said(1), "names posix.system")
        self.assertFalse(os.path.exists("planted"))

    def test_same_with_kills_and_requests(self) -> None:
        loaded, sampled = (lambda *some: learn(*some, workers=1)), (lambda *some: learn(*some, distributed=True))
        home = os.getcwd()
        for train, count in ((learn, 1), (learn, 2), (learn, 4), (loaded, 2), (sampled, 2)):
            with self.subTest(train=train, count=count):
                # One that PyTorch ended by a crash leaves what it had saved and seen.
                os.chdir(tempfile.mkdtemp(dir=home))
                self.assertEqual(self.attempt(train, count, NEVER, "whole"), [0] * count)
                whole, result, last = tapes(count), self.results(count), count - 1
                self.assertEqual(result[0], result[last])
                folder, _ = f"saved-{id(train)}-{count}", shutil.rmtree("whole")
                for killed in (Killed(last, 2, signal.SIGKILL), Killed(last, 3, signal.SIGTERM), Killed(0, 2, signal.SIGTERM)):
                    codes = self.attempt(train, count, killed, folder)
                    left = [updraft.SAVED] * count
                    self.assertEqual(codes if killed.by == signal.SIGTERM else -9 in codes, left if killed.by == signal.SIGTERM else True)
                    self.assertEqual(os.path.exists(f"{folder}/.left"), killed.by == signal.SIGTERM)
                    shutil.rmtree(f"{folder}/.left", ignore_errors=True)
                self.assertEqual(self.attempt(train, count, NEVER, folder), [0] * count, self.said(0) + self.said(last))
                # DistributedDataParallel adds up more than two in another order in the first step of an attempt.
                same = operator.eq if count < 3 else nearly
                self.assertTrue(same(self.results(count), result))
                self.assertTrue(same(tapes(count), whole))

    def test_other_numbers_of_processes_see_the_same_batches_and_augmentation(self) -> None:
        self.assertEqual(self.attempt(learn, 4, NEVER, "whole"), [0] * 4)
        whole, seen = samples(tapes(4)), {}
        for count, killed in ((4, Killed(2, 3, signal.SIGKILL)), (2, Killed(1, 2, signal.SIGTERM)), (4, Killed(0, 1, signal.SIGTERM))):
            codes = self.attempt(learn, count, killed, "saved")
            self.assertEqual(codes if killed.by == signal.SIGTERM else -9 in codes, [85] * count if killed.by == signal.SIGTERM else True)
            # A batch that not all had read is read again.
            seen.update(samples(tapes(count)))
        self.assertEqual(self.attempt(learn, 1, NEVER, "saved"), [0], self.said())
        seen.update(samples(tapes(1)))
        self.assertEqual(seen, whole)
        self.assertEqual(sorted(one[0] for place, each in seen.items() for one in each), sorted(list(range(SAMPLES)) * EPOCHS))

    def test_refuses_batches_that_cannot_be_shared_and_models_in_parts(self) -> None:
        def uneven(rank: int, count: int, _: Any) -> None:
            with updraft.training({}) as run:
                for _ in run.epochs(1):
                    next(run.batches(torch.utils.data.DataLoader(range(9), batch_size=3)))

        def in_parts(rank: int, count: int, _: Any) -> None:
            model = torch.nn.Linear(1, 1)
            model.add_module("inner", type("FullyShardedDataParallel", (torch.nn.Module,), {})())
            updraft.training(model).__enter__()

        for train, said in ((uneven, "batch_size=3 is that of 2 processes, .* use 2 or 4"), (in_parts, "use fully_shard")):
            self.assertIn(1, self.attempt(train, 2, Killed(-1, 0, 0), "saved"))
            self.assertRegex(self.said(0) + self.said(1), said)
