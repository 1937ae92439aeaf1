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
import io
import itertools
import json
import math
import os
import pickle
import random
import re
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


class Training:
    """A training that can be interrupted at any time. Made by `training`, used in a `with` statement."""

    def __init__(
        self, objects: dict[str, Any], *, folder: Optional[str], every: Optional[float], keep: Optional[int]
    ) -> None:
        for name, value in objects.items():
            if not (hasattr(value, "state_dict") and hasattr(value, "load_state_dict")):
                raise TypeError(f"{name} of updraft.training has no state_dict: {type(value).__name__}")
        self._objects = objects
        # The agent sets the folder and keeps earlier checkpoints itself, verified.
        ours = os.environ.get("UPDRAFT_CHECKPOINT")
        place = folder or "checkpoints" if ours is None else os.path.join(ours, folder or "")
        self._store = _Store(place, keep or (2 if ours is None else 1))
        self._guarded = ours is not None
        self._interval = _Interval(every)
        self._progress = _Progress(os.environ.get("UPDRAFT_PROGRESS"))
        self._position = _Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._generators: list[Any] = []
        self._epoch_random: Any = None
        self._has_looped = True
        self._asked_to_leave = False
        self._restore_handler: Callable[[], None] = lambda: None
        self._wrapped: Any = weakref.WeakKeyDictionary()

    def __enter__(self) -> Training:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise SystemExit("updraft.training is for one process; with torchrun, write checkpoints yourself")
        if os.path.realpath(self._store.folder) in _used:
            raise SystemExit(f"updraft: {self._store.folder} is another training's; give each a folder=… of its own")
        _used.add(os.path.realpath(self._store.folder))
        state = self._store.load()
        if state is not None:
            self._resume(state)
        self._interval.start(time.monotonic())
        if self._guarded and threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGTERM, self._ask_to_leave)
            self._restore_handler = lambda: signal.signal(signal.SIGTERM, before) and None
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._restore_handler()
        try:
            self._progress.flush()
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
        if self._asked_to_leave:
            self._leave()
        now = time.monotonic()
        if is_last or (self._interval.is_due(now) and not self._store.is_busy):
            self._store.save_soon(self._state, self._interval.written)
            self._interval.waited(now, time.monotonic())

    def _leave(self) -> None:
        # A second request must not cut the first one short.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._restore_handler = lambda: None
        epoch, batch = self._position.epoch + 1, self._position.batch
        if self._store.save_now(self._state):
            print(f"updraft: saved in epoch {epoch} after batch {batch}, as asked", file=sys.stderr, flush=True)
        raise SystemExit(SAVED if self._store.saves > 0 else 128 + signal.SIGTERM)

    def _ask_to_leave(self, *_: Any) -> None:
        self._asked_to_leave = True

    def _state(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "position": (self._position.epoch, self._position.batch),
            "random": _random_now(self._generators),
            "epoch_random": self._epoch_random,
            "lives": self._interval.lives(time.monotonic()),
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
        self._interval.earlier = state["lives"]
        self._resumed = state
        epoch, batch = self._position.epoch + 1, self._position.batch
        print(f"updraft: resuming in epoch {epoch} after batch {batch}", file=sys.stderr, flush=True)


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

    def load(self) -> Optional[dict[str, Any]]:
        """The newest checkpoint that is whole."""
        for name in self._names():
            path = os.path.join(self.folder, name)
            number, crc = _NAME.fullmatch(name).groups()
            self._number = max(self._number, int(number))
            if _crc_of(path) == int(crc, 16):
                return _read(path)
            print(f"updraft: {path} is damaged; trying the one before it", file=sys.stderr, flush=True)
        return None

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

    def lives(self, now: float) -> list[float]:
        return [*self.earlier, now - self._began]


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
        indices = iter(self._sampler)
        next(itertools.islice(indices, self._done, self._done), None)
        self._caught_up()
        if not self._sown:
            yield from indices
            return
        for place, index in enumerate(indices, self._done):
            if self._by_batch:
                yield [((seed, place, nth), one) for nth, one in enumerate(index)]
            else:
                yield ((seed, place), index)


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


def _random_now(generators: list[Any]) -> dict[str, Any]:
    """The state of every generator of random numbers that a training may draw from."""
    torch, numpy = _torch(), _numpy()
    state: dict[str, Any] = {"python": random.getstate(), "own": [one.get_state() for one in generators]}
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
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
