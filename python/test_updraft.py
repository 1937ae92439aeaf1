"""Interrupts trainings in every way and compares them with an undisturbed one.

Each attempt is a forked process, so that PyTorch is loaded once. Without PyTorch, only what needs none of it is tested.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import errno
import gc
import io
import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types
import unittest
import unittest.mock
from typing import Any, Callable, Optional

import updraft

# Forked processes cannot share a GPU.
os.environ["CUDA_VISIBLE_DEVICES"] = ""
# Nor can they share threads, which NumPy's OpenBLAS starts when it is loaded: a fork beside one may hang.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

try:
    import numpy
    import torch

    torch.set_num_threads(1)
    # Here, because it loads more of PyTorch: each attempt would do that again.
    torch.optim.AdamW([torch.zeros(1, requires_grad=True)])
    # Workers that load PyTorch again would take most of the time.
    multiprocessing.set_start_method("fork")
except ModuleNotFoundError:
    torch = None


class Tape:
    """What a training saw, saved and restored with it."""

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def state_dict(self) -> dict[str, Any]:
        return {"lines": list(self.lines)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.lines = list(state["lines"])


class Noisy:
    """Samples whose augmentation draws from all three generators."""

    def __len__(self) -> int:
        return 30

    def __getitem__(self, index: int) -> Any:
        noise = random.random() + numpy.random.rand() + torch.rand(8)
        return index, torch.full((8,), index / 30) + 0.1 * noise


class EndsWorker:
    """The first sample asks the training to leave, and ends its worker."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> int:
        if index == 0:
            os.kill(os.getppid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Interruption:
    """Ends an attempt after some batches: by SIGKILL, or by SIGTERM, which is a request. Loops lose it, as they should."""

    __slots__ = ("_left", "_signal")

    def __init__(self, after: int, by: int) -> None:
        self._left = after
        self._signal = by

    def batch_done(self, run: updraft.Training) -> None:
        self._left -= 1
        if self._left == 0:
            # So that it depends on no clock which checkpoint is the last one.
            run._store.wait()
            os.kill(os.getpid(), self._signal)


class AskGroup(Interruption):
    """Asks the training and its workers, as the agent does."""

    def __init__(self) -> None:
        super().__init__(5, signal.SIGTERM)

    def batch_done(self, run: updraft.Training) -> None:
        self._left -= 1
        if self._left == 0:
            os.killpg(0, signal.SIGTERM)


# Once, not in each attempt.
updraft.carried._loops_of(__file__)
NEVER = (0, signal.SIGKILL)
OF_THE_MODULE = random.Random(5)


def seed_all() -> None:
    random.seed(1)
    numpy.random.seed(1)
    torch.manual_seed(1)


def learn(interruption: Interruption, make_loader: Callable[[], Any], epochs: int = 3) -> list[Any]:
    """A training in which every random number counts; the tape of what it saw, and the model it learned."""
    seed_all()
    layers = [torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    tape = Tape()
    loader = make_loader()
    with updraft.training(model, optimizer, scheduler=scheduler, tape=tape, every=0) as run:
        for epoch in run.epochs(epochs):
            random.random()
            for indices, images in run.batches(loader):
                optimizer.zero_grad()
                loss = (model(images).squeeze(1) - indices / 30).pow(2).mean()
                loss.backward()
                optimizer.step()
                tape.lines.append([indices.tolist(), loss.item()])
                run.log(loss=loss)
                interruption.batch_done(run)
            scheduler.step()
            tape.lines.append([scheduler.get_last_lr(), numpy.random.rand()])
    return [tape.lines, [one.tolist() for one in model.parameters()]]


def count(interruption: Interruption, epochs: int = 3) -> list[Any]:
    """A training without PyTorch."""
    random.seed(1)
    tape = Tape()
    with updraft.training(tape=tape, every=0) as run:
        for epoch in run.epochs(epochs):
            for number in run.batches(random.sample(range(7), 7)):
                tape.lines.append([epoch, number, random.random()])
                run.log(loss=run.batch)
                interruption.batch_done(run)
    return tape.lines


class AttemptTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        # What a killed training leaves behind goes with the folder.
        self.addCleanup(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = folder.name

    def attempt(self, train: Callable[..., Any], interruption: tuple[int, int], **env: str) -> tuple[int, Any]:
        """Runs the training in a process of its own: its exit code, or minus its signal, and its result."""
        child = os.fork()
        if child == 0:
            code = 70
            # Whoever looks through what it has inherited copies all of it.
            gc.freeze()
            try:
                os.environ.update(env)
                with open("stderr.txt", "a") as errors, contextlib.redirect_stderr(errors):
                    result = train(Interruption(*interruption))
                    with open("result.json", "w") as file:
                        json.dump(result, file)
                    code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
                with open("stderr.txt", "a") as errors:
                    print(end, file=errors)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != 0:
            return code, None
        with open("result.json") as file:
            return 0, json.load(file)

    def said(self) -> str:
        with open("stderr.txt") as file:
            return file.read()

    def same_after(self, train: Callable[..., Any], interruptions: list[tuple[int, int]], epochs_done: str) -> None:
        """Whatever interrupts it, the training sees the same samples, losses and random numbers."""
        _, undisturbed = self.attempt(train, NEVER, UPDRAFT_CHECKPOINT=epochs_done)
        self.assertIsNotNone(undisturbed)
        for after, by in interruptions:
            code, _ = self.attempt(train, (after, by), UPDRAFT_CHECKPOINT="saved")
            self.assertEqual(code, updraft.SAVED if by == signal.SIGTERM else -by)
        code, result = self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved")
        self.assertEqual(code, 0)
        self.assertEqual(result, undisturbed)


SOMETIMES = [(2, signal.SIGKILL), (9, signal.SIGTERM), (1, signal.SIGKILL), (8, signal.SIGTERM), (3, signal.SIGTERM)]
SELDOM = SOMETIMES[:3]
"""Before and after the end of an epoch, and right after a start: for what differs from others in its loader only."""


class WithoutTorch(AttemptTest):
    def test_any_iterable_resumes_at_the_next_item(self) -> None:
        self.same_after(count, SOMETIMES, "whole")

    def test_a_dataset_that_can_seek_begins_at_the_next_sample(self) -> None:
        class Shards:
            batch_size = 2
            read: list[Any] = []

            def set_epoch(self, epoch: int) -> None:
                self.epoch = epoch

            def updraft_seek(self, epoch: int, samples: int) -> None:
                self.first = samples
                assert epoch == self.epoch

            def __iter__(self) -> Any:
                for first in range(self.first, 7, self.batch_size):
                    self.read.append(first)
                    yield [self.epoch, first]

        def train(interruption: Interruption) -> list[Any]:
            shards, tape = Shards(), Tape()
            with updraft.training(tape=tape, every=0) as run:
                for _ in run.epochs(2):
                    for batch in run.batches(shards):
                        tape.lines.append([*batch, random.random()])
                        interruption.batch_done(run)
            return [[line[:2] for line in tape.lines], shards.read]

        self.assertEqual(self.attempt(train, (2, signal.SIGTERM), UPDRAFT_CHECKPOINT="saved")[0], updraft.SAVED)
        everything = [[epoch, first] for epoch in (0, 1) for first in (0, 2, 4, 6)]
        self.assertEqual(
            self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved"), (0, [everything, [4, 6, 0, 2, 4, 6]])
        )

    def test_leaves_when_asked_and_says_where(self) -> None:
        self.assertEqual(self.attempt(count, (4, signal.SIGTERM), UPDRAFT_CHECKPOINT="saved"), (updraft.SAVED, None))
        self.assertIn("saved in epoch 1 after batch 4", self.said())
        self.attempt(count, NEVER, UPDRAFT_CHECKPOINT="saved")
        self.assertIn("resuming in epoch 1 after batch 4", self.said())

    def test_on_a_laptop_a_signal_keeps_its_meaning(self) -> None:
        self.assertEqual(self.attempt(count, (4, signal.SIGTERM)), (-signal.SIGTERM, None))
        code, result = self.attempt(count, NEVER)
        self.assertEqual((code, len(result)), (0, 21))
        self.assertEqual(len(os.listdir("checkpoints")), 2)

    def test_a_finished_training_has_nothing_left(self) -> None:
        first = self.attempt(count, NEVER)
        self.assertEqual(self.attempt(count, NEVER), first)
        self.assertEqual(self.said(), "updraft: all 3 epochs are done; remove checkpoints to train again\n")

    def test_same_with_steps_numbers_means_and_a_deque(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            tape, last = Tape(), collections.deque([0.0], maxlen=3)
            random.seed(7)
            with updraft.training(tape=tape, last=last, every=0) as run:
                for step in run.steps(9):
                    last.append(random.random())
                    run.mean(loss=last[-1], other=step)
                    tape.lines.append([step, run.mean()["loss"], *last])
                    interruption.batch_done(run)
            assert last.maxlen == 3
            return tape.lines

        self.same_after(train, [(2, signal.SIGKILL), (3, signal.SIGTERM)], "whole")
        _, lines = self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="whole")
        self.assertEqual([line[0] for line in lines], list(range(9)))

    def test_same_with_loops_one_after_the_other(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            tape = Tape()
            random.seed(7)
            with updraft.training(tape=tape, every=0) as run:
                for epoch in run.epochs(2):
                    for loop in range(3):
                        for number, batch in run.enumerate("abcd"[: loop + 2]):
                            assert number == run.batch
                            tape.lines.append([epoch, loop, number, batch, random.random(), *run.mean(n=loop).values()])
                            interruption.batch_done(run)
            return tape.lines

        for after in range(1, 9):
            for folder in ("whole", "saved"):
                shutil.rmtree(folder, ignore_errors=True)
            self.same_after(train, [(after, signal.SIGKILL), (3, signal.SIGTERM)], "whole")

    def test_notices_what_a_loop_carries_by_itself(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            tape, total, seen, kept, best = Tape(), 0.0, [], {"n": 0}, 9
            with updraft.training(tape=tape, kept=kept, every=0) as run:
                for _ in run.epochs(1):
                    for i, number in enumerate(run.batches(range(3))):
                        began = time.time() if i == 0 else began
                        loss = number * 0.5
                        total += loss
                        seen.append(loss)
                        kept["n"] += 1
                        best = min(best, loss)
                        began = time.time()
                        interruption.batch_done(run)
            return [total]

        self.attempt(train, NEVER)
        first, second = self.said().splitlines()
        self.assertRegex(first, r"^updraft: test_updraft.py:\d+: enumerate starts over at 0 .* write run.enumerate\(loader\)")
        self.assertRegex(second, r"^updraft: test_updraft.py:\d+: total and seen and best, carried from batch to batch,")

    def test_notices_what_takes_steps_and_was_not_handed_over(self) -> None:
        def step(run: updraft.Training, kept: Tape, stats: dict[str, int]) -> None:
            for number in run.batches(range(3)):
                kept.step()
                stats["n"] += 1

        class Steps(Tape):
            def step(self) -> None:
                pass

        def train(interruption: Interruption) -> list[Any]:
            kept, scheduler, stats, found = Steps(), Steps(), {"n": 0}, {}
            # As PyTorch's have their optimizer.
            scheduler.optimizer = kept
            with updraft.training(kept=kept, every=0) as run:
                for epoch in run.epochs(1):
                    step(run, kept, stats)
                    for number in run.batches(range(3)):
                        found = {"now": number}
                        found["then"] = number
                    kept.step()
                    scheduler.step()
            return []

        self.attempt(train, NEVER)
        first, second = sorted(self.said().splitlines(), key=lambda line: "scheduler" in line)
        self.assertRegex(first, r"^updraft: test_updraft.py:\d+: stats, carried from batch to batch,")
        self.assertRegex(second, r"^updraft: test_updraft.py:\d+: scheduler starts over .*: hand it to updraft.training, too$")

    def test_notices_objects_without_a_state_dict_that_change(self) -> None:
        class Meter:
            def __init__(self) -> None:
                self.sum, self.seen, self.name = 0.0, 0, "loss"

            def update(self, value: float) -> None:
                self.sum, self.seen = self.sum + value, self.seen + 1

        class Kept(Meter):
            def state_dict(self) -> dict[str, Any]:
                return dict(vars(self))

            def load_state_dict(self, state: dict[str, Any]) -> None:
                vars(self).update(state)

        class Bar:
            """As a library's: it has nothing that can be reset."""

            __module__, n = "json", 0

            def update(self, by: float) -> None:
                self.n += 1

        def train(interruption: Interruption) -> list[Any]:
            meter, kept, still, bar = Meter(), Kept(), Meter(), Bar()
            env = types.SimpleNamespace(reset=None, state=[0, 0])
            with updraft.training(kept=kept, every=0) as run:
                for _ in run.epochs(1):
                    for number in run.batches(range(3)):
                        env.state = [number, number + 1]
                        for each in (kept, bar):
                            each.update(number)
                        meter.update(1 + still.sum)
            return []

        self.attempt(train, NEVER)
        first, second = sorted(self.said().splitlines(), key=lambda line: "meter" in line)
        self.assertRegex(first, r"^updraft: test_updraft.py:\d+: env \(state\) changes, and starts over when")
        self.assertRegex(second, r"^updraft: test_updraft.py:\d+: meter \(sum and seen\) changes, .*; give its class state_dict")

    def test_skips_a_damaged_checkpoint(self) -> None:
        for _ in range(2):
            self.attempt(count, (5, signal.SIGKILL))
        newest = max(os.listdir("checkpoints"))
        with open(os.path.join("checkpoints", newest), "r+b") as file:
            file.seek(20)
            file.write(b"?")
        _, result = self.attempt(count, NEVER)
        self.assertIn(f"checkpoints/{newest} is damaged", self.said())
        with tempfile.TemporaryDirectory() as other:
            os.chdir(other)
            self.assertEqual(self.attempt(count, NEVER)[1], result)

    def test_skips_a_checkpoint_that_cannot_be_read(self) -> None:
        self.attempt(count, (5, signal.SIGKILL))
        (older, *_) = updraft.store.Store("checkpoints", 2).paths()
        dangling = "checkpoints/checkpoint-999999999999-00000000.pt"
        os.symlink("nowhere", dangling)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(updraft.store.Store("checkpoints", 2).newest(), older)
        why = "is damaged; trying the one before it: No such file or directory"
        self.assertEqual(said.getvalue(), f"updraft: {dangling} {why}\n")

    def test_says_once_that_it_starts_over_if_all_checkpoints_are_damaged(self) -> None:
        store = updraft.store.Store("checkpoints", 2)
        self.assertTrue(all(store.save_now(lambda: {"one": 1}) for _ in range(2)))
        for path in store.paths():
            with open(path, "ab") as file:
                file.write(b"?")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual([store.newest(), store.newest()], [None, None])
        first, last = said.getvalue().splitlines()
        self.assertIn("is damaged; trying the one before it", first)
        self.assertIn("is damaged; no other is left, so the training starts over", last)

    def test_a_worker_ends_whose_training_was_killed_before_it_began(self) -> None:
        reading, writing = os.pipe()
        training, worker_may_begin = os.pipe()
        killed = os.fork()
        if killed == 0:
            init = updraft.leaving._WorkerInit(None, os.getpid())
            if os.fork() == 0:
                os.close(worker_may_begin)
                os.read(training, 1)  # nothing, once the training has gone
                while os.getppid() == init._parent:
                    pass
                init(0)
                os.write(writing, b"waits for work")
            os._exit(0)
        os.close(writing)
        os.close(training)
        os.waitpid(killed, 0)
        os.close(worker_may_begin)
        with os.fdopen(reading, "rb") as said:
            self.assertEqual(said.read(), b"")

    def test_kills_all_workers_before_it_waits_for_one(self) -> None:
        worker = unittest.mock.Mock()
        with unittest.mock.patch.object(updraft.leaving, "live_workers", return_value=[worker, worker]):
            updraft.leaving.kill_workers()
        self.assertEqual([name for name, _, _ in worker.method_calls], ["kill", "kill", "join", "join"])

    def test_refuses_the_checkpoint_of_another_training(self) -> None:
        self.attempt(count, (3, signal.SIGKILL))
        with self.assertRaisesRegex(SystemExit, "is of another training: it has tape; this one has model, tape"):
            updraft.training(tape=Tape(), model=Tape()).__enter__()

    def test_one_loop_at_a_time_and_one_training_a_folder(self) -> None:
        with updraft.training(tape=Tape()) as run:
            with self.assertRaisesRegex(RuntimeError, "goes into each epoch of run.epochs"):
                next(run.batches(range(3)))
            for _ in run.epochs(1):
                for number in run.batches(range(3)):
                    self.assertEqual(run.batch, number)
                    with self.assertRaisesRegex(RuntimeError, "iterate over other loaders directly"):
                        next(run.batches(range(3)))
        with self.assertRaisesRegex(SystemExit, "checkpoints is another training's"):
            updraft.training(tape=Tape()).__enter__()
        script = "import updraft; updraft.training({'a': 1}).__enter__()"
        path = os.path.dirname(os.path.dirname(updraft.__file__))
        other = subprocess.run([sys.executable, "-B", "-c", script], env={"PYTHONPATH": path}, capture_output=True, text=True)
        self.assertIn("updraft: another process is training with checkpoints; start the script once, or give each process", other.stderr)

    def test_metrics_that_are_no_numbers_cost_nothing(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            with updraft.training(tape=Tape()) as run:
                for _ in run.epochs(1):
                    run.log(loss=None, accuracy="high", step=7, other=1)
            return []

        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_PROGRESS="progress.jsonl"), (0, []))
        with open("progress.jsonl") as file:
            self.assertEqual(json.loads(file.readline()), {"other": 1.0, "epoch": 1, "epochs": 1, "step": 0})

    def test_generators_of_its_own_are_restored(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            tape, order, noise = Tape(), random.Random(3), random.Random(4)
            with updraft.training(tape, order, noise=noise, every=0) as run:
                for epoch in run.epochs(3):
                    for number in run.batches(order.sample(range(7), 7)):
                        tape.lines.append([number, noise.random()])
                        interruption.batch_done(run)
            return tape.lines

        self.same_after(train, SOMETIMES, "whole")
        with self.assertRaisesRegex(TypeError, "object 1 of updraft.training has no state_dict: SystemRandom"):
            updraft.training(random.SystemRandom())

    def test_dicts_and_lists_of_its_own_are_restored(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            best, history = {"number": -1}, []
            with updraft.training(best, history=history, every=0) as run:
                for epoch in run.epochs(3):
                    for number in run.batches([3, 1, 4, 1, 5, 9, 2]):
                        best["number"] = max(best["number"], 10 * epoch + number)
                        history.append([run.batch, dict(best)])
                        interruption.batch_done(run)
            return [best, history]

        self.same_after(train, SOMETIMES, "whole")
        message = "object 2 of updraft.training is a list with a Tape; hand over models and optimizers themselves"
        with self.assertRaisesRegex(TypeError, message):
            updraft.training({}, [Tape()])

    def test_dicts_and_lists_that_an_epoch_changes_before_its_loop(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            random.seed(1)
            order, meter, history = list(range(8)), {"sum": 0}, []
            with updraft.training(order, meter, history=history, every=0) as run:
                for epoch in run.epochs(3):
                    random.shuffle(order)
                    meter["sum"] = 0
                    history.append([])
                    pairs = [order[first : first + 2] for first in range(0, 8, 2)]
                    for pair in run.batches(pairs):
                        meter["sum"] += pair[0] * (run.batch + 1)
                        history[-1].append([pair, order[run.batch], meter["sum"]])
                        interruption.batch_done(run)
            return history

        self.same_after(train, [(3, signal.SIGKILL), (2, signal.SIGTERM), (4, signal.SIGTERM)], "whole")

    def test_no_checkpoint_follows_the_last_batch_of_an_unknown_number(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            random.seed(1)
            tape = Tape()
            with updraft.training(tape=tape, every=0) as run:
                for epoch in run.epochs(3):
                    for number in run.batches(one + random.random() for one in range(4)):
                        last = number
                        tape.lines.append([number, random.random()])
                        interruption.batch_done(run)
                    # Fails if the resumed loop was empty.
                    tape.lines.append(last)
            return tape.lines

        self.same_after(train, [(4, signal.SIGTERM), (4, signal.SIGKILL), (2, signal.SIGTERM)], "whole")
        self.assertIn("saved in epoch 2 after batch 0", self.said())

    def test_a_forgotten_with_is_refused(self) -> None:
        run = updraft.training(tape=Tape())
        for use in (lambda: next(run.epochs(3)), lambda: next(run.batches(range(3)))):
            with self.assertRaisesRegex(RuntimeError, "go into the statement `with updraft.training"):
                use()

    def test_one_of_several_processes_that_nobody_numbers_is_refused(self) -> None:
        for name in ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
            message = f"one of several processes \\({name}=2\\), .*which one. .*write `\\[train\\] processes = "
            with unittest.mock.patch.dict(os.environ, {name: "2"}), self.assertRaisesRegex(SystemExit, message):
                updraft.training(tape=Tape()).__enter__()

    def test_leaves_validation_at_once_with_what_was_saved_before_the_last_batch(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            tape, evaluations = Tape(), 0
            random.seed(1)
            with updraft.training(tape=tape, every=9) as run:
                for epoch in run.epochs(2):
                    for number in run.batches(range(5)):
                        tape.lines.append([epoch, number, random.random()])
                    interruption.batch_done(run)
                    evaluations += 1
            return [tape.lines, evaluations]

        self.same_after(lambda _: train(_)[0], [(1, signal.SIGTERM), (2, signal.SIGTERM)], "whole")
        self.assertIn("saved in epoch 1 after batch 4, as asked\n", self.said())
        self.assertEqual(self.said().count("after batch 4"), 4)

    def test_names_what_cannot_be_saved(self) -> None:
        with self.assertRaisesRegex(TypeError, "object 2 of updraft.training has no state_dict: int; put it into a dict"):
            updraft.training(Tape(), 3)
        with self.assertRaisesRegex(TypeError, "object 1 .* has no state_dict: tuple; hand over the objects themselves"):
            updraft.training((Tape(), Tape()))
        with self.assertRaisesRegex(TypeError, "best of updraft.training has 'why', which cannot be saved: .*lambda"):
            updraft.training(best={"loss": 1, "why": lambda: 1})

    def test_names_what_cannot_be_saved_any_more(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            best: dict[str, Any] = {}
            with updraft.training(best=best, every=0) as run:
                for _ in run.epochs(1):
                    for _ in run.batches(range(2)):
                        best["why"] = lambda: 1
            return []

        self.attempt(train, NEVER)
        self.assertIn("no checkpoint could be written: best of updraft.training has 'why', which cannot", self.said())

    def test_looks_for_generators_in_parts_of_what_is_large_and_in_tuples_of_any_names(self) -> None:
        class Large(dict):
            read = 0

            def items(self) -> Any:
                for item in super().items():
                    Large.read += 1
                    yield item

        class Data:
            def __init__(self) -> None:
                self.index = Large((number, None) for number in range(10_000))
                self.one = collections.namedtuple("One", "items rng")(3, random.Random(1))

        data = Data()
        found = updraft.generators.generators_in(updraft.generators.find_holders({"data": data}, shared=False))
        self.assertEqual(list(found.values()), [data.one.rng])
        self.assertLessEqual(Large.read, updraft.generators.MAX_ITEMS)

    def test_looks_for_generators_in_slots_and_in_all_of_many_datasets(self) -> None:
        class Part:
            __slots__ = ("rng", "__hidden", "missing")

            def __init__(self) -> None:
                self.rng, self.__hidden = random.Random(1), random.Random(2)

        parts = [Part() for _ in range(300)]
        found = updraft.generators.generators_in(updraft.generators.find_holders({"data": parts}, shared=False))
        self.assertEqual(len(found), 600)

    def test_epochs_are_a_number(self) -> None:
        with updraft.training(tape=Tape()) as run:
            with self.assertRaisesRegex(TypeError, r"run.epochs takes the number of epochs, .* not a range"):
                next(run.epochs(range(3)))

    def test_an_iterator_goes_into_one_epoch_only(self) -> None:
        def endless() -> Any:
            while True:
                yield from range(3)

        for iterator in (endless(), itertools.cycle([1, 2])):
            with updraft.training(tape=Tape(), folder=type(iterator).__name__) as run:
                with self.assertRaisesRegex(RuntimeError, "in an earlier epoch: .* Give it the loader itself"):
                    for _ in run.epochs(2):
                        for _ in run.batches(iterator):
                            if run.batch == 4:
                                break

    def test_same_over_an_iterator_that_draws_while_the_training_does(self) -> None:
        def endless() -> Any:
            while True:
                yield from random.sample(range(5), 5)

        def train(interruption: Interruption) -> list[Any]:
            random.seed(1)
            tape = Tape()
            with updraft.training(tape=tape, every=0) as run:
                for _ in run.epochs(2):
                    for number in run.batches(itertools.islice(endless(), 14)):
                        tape.lines.append([number, random.random()])
                        interruption.batch_done(run)
            return tape.lines

        self.same_after(train, [(8, signal.SIGKILL), (3, signal.SIGTERM), (9, signal.SIGTERM)], "whole")

    def test_a_full_disk_costs_the_checkpoint_and_not_the_training(self) -> None:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with unittest.mock.patch.object(updraft.store._WholeFile, "finish", side_effect=full):
            self.assertEqual(self.attempt(count, (2, signal.SIGKILL), UPDRAFT_CHECKPOINT="saved")[0], -signal.SIGKILL)
        self.assertIn("no checkpoint could be written: [Errno 28] No space left on device", self.said())

    def test_a_disk_that_stays_full_is_reported_once_with_what_is_missing(self) -> None:
        store = updraft.store.Store("checkpoints", 2)

        def save(times: int, number: int) -> str:
            error = OSError(number, os.strerror(number)) if number else None
            with unittest.mock.patch.object(os, "fsync", side_effect=error):
                with contextlib.redirect_stderr(io.StringIO()) as said:
                    for _ in range(times):
                        store.save_soon(lambda: {"one": b"x" * 3_000_000}, lambda _: None)
                        self.assertEqual(store.wait(), not number)
            return said.getvalue()

        full = (
            r"updraft: no checkpoint could be written: \[Errno 28\] No space left on device: "
            r"it takes 3\.0 MB, and \d+\.\d MB are free\n"
        )
        self.assertRegex(save(3, errno.ENOSPC), rf"\A{full}\Z")
        self.assertEqual(save(2, errno.EIO), "updraft: no checkpoint could be written: [Errno 5] Input/output error\n")
        self.assertEqual(save(1, 0), "")
        self.assertEqual(save(1, errno.EIO).count("\n"), 1)

    def test_the_oldest_checkpoint_makes_room_but_never_the_only_one_that_is_whole(self) -> None:
        store, room = updraft.store.Store("checkpoints", 2), 2

        def fill(_: Any) -> None:
            if len(os.listdir("checkpoints")) > room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with unittest.mock.patch.object(os, "fsync", side_effect=fill):
            self.assertEqual([store.save_now(lambda: {"one": number}) for number in range(4)], [True] * 4)
            room, whole = 1, min(store.paths())
            with open(max(store.paths()), "ab") as file:
                file.write(b"?")
            store = updraft.store.Store("checkpoints", 2)
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(store.newest(), whole)
                self.assertFalse(store.save_now(lambda: {"one": 4}))
        self.assertEqual(store.paths(), [whole])

    def test_reports_progress(self) -> None:
        self.attempt(count, NEVER, UPDRAFT_PROGRESS="progress.jsonl")
        with open("progress.jsonl") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(lines[0], {"epoch": 1, "epochs": 3, "step": 0, "steps": 7, "loss": 0.0})
        seen = {name: value for line in lines for name, value in line.items()}
        self.assertEqual((seen["epoch"], seen["loss"]), (3, 6.0))
        self.assertGreater(seen["saves"], 0)
        self.assertGreater(seen["saveSeconds"], 0)

    def test_reports_every_step_however_fast(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            with updraft.training(tape=Tape(), every=1000) as run:
                for epoch in run.epochs(2):
                    for number in run.batches(range(100)):
                        run.log(loss=0.01 if (epoch, number) == (1, 42) else 1.0)
                        run.log(lr=number)
                    run.log(val_accuracy=epoch)
            return []

        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_PROGRESS="progress.jsonl"), (0, []))
        with open("progress.jsonl") as file:
            lines = [json.loads(line) for line in file]
        for name in ("loss", "lr"):
            steps = [(line["epoch"], line["step"]) for line in lines if name in line]
            self.assertEqual(steps, [(epoch, step) for epoch in (1, 2) for step in range(100)])
        self.assertEqual([(one["epoch"], one["step"]) for one in lines if one.get("loss") == 0.01], [(2, 42)])
        found = [(one["epoch"], one["step"], one["val_accuracy"]) for one in lines if "val_accuracy" in one]
        self.assertEqual(found, [(1, 100, 0), (2, 100, 1)])

    def test_writes_every_report_together_once_a_second_and_never_many_at_once(self) -> None:
        def steps() -> list[int]:
            with open("progress.jsonl") as file:
                return [json.loads(line)["step"] for line in file]

        progress = updraft.progress.Progress("progress.jsonl")
        with unittest.mock.patch.object(updraft.progress, "time") as clock:
            clock.monotonic.return_value = 50.0
            for batch in range(10):
                progress.log(updraft.position.Position(0, batch), {"score": 1})
            self.assertEqual(steps(), [0])
            clock.monotonic.return_value = 51.0
            progress.log(updraft.position.Position(0, 10), {"score": 1})
            self.assertEqual(steps(), list(range(11)))
            for batch in range(11, 5_000):
                progress.log(updraft.position.Position(0, batch), {"score": 1})
            self.assertEqual(steps(), list(range(4_011)))
            progress.flush()
        self.assertEqual(steps(), list(range(5_000)))

    def test_reports_once_how_fast_the_host_copies_to_a_gpu_that_is_in_use(self) -> None:
        def first_line(fake: Any) -> dict[str, Any]:
            progress = updraft.progress.Progress("progress.jsonl")
            with unittest.mock.patch.object(updraft.progress, "get_torch", return_value=fake):
                progress.measure()
            progress.log(updraft.position.Position(), {"loss": 1})
            progress.log(updraft.position.Position(0, 1), {"loss": 1})
            progress.flush()
            with open("progress.jsonl") as file:
                first, second = (json.loads(line) for line in file)
            os.remove("progress.jsonl")
            self.assertNotIn("copyBytesPerSecond", second)
            return dict(first)

        gpu = unittest.mock.MagicMock()
        gpu.cuda.Event.return_value.elapsed_time.return_value = 0.5
        self.assertEqual(first_line(gpu)["copyBytesPerSecond"], 16 * 2**20 * 2000)
        gpu.cuda.is_initialized.return_value = False
        self.assertNotIn("copyBytesPerSecond", first_line(gpu))
        full = unittest.mock.MagicMock()
        full.empty.side_effect = RuntimeError("CUDA out of memory")
        self.assertNotIn("copyBytesPerSecond", first_line(full))
        self.assertNotIn("copyBytesPerSecond", first_line(None))

    def test_a_tensor_of_a_gpu_is_copied_now_and_read_later(self) -> None:
        class OnGpu:
            device, reads = unittest.mock.Mock(type="cuda"), 0

            def __init__(self, value: float) -> None:
                self.value = value

            def detach(self) -> OnGpu:
                return self

            def clone(self) -> OnGpu:
                return OnGpu(self.value)

            def numel(self) -> int:
                return 1

            def __float__(self) -> float:
                OnGpu.reads += 1
                return self.value

        progress = updraft.progress.Progress("progress.jsonl")
        total = OnGpu(0.0)
        with unittest.mock.patch.object(updraft.progress, "time") as clock:
            clock.monotonic.return_value = 50.0
            progress.log(updraft.position.Position(), {"loss": 0})
            for batch in range(10):
                total.value += 1
                progress.log(updraft.position.Position(0, batch), {"loss": total})
        self.assertEqual(OnGpu.reads, 0)
        progress.flush()
        with open("progress.jsonl") as file:
            self.assertEqual([json.loads(line)["loss"] for line in file], list(range(11)))

    def test_saves_rarely_if_it_costs_much_and_often_if_it_is_interrupted_often(self) -> None:
        def seconds(cost: float, lives: list[float], every: Optional[float] = None) -> float:
            interval = updraft.interval.Interval(every)
            interval.earlier = lives
            interval.start(0)
            interval.waited(0, cost)
            return interval.seconds(cost)

        self.assertLess(seconds(0.01, []), seconds(1, []))
        self.assertLess(seconds(1, [600] * 20), seconds(1, []))
        self.assertAlmostEqual(seconds(1, []), (2 * 7201) ** 0.5, 3)
        # However often it is interrupted, it waits for at most one part in a hundred.
        self.assertGreaterEqual(seconds(1, [10] * 1000), 100)
        self.assertEqual(seconds(1, [], every=30), 30)
        with unittest.mock.patch.dict(os.environ, UPDRAFT_MEAN_LIFE="19999"):
            self.assertAlmostEqual(seconds(1, []), 200, 3)


@unittest.skipIf(torch is None, "this Python has no PyTorch")
class WithTorch(AttemptTest):
    def loader(self, dataset: Any = None, **options: Any) -> Callable[[], Any]:
        data = Noisy() if dataset is None else dataset
        return lambda: torch.utils.data.DataLoader(data, batch_size=4, **{"shuffle": True, **options})

    def same(self, make_loader: Callable[[], Any], interruptions: Any = SELDOM) -> None:
        self.same_after(lambda interruption: learn(interruption, make_loader), interruptions, "whole")

    def test_same_samples_losses_and_weights(self) -> None:
        self.same(self.loader(), SOMETIMES)

    def test_same_with_workers_and_a_sampler_that_draws_each_index_when_asked(self) -> None:
        class Late:
            def __len__(self) -> int:
                return 30

            def __iter__(self) -> Any:
                return (random.randrange(30) for _ in range(30))

        self.same(self.loader(num_workers=2, persistent_workers=True, shuffle=False, sampler=Late()))

    def test_same_with_a_generator_of_its_own(self) -> None:
        self.same(lambda: self.loader(generator=torch.Generator().manual_seed(5))())

    def test_same_with_generators_that_loader_dataset_and_training_share(self) -> None:
        class Own(Noisy):
            def __init__(self) -> None:
                self.chances = [numpy.random.default_rng(1), numpy.random.RandomState(2), random.Random(3)]
                self.first, self.second, self.third = self.chances

            def __getitem__(self, index: int) -> Any:
                drawn = [float(one.random() if hasattr(one, "random") else one.rand()) for one in self.chances]
                return index, sum(drawn) + super().__getitem__(index)[1]

        def train(interruption: Interruption) -> list[Any]:
            seed_all()
            shared, noise = torch.Generator().manual_seed(5), numpy.random.Generator(numpy.random.Philox(6))
            tape = Tape()
            loader = self.loader(Own(), generator=shared, num_workers=workers)()
            with updraft.training(shared, noise, tape=tape, every=0) as run:
                for _ in run.epochs(2):
                    shift = noise.random()
                    for indices, images in run.batches(loader):
                        drawn = torch.rand(1, generator=shared).item()
                        tape.lines.append([indices.tolist(), images.tolist(), drawn, shift + noise.random()])
                        interruption.batch_done(run)
            return tape.lines

        for workers in (0, 1):
            with self.subTest(workers=workers):
                self.same_after(train, [(3, signal.SIGKILL), (6, signal.SIGTERM)], f"whole-{workers}")
                shutil.rmtree("saved")

    def test_same_with_generators_deep_in_a_dataset_or_beside_it(self) -> None:
        class Blur:
            chance = random.Random(7)

            def __init__(self) -> None:
                self.state = numpy.random.default_rng(1)

            def __call__(self, image: Any) -> Any:
                return image * float(self.state.random()) + self.chance.random()

        class Augmented(Noisy):
            def __init__(self) -> None:
                noise = torch.Generator().manual_seed(2)
                self.transforms = {"train": [Blur(), lambda image: image + torch.rand(8, generator=noise)]}

            def __getitem__(self, index: int) -> Any:
                image = super().__getitem__(index)[1]
                for transform in self.transforms["train"]:
                    image = transform(image)
                return index, image + OF_THE_MODULE.random()

        for workers in (0, 1):
            with self.subTest(workers=workers):
                data = torch.utils.data.Subset(Augmented(), range(30))
                make_loader = self.loader(data, num_workers=workers)
                train = lambda end: learn(end, make_loader)
                self.same_after(train, [(3, signal.SIGKILL), (9, signal.SIGTERM)], f"whole-{workers}")
                shutil.rmtree("saved")

    def test_same_with_loaders_of_other_libraries(self) -> None:
        data = torch.utils.data

        class Collated(data.DataLoader):
            """As PyTorch Geometric's."""

            def __init__(self, dataset: Any, **options: Any) -> None:
                super().__init__(dataset, collate_fn=lambda samples: data.default_collate(samples), **options)

        class _RepeatSampler:
            def __init__(self, sampler: Any) -> None:
                self.sampler = sampler

            def __iter__(self) -> Any:
                while True:
                    yield from self.sampler

        class Endless(data.DataLoader):
            """As timm's and Ultralytics'."""

            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                object.__setattr__(self, "batch_sampler", _RepeatSampler(self.batch_sampler))
                self.iterator = super().__iter__()

            def __len__(self) -> int:
                return len(self.batch_sampler.sampler)

            def __iter__(self) -> Any:
                return (next(self.iterator) for _ in range(len(self)))

        class Ahead:
            """As accelerate's, and timm's for a GPU."""

            __module__ = "timm.data.loader"

            def __init__(self, *args: Any, **options: Any) -> None:
                self.loader = data.DataLoader(*args, **options)

            def __len__(self) -> int:
                return len(self.loader)

            def __iter__(self) -> Any:
                batches = iter(self.loader)
                held = next(batches)
                for batch in batches:
                    yield held
                    held = batch
                yield held

        for kind, workers in [(Collated, 1), (Endless, 1), (Ahead, 0), (Ahead, 1)]:
            with self.subTest(kind=kind.__name__, workers=workers):
                options = {"batch_size": 4, "shuffle": True, "num_workers": workers, "persistent_workers": workers > 0}
                train = lambda end: learn(end, lambda: kind(Noisy(), **options))
                self.same_after(train, [(9, signal.SIGKILL), (3, signal.SIGTERM)], f"{kind.__name__}-{workers}")
                shutil.rmtree("saved")

    def test_same_with_loaders_that_read_several(self) -> None:
        class Reader:
            def __init__(self, make: Callable[[], Any]) -> None:
                # A loader that the training does not read may come first.
                self.validation, self.first, self.second = make(), make(), make()

            def __len__(self) -> int:
                return 4

        class Pairs(Reader):
            def __iter__(self) -> Any:
                batches = iter(self.first)
                return ([torch.cat(both) for both in zip(one, next(batches))] for one in batches)

        class Zipped(Reader):
            def __iter__(self) -> Any:
                both = zip(self.first, self.second)
                return itertools.islice(([torch.cat(parts) for parts in zip(*two)] for two in both), 4)

        for kind in (Pairs, Zipped):
            with self.subTest(kind=kind.__name__):
                train = lambda end: learn(end, lambda: kind(self.loader(num_workers=1)))
                self.same_after(train, [(5, signal.SIGKILL), (2, signal.SIGTERM)], kind.__name__)
                shutil.rmtree("saved")

    def test_a_loader_inside_another_is_put_back_once(self) -> None:
        class Outer:
            __module__ = "timm.data.loader"

            def __init__(self, loader: Any) -> None:
                self.loader = loader

            def __len__(self) -> int:
                return len(self.loader)

            def __iter__(self) -> Any:
                return iter(self.loader)

        first, second = (self.loader(num_workers=1)() for _ in range(2))
        outer = Outer(first)
        with updraft.training(tape=Tape()) as run:
            for epoch in run.epochs(2):
                for _ in run.batches(range(3) if epoch else outer):
                    self.assertIsNot(outer.loader, first)
                if epoch == 0:
                    self.assertIs(outer.loader, first)
                    outer.loader = second
        self.assertIs(outer.loader, second)

    def test_says_what_cannot_be_resumed_exactly(self) -> None:
        class Samples(torch.utils.data.IterableDataset):
            def __iter__(self) -> Any:
                return (Noisy()[index] for index in range(30))

        make_loader = self.loader(Samples(), shuffle=False, num_workers=1, persistent_workers=True)
        self.attempt(lambda end: learn(end, make_loader), NEVER)
        self.assertEqual(self.said().count("with persistent_workers=True, a loader of Samples may not resume exactly"), 1)

    def test_same_over_two_loaders_with_generators_of_their_own(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            own = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
            first, second = (self.loader(range(30), generator=one)() for one in own)
            lines: list[Any] = []
            with updraft.training(lines, *own[:handed], every=0) as run:
                for _ in run.epochs(3):
                    for one, other in run.batches(zip(first, second)):
                        lines.append([one.tolist(), other.tolist()])
                        interruption.batch_done(run)
            return lines

        handed = 2
        # At the end of an epoch, and within one.
        self.same_after(train, [(8, signal.SIGTERM), (3, signal.SIGKILL)], "whole")
        handed = 1
        self.attempt(train, NEVER)
        self.assertEqual(self.said().count("hand over the generators that the loaders of this zip have"), 1)

    def test_refuses_another_random_split(self) -> None:
        def make_loader() -> Any:
            torch.seed()
            return self.loader(torch.utils.data.random_split(Noisy(), [20, 10])[0])()

        self.attempt(lambda end: learn(end, make_loader), (2, signal.SIGKILL))
        self.assertEqual(self.attempt(lambda end: learn(end, make_loader), NEVER)[0], 1)
        self.assertIn("a random split without a seed differs in every attempt. Give it one, as in", self.said())

    def test_refuses_another_random_split_between_epochs(self) -> None:
        def make_loader() -> Any:
            torch.seed()
            return self.loader(torch.utils.data.random_split(Noisy(), [20, 10])[0])()

        self.assertEqual(self.attempt(lambda end: learn(end, make_loader, 1), NEVER)[0], 0)
        self.assertEqual(self.attempt(lambda end: learn(end, make_loader), NEVER)[0], 1)
        self.assertIn("a random split without a seed differs in every attempt. Give it one, as in", self.said())

    def test_same_with_a_subset_of_each_epoch(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            seed_all()
            subsets, lines = [torch.utils.data.Subset(Noisy(), range(one, one + 10)) for one in (0, 10)], []
            with updraft.training(lines, every=0) as run:
                for epoch in run.epochs(3):
                    drawn = torch.utils.data.Subset(Noisy(), torch.randperm(30)[:10].tolist())
                    for indices, _ in run.batches(self.loader(drawn if is_drawn else subsets[epoch % 2])()):
                        lines.append(indices.tolist())
                        interruption.batch_done(run)
            return lines

        for is_drawn in (False, True):
            with self.subTest(is_drawn=is_drawn):
                # After the last batch of an epoch, the checkpoint is that of its end.
                self.same_after(train, [(3, signal.SIGTERM), (2, signal.SIGKILL)], f"whole {is_drawn}")
                shutil.rmtree("saved")

    def test_trains_on_indices_and_with_samplers_of_any_kind(self) -> None:
        class Pairs(Noisy):
            dataset = range(3)

            def __init__(self) -> None:
                self.indices = [[0, 1], [2, 3]]

        @dataclasses.dataclass
        class Order:
            places: Any

            def __len__(self) -> int:
                return 30

            def __iter__(self) -> Any:
                self.places = self.places[::-1]
                return iter(self.places)

        loader = self.loader(Pairs(), shuffle=False, sampler=Order(list(range(30))))
        self.assertEqual(self.attempt(lambda end: learn(end, loader), NEVER)[0], 0)
        self.assertEqual(self.said().count("Order changes its places from epoch to epoch, and starts over when"), 1)

    def test_warns_of_a_sampler_and_a_dataset_that_change_lists_in_dicts_weights_or_places(self) -> None:
        class Balanced:
            def __init__(self) -> None:
                self.pool = {0: numpy.arange(30)}

            def __len__(self) -> int:
                return 30

            def __iter__(self) -> Any:
                numpy.random.shuffle(self.pool[0])
                weighted.weights[:] += 1
                ordered.places.reverse()
                ordered.cache.append(len(ordered.cache))
                return iter(self.pool[0].tolist())

        ordered, weighted = Noisy(), torch.utils.data.WeightedRandomSampler(torch.ones(30), 30)
        ordered.places, ordered.cache = list(range(30)), []

        def train(interruption: Interruption) -> list[Any]:
            with updraft.training(*handed, every=0) as run:
                for _ in run.epochs(3):
                    list(Balanced())
                    list(run.batches(self.loader(ordered, shuffle=False, sampler=weighted)()))
            return []

        self.attempt(lambda end: learn(end, self.loader(shuffle=False, sampler=Balanced())), NEVER, UPDRAFT_CHECKPOINT="a")
        self.assertEqual(self.said().count("Balanced changes its pool from epoch to epoch"), 1)
        handed = [{"weights": weighted.weights}, ordered.places]
        self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="b")
        self.assertNotIn("changes its weights", self.said())
        self.assertNotIn("Noisy changes its", self.said())
        handed = [{}]
        self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="c")
        self.assertEqual(self.said().count("WeightedRandomSampler changes its weights from epoch to epoch"), 1)
        self.assertEqual(self.said().count("Noisy changes its places from epoch to epoch"), 1)

    def test_warns_of_another_order_of_files(self) -> None:
        def make_loader() -> Any:
            files = Noisy()
            files.paths = [(f"/scratch/{os.getpid()}/{one}.png", one) for one in range(30)]
            if is_shuffled:
                random.Random().shuffle(files.paths)
            return self.loader(torch.utils.data.Subset(files, range(30)) if is_subset else files)()

        is_shuffled = is_subset = False
        self.same(make_loader)
        self.assertNotIn("Noisy has another", self.said() if os.path.exists("stderr.txt") else "")
        shutil.rmtree("saved")
        is_shuffled = True
        self.attempt(lambda end: learn(end, make_loader), (2, signal.SIGKILL))
        self.attempt(lambda end: learn(end, make_loader), NEVER)
        self.assertIn("Noisy has another paths than in the checkpoint", self.said())
        shutil.rmtree("checkpoints")
        is_subset = True
        self.attempt(lambda end: learn(end, make_loader), (2, signal.SIGKILL))
        self.attempt(lambda end: learn(end, make_loader), NEVER)
        self.assertIn("Subset has another dataset.paths than in the checkpoint", self.said())

    def test_marks_of_long_lists_and_arrays_are_made_of_some_items(self) -> None:
        class Long(list):
            def __iter__(self) -> Any:
                raise AssertionError("it reads all of it")

            __repr__ = __iter__

        sampler = types.SimpleNamespace()
        sampler.places, sampler.order = Long(range(1_000_000)), torch.arange(1_000_000)
        first = updraft.marks.marks_of(sampler)
        self.assertEqual(set(first), {"places", "order"})
        sampler.places[-1], sampler.order[3] = 1, 1
        now = updraft.marks.marks_of(sampler)
        self.assertEqual([name for name in now if now[name] == first[name]], [])

    def test_warns_of_a_sampler_that_goes_on_by_itself(self) -> None:
        class Shuffled:
            def __init__(self) -> None:
                self.places = list(range(30))

            def __len__(self) -> int:
                return 30

            def __iter__(self) -> Any:
                random.shuffle(self.places)
                return iter(self.places)

        self.attempt(lambda end: learn(end, lambda: self.loader(shuffle=False, sampler=Shuffled())()), NEVER)
        self.assertEqual(self.said().count("Shuffled changes its places from epoch to epoch, and starts over when"), 1)

    def test_same_with_generators_that_are_replaced_or_made_with_the_first_sample(self) -> None:
        class Replacing:
            batch_size = 4

            def __init__(self) -> None:
                self.rng = random.Random(1)

            def __len__(self) -> int:
                return 8

            def __iter__(self) -> Any:
                self.rng = random.Random(self.rng.random())
                order = self.rng.sample(range(30), 30)
                for first in range(0, 30, 4):
                    yield torch.utils.data.default_collate([Noisy()[one] for one in order[first : first + 4]])

        class Late(Noisy):
            rng: Any = None

            def __getitem__(self, index: int) -> Any:
                self.rng = self.rng or random.Random(2)
                return index, super().__getitem__(index)[1] + self.rng.random()

        late = {f"late, {workers} workers": self.loader(Late(), num_workers=workers) for workers in (0, 1)}
        for kind, make_loader in {"replaced": Replacing, **late}.items():
            with self.subTest(kind=kind):
                train = lambda end: learn(end, make_loader)
                self.same_after(train, [(8, signal.SIGTERM), (3, signal.SIGKILL)], kind)
                shutil.rmtree("saved")

        class Iterable(torch.utils.data.IterableDataset):
            rng: Any = None

            def __iter__(self) -> Any:
                self.rng = random.Random(2)
                return (Noisy()[index] for index in range(30))

        self.attempt(lambda end: learn(end, self.loader(Iterable(), shuffle=False)), (9, signal.SIGKILL))
        self.attempt(lambda end: learn(end, self.loader(Iterable(), shuffle=False)), NEVER)
        self.assertIn("the generator dataset.rng is not there yet: make it together with the dataset", self.said())

    def test_refuses_a_loader_as_an_object_and_the_state_of_another_optimizer(self) -> None:
        with self.assertRaisesRegex(TypeError, "loader of updraft.training is a DataLoader: give it to run.batches only"):
            updraft.training(loader=self.loader()())
        model = torch.nn.Linear(2, 1)
        with updraft.training(optimizer=torch.optim.SGD(model.parameters(), lr=0.1)) as run:
            next(run.epochs(1))
            run._epoch_ends(is_last=True)
        updraft.attempt.used_folders.clear()
        with self.assertRaisesRegex(SystemExit, "optimizer does not fit .*: it is of SGD, this is Adam"):
            updraft.training(optimizer=torch.optim.Adam(model.parameters())).__enter__()

    def test_notices_numbers_in_attributes_of_a_model(self) -> None:
        class Net(torch.nn.Linear):
            count = 0

            def forward(self, one: Any) -> Any:
                self.count += 1
                return super().forward(one)

        def train(interruption: Interruption) -> list[Any]:
            net = Net(2, 1)
            with updraft.training(net, every=0) as run:
                for _ in run.epochs(1):
                    for _ in run.batches(range(3)):
                        net(torch.zeros(2))
            return []

        self.attempt(train, NEVER)
        self.assertIn("updraft: Net.count (the model) changes, and starts over when the training is resumed", self.said())

    def test_tensors_of_a_dict_are_restored_where_they_are(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            shadow = {"weight": torch.zeros(2), "count": 0}
            alias, lines = shadow["weight"], []
            with updraft.training(shadow=shadow, lines=lines, every=0) as run:
                for _ in run.epochs(2):
                    for number in run.batches(range(6)):
                        alias.mul_(0.5).add_(number)
                        shadow["late"] = alias + 1
                        lines.append([alias.tolist(), shadow["late"].tolist()])
                        interruption.batch_done(run)
            return [lines, shadow["weight"].tolist()]

        self.same_after(train, SELDOM, "whole")

    def test_tensors_of_a_dict_that_an_epoch_reads_before_its_loop(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            tape, kept = Tape(), {"weights": torch.ones(2)}
            with updraft.training(tape=tape, kept=kept, every=0) as run:
                for _ in run.epochs(2):
                    begun = kept["weights"].clone()
                    for number in run.batches(range(4)):
                        tape.lines.append([begun.tolist(), number])
                        kept["weights"] += 1
                        interruption.batch_done(run)
            return tape.lines

        for after in range(1, 8):
            for folder in ("whole", "saved"):
                shutil.rmtree(folder, ignore_errors=True)
            self.same_after(train, [(after, signal.SIGKILL)], "whole")

    def test_tensors_of_a_dict_come_back_on_their_device(self) -> None:
        later: dict[str, Any] = {}
        values = updraft.state.Values("later", later)
        later.update(one=torch.zeros(2, device="meta"), more=[torch.ones(2, device="meta"), {"here": torch.ones(2)}])
        state = values.state_dict()
        self.assertEqual(state["devices"], {("one",): "meta", ("more", 0): "meta"})
        # As it is read from a checkpoint.
        read = {"one": torch.zeros(2), "more": [torch.ones(2), {"here": torch.ones(2)}], "gone": torch.ones(2)}
        later.clear()
        values.load_state_dict({"values": read, "devices": {**state["devices"], ("gone",): "cuda:99"}})
        self.assertEqual(
            [str(one.device) for one in (later["one"], later["more"][0], later["more"][1]["here"], later["gone"])],
            ["meta", "meta", "cpu", "cpu"],
        )
        self.assertEqual(later["gone"].tolist(), [1, 1])

    def test_same_with_gradients_of_several_batches(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            seed_all()
            words, model = torch.nn.Embedding(30, 8, sparse=True), torch.nn.Linear(8, 1)
            optimizer, tape = torch.optim.SGD([*words.parameters(), *model.parameters()], lr=0.01), Tape()
            with updraft.training(words, model, optimizer, tape=tape, every=0) as run:
                for _ in run.epochs(2):
                    # An epoch that begins so drops what the last one left.
                    optimizer.zero_grad()
                    for indices, images in run.batches(loader):
                        loss = model(words(indices) + images).pow(2).mean()
                        loss.backward()
                        if run.batch % 3 == 2:
                            optimizer.step()
                            optimizer.zero_grad()
                        tape.lines.append([indices.tolist(), loss.item()])
                        interruption.batch_done(run)
                        if run.batch == 0:
                            self.assertEqual(list(run._objects.gradients.state()), ["object 3"])
                        if run.batch == 2:
                            self.assertEqual(run._objects.gradients.state(), {})
            return [tape.lines, model.weight.tolist()]

        loader = self.loader()()
        self.same_after(train, [(2, signal.SIGKILL), (2, signal.SIGTERM), (1, signal.SIGTERM), (4, signal.SIGTERM)], "whole")

    def test_same_with_layers_that_are_frozen_on_the_way(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            seed_all()
            model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            losses: list[float] = []
            with updraft.training(model, optimizer, losses, every=0) as run:
                for epoch in run.epochs(3):
                    model.train()
                    for indices, images in run.batches(torch.utils.data.DataLoader(Noisy(), 4, shuffle=True)):
                        if (epoch, run.batch) == (0, 1):
                            model[0].requires_grad_(False)
                            model[1].eval()
                        optimizer.zero_grad()
                        loss = (model(images).squeeze(1) - indices / 30).pow(2).mean()
                        loss.backward()
                        optimizer.step()
                        losses.append(loss.item())
                        interruption.batch_done(run)
            return losses

        self.same_after(train, SOMETIMES, "whole")

    def test_same_with_parameters_that_an_optimizer_gets_on_the_way(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            seed_all()
            model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            model[0].requires_grad_(False)
            optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1, momentum=0.9)
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
            losses: list[float] = []
            with updraft.training(model, optimizer, scheduler, losses, every=0) as run:
                for epoch in run.epochs(3):
                    if epoch == 1:
                        model[0].requires_grad_(True)
                        optimizer.add_param_group({"params": model[0].parameters(), "lr": 0.01})
                    for indices, images in run.batches(torch.utils.data.DataLoader(Noisy(), 4, shuffle=True)):
                        optimizer.zero_grad()
                        loss = (model(images).squeeze(1) - indices / 30).pow(2).mean()
                        loss.backward()
                        optimizer.step()
                        losses.append(loss.item())
                        interruption.batch_done(run)
                    scheduler.step()
            return losses + [group["lr"] for group in optimizer.param_groups]

        # Before, in and after the epoch in which they come, 8 batches each.
        self.same_after(train, [(3, signal.SIGKILL), (7, signal.SIGTERM), (2, signal.SIGKILL), (6, signal.SIGTERM)], "whole")

    def test_same_with_objects_that_an_epoch_changes_before_its_loop(self) -> None:
        class Meter(Tape):
            """Keeps, and changes, what it has loaded."""

            def load_state_dict(self, state: dict[str, Any]) -> None:
                self.lines = state["lines"]

        def train(interruption: Interruption) -> list[Any]:
            seed_all()
            model, losses, meter = torch.nn.Linear(8, 1), [], Meter()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7)
            loader = self.loader()()
            with updraft.training(model, optimizer, scheduler, losses, meter=meter, every=0) as run:
                for epoch in run.epochs(3):
                    if epoch > 0:
                        scheduler.step()
                        for state in optimizer.state.values():
                            state["momentum_buffer"].zero_()
                    meter.lines.clear()
                    for indices, images in run.batches(loader):
                        optimizer.zero_grad()
                        loss = (model(images).squeeze(1) - indices / 30).pow(2).mean()
                        loss.backward()
                        optimizer.step()
                        meter.lines.append(loss.item())
                        losses.append([loss.item(), sum(meter.lines)])
                        interruption.batch_done(run)
            return [losses, scheduler.get_last_lr(), model.weight.tolist()]

        self.same_after(train, SOMETIMES, "whole")

    def test_same_with_a_sampler_of_more_indices_than_fit_into_memory(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            seed_all()
            generator = torch.Generator().manual_seed(2) if has_own else None
            sampler = torch.utils.data.RandomSampler(Noisy(), True, int(1e10), generator=generator)
            loader = self.loader(shuffle=False, sampler=sampler, num_workers=workers)()
            tape = Tape()
            with updraft.training(tape=tape, every=0) as run:
                for _ in run.epochs(2):
                    for indices, images in run.batches(loader):
                        tape.lines.append([indices.tolist(), images.tolist(), torch.rand(1).item()])
                        interruption.batch_done(run)
                        if run.batch == 8:
                            break
            return tape.lines

        for workers, has_own in ((0, False), (0, True), (1, False)):
            with self.subTest(workers=workers, has_own=has_own):
                self.same_after(train, [(3, signal.SIGKILL), (9, signal.SIGTERM)], f"whole-{workers}-{has_own}")
                shutil.rmtree("saved")

    def test_same_with_an_optimizer_inside_another_and_warns_if_it_is_left_out(self) -> None:
        class Outer(torch.optim.Optimizer):
            def __init__(self, params: Any) -> None:
                super().__init__(params, {"lr": 0.1})
                self.base_optimizer = torch.optim.SGD(self.param_groups, lr=0.1, momentum=0.9)
                self.param_groups = self.base_optimizer.param_groups

        def train(interruption: Interruption, is_handed: bool = True) -> list[Any]:
            seed_all()
            model, tape = torch.nn.Linear(2, 1), Tape()
            outer = Outer(model.parameters())
            more = [outer.base_optimizer] if is_handed else []
            with updraft.training(model, outer, *more, tape=tape, every=0) as run:
                for epoch in run.epochs(2):
                    for number in run.batches(range(4)):
                        outer.param_groups[0]["lr"] = 0.1 / (1 + run.batch)
                        outer.zero_grad()
                        model(torch.full((1, 2), number / 4)).pow(2).sum().backward()
                        outer.base_optimizer.step()
                        tape.lines.append(model.weight.tolist())
                        interruption.batch_done(run)
            return tape.lines

        self.same_after(train, [(2, signal.SIGTERM), (3, signal.SIGTERM)], "whole")
        self.assertNotIn("starts over", self.said())
        self.attempt(lambda interruption: train(interruption, False), NEVER, UPDRAFT_CHECKPOINT="without")
        self.assertIn("Outer.base_optimizer starts over when it is resumed: hand it to updraft.training", self.said())

    def test_parameters_of_a_model_that_was_not_handed_over_are_named(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            head, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
            with updraft.training(head, optimizer, every=0) as run:
                for epoch in run.epochs(2):
                    if epoch == 0:
                        optimizer.add_param_group({"params": other.parameters()})
                    for _ in run.batches(range(4)):
                        interruption.batch_done(run)
            return []

        self.attempt(train, (6, signal.SIGKILL))
        head = torch.nn.Linear(2, 1)
        with self.assertRaisesRegex(SystemExit, "has 2 parameter groups, and there are 1; hand over the model of"):
            updraft.training(head, torch.optim.SGD(head.parameters(), lr=0.1)).__enter__()

    def test_same_without_shuffling_and_batches(self) -> None:
        self.same(lambda: torch.utils.data.DataLoader(Noisy(), batch_size=None, collate_fn=alone))

    def test_same_over_an_iterable_dataset(self) -> None:
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self) -> Any:
                return (Noisy()[index] for index in range(30))

        self.same(self.loader(Stream(), shuffle=False))

    def test_number_of_workers_may_change(self) -> None:
        few, many = (lambda end, n=n: learn(end, self.loader(num_workers=n)) for n in (1, 3))
        _, undisturbed = self.attempt(few, NEVER, UPDRAFT_CHECKPOINT="whole")
        self.attempt(few, (5, signal.SIGTERM), UPDRAFT_CHECKPOINT="saved")
        self.assertEqual(self.attempt(many, NEVER, UPDRAFT_CHECKPOINT="saved"), (0, undisturbed))

    def test_workers_end_with_their_loader_once_the_training_has_ended(self) -> None:
        def train(interruption: Interruption) -> list[int]:
            # Whoever looks for cycles waits 5 s for each worker.
            gc.disable()
            learn(interruption, self.loader(num_workers=2, persistent_workers=True), epochs=1)
            return [len(multiprocessing.active_children())]

        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved"), (0, [0]))

    def test_leaves_with_its_workers_when_the_whole_group_is_asked(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            os.setpgid(0, 0)
            return learn(AskGroup(), self.loader(num_workers=2))

        _, undisturbed = self.attempt(lambda end: learn(end, self.loader(num_workers=2)), NEVER, UPDRAFT_CHECKPOINT="a")
        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="b")[0], updraft.SAVED, self.said())
        rest = self.attempt(lambda end: learn(end, self.loader(num_workers=2)), NEVER, UPDRAFT_CHECKPOINT="b")
        self.assertEqual(rest, (0, undisturbed))

    def test_workers_of_every_loader_survive_a_request_from_their_start(self) -> None:
        handling = torch.utils.data._utils.signal_handling
        usual = handling._set_worker_signal_handlers

        def asked_at_once() -> None:
            usual()
            os.kill(os.getpid(), signal.SIGTERM)

        def train(_: Interruption) -> list[Any]:
            loader, tape = torch.utils.data.DataLoader(range(6), num_workers=2), Tape()
            with unittest.mock.patch.object(handling, "_set_worker_signal_handlers", asked_at_once):
                with updraft.training(tape=tape) as run:
                    for _ in run.epochs(1):
                        tape.lines += [one.item() for one in run.batches(loader)]
                        # As a validation does.
                        tape.lines += [one.item() for one in loader]
            return tape.lines

        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved"), (0, [*range(6), *range(6)]), self.said())

    def test_leaves_when_asked_though_its_workers_are_gone(self) -> None:
        kind = torch.utils.data.dataloader._MultiProcessingDataLoaderIter
        usual = kind._try_get_data

        def train(_: Interruption) -> None:
            with unittest.mock.patch.object(kind, "_try_get_data", lambda self: usual(self, 0.1)):
                with updraft.training(tape=Tape()) as run:
                    for _ in run.epochs(1):
                        list(run.batches(torch.utils.data.DataLoader(EndsWorker(), num_workers=1)))

        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved")[0], updraft.SAVED, self.said())
        self.assertIn("saved in epoch 1 after batch 0, as asked", self.said())

    def test_a_loader_of_its_own_for_each_epoch_and_a_sample_drawn_twice(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            tape = Tape()
            with updraft.training(tape=tape) as run:
                for epoch in run.epochs(3):
                    loader = self.loader([(epoch, epoch)] * 4, num_workers=1)()
                    for (numbers, _) in run.batches(loader):
                        tape.lines.append(numbers.tolist())
            with updraft.training(tape=tape, folder="twice") as run:
                for _ in run.epochs(1):
                    same = torch.utils.data.WeightedRandomSampler([1.0] + [0.0] * 29, 8)
                    for _, images in run.batches(self.loader(shuffle=False, sampler=same, num_workers=1)()):
                        tape.lines.extend(images[:, 0].tolist())
            return tape.lines

        _, lines = self.attempt(train, NEVER)
        self.assertEqual(lines[:3], [[0] * 4, [1] * 4, [2] * 4])
        self.assertEqual(len(set(lines[3:])), 8)

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch before 2.0 has no compiler")
    def test_a_training_loads_the_compiler_only_to_compile(self) -> None:
        """Compared with a laptop, where nothing stands for the compiler."""
        program = """
import sys
import torch
import updraft

layer = torch.nn.Linear(2, 1)
torch.nn.init.ones_(layer.weight)
optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1)

def step():
    optimizer.zero_grad()
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()

def is_loaded():
    return "torch._dynamo.eval_frame" in sys.modules

step()
optimizer.load_state_dict(optimizer.state_dict())
before = is_loaded()
torch.compile(step, backend="eager")()
kept = vars(torch.optim.Optimizer.zero_grad.__wrapped__)["__dynamo_disable"]
print(before, is_loaded(), kept.__qualname__, layer.weight.tolist())
"""

        loaded, compiled, result = self.printed(program, UPDRAFT_PROGRESS="progress").split(maxsplit=2)
        self.assertEqual((loaded, compiled), ("False", "True"))
        self.assertEqual(self.printed(program).split(maxsplit=2), ["True", "True", result])

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch before 2.0 has no compiler")
    def test_the_compiler_is_one_however_it_is_imported(self) -> None:
        program = """
import sys
{}
torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1).step()
spared = torch._dynamo
assert "torch._dynamo.eval_frame" not in sys.modules, "loaded"
{}
whole = sys.modules["torch._dynamo"]
assert whole is torch._dynamo is not spared, whole
assert found is whole.config is spared.config is sys.modules["torch._dynamo.eval_frame"].config, found
assert type(found.__spec__.loader).__module__ != "updraft", found.__spec__
"""
        for imports, part in (
            ("import torch, updraft", "import torch._dynamo.config as found"),
            ("import updraft, torch", "from torch._dynamo import config as found"),
            ("import updraft, torch", "spared.one = 1; assert torch._dynamo.one == 1; found = torch._dynamo.config"),
        ):
            with self.subTest(f"{imports}; {part}"):
                self.assertEqual(self.printed(program.format(imports, part), UPDRAFT_PROGRESS="progress"), "")

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch before 2.0 has no compiler")
    def test_whatever_is_asked_of_the_compiler_reaches_the_real_one(self) -> None:
        for use in (
            """
import importlib.util
spec = importlib.util.find_spec("torch._dynamo.config")
from torch._dynamo import config, eval_frame
config.suppress_errors = True
assert eval_frame.config is config is sys.modules["torch._dynamo.config"] and config.__spec__ is spec
""",
            "from torch._dynamo import *; reset()",
            "assert 'reset' in dir(torch._dynamo)",
            "assert 'reset' in vars(torch._dynamo)",
            """
import unittest.mock
spared = torch._dynamo
with unittest.mock.patch.object(spared, "disable", None):
    assert torch._dynamo.disable is None
with unittest.mock.patch.object(spared, "one", 1, create=True):
    assert torch._dynamo.one == 1
assert callable(torch._dynamo.disable) and not hasattr(spared, "one")
""",
            """
class Unhashable:
    __hash__ = None
    def __call__(self):
        return 1
assert torch._disable_dynamo(Unhashable())() == 1
torch._dynamo.reset()
""",
        ):
            with self.subTest(use):
                self.printed(f"import sys, torch, updraft, torch._dynamo\n{use}", UPDRAFT_PROGRESS="progress")

    def printed(self, program: str, **env: str) -> str:
        """By a Python of its own."""
        folder = os.path.dirname(os.path.dirname(os.path.abspath(updraft.__file__)))
        env = {**os.environ, "PYTHONPATH": folder, **env}
        return subprocess.run(
            [sys.executable, "-c", program], env=env, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def test_a_checkpoint_is_a_copy_that_the_training_cannot_change(self) -> None:
        weights = torch.nn.Linear(2, 2)
        with updraft.training(weights, every=0) as run:
            for _ in run.epochs(1):
                for _ in run.batches(range(3)):
                    torch.nn.init.constant_(weights.weight, 7)
            run._store.wait()
        torch.nn.init.constant_(weights.weight, 8)
        state = updraft.reading.read_checkpoint(run._store.newest(), False)
        self.assertEqual(state["objects"]["object 1"]["weight"].tolist(), [[7, 7], [7, 7]])

    @unittest.skipUnless(hasattr(torch, "compile") and hasattr(torch.serialization, "get_crc32_options"), "old PyTorch")
    def test_a_last_checkpoint_has_large_tensors_whole_and_checkpoints_have_no_checksums_of_their_own(self) -> None:
        weights = torch.nn.Linear(1024, 512)
        state = {"objects": weights.state_dict()}
        store = updraft.store.Store("saved", 1)
        dump, noted = updraft.store.write_checkpoint, []

        def dump_and_note(state: Any, file: Any) -> None:
            noted.append(torch.serialization.get_crc32_options())
            dump(state, file)

        with unittest.mock.patch.object(updraft.store, "write_checkpoint", dump_and_note):
            store.save_soon(lambda: state, lambda _: None)
            # Into the buffers of the first one.
            torch.nn.init.constant_(weights.bias, 7)
            self.assertTrue(store.save_now(lambda: state))
        self.assertEqual(noted, [False, False])
        self.assertTrue(torch.serialization.get_crc32_options())
        read = updraft.reading.read_checkpoint(store.newest() or "", False)["objects"]
        self.assertTrue(all(torch.equal(read[name], value) for name, value in weights.state_dict().items()))


def alone(sample: Any) -> Any:
    index, image = sample
    return torch.tensor([index]), image.unsqueeze(0)


if __name__ == "__main__":
    unittest.main()
