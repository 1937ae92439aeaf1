"""Checkpoints, resume and progress for a PyTorch training, in three lines.

    with updraft.training(model, optimizer, scheduler) as run:
        for epoch in run.epochs(10):
            for images, labels in run.batches(loader):
                ...
                run.log(loss=loss)

The training saves itself now and then and resumes at the very next batch, with the same random numbers, however often
it is interrupted. What is not handed to `training` is not restored: a running average, for example, starts over.

Under Updraft, checkpoints go to the job's checkpoint folder, `log` feeds `updraft status`, and a request to leave the
machine (SIGTERM) saves and exits with 85: "saved, run me again". On a laptop the same lines save into the folder
`checkpoints` and resume from it, and do nothing else.

One file, standard library only; PyTorch, Lightning and transformers are used if the training uses them.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import itertools
import json
import math
import os
import pickle
import random
import re
import shutil
import signal
import sys
import threading
import time
import weakref
import zlib
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterable, Iterator, Optional, TypeVar

__all__ = ["Training", "training"]

Batch = TypeVar("Batch")

SAVED = 85
"""Exit code for "saved, run me again"."""

_FORMAT = 1
_NAME = re.compile(r"checkpoint-(\d{12})-([0-9a-f]{8})\.pt")
_USUAL_LIFE = 2 * 3600.0
"""Seconds that an attempt lasts before it is interrupted, until this training has seen interruptions of its own."""
_WAIT_SHARE = 0.01
"""Largest share of its time that the training waits for its checkpoints."""


def training(
    *objects: Any,
    folder: Optional[str] = None,
    every: Optional[float] = None,
    keep: Optional[int] = None,
    **named: Any,
) -> Training:
    """What is to be saved and restored: anything with `state_dict` and `load_state_dict`.

    `every` is the time between checkpoints in seconds. Without it, the time follows from how long a checkpoint takes
    and how often the training is interrupted. `keep` is the number of checkpoints in `folder`.
    """
    names = {f"object {place}": value for place, value in enumerate(objects, 1)}
    return Training({**names, **named}, folder=folder, every=every, keep=keep)


@dataclass(frozen=True)
class _Position:
    """What comes next: a batch of an epoch, both counted from 0."""

    epoch: int = 0
    batch: int = 0

    def __str__(self) -> str:
        return f"epoch {self.epoch + 1} after batch {self.batch}"


class Training:
    """A training that can be interrupted at any time. Made by `training`, used in a `with` statement."""

    def __init__(
        self, objects: dict[str, Any], *, folder: Optional[str], every: Optional[float], keep: Optional[int]
    ) -> None:
        for name, value in objects.items():
            if not (hasattr(value, "state_dict") and hasattr(value, "load_state_dict")):
                raise TypeError(f"{name} of updraft.training has no state_dict: {type(value).__name__}")
        self._objects = objects
        self._attempt = _Attempt(folder, every)
        self._store = _Store(self._attempt.folder, keep or self._attempt.keep)
        self._interval = self._attempt.interval
        self._progress = self._attempt.progress
        self._position = _Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._generators: list[Any] = []
        self._epoch_random: Any = None
        self._has_looped = True
        self._wrapped: Any = weakref.WeakKeyDictionary()

    def __enter__(self) -> Training:
        self._attempt.start()
        state = self._store.load()
        if state is not None:
            self._resume(state)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self._attempt.end()
        finally:
            self._store.wait()

    @property
    def epoch(self) -> int:
        """The current epoch, counted from 0."""
        return self._position.epoch

    @property
    def batch(self) -> int:
        """The current batch of the epoch, counted from 0, also after a resume: `enumerate` would start over."""
        return self._position.batch

    def epochs(self, total: int) -> Iterator[int]:
        """The epochs that are left of `total`, counted from 0, the interrupted one first."""
        self._progress.epochs = total
        if self._resumed is not None:
            _set_random(self._resumed["random"], [])
        while self._position.epoch < total:
            self._has_looped = False
            yield self._position.epoch
            self._has_looped = True
            self._resumed = None
            self._position = _Position(self._position.epoch + 1)
            self._epoch_random = None
            self._between_batches(is_last=self._position.epoch >= total)

    def batches(self, loader: Iterable[Batch], *, accumulate: int = 1) -> Iterator[Batch]:
        """The batches that are left of this epoch. If gradients are collected over several batches, say how many.

        A dataset with `set_epoch(epoch)` is told the epoch. One with `updraft_seek(epoch, samples)` begins after that
        many samples by itself, so nothing is read only to be dropped.
        """
        if self._has_looped:
            raise RuntimeError("run.batches goes once into each epoch of run.epochs; iterate over other loaders directly")
        self._has_looped = True
        done = 0
        self._generators = _generators_of(loader)
        if self._resumed is not None:
            done = self._position.batch
            if done > 0:
                _set_random(self._resumed["epoch_random"], self._generators)
            else:
                _set_own(self._resumed["random"], self._generators)
        self._epoch_random = _random_now(self._generators)
        self._progress.steps = length = _length(loader)
        dataset = _dataset_of(loader)
        if hasattr(dataset, "set_epoch"):
            dataset.set_epoch(self._position.epoch)
        if hasattr(dataset, "updraft_seek"):
            dataset.updraft_seek(self._position.epoch, done * _batch_size_of(loader))
            rest = self._sought(loader, done)
        else:
            rest = self._rest_of(loader, done)
        for batch in rest:
            yield batch
            self._position = replace(self._position, batch=self._position.batch + 1)
            # After the last batch, the end of the epoch is the better moment: a resumed loop would be empty.
            if self._position.batch % accumulate == 0 and self._position.batch != length:
                self._between_batches()

    def log(self, **metrics: Any) -> None:
        """Reports metrics, such as `loss` and `accuracy`, about once a second. Tensors are read only then."""
        self._progress.log(self._position, metrics)

    def _rest_of(self, loader: Iterable[Batch], done: int) -> Iterator[Batch]:
        """The loader's batches without the first `done`, with the random numbers of an undisturbed training."""

        def caught_up() -> None:
            self._caught_up(done)

        loader_class = _plain_loader_class(loader)
        if loader_class is None:
            # Reading and dropping is slow, but right for any iterable.
            iterator = iter(loader)
            next(itertools.islice(iterator, done, done), None)
            caught_up()
            return iterator

        def rewind() -> None:
            _set_random(self._epoch_random, self._generators)

        if done > 0:
            return iter(_Wrapped(loader, loader_class, done, rewind, caught_up).loader)
        caught_up()
        # Kept, because its workers may persist from epoch to epoch.
        if loader not in self._wrapped:
            self._wrapped[loader] = _Wrapped(loader, loader_class, 0, rewind, lambda: None)
        return iter(self._wrapped[loader].loader)

    def _sought(self, loader: Iterable[Batch], done: int) -> Iterator[Batch]:
        """The batches of a loader whose dataset begins where it should."""
        iterator = iter(loader)
        self._caught_up(done)
        return iterator

    def _caught_up(self, done: int) -> None:
        if self._resumed is not None and done > 0:
            # Generators of the loader's own are where they should be: they were used for what was skipped.
            _set_random(self._resumed["random"], [])
        self._resumed = None

    def _between_batches(self, is_last: bool = False) -> None:
        if self._attempt.is_asked_to_leave:
            self._attempt.ignore_requests()
            self._attempt.leave(self._position, self._store.save_now(self._state), self._store.saves > 0)
        now = time.monotonic()
        if is_last or (self._interval.is_due(now) and not self._store.is_busy):
            self._store.save_soon(self._state, self._interval.written)
            self._interval.waited(now, time.monotonic())

    def _state(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "position": (self._position.epoch, self._position.batch),
            "random": _random_now(self._generators),
            "epoch_random": self._epoch_random,
            "lives": self._interval.lives(),
            "objects": {name: value.state_dict() for name, value in self._objects.items()},
        }

    def _resume(self, state: dict[str, Any]) -> None:
        saved, ours = sorted(state["objects"]), sorted(self._objects)
        if saved != ours:
            raise SystemExit(
                f"updraft: the checkpoint in {self._store.folder} is of another training: it has {', '.join(saved)}; "
                f"this one has {', '.join(ours)}. Remove the folder to start over."
            )
        for name, value in self._objects.items():
            try:
                value.load_state_dict(state["objects"][name])
            except Exception as error:
                raise SystemExit(
                    f"updraft: {name} does not fit the checkpoint in {self._store.folder}: {error}\n"
                    "Remove the folder to start over."
                ) from error
        self._position = _Position(*state["position"])
        self._resumed = state
        self._attempt.resume(self._position, state["lives"])


class _Attempt:
    """What an interrupted training needs, whoever runs its loop: a folder, a request to leave, an interval, progress."""

    def __init__(self, folder: Optional[str], every: Optional[float]) -> None:
        # The agent sets the folder and keeps earlier checkpoints itself, verified.
        ours = os.environ.get("UPDRAFT_CHECKPOINT")
        self.folder = folder or "checkpoints" if ours is None else os.path.join(ours, folder or "")
        self.keep = 2 if ours is None else 1
        self.interval = _Interval(every)
        self.progress = _Progress(os.environ.get("UPDRAFT_PROGRESS"))
        self.is_asked_to_leave = False
        self._guarded = ours is not None
        self._restore_handler: Callable[[], object] = lambda: None

    def start(self) -> None:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise SystemExit("updraft: this is for one process; with torchrun, write checkpoints yourself")
        if os.path.realpath(self.folder) in _used:
            raise SystemExit(f"updraft: {self.folder} is another training's; give each a folder=… of its own")
        _used.add(os.path.realpath(self.folder))
        self.interval.start(time.monotonic())
        if self._guarded and threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGTERM, self._ask_to_leave)
            self._restore_handler = lambda: signal.signal(signal.SIGTERM, before)

    def resume(self, position: _Position, lives: list[float]) -> None:
        self.interval.earlier = lives
        print(f"updraft: resuming in {position}", file=sys.stderr, flush=True)

    def ignore_requests(self) -> None:
        """A second request must not cut the first one short."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._restore_handler = lambda: None

    def leave(self, position: _Position, is_saved: bool, is_any_saved: bool) -> None:
        if is_saved:
            print(f"updraft: saved in {position}, as asked", file=sys.stderr, flush=True)
        raise SystemExit(SAVED if is_any_saved else 128 + signal.SIGTERM)

    def end(self) -> None:
        self._restore_handler()
        self.progress.flush()

    def _ask_to_leave(self, *_: Any) -> None:
        self.is_asked_to_leave = True


_used: set[str] = set()
"""Folders of the trainings of this process."""


class _Store:
    """The folder of checkpoints. A name holds a number that grows and the file's CRC-32: whole or ignored."""

    def __init__(self, folder: str, keep: int) -> None:
        self.folder = folder
        self._keep = keep
        self._writer: Optional[threading.Thread] = None
        self._failure: Optional[BaseException] = None
        self._buffers: dict[Any, Any] = {}
        self._number = 0
        self.saves = 0
        """Checkpoints that this attempt has written."""

    @property
    def is_busy(self) -> bool:
        return self._writer is not None and self._writer.is_alive()

    def newest(self) -> Optional[str]:
        """The path of the newest checkpoint that is whole."""
        for name in self._names():
            path = os.path.join(self.folder, name)
            number, crc = name[: -len(".pt")].split("-")[1:]
            self._number = max(self._number, int(number))
            if _crc_of(path) == int(crc, 16):
                return path
            print(f"updraft: {path} is damaged; trying the one before it", file=sys.stderr, flush=True)
        return None

    def load(self) -> Optional[dict[str, Any]]:
        path = self.newest()
        return None if path is None else _read(path)

    def save_now(self, make_state: Callable[[], dict[str, Any]]) -> bool:
        self.wait()
        try:
            self._write(make_state())
        except Exception as error:
            self._failure = error
        return self.wait()

    def save_soon(self, make_state: Callable[[], dict[str, Any]], written: Callable[[float], None]) -> None:
        """Copies the state to the host's memory and writes it in a thread, while the training continues."""
        self.wait()
        try:
            state = _on_host(make_state(), self._buffers)
        except Exception as error:
            self._failure = error
            self.wait()
            return

        def write() -> None:
            began = time.monotonic()
            try:
                self._write(state)
            except Exception as error:
                self._failure = error
            written(time.monotonic() - began)

        self._writer = threading.Thread(target=write, name="updraft-checkpoint")
        self._writer.start()

    def wait(self) -> bool:
        """Waits for the writer. A checkpoint that could not be written costs no training; the next one may work."""
        if self._writer is not None:
            self._writer.join()
        self._writer = None
        failure, self._failure = self._failure, None
        if failure is not None:
            print(f"updraft: no checkpoint could be written: {failure}", file=sys.stderr, flush=True)
        return failure is None

    def _names(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(filter(_NAME.fullmatch, os.listdir(self.folder)), reverse=True)
        return []

    def _write(self, state: dict[str, Any]) -> None:
        os.makedirs(self.folder, exist_ok=True)
        part = os.path.join(self.folder, ".checkpoint.part")
        try:
            with open(part, "wb", buffering=0) as file:
                whole = _WholeFile(file)
                _dump(state, whole)
                whole.finish()
                os.fsync(file.fileno())
            self._number += 1
            name = f"checkpoint-{self._number:012d}-{_crc_of(part):08x}.pt"
            os.replace(part, os.path.join(self.folder, name))
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(part)
            raise
        self.saves += 1
        for old in [known for known in self._names() if known != name][self._keep - 1 :]:
            with contextlib.suppress(OSError):
                os.remove(os.path.join(self.folder, old))


class _WholeFile:
    """Keeps the first error until all is written: PyTorch ends the process if a write fails under it."""

    def __init__(self, file: Any) -> None:
        self._file = io.BufferedWriter(file)
        self._error: Optional[OSError] = None

    def write(self, data: Any) -> int:
        if self._error is None:
            try:
                self._file.write(data)
            except OSError as error:
                self._error = error
        return memoryview(data).nbytes

    def flush(self) -> None:
        """PyTorch calls it; `finish` is what counts."""

    def finish(self) -> None:
        try:
            if self._error is not None:
                raise self._error
            self._file.flush()
        finally:
            with contextlib.suppress(OSError):
                self._file.detach()


class _Interval:
    """When to save (Young, Daly): the square root of twice the cost of a save times the time between interruptions."""

    def __init__(self, every: Optional[float]) -> None:
        self._every = every
        self._cost = 0.0
        self._writing = 0.0
        self._began = 0.0
        self._last = 0.0
        self.earlier: list[float] = []
        """Seconds that each earlier attempt lasted, as far as its last checkpoint knows."""

    def start(self, now: float) -> None:
        self._began = self._last = now

    def is_due(self, now: float) -> bool:
        return now - self._last >= self.seconds(now)

    def seconds(self, now: float) -> float:
        if self._every is not None:
            return self._every
        # The first one soon, to learn what a checkpoint costs.
        if self._cost == 0:
            return 5.0
        seen = _USUAL_LIFE + sum(self.earlier) + (now - self._began)
        life = seen / (1 + len(self.earlier))
        return max(math.sqrt(2 * self._cost * life), self._cost / _WAIT_SHARE, 2 * self._writing)

    def waited(self, began: float, now: float) -> None:
        self._cost = max(now - began, 1e-4)
        self._last = now

    def written(self, seconds: float) -> None:
        self._writing = seconds

    def lives(self) -> list[float]:
        return [*self.earlier, time.monotonic() - self._began]


class _Progress:
    """Lines for the file that Updraft reads; without one, nothing."""

    def __init__(self, path: Optional[str]) -> None:
        self._path = path
        self._last = -math.inf
        self._pending: Optional[tuple[_Position, dict[str, Any]]] = None
        self.epochs: Optional[int] = None
        self.steps: Optional[int] = None

    def log(self, position: _Position, metrics: dict[str, Any]) -> None:
        if self._path is None:
            return
        earlier = {} if self._pending is None else self._pending[1]
        self._pending = (position, {**earlier, **metrics})
        if time.monotonic() - self._last >= 1:
            self.flush()

    def flush(self) -> None:
        if self._path is None or self._pending is None:
            return
        position, metrics = self._pending
        counted = {"epochs": self.epochs, "step": position.batch, "steps": self.steps}
        line = {**_numbers(metrics), "epoch": position.epoch + 1, **counted}
        text = json.dumps({name: value for name, value in line.items() if value is not None}) + "\n"
        # No line is worth a training.
        with contextlib.suppress(OSError), open(self._path, "a", encoding="utf-8") as file:
            file.write(text)
        self._pending = None
        self._last = time.monotonic()


def _numbers(metrics: dict[str, Any]) -> dict[str, float]:
    numbers = {}
    for name, value in metrics.items():
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            numbers[name] = float(value)
    return numbers


class _Wrapped:
    """A torch DataLoader like `loader` that begins after `done` batches and makes workers' random numbers repeatable.

    A worker's generators depend on all that it has loaded before. Here each sample seeds them, by the epoch's seed and
    its place in the epoch, so a resumed epoch, or one with other workers, draws the same numbers for it.
    """

    def __init__(
        self, loader: Any, loader_class: Any, done: int, rewind: Callable[[], None], caught_up: Callable[[], None]
    ) -> None:
        sown = loader.num_workers > 0
        by_batch = loader.batch_sampler is not None
        inner = loader.batch_sampler if by_batch else loader.sampler
        sampler = _Sampler(inner, by_batch, sown, done, rewind, caught_up)
        options: dict[str, Any] = {
            "num_workers": loader.num_workers,
            "collate_fn": loader.collate_fn,
            "pin_memory": loader.pin_memory,
            "timeout": loader.timeout,
            "worker_init_fn": _WorkerInit(loader.worker_init_fn),
            "generator": loader.generator,
        }
        if sown:
            options["multiprocessing_context"] = loader.multiprocessing_context
            options["prefetch_factor"] = loader.prefetch_factor
            # One that is used for the rest of an epoch only ends with it.
            options["persistent_workers"] = loader.persistent_workers and done == 0
        if hasattr(loader, "in_order"):
            options["in_order"] = loader.in_order
        options.update({"batch_sampler": sampler} if by_batch else {"sampler": sampler, "batch_size": None})
        self.loader = loader_class(_Dataset(loader.dataset) if sown else loader.dataset, **options)


class _WorkerInit:
    """The user's `worker_init_fn`, in a worker that ignores SIGTERM: the training still needs it until it has left."""

    def __init__(self, inner: Optional[Callable[[int], None]]) -> None:
        self._inner = inner

    def __call__(self, worker: int) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self._inner is not None:
            self._inner(worker)


class _Sampler:
    """A sampler's indices after the first `done`, each with the epoch's seed if workers need it.

    A DataLoader draws a seed when its workers start, and none while they persist. `rewind` undoes that.
    """

    def __init__(
        self,
        sampler: Any,
        by_batch: bool,
        sown: bool,
        done: int,
        rewind: Callable[[], None],
        caught_up: Callable[[], None],
    ) -> None:
        self._sampler = sampler
        self._by_batch = by_batch
        self._sown = sown
        self._done = done
        self._rewind = rewind
        self._caught_up = caught_up

    def __len__(self) -> int:
        return max(0, len(self._sampler) - self._done)

    def __iter__(self) -> Iterator[Any]:
        self._rewind()
        seed = _draw_seed()
        # All at once: what a sampler draws later would mix with the numbers that the training draws.
        indices = iter(self._sampler if _length(self._sampler) is None else list(self._sampler))
        next(itertools.islice(indices, self._done, self._done), None)
        self._caught_up()
        for place, index in enumerate(indices, self._done):
            yield self._item(seed, place, index)

    def _item(self, seed: int, place: int, index: Any) -> Any:
        if not self._sown:
            return index
        if self._by_batch:
            return [((seed, place, nth), one) for nth, one in enumerate(index)]
        return (seed, place), index


class _Dataset:
    """A dataset in a worker: each sample, requested with a seed, draws its own random numbers.

    Otherwise it is the dataset: a `worker_init_fn` may open files in it.
    """

    def __init__(self, dataset: Any) -> None:
        self.__dict__["_dataset"] = dataset

    def __getattr__(self, name: str) -> Any:
        # While it is unpickled, there is none yet.
        if name == "_dataset":
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._dataset, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, item: tuple[Any, Any]) -> Any:
        seed, index = item
        _seed_all(seed)
        return self._dataset[index]

    def __getitems__(self, items: list[tuple[Any, Any]]) -> Any:
        many = getattr(self._dataset, "__getitems__", None)
        if many is None:
            return [self[item] for item in items]
        _seed_all(items[0][0])
        return many([index for _, index in items])


class _Feed:
    """A framework's DataLoader, changed in place so that it can begin at any batch of an epoch.

    The framework reads ahead as it likes: samples draw random numbers by their place in the epoch, and the training's
    generators stay as they were.
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self._generators = _generators_of(loader)
        self._sampler: Optional[_FeedSampler] = None
        self._training: Any = None
        # accelerate has the loader inside another one.
        plain = getattr(loader, "base_dataloader", loader)
        torch = _torch()
        is_loader = isinstance(plain, torch.utils.data.DataLoader)
        if not is_loader or isinstance(plain.dataset, torch.utils.data.IterableDataset):
            return
        name = "sampler" if plain.batch_sampler is None else "batch_sampler"
        sown = plain.num_workers > 0
        self._sampler = _FeedSampler(getattr(plain, name), name == "batch_sampler", sown, self)
        # A DataLoader refuses this because it has usually been read; this one has not.
        object.__setattr__(plain, name, self._sampler)
        if sown:
            object.__setattr__(plain, "dataset", _Dataset(plain.dataset))
            plain.worker_init_fn = _WorkerInit(plain.worker_init_fn)
            plain._iterator = None
        else:
            plain.collate_fn = _Collate(plain.collate_fn, self)

    def begin(self, position: _Position, random: Optional[dict[str, Any]], skips: bool) -> dict[str, Any]:
        """Before the epoch is read: `random` is how it began before it was interrupted. Returns how it begins."""
        if random is not None:
            _set_random(random, self._generators)
        self.random = _random_now(self._generators)
        self._training = None
        dataset = _dataset_of(self.loader)
        if hasattr(dataset, "set_epoch"):
            dataset.set_epoch(position.epoch)
        if hasattr(dataset, "updraft_seek"):
            dataset.updraft_seek(position.epoch, position.batch * _batch_size_of(self.loader) if skips else 0)
        elif self._sampler is not None:
            self._sampler.begin(position.batch if skips else 0)
        return self.random

    @property
    def can_skip(self) -> bool:
        return self._sampler is not None or hasattr(_dataset_of(self.loader), "updraft_seek")

    def rewind(self) -> None:
        _set_random(self.random, self._generators)
        self._training = None

    def before_batch(self, place: tuple[int, ...]) -> None:
        """The training's random numbers are put aside while a batch is read in this process."""
        if self._training is None:
            self._training = _random_now([], devices=False)
        _seed_all(place)

    def after_batch(self) -> None:
        if self._training is not None:
            _set_random(self._training, [])
        self._training = None


class _FeedSampler(_Sampler):
    """The sampler of a loader that a framework reads. Its length is that of the whole epoch, as frameworks expect."""

    def __init__(self, sampler: Any, by_batch: bool, sown: bool, feed: _Feed) -> None:
        super().__init__(sampler, by_batch, sown, 0, feed.rewind, lambda: None)
        self._feed = feed

    def __getattr__(self, name: str) -> Any:
        # Such as `batch_size`, and the `sampler` of a batch sampler.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._sampler, name)

    def __len__(self) -> int:
        return len(self._sampler)

    def begin(self, done: int) -> None:
        self._done = done

    def _item(self, seed: int, place: int, index: Any) -> Any:
        if not self._sown:
            self._feed.before_batch((seed, place))
        return super()._item(seed, place, index)


class _Collate:
    """The loader's `collate_fn`, the last thing that is done to a batch."""

    def __init__(self, inner: Any, feed: _Feed) -> None:
        self._inner = inner
        self._feed = feed

    def __call__(self, samples: Any) -> Any:
        try:
            return self._inner(samples)
        finally:
            self._feed.after_batch()


class _LightningHooks:
    """Makes a training with Lightning's Trainer one that can be interrupted at any time.

        saving = updraft.LightningCheckpoint()
        trainer = Trainer(callbacks=[saving])
        trainer.fit(model, ckpt_path=saving.last)

    Checkpoints are Lightning's own, with what it lacks: random numbers and the place in the epoch. Averages over an
    epoch, such as `self.log(…, on_epoch=True)`, start over where the training resumes.
    """

    def __init__(
        self, *, folder: Optional[str] = None, every: Optional[float] = None, keep: Optional[int] = None
    ) -> None:
        self._attempt = _Attempt(folder, every)
        self._store = _Store(self._attempt.folder, keep or self._attempt.keep)
        self._position = _Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._feed: Optional[_Feed] = None
        self._epoch_random: Any = None
        self._is_started = False

    @property
    def last(self) -> Optional[str]:
        """The newest checkpoint that is whole, for `ckpt_path`; None if there is none."""
        return self._store.newest()

    def state_dict(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "position": (self._position.epoch, self._position.batch),
            "random": _random_now([]),
            "epoch_random": self._epoch_random,
            "lives": self._attempt.interval.lives(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._resumed = state

    def on_train_start(self, trainer: Any, module: Any) -> None:
        if trainer.world_size > 1:
            raise SystemExit("updraft: LightningCheckpoint is for one device; with several, use ModelCheckpoint")
        if self._resumed is None and self._store.newest() is not None:
            raise SystemExit(
                f"updraft: {self._attempt.folder} has a checkpoint: pass ckpt_path=….last to fit, or remove the folder"
            )
        self._attempt.start()
        self._attempt.progress.epochs = trainer.max_epochs if (trainer.max_epochs or 0) > 0 else None
        if self._resumed is not None:
            self._position = _Position(*self._resumed["position"])
            self._attempt.resume(self._position, self._resumed["lives"])

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        loader = trainer.train_dataloader
        if self._feed is None or self._feed.loader is not loader:
            self._feed = _Feed(loader)
        resumed = self._resumed
        self._position = _Position(trainer.current_epoch, 0 if resumed is None else self._position.batch)
        begun = None if resumed is None else resumed["epoch_random"]
        self._epoch_random = self._feed.begin(self._position, begun, skips=True)
        self._attempt.progress.steps = _length(loader)
        if not self._is_started:
            # Lightning has begun to read the first epoch already.
            fetcher = trainer.fit_loop._data_fetcher
            iter(fetcher)
            if not self._feed.can_skip:
                next(itertools.islice(fetcher.iterator, self._position.batch, self._position.batch), None)
        self._is_started = True

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        if self._resumed is not None:
            _set_random(self._resumed["random"], [])
            self._resumed = None
            # Otherwise it would step the schedulers of this epoch twice, taking it for one that was complete.
            trainer.fit_loop.restarting = False
        self._position = _Position(trainer.current_epoch, batch_idx)
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self._between_batches(trainer)

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        self._attempt.progress.log(self._position, {"loss": loss})

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        if self._is_started:
            self._attempt.progress.log(self._position, _with_accuracy(trainer.callback_metrics))

    def on_train_end(self, trainer: Any, module: Any) -> None:
        self._between_batches(trainer, is_last=True)
        self._store.wait()

    def teardown(self, trainer: Any, module: Any, stage: str) -> None:
        if stage == "fit":
            self._attempt.end()
            self._store.wait()

    def _between_batches(self, trainer: Any, is_last: bool = False) -> None:
        def state() -> dict[str, Any]:
            return self._checkpoint(trainer)

        if self._attempt.is_asked_to_leave:
            self._attempt.ignore_requests()
            self._attempt.leave(self._position, self._store.save_now(state), self._store.saves > 0)
        now = time.monotonic()
        if is_last or (self._attempt.interval.is_due(now) and not self._store.is_busy):
            self._store.save_soon(state, self._attempt.interval.written)
            self._attempt.interval.waited(now, time.monotonic())

    def _checkpoint(self, trainer: Any) -> dict[str, Any]:
        """What Lightning would write."""
        usual, taken = trainer.strategy.checkpoint_io, _Taken()
        trainer.strategy.checkpoint_io = taken
        try:
            trainer.save_checkpoint(self._attempt.folder)
        finally:
            trainer.strategy.checkpoint_io = usual
        return taken.state


class _Taken:
    """In place of Lightning's `CheckpointIO`: keeps what it is given."""

    state: dict[str, Any]

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        self.state = checkpoint


class _TrainerHooks:
    """Makes a training with the Trainer of Hugging Face's transformers one that can be interrupted at any time.

        saving = updraft.TrainerCheckpoint()
        trainer = Trainer(model, args, train_dataset=…, callbacks=[saving])
        trainer.train(resume_from_checkpoint=saving.last)

    Checkpoints are the Trainer's own, with what it lacks: how the epoch began, so that its order can be repeated.
    They are beside those of `output_dir`, which stay as the arguments say.
    """

    def __init__(
        self, *, folder: Optional[str] = None, every: Optional[float] = None, keep: Optional[int] = None
    ) -> None:
        self._attempt = _Attempt(folder, every)
        self._keep = keep or self._attempt.keep
        self._position = _Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._feed: Optional[_Feed] = None
        self._epoch_random: Any = None
        self._output: Optional[str] = None
        self._began = 0.0
        self._saves = 0

    @property
    def last(self) -> Optional[str]:
        """The newest checkpoint that is whole, for `resume_from_checkpoint`; None if there is none."""
        found = [os.path.join(self._attempt.folder, name) for name in reversed(self._names())]
        self._resumed = None
        for path in found:
            try:
                self._resumed = _read(os.path.join(path, "updraft.pt"))
            except Exception as error:
                print(f"updraft: {path} is damaged; trying the one before it: {error}", file=sys.stderr, flush=True)
                continue
            return path
        return None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if args.world_size > 1 or getattr(args, "n_gpu", 1) > 1:
            raise SystemExit("updraft: TrainerCheckpoint is for one device; with several, use save_steps")
        if getattr(args, "save_only_model", False):
            raise SystemExit("updraft: TrainerCheckpoint needs save_only_model=False, to resume")
        if state.global_step == 0 and self._names():
            raise SystemExit(
                f"updraft: {self._attempt.folder} has a checkpoint: "
                "pass resume_from_checkpoint=….last to train, or remove the folder"
            )
        loader = kwargs["train_dataloader"]
        self._steps = _length(loader)
        self._collects = args.gradient_accumulation_steps
        if self._steps is not None and self._steps % self._collects > 0:
            raise SystemExit(
                f"updraft: an epoch has {self._steps} batches, which gradient_accumulation_steps={self._collects} does "
                "not divide: the Trainer cannot resume that exactly"
            )
        self._attempt.start()
        self._feed = _Feed(loader)
        self._attempt.progress.epochs = math.ceil(args.num_train_epochs)
        self._attempt.progress.steps = self._steps
        self._is_resumed = state.global_step > 0 and self._resumed is not None
        if self._resumed is not None and self._is_resumed:
            self._position = _Position(*self._resumed["position"])
            self._attempt.resume(self._position, self._resumed["lives"])

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        assert self._feed is not None
        begun = None
        if self._resumed is not None and self._is_resumed:
            # Between epochs, the next one begins as the last one ended.
            begun = self._resumed["epoch_random" if self._position.batch > 0 else "random"]
        else:
            self._position = _Position(int(state.epoch or 0))
        self._resumed = None
        # The Trainer itself skips what is done.
        self._epoch_random = self._feed.begin(self._position, begun, skips=False)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._position = replace(self._position, batch=self._position.batch + self._collects)
        self._attempt.progress.log(self._position, {})
        # After the last one, the end of the epoch is the better moment: it may evaluate the model.
        if self._position.batch != self._steps:
            self._between_batches(args, control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._attempt.progress.flush()
        self._position = _Position(self._position.epoch + 1)
        self._between_batches(args, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        # Its epochs are fractions.
        numbers = {name: value for name, value in (logs or {}).items() if name not in ("epoch", "step")}
        is_between = self._position.batch == 0 and self._position.epoch > 0
        reported = _Position(self._position.epoch - 1, self._steps or 0) if is_between else self._position
        self._attempt.progress.log(reported, _with_accuracy(numbers))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._output is None:
            return
        part, args.output_dir, self._output = args.output_dir, self._output, None
        name = f"checkpoint-{state.global_step}"
        is_saved = True
        try:
            self._finish(os.path.join(part, name), name)
        except OSError as error:
            is_saved = False
            print(f"updraft: no checkpoint could be written: {error}", file=sys.stderr, flush=True)
        self._attempt.interval.waited(self._began, time.monotonic())
        if self._attempt.is_asked_to_leave:
            self._attempt.leave(self._position, is_saved, self._saves > 0)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._attempt.end()

    def _between_batches(self, args: Any, control: Any) -> None:
        now = time.monotonic()
        is_asked = self._attempt.is_asked_to_leave
        # A checkpoint that the arguments ask for stays where they say.
        if control.should_save or not (is_asked or self._attempt.interval.is_due(now)):
            return
        if is_asked:
            self._attempt.ignore_requests()
        self._began = now
        self._output, args.output_dir = args.output_dir, os.path.join(self._attempt.folder, ".part")
        shutil.rmtree(args.output_dir, ignore_errors=True)
        control.should_save = True

    def _finish(self, path: str, name: str) -> None:
        """What the Trainer has written, completed, becomes a checkpoint by one rename."""
        state = {
            "format": _FORMAT,
            "position": (self._position.epoch, self._position.batch),
            "random": _random_now([]),
            "epoch_random": self._epoch_random,
            "lives": self._attempt.interval.lives(),
        }
        _torch().save(state, os.path.join(path, "updraft.pt"))
        for parent, _, files in os.walk(path):
            for file in files:
                with open(os.path.join(parent, file), "rb") as written:
                    os.fsync(written.fileno())
        os.replace(path, os.path.join(self._attempt.folder, name))
        self._saves += 1
        for old in self._names()[: -self._keep]:
            shutil.rmtree(os.path.join(self._attempt.folder, old), ignore_errors=True)

    def _names(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            found = filter(re.compile(r"checkpoint-\d+").fullmatch, os.listdir(self._attempt.folder))
            return sorted(found, key=lambda name: int(name.split("-")[1]))
        return []


def _with_accuracy(metrics: Any) -> dict[str, Any]:
    """Metrics, with `accuracy` under that name; a loss of a validation is not the training's."""
    found = {name: value for name, value in dict(metrics).items() if name != "loss" or "eval_loss" not in metrics}
    for name in ("eval_accuracy", "val_accuracy", "val_acc", "acc"):
        if name in found:
            return {"accuracy": found[name], **found}
    return found


def __getattr__(name: str) -> Any:
    """Callbacks are made when they are asked for: only then their framework must be there."""
    if name == "LightningCheckpoint":
        package = "pytorch_lightning" if "pytorch_lightning" in sys.modules else "lightning.pytorch"
        return _callback(name, _LightningHooks, package, "Callback")
    if name == "TrainerCheckpoint":
        return _callback(name, _TrainerHooks, "transformers", "TrainerCallback")
    raise AttributeError(f"module 'updraft' has no attribute {name!r}")


def _callback(name: str, hooks: type, package: str, base: str) -> type:
    framework = importlib.import_module(package)
    made = type(name, (hooks, getattr(framework, base)), {"__doc__": hooks.__doc__, "__module__": __name__})
    globals()[name] = made
    return made


def _torch() -> Any:
    """PyTorch, if the training has loaded it."""
    return sys.modules.get("torch")


def _numpy() -> Any:
    return sys.modules.get("numpy")


def _plain_loader_class(loader: Any) -> Any:
    """torch's DataLoader, if `loader` is one that can be made again over the same samples."""
    torch = _torch()
    if torch is None or type(loader) is not torch.utils.data.DataLoader:
        return None
    return None if isinstance(loader.dataset, torch.utils.data.IterableDataset) else torch.utils.data.DataLoader


def _bare(loader: Any) -> Any:
    """A loader without the progress bar around it: tqdm's has it as `iterable`."""
    return getattr(loader, "iterable", loader)


def _dataset_of(loader: Any) -> Any:
    """What a loader reads: its dataset, or itself if it has none."""
    return getattr(_bare(loader), "dataset", _bare(loader))


def _batch_size_of(loader: Any) -> int:
    return getattr(_bare(loader), "batch_size", None) or 1


def _generators_of(loader: Any) -> list[Any]:
    """Generators of its own that a loader draws from, each once."""
    loader = _bare(loader)
    holders = [loader, getattr(loader, "sampler", None), getattr(getattr(loader, "batch_sampler", None), "sampler", None)]
    found = [getattr(holder, "generator", None) for holder in holders]
    return list({id(one): one for one in found if hasattr(one, "get_state")}.values())


def _random_now(generators: list[Any], devices: bool = True) -> dict[str, Any]:
    """The state of every generator of random numbers that a training may draw from."""
    torch, numpy = _torch(), _numpy()
    state: dict[str, Any] = {"python": random.getstate(), "own": [one.get_state() for one in generators]}
    if numpy is not None:
        kind, key, *rest = numpy.random.get_state()
        # Lightning may refuse to load arrays of NumPy.
        state["numpy"] = (kind, key.tolist(), *rest)
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if devices and torch.cuda.is_available() and torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def _set_random(state: dict[str, Any], generators: list[Any]) -> None:
    torch, numpy = _torch(), _numpy()
    random.setstate(state["python"])
    _set_own(state, generators)
    if numpy is not None and "numpy" in state:
        numpy.random.set_state(state["numpy"])
    if torch is not None and "torch" in state:
        torch.set_rng_state(state["torch"])
        # Another machine may have another number of GPUs.
        for device, saved in enumerate(state.get("cuda", [])[: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(saved, device)


def _set_own(state: dict[str, Any], generators: list[Any]) -> None:
    for one, saved in zip(generators, state["own"]):
        one.set_state(saved)


def _draw_seed() -> int:
    return int(_torch().empty((), dtype=_torch().int64, device="cpu").random_().item())


def _seed_all(place: tuple[int, ...]) -> None:
    seed = zlib.crc32(repr(place).encode())
    random.seed(seed)
    _torch().default_generator.manual_seed(seed)
    if _numpy() is not None:
        _numpy().random.seed(seed)


def _length(loader: Any) -> Optional[int]:
    try:
        return len(loader)
    except TypeError:
        return None


def _on_host(value: Any, buffers: dict[Any, Any], path: tuple[Any, ...] = ()) -> Any:
    """A copy of the state that the training cannot change, tensors in buffers of the host that are used again."""
    copied = _copy_to_host(value, buffers, path)
    torch = _torch()
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return copied


def _copy_to_host(value: Any, buffers: dict[Any, Any], path: tuple[Any, ...]) -> Any:
    torch = _torch()
    if torch is not None and isinstance(value, torch.Tensor):
        buffer = buffers.get(path)
        if buffer is None or buffer.shape != value.shape or buffer.dtype != value.dtype:
            buffer = torch.empty(value.shape, dtype=value.dtype, device="cpu", pin_memory=value.is_cuda)
            buffers[path] = buffer
        return buffer.copy_(value.detach(), non_blocking=True)
    if isinstance(value, dict):
        # The type is kept: a state_dict has metadata as an attribute.
        twin = copy.copy(value)
        for key, one in value.items():
            twin[key] = _copy_to_host(one, buffers, (*path, key))
        return twin
    if isinstance(value, list) or type(value) is tuple:
        return type(value)(_copy_to_host(one, buffers, (*path, place)) for place, one in enumerate(value))
    return copy.deepcopy(value)


def _dump(state: dict[str, Any], file: Any) -> None:
    if _torch() is None:
        pickle.dump(state, file)
    else:
        _torch().save(state, file)


def _read(path: str) -> dict[str, Any]:
    if _torch() is None:
        with open(path, "rb") as file:
            return pickle.load(file)
    # Our own file, whole: the random numbers of Python and NumPy are no tensors.
    return _torch().load(path, map_location="cpu", weights_only=False)


def _crc_of(path: str) -> int:
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            crc = zlib.crc32(piece, crc)
    return crc
