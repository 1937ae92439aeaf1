"""Draws from every generator that a sample may use, and compares each with every other.

The bound holds for all pairs at once: chi-squared with 255 degrees of freedom is above 450 by chance once in 10^12
tables. Seeds are fixed, so it holds always or never.
"""

from __future__ import annotations

import collections
import itertools
import os
import pathlib
import random
import signal
import tarfile
import unittest
from typing import Any, Callable

import updraft
from test_stream import add
from test_updraft import AttemptTest, Interruption, Tape, torch

if torch is not None:
    import numpy

SAMPLES, DRAWS, BOUND = 40, 250, 450.0
"""10,000 draws of each generator: one of 16 numbers each."""
NUMBERS = itertools.count()
NAMES = ("python", "numpy", "torch", "view 1", "view 2", "modern 1", "modern 2", "slot 1", "slot 2", "legacy", "collate")
"""A stream has no `collate_fn` of its own."""


class Jitter:
    """What a script has as a variable, a class as an attribute, a function as a default."""

    def __init__(self) -> None:
        self.rng = random.Random(1)

    def __call__(self) -> float:
        return self.rng.random()


JITTER = Jitter()
JITTERS = [random.Random(1)]


def jitter(*, default: Any = random.Random(1)) -> list[float]:
    return [default.random(), *(one.random() for one in JITTERS)]


class Jittered:
    shared = Jitter()

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> list[float]:
        return [self.shared(), JITTER(), *jitter()]


class Deep:
    """Generators behind the paths of many samples, one of them by its method alone."""

    def __init__(self) -> None:
        self.images, self.masks = [[pathlib.Path(f"{kind}/{number}") for number in range(1500)] for kind in "im"]
        self.transforms = {"all": [Jitter(), {"draw": random.Random(1).random}]}


class Late:
    """A `collate_fn` that makes its generator with the first batch, as transformers' does."""

    rng: Any = None

    def __call__(self, samples: list[Any]) -> list[float]:
        self.rng = self.rng or random.Random(1)
        return [*(one for sample in samples for one in sample), self.rng.random(), random.random()]


class Slotted:
    __slots__ = ("rng", "other")

    def __init__(self) -> None:
        self.rng, self.other = random.Random(1), numpy.random.RandomState(1)


class Augment:
    """Every kind of generator, some in one container, one under two names, all with the same seed."""

    def __init__(self) -> None:
        self.views = [torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)]
        self.modern = {0: numpy.random.default_rng(1), "0": numpy.random.default_rng(1)}
        self.slotted, self.legacy = Slotted(), numpy.random.RandomState(1)
        self.shared = self.legacy

    def __call__(self) -> Any:
        """A row for each of NAMES: workers hand tensors over one by one, so all are in one."""
        drawn = {
            "python": random.choices(range(16), k=DRAWS),
            "numpy": numpy.random.randint(16, size=DRAWS),
            "torch": torch.randint(16, (DRAWS,)),
            "view 1": torch.randint(16, (DRAWS,), generator=self.views[0]),
            "view 2": torch.randint(16, (DRAWS,), generator=self.views[1]),
            "modern 1": self.modern[0].integers(16, size=DRAWS),
            "modern 2": self.modern["0"].integers(16, size=DRAWS),
            "slot 1": self.slotted.rng.choices(range(16), k=DRAWS),
            "slot 2": self.slotted.other.randint(16, size=DRAWS),
            "legacy": self.shared.randint(16, size=DRAWS),
        }
        assert tuple(drawn) == NAMES[:-1]
        return torch.stack([torch.as_tensor(numpy.asarray(values)) for values in drawn.values()])


class Images:
    def __init__(self) -> None:
        self.transform = Augment()

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Any:
        return self.transform()


class Collate:
    def __init__(self) -> None:
        self.mixes = torch.Generator().manual_seed(1)

    def __call__(self, samples: list[Any]) -> Any:
        return torch.stack([torch.cat([one, torch.randint(16, (1, DRAWS), generator=self.mixes)]) for one in samples])


def seed_all(seed: int) -> None:
    # As most trainings do: PyTorch and NumPy draw the same from it.
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def with_run(workers: int, make: Callable[[], Any], folder: str) -> list[Any]:
    epochs: list[Any] = []
    loader = make()
    with updraft.training(tape=Tape(), folder=folder, every=1e9) as run:
        for _ in run.epochs(2):
            epochs.append(list(run.batches(loader)))
    return epochs


def with_framework(workers: int, make: Callable[[], Any], folder: str) -> list[Any]:
    loader, epochs = make(), []
    feed = updraft.feed.Feed(loader)
    for epoch in range(2):
        feed.begin(updraft.position.Position(epoch), None, skips=True)
        epochs.append(list(loader))
        feed.end()
    return epochs


@unittest.skipIf(torch is None, "no PyTorch")
class EachGenerator(AttemptTest):
    def images(self, workers: int) -> Any:
        return torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=workers, collate_fn=Collate())

    def stream(self, workers: int) -> Any:
        if not os.path.exists("shards"):
            os.mkdir("shards")
            with tarfile.open("shards/0.tar", "w") as archive:
                for number in range(SAMPLES):
                    add(archive, f"{number:03d}.txt", b"x")
        augment = Augment()
        stream = updraft.Stream("shards", batch_size=4, transform=lambda _: augment())
        return torch.utils.data.DataLoader(stream, batch_size=4, num_workers=workers)

    def test_draws_apart_from_every_other_in_every_place_epoch_and_run(self) -> None:
        ways: dict[str, Any] = {
            "run.batches": (with_run, self.images),
            "a stream": (with_run, self.stream),
            "a framework": (with_framework, self.images),
        }
        for way, (train, make) in ways.items():
            with_workers: dict[str, Any] = {}
            for workers in (0, 1, 3):
                with self.subTest(way, workers=workers):
                    drawn = self.drawn(train, make, workers, seed=1)
                    if workers > 1:
                        # The same, whichever worker it is: compared once.
                        self.assertTrue(all(torch.equal(drawn[name], with_workers[name]) for name in with_workers))
                        continue
                    with_workers = dict(drawn)
                    drawn.update((f"{name}, other run", one) for name, one in self.drawn(train, make, workers, 2).items())
                    self.assertEqual(self.related(drawn), [])
                    if workers == 0:
                        again = self.drawn(train, make, workers, seed=1)
                        self.assertTrue(all(torch.equal(drawn[name], one) for name, one in again.items()))

    def drawn(self, train: Any, make: Any, workers: int, seed: int) -> dict[str, Any]:
        """By generator, and by half of the first epoch, and the second one."""
        seed_all(seed)
        folder = f"saved-{next(NUMBERS)}"
        drawn: dict[str, Any] = {}
        for epoch, batches in enumerate(train(workers, lambda: make(workers), folder)):
            for name, rows in zip(NAMES, torch.cat(batches).transpose(0, 1)):
                drawn[f"{name}, epoch {epoch}"] = rows.flatten()
        whole = {name: one for name, one in drawn.items() if name.endswith("epoch 0")}
        # Two halves of an epoch, each as often as the whole has draws.
        drawn.update((f"{name}, moved", one.roll(len(one) // 2)) for name, one in whole.items())
        return drawn

    def related(self, drawn: dict[str, Any]) -> list[str]:
        found, names, draws = [], list(drawn), torch.stack([*drawn.values()])
        self.assertEqual(draws.shape[1], SAMPLES * DRAWS)
        for place, name in enumerate(names[:-1]):
            # Its table with each of those after it.
            others = names[place + 1 :]
            cells = draws[place] * 16 + draws[place + 1 :] + 256 * torch.arange(len(others)).unsqueeze(1)
            counts = torch.bincount(cells.flatten(), minlength=256 * len(others)).view(-1, 256).double()
            expected = SAMPLES * DRAWS / 256
            scores = ((counts - expected) ** 2 / expected).sum(1).tolist()
            found += [f"{name} and {other}: {one:.0f}" for other, one in zip(others, scores) if one > BOUND]
        return found

    def test_generators_behind_many_samples_are_found(self) -> None:
        found = updraft.generators.generators_in(updraft.generators.find_holders({"dataset": Deep()}, shared=False))
        self.assertEqual([*found], ["dataset.transforms.all.0.rng", "dataset.transforms.all.1.draw.0"])

    def test_generators_in_sets_and_keys_are_found(self) -> None:
        class Kept:
            __slots__ = ("set", "frozen", "keys", "values", "queue")

        # Of one class each, so that a set's order is known.
        one, other = Jitter(), Slotted()
        kept = Kept()
        kept.set, kept.frozen = {other, one}, frozenset([random.Random(1)])
        kept.keys, kept.values = {Jitter(): 0.5}, {"a": random.Random(1)}.values()
        kept.queue = collections.deque([Jitter()])
        holders = updraft.generators.find_holders({"dataset": kept}, shared=False)
        found = updraft.generators.generators_in(holders)
        self.assertEqual(len(found), 7)
        self.assertIs(found["dataset.set.0.rng"], one.rng)
        self.assertIs(found["dataset.set.1.rng"], other.rng)

    def test_two_views_of_an_image_differ(self) -> None:
        for workers in (0, 2):
            seed_all(1)
            batches = with_run(workers, lambda: self.images(workers), f"saved-{workers}")[0]
            views = [torch.cat(batches)[:, NAMES.index(f"view {number}")] for number in (1, 2)]
            self.assertFalse(any(torch.equal(*pair) for pair in zip(*views)))
            self.assertEqual(len({tuple(one.tolist()) for one in torch.cat(views)}), 2 * SAMPLES)

    def test_two_streams_of_one_training_draw_apart(self) -> None:
        for folder in ("some", "more"):
            os.mkdir(folder)
            with tarfile.open(f"{folder}/0.tar", "w") as archive:
                for number in range(SAMPLES):
                    add(archive, f"{number:03d}.txt", b"x" * (1 if folder == "some" else 600))
        drawn = [[*updraft.Stream(folder, transform=lambda _: torch.rand(1).item())] for folder in ("some", "more")]
        self.assertEqual(len({one for each in drawn for one in each}), 2 * SAMPLES)

    def test_a_training_keeps_the_stream_of_its_own_seed(self) -> None:
        """What samples draw in its process changes nothing that it draws itself."""

        def drawn(reads: bool) -> list[Any]:
            seed_all(3)
            noise = torch.Generator().manual_seed(4)
            loader, found = self.images(0) if reads else None, []
            if loader is not None:
                loader.dataset.transform.views[0] = noise
                next(iter(updraft.loading.beginning_after(0, loader, lambda: None, lambda _: None)))
            else:
                updraft.randomness.draw_seed(), updraft.randomness.draw_seed()
            found += [random.random(), numpy.random.rand(), torch.rand(1).item(), torch.rand(1, generator=noise).item()]
            return found

        self.assertEqual(drawn(True), drawn(False))

    def test_a_stream_without_workers_resumes_with_the_same_random_numbers(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            seed_all(1)
            tape, loader = Tape(), self.stream(workers)
            with updraft.training(tape=tape, every=0) as run:
                for _ in run.epochs(2):
                    for batch in run.batches(loader):
                        tape.lines.append([*batch.sum((0, 2)).tolist(), torch.rand(1).item(), random.random()])
                        interruption.batch_done(run)
            return tape.lines

        results = []
        for workers in (0, 2):
            whole, saved = f"whole-{workers}", f"saved-{workers}"
            results.append(self.attempt(train, (0, signal.SIGKILL), UPDRAFT_CHECKPOINT=whole))
            for interruption in ((3, signal.SIGKILL), (12, signal.SIGTERM), (0, signal.SIGKILL)):
                ended = self.attempt(train, interruption, UPDRAFT_CHECKPOINT=saved)
            self.assertEqual(ended, results[-1])
        self.assertEqual(*results)

    def test_those_that_code_names_and_those_made_late_resume_and_differ(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            seed_all(1)
            tape = Tape()
            loader = torch.utils.data.DataLoader(Jittered(), batch_size=4, num_workers=workers, collate_fn=Late())
            with updraft.training(tape=tape, every=0) as run:
                for _ in run.epochs(2):
                    for batch in run.batches(loader):
                        tape.lines.append(batch)
                        interruption.batch_done(run)
            return tape.lines

        for workers in (0, 2):
            with self.subTest(workers=workers):
                whole, saved = f"whole-{workers}", f"saved-{workers}"
                code, lines = self.attempt(train, (0, signal.SIGKILL), UPDRAFT_CHECKPOINT=whole)
                drawn = [one for line in lines for one in line]
                self.assertEqual((code, len(set(drawn))), (0, 2 * (4 * SAMPLES + 2 * SAMPLES // 4)))
                for interruption in ((3, signal.SIGKILL), (12, signal.SIGTERM), (0, signal.SIGKILL)):
                    ended = self.attempt(train, interruption, UPDRAFT_CHECKPOINT=saved)
                self.assertEqual(ended, (code, lines))
