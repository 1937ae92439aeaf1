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

`Stream` reads a data set from its tar shards, in an order that a resumed training repeats.

One file, standard library only; PyTorch, Lightning and transformers are used if the training uses them.
"""

from __future__ import annotations

import atexit
import collections
import collections.abc
import contextlib
import contextvars
import copy
import errno
import functools
import gc
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import itertools
import json
import math
import mmap
import multiprocessing.util
import operator
import os
import pickle
import random
import re
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import types
import warnings
import weakref
import zipfile
import zlib
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterable, Iterator, Optional, TypeVar

__all__ = ["Stream", "StreamError", "Training", "prefetch", "training"]

Batch = TypeVar("Batch")

SAVED = 85
"""Exit code for "saved, run me again"."""

_FORMAT = 1
_CHECKPOINT_FORMAT = 2
"""With 1, one seed was shared by all generators that a sample draws from."""
_NAME = re.compile(r"checkpoint-(\d{12})-([0-9a-f]{8})\.pt")
_USUAL_LIFE = 2 * 3600.0
"""Seconds that an attempt lasts before it is interrupted, where neither this training nor its pool is known."""
_WAIT_SHARE = 0.01
"""Largest share of its time that the training waits for its checkpoints."""


def training(
    *objects: Any,
    folder: Optional[str] = None,
    every: Optional[float] = None,
    keep: Optional[int] = None,
    trust_checkpoint: bool = False,
    **named: Any,
) -> Training:
    """What is to be saved and restored: anything with `state_dict` and `load_state_dict`, generators of random numbers
    of the training's own, of Python, NumPy or PyTorch, and its dicts and lists of plain values or tensors, such as the
    best result so far, whose content is restored.

    `every` is the time between checkpoints in seconds. Without it, the time follows from how long a checkpoint takes
    and how often the training is interrupted. `keep` is the number of checkpoints in `folder`.

    A checkpoint is read as tensors and plain values. With `trust_checkpoint`, it may have objects of any class: reading
    it then runs whatever code it names, so nobody else may be able to write to `folder`.
    """
    names = {f"object {place}": value for place, value in enumerate(objects, 1)}
    return Training({**names, **named}, folder=folder, every=every, keep=keep, trusts=trust_checkpoint)


@dataclass(frozen=True)
class _Position:
    """What comes next: a batch of an epoch, both counted from 0."""

    epoch: int = 0
    batch: int = 0

    def __str__(self) -> str:
        return f"epoch {self.epoch + 1} after batch {self.batch}"

    @classmethod
    def of(cls, state: dict[str, Any]) -> _Position:
        epoch, batch = map(operator.index, state["position"])
        if min(epoch, batch) < 0:
            raise ValueError("a position before the first one")
        return cls(epoch, batch)


class Training:
    """A training that can be interrupted at any time. Made by `training`, used in a `with` statement."""

    def __init__(
        self, objects: dict[str, Any], *, folder: Optional[str], every: Optional[float], keep: Optional[int],
        trusts: bool = False
    ) -> None:
        self._handed = {name: value for name, value in objects.items() if _is_generator(value)}
        self._objects = {name: value for name, value in objects.items() if name not in self._handed}
        for name, value in self._objects.items():
            if isinstance(value, (dict, list)) and not hasattr(value, "state_dict"):
                self._objects[name] = value = _Values(name, value)
            _check_can_be_saved(name, value)
        self._gradients = _Gradients(self._objects)
        self._attempt = _Attempt(folder, every)
        self._store = _Store(self._attempt.folder, keep or self._attempt.keep, trusts)
        self._store.explain = lambda: next(filter(None, (one.problem() for one in self._values().values())), None)
        self._interval = self._attempt.interval
        self._progress = self._attempt.progress
        self._position = _Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._generators = dict(self._handed)
        self._loader: Any = None
        self._loaders: dict[str, Any] = {}
        self._epoch_random: Any = None
        self._begin: Any = None
        self._stream: Any = None
        self._reading: Any = None
        self._batch_size: Optional[int] = None
        self._samples: dict[str, Any] = {}
        self._early: list[Any] = []
        self._held: Optional[dict[str, Any]] = None
        self._is_open = False
        self._has_looped = True
        self._spent: Any = None
        self._warnings: set[str] = set()
        self._orders: dict[int, Any] = {}
        self._restore_loader: Callable[[], None] = lambda: None
        self._wrapped: Any = weakref.WeakKeyDictionary()

    def __enter__(self) -> Training:
        self._attempt.start()
        self._is_open = True
        path = self._store.newest()
        if path is not None:
            self._resume(path)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._is_open = False
        try:
            self._attempt.end()
        finally:
            self._store.wait()
        if kind is None:
            self._forget_loaders()

    def _forget_loaders(self) -> None:
        """Or their workers would live until Python looks for cycles; PyTorch then waits 5 s for each of them."""
        self._loader = self._stream = self._reading = self._spent = self._resumed = None
        self._loaders, self._generators, self._early = {}, dict(self._handed), []
        self._wrapped.clear()

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
        self._check_is_open()
        if not isinstance(total, (int, float)) and not hasattr(total, "__index__"):
            raise TypeError(f"run.epochs takes the number of epochs, as in run.epochs(10), not a {type(total).__name__}")
        self._progress.epochs = total
        if self._resumed is not None:
            # What an epoch draws before its loop, such as an order, it draws again.
            is_between = self._resumed["epoch_random"] is None
            self._early = _datasets() if is_between and self._resumed.get("samples") else []
            with self._store.using("begin of the epoch"):
                begin = self._resumed["random" if is_between else "begin"]
                _set_random(begin, self._handed)
                for name, values in begin.get("values", {}).items():
                    # Earlier versions pickled them.
                    saved = _Plain(io.BytesIO(values)).load() if isinstance(values, bytes) else values
                    self._objects[name].load_state_dict(saved)
        while self._position.epoch < total:
            self._has_looped = False
            self._begin = _random_now(self._handed)
            self._begin["values"] = self._values_now()
            yield self._position.epoch
            self._has_looped = True
            self._resumed = None
            self._position = _Position(self._position.epoch + 1)
            self._epoch_random = None
            self._between_batches(is_last=self._position.epoch >= total)

    def batches(self, loader: Iterable[Batch], *, accumulate: int = 1) -> Iterator[Batch]:
        """The batches that are left of this epoch.

        Gradients that are collected over several batches are saved with the rest. With `accumulate`, the number of these
        batches, it saves only in between, which is smaller; a loop that steps before it goes backward needs it.

        A dataset with `set_epoch(epoch)` gets the epoch. One with `updraft_seek(epoch, samples)` begins after that
        many samples by itself, so nothing is read only to be dropped; its `state_dict` is saved with the position.
        """
        self._check_is_open()
        if self._has_looped:
            once = "run.batches goes once into each epoch of run.epochs(…), which takes the place of range(…)"
            raise RuntimeError(f"{once}; iterate over other loaders directly")
        self._has_looped = True
        if loader is self._spent:
            kind = type(loader).__name__
            raise RuntimeError(
                f"run.batches was given this {kind} in an earlier epoch: after an interruption it would start over. "
                "Give it the loader itself, or make a new iterator in each epoch"
            )
        if isinstance(loader, types.GeneratorType) or type(loader).__module__ in ("builtins", "itertools"):
            self._spent = loader if hasattr(loader, "__next__") else None
        self._gradients.epoch_begins()
        done = 0
        self._loader, self._loaders = loader, {}
        self._find_generators()
        if hasattr(loader, "__next__") and len(self._generators) > len(self._handed):
            self._warn(
                f"hand over the generators that the loaders of this {type(loader).__name__} have: it may have drawn from "
                "them before run.batches can restore them"
            )
        self._check_order(_bare(loader))
        self._batch_size = size = _batch_size_of(loader)
        self._check_samples(_dataset_of(loader))
        # accelerate counts the batches since its last step itself, from 0.
        accumulate = max(accumulate, getattr(getattr(_bare(loader), "gradient_state", None), "num_steps", 1))
        if self._resumed is not None:
            done = self._position.batch
            if done > 0:
                _check_batch_size(size, self._resumed.get("batch_size"), "the checkpoint")
            with self._store.using("random numbers"):
                self._restore_epoch(self._resumed, _can_begin_anywhere(loader))
        self._epoch_random = _random_now(self._generators)
        self._progress.steps = length = _length(loader)
        dataset = _dataset_of(loader)
        # The loader of accelerate would count the epochs of this attempt.
        for one in _each_once({"loader": _bare(loader), "dataset": dataset}).values():
            if hasattr(one, "set_epoch"):
                one.set_epoch(self._position.epoch)
        if hasattr(dataset, "updraft_seek"):
            self._stream = dataset
            if self._resumed is not None and self._resumed.get("stream") is not None:
                with self._store.using("place in the stream"):
                    dataset.load_state_dict(self._resumed["stream"])
            if isinstance(dataset, Stream):
                dataset._epochs = self._progress.epochs
            dataset.updraft_seek(self._position.epoch, done * size)
            rest = self._sought(loader, done)
        else:
            rest = self._rest_of(loader, done)
        self._reading = rest
        try:
            for batch in self._until_asked(rest):
                if self._held is not None:
                    self._between_batches()
                    self._held = None
                self._gradients.batch_begins()
                yield batch
                self._position = replace(self._position, batch=self._position.batch + 1)
                self._progress.samples += size
                # After the last batch, the end of the epoch is the better moment: a resumed loop would be empty.
                if self._position.batch % accumulate != 0 or self._position.batch == length:
                    continue
                if length is not None:
                    self._between_batches()
                elif self._wants_to_save():
                    # Only the next batch shows that this was not the last one; reading it may draw random numbers.
                    self._held = self._place()
        finally:
            self._reading = self._held = None
            self._restore_loader()
            # Once: it is the training's own again.
            self._restore_loader = lambda: None

    def _restore_epoch(self, resumed: dict[str, Any], begins_anywhere: bool) -> None:
        """What the loop of an interrupted epoch begins with."""
        for name in [] if begins_anywhere else _own_states(resumed["random"], self._generators):
            if name.startswith("dataset") and name not in self._generators:
                todo = "make it together with the dataset, or its samples will not be those of an undisturbed training"
                self._warn(f"the generator {name} is not there yet: {todo}")
        if resumed["epoch_random"] is None:
            # Those that were handed over may have been used in this epoch already.
            _set_own(resumed["random"], self._generators, but=self._handed.values())
            return
        _set_random(resumed["epoch_random"], self._generators)
        # Before the loader starts workers: its dataset may have them.
        self._load(resumed, self._values())

    def log(self, **metrics: Any) -> None:
        """Reports metrics, such as `loss` and `accuracy`. They are written, and a GPU's are read, about once a second."""
        self._progress.log(self._position, metrics)

    def _check_is_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("run.epochs and run.batches go into the statement `with updraft.training(…) as run:`")

    def _rest_of(self, loader: Iterable[Batch], done: int) -> Iterator[Batch]:
        """The loader's batches without the first `done`, with the random numbers of an undisturbed training."""

        if _can_begin_anywhere(loader):
            return iter(self._beginning_after(done, loader))
        name, inner = _inside(loader)
        if inner is not None:
            # Its workers draw by place, so it may read ahead of the training.
            setattr(loader, name, self._beginning_after(done, inner))
            self._restore_loader = lambda: setattr(loader, name, inner)
            return iter(loader)
        bare = _bare(loader)
        if any(getattr(one, "persistent_workers", False) for one in (bare, *_loaders_of(bare).values())):
            kind = type(_dataset_of(loader)).__name__
            self._warn(
                f"with persistent_workers=True, a loader of {kind} may not resume exactly: workers that outlive an epoch "
                "draw other random numbers than new ones; leave it off"
            )
        # Reading and dropping is slow, but right for any iterable.
        iterator = iter(loader) if isinstance(loader, (list, tuple, range)) else _SeededReader(loader)
        next(itertools.islice(iterator, done, done), None)
        self._caught_up(done, self._loaders.values())
        return iterator

    def _beginning_after(self, done: int, loader: Any) -> Any:
        """A DataLoader for the rest of the epoch."""

        def caught_up(is_drawn: bool) -> None:
            self._caught_up(done, () if is_drawn else _generators_of(loader, sampling=True).values())

        def rewind() -> None:
            _set_random(self._epoch_random, self._generators)

        if done > 0:
            return _Wrapped(loader, done, rewind, caught_up).loader
        self._caught_up(done)
        # Kept, because its workers may persist from epoch to epoch.
        if loader not in self._wrapped:
            self._wrapped[loader] = _Wrapped(loader, 0, rewind, lambda _: None)
        return self._wrapped[loader].loader

    def _sought(self, loader: Iterable[Batch], done: int) -> Iterator[Batch]:
        """The batches of a loader whose dataset begins where it should."""
        early = self._stream._take_early(loader) if isinstance(self._stream, Stream) else None
        iterator = iter(loader) if early is None else early
        if _torch() is not None:
            # It drew a seed if its workers have just started, and none if they persist. Now one is drawn in any case.
            _set_random(self._epoch_random, {})
            _draw_seed()
        self._caught_up(done)
        return iterator

    def _caught_up(self, done: int, used: Iterable[Any] = ()) -> None:
        """Generators that were used for what is skipped, too, are where they should be."""
        if self._resumed is not None and self._resumed["epoch_random"] is not None:
            # Once more: an epoch may change them before its loop, and has done so when they were saved.
            self._restore(self._resumed)
            if done > 0:
                with self._store.using("random numbers"):
                    _set_random(self._resumed["random"], self._generators, but=used)
        self._resumed = None

    def _between_batches(self, is_last: bool = False) -> None:
        if self._attempt.is_asked_to_leave:
            self._leave()
        if is_last or self._wants_to_save():
            now = time.monotonic()
            self._store.save_soon(self._state, self._interval.written)
            self._interval.waited(now, time.monotonic())

    def _wants_to_save(self) -> bool:
        is_due = not self._store.is_busy and self._interval.is_due(time.monotonic())
        return is_due or self._attempt.is_asked_to_leave

    def _leave(self) -> None:
        self._attempt.ignore_requests()
        began = time.monotonic()
        is_saved = self._store.save_now(self._state)
        self._interval.waited(began, time.monotonic())
        # Freed on the way out, it would wait for its workers to end; they are killed.
        _unfreed.append(self._reading)
        self._attempt.leave(self._position, is_saved, self._store.saves > 0)

    def _until_asked(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches, or the way out if it is asked to leave while a stream waits for data, or loses workers to that."""
        if self._attempt.is_asked_to_leave and isinstance(self._stream, Stream):
            # Workers that were not there yet have not been asked, and may wait forever.
            self._leave()
        try:
            yield from batches
        except RuntimeError as error:
            is_way_out = isinstance(error, _Leaving) or str(error).startswith("DataLoader worker")
            if not is_way_out or not self._attempt.is_asked_to_leave:
                raise
            self._leave()

    def _place(self) -> dict[str, Any]:
        """What reading the next batch may change."""
        if isinstance(self._stream, Stream):
            self._stream._note_position(self._position.epoch, self._position.batch * (self._batch_size or 1))
        stream = self._stream.state_dict() if hasattr(self._stream, "state_dict") else None
        # A loader may have replaced one; an iterator at its end has none any more.
        self._find_generators()
        return {"random": _random_now(self._generators), "stream": stream}

    def _warn(self, text: str) -> None:
        if text not in self._warnings:
            print(f"updraft: {text}", file=sys.stderr, flush=True)
        self._warnings.add(text)

    def _check_order(self, loader: Any) -> None:
        """Warns of a sampler that goes on from epoch to epoch by itself: a resumed one would begin with the first."""
        batches = getattr(loader, "batch_sampler", None)
        for one in (getattr(loader, "sampler", None), batches, getattr(batches, "sampler", None)):
            # Whatever a sampler is like: this is only a warning.
            with contextlib.suppress(Exception):
                if not hasattr(one, "set_epoch"):
                    is_torchs = not _modules(type(one).__module__)
                    advice = (
                        "change it between epochs only, and hand it over in a dict, as {'weights': sampler.weights}"
                        if is_torchs
                        else "make the order from a generator, or from a set_epoch(epoch) that you call"
                    )
                    now = _marks_of(one)
                    self._warn_of_changes(one, {"weights": now["weights"]} if is_torchs else now, advice)

    def _warn_of_changes(self, one: Any, now: dict[str, Any], advice: str) -> None:
        known, first = self._orders.get(id(one), (lambda: None, now))
        if known() is not one:
            # By its id: it may have no hash.
            self._orders[id(one)] = (weakref.ref(one), now)
            return
        handed = {id(value) for each in self._values().values() for value in each.shared()}
        others = [name for name, mark in first.items() if mark != now.get(name)]
        changed = " and ".join(name for name in others if id(vars(one).get(name)) not in handed)
        if changed:
            self._warn(
                f"{type(one).__name__} changes its {changed} from epoch to epoch, and starts over when it is resumed, "
                f"unless you set that before run.batches: {advice}"
            )

    def _check_samples(self, dataset: Any) -> None:
        """Refuses a random split that is not the checkpoint's: it would train on samples of the validation."""
        early, self._early = self._early, []
        self._samples = now = {"split": _split_of(dataset)}
        resumed = self._resumed or {"epoch_random": None}
        saved: dict[str, Any] = resumed.get("samples") or now
        with contextlib.suppress(Exception):
            self._check_lists(dataset, saved.get("lists", {}))
        if saved["split"] == now["split"]:
            return
        if resumed["epoch_random"] is None:
            # The next epoch may have another loader than the last one: one that it makes, or another of several.
            is_early = any(one is dataset for one in early)
            if not is_early or not saved["split"] or any(_split_of(one) == saved["split"] for one in early[:_MAX_OBJECTS]):
                return
        raise SystemExit(
            f"updraft: the loader's samples are not those of the checkpoint in {self._store.folder}: a random "
            "split without a seed differs in every attempt. Give it one, as in random_split(…, "
            "generator=torch.Generator().manual_seed(0)), and remove the folder to start over."
        )

    def _check_lists(self, dataset: Any, saved: dict[str, int]) -> None:
        """Warns of a dataset that has its samples in another order than in the checkpoint, or than in the last epoch."""
        if any(hasattr(dataset, name) for name in ("set_epoch", "updraft_seek", "state_dict")):
            return
        now = _lists_of(dataset)
        self._warn_of_changes(dataset, now, "make the order from a generator, or from a set_epoch(epoch) that you call")
        # What changes while it is read, such as a cache, says nothing about the order.
        first = self._orders[id(dataset)][1]
        self._samples["lists"] = {name: mark for name, mark in now.items() if mark == first.get(name)}
        if self._resumed is not None and self._resumed["epoch_random"] is not None:
            changed = " and ".join(name for name, mark in now.items() if saved.get(name, mark) != mark)
            if changed:
                self._warn(
                    f"{type(dataset).__name__} has another {changed} than in the checkpoint, so samples may be read twice or "
                    "not at all: a list that is shuffled without a seed, or as os.listdir returns it, differs in every "
                    "attempt. Sort it, then shuffle it with random.Random(0)"
                )

    def _find_generators(self) -> None:
        self._loaders.update(_generators_of(self._loader))
        self._generators = _each_once({**self._handed, **self._loaders})

    def _check_inner_optimizers(self) -> None:
        """Warns of an optimizer inside another, such as SAM's, whose `state_dict` has only the outer one's state."""
        kind: Any = getattr(getattr(_torch(), "optim", None), "Optimizer", ())
        for outer in self._objects.values():
            if isinstance(outer, kind) and type(outer).state_dict is kind.state_dict:
                for name, inner in vars(outer).items():
                    is_left_out = isinstance(inner, kind) and all(inner is not one for one in self._objects.values())
                    if is_left_out and inner.state and inner.state is not outer.state:
                        whole = f"{type(outer).__name__}.{name}"
                        self._warn(f"{whole} starts over when it is resumed: hand it to updraft.training, too")

    def _state(self) -> dict[str, Any]:
        self._check_inner_optimizers()
        return {
            "format": _CHECKPOINT_FORMAT,
            "position": (self._position.epoch, self._position.batch),
            "batch_size": self._batch_size,
            "samples": self._samples,
            "epoch_random": self._epoch_random,
            "begin": self._begin,
            **(self._held or self._place()),
            "lives": self._interval.lives(),
            "objects": {name: _without_functions(value.state_dict()) for name, value in self._objects.items()},
            "kinds": {name: type(value).__name__ for name, value in self._objects.items()},
            "groups": {name: self._groups_of(value) for name, value in self._objects.items()},
            "generators": list(self._handed),
            "modes": {name: _modes_of(value) for name, value in self._objects.items()},
            "gradients": self._gradients.state(),
        }

    def _parameters(self) -> Iterator[tuple[tuple[str, int], Any]]:
        """Those of the models, each by the model's name and its place there."""
        for name, value in self._objects.items():
            if _modes_of(value) is not None:
                yield from (((name, place), one) for place, one in enumerate(value.parameters()))

    def _values(self) -> dict[str, _Values]:
        return {name: value for name, value in self._objects.items() if isinstance(value, _Values)}

    def _values_now(self) -> dict[str, Any]:
        now = {}
        for name, value in self._values().items():
            # What cannot be copied, no checkpoint can have. Tensors may be as large as the model.
            with contextlib.suppress(Exception):
                if not value.has_tensors:
                    now[name] = copy.deepcopy(value.state_dict())
        return now

    def _groups_of(self, optimizer: Any) -> list[Any]:
        """Which parameters an optimizer's groups have: its `state_dict` has only their number."""
        places = {id(one): place for place, one in self._parameters()}
        groups = getattr(optimizer, "param_groups", [])
        return [[places.get(id(one)) for one in group["params"]] for group in groups]

    def _add_groups(self, optimizer: Any, saved: list[Any]) -> None:
        """Groups that the training has added since it began. An epoch that adds them again when it is resumed may."""
        known = len(getattr(optimizer, "param_groups", []))
        if not 0 < known < len(saved):
            return
        parameters = dict(self._parameters())
        added = []
        for group in saved[known:]:
            if None in group:
                hint = "hand over the model of the parameters that add_param_group was given"
                raise ValueError(f"the checkpoint has {len(saved)} parameter groups, and there are {known}; {hint}")
            added.append([parameters[place] for place in group])
            optimizer.add_param_group({"params": added[-1]})
        add = optimizer.add_param_group

        def add_once(group: dict[str, Any]) -> None:
            params = group["params"]
            params = [params] if hasattr(params, "requires_grad") else list(params)
            ours = {id(one) for one in params}
            again = next((one for one in added if {id(each) for each in one} == ours), None)
            if again is None:
                add({**group, "params": params})
            else:
                added[:] = [one for one in added if one is not again]

        optimizer.add_param_group = add_once

    def _set_modes(self, state: dict[str, Any]) -> None:
        for name, modes in state.get("modes", {}).items():
            if modes is not None and modes != _modes_of(self._objects[name]):
                for parameter, learns in zip(self._objects[name].parameters(), modes[0]):
                    parameter.requires_grad = learns
                for module, is_training in zip(self._objects[name].modules(), modes[1]):
                    module.training = is_training

    def _resume(self, path: str) -> None:
        state = self._store.read(path)
        with self._store.using("content"):
            saved = sorted([*state["objects"], *state.get("generators", [])])
            # As they will be used.
            self._position = _Position.of(state)
            is_between = state["epoch_random"] is None
            {**state["random"], **(state["begin"] or {}), **state.get("samples", {})}
        ours = sorted([*self._objects, *self._handed])
        if saved != ours:
            raise SystemExit(
                f"updraft: the checkpoint in {self._store.folder} is of another training: it has {', '.join(saved)}; "
                f"this one has {', '.join(ours)}. Remove the folder to start over."
            )
        self._restore(state)
        # Within an epoch, they are loaded again before its loop. An object may keep, and change, what it has loaded.
        self._resumed = state if is_between else self._store.read(path)
        with self._store.using("times"):
            self._attempt.resume(self._position, state)

    def _restore(self, state: dict[str, Any]) -> None:
        with self._store.using("values"):
            self._load(state, self._objects)
            self._gradients.restore(state.get("gradients", {}))
            self._set_modes(state)

    def _load(self, state: dict[str, Any], objects: dict[str, Any]) -> None:
        torch = _torch()
        owners = [one for one in objects.values() if hasattr(one, "param_groups")]
        pairs = [(a, b) for a, b in itertools.combinations(owners, 2) if a.param_groups is b.param_groups]
        for name, value in objects.items():
            try:
                self._add_groups(value, state.get("groups", {}).get(name, []))
                if torch is not None and isinstance(value, torch.optim.Optimizer):
                    kind, saved = type(value).__name__, state.get("kinds", {}).get(name)
                    if saved not in (None, kind):
                        raise ValueError(f"it is of {saved}, this is {kind}")
                    # A GPU may not have room for what it has now and for what it gets.
                    value.state.clear()
                value.load_state_dict(state["objects"][name])
            except Exception as error:
                # What is not said of the values is said of Python's.
                is_said = isinstance(error, (RuntimeError, ValueError)) and str(error)
                why = error if is_said else f"what is saved is not of a {type(value).__name__}"
                raise SystemExit(
                    f"updraft: {name} does not fit the checkpoint in {self._store.folder}: {why}\n"
                    "Remove the folder to start over."
                ) from error
        # One optimizer inside another steps with the outer one's learning rate.
        for one, other in pairs:
            other.param_groups = one.param_groups


def _check_can_be_saved(name: str, value: Any) -> None:
    kind = type(value).__name__
    if hasattr(value, "batch_sampler"):
        raise TypeError(f"{name} of updraft.training is a {kind}: give it to run.batches only, which restores its place")
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        return
    hint = "put it into a dict that you hand over and use, as in best = {'loss': 9.9}"
    if isinstance(value, tuple) or hasattr(value, "__next__"):
        hint = "hand over the objects themselves, one by one"
    raise TypeError(f"{name} of updraft.training has no state_dict: {kind}; {hint}")


def _modes_of(value: Any) -> Any:
    """What a model's `state_dict` leaves out: which parameters are frozen, and which layers are in training mode."""
    if not (callable(getattr(value, "parameters", None)) and callable(getattr(value, "modules", None))):
        return None
    return [one.requires_grad for one in value.parameters()], [one.training for one in value.modules()]


class _Values:
    """A dict or list of the training's own. Its content is restored, so that whoever has it sees that."""

    def __init__(self, name: str, values: Any) -> None:
        self.name = f"{name} of updraft.training"
        self._values = values
        for _, one in self._items():
            if hasattr(one, "state_dict"):
                # It would be another object after a resume, which no one uses.
                kind = f"{type(values).__name__} with a {type(one).__name__}"
                raise TypeError(f"{self.name} is a {kind}; hand over models and optimizers themselves")
        problem = self.problem()
        if problem is not None:
            raise TypeError(problem)

    def problem(self) -> Optional[str]:
        """What keeps it from being saved."""
        for place, one in self._items():
            try:
                pickle.dumps(None if _is_tensor(one) else one)
            except Exception as error:
                return f"{self.name} has {place!r}, which cannot be saved: {error}; leave it out of the dict or list"
        return None

    @property
    def has_tensors(self) -> bool:
        return any(_is_tensor(one) for _, one in self._items())

    def state_dict(self) -> dict[str, Any]:
        # A checkpoint has all tensors on the CPU.
        devices = {path: str(one.device) for path, one in _tensors_in(self._values) if one.device.type != "cpu"}
        return {"values": self._values, "devices": devices}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """A tensor stays the same one, on its device: others may have it, too."""
        ours, values = dict(self._items()), copy.copy(state["values"])
        devices = {path: one for path, one in state.get("devices", {}).items() if _is_there(one)}
        for place, one in list(_items_of(values)):
            old: Any = ours.get(place)
            if _is_tensor(one) and _is_tensor(old) and old.shape == one.shape and old.dtype == one.dtype:
                old.data.copy_(one)
                values[place] = old
            else:
                found = _tensors_in(one, (place,))
                moved = {id(each): each.to(devices[path]) for path, each in found if path in devices}
                values[place] = copy.deepcopy(one, moved)
        self._values.clear()
        (self._values.update if isinstance(self._values, dict) else self._values.extend)(values)

    def shared(self) -> list[Any]:
        """What stays the same object when it is restored."""
        return [self._values, *(one for _, one in self._items() if _is_tensor(one))]

    def _items(self) -> Iterable[tuple[Any, Any]]:
        # A copy: a checkpoint is written beside the training.
        return list(_items_of(self._values))


def _items_of(values: Any) -> Iterable[tuple[Any, Any]]:
    return values.items() if isinstance(values, collections.abc.Mapping) else enumerate(values)


def _tensors_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The tensors of dicts and lists, by their path."""
    if _is_tensor(value):
        yield path, value
    elif isinstance(value, (dict, list, tuple)):
        for place, one in _items_of(value):
            # Long lists are mostly of numbers.
            if not isinstance(one, (int, float, str)):
                yield from _tensors_in(one, (*path, place))


def _is_there(device: str) -> bool:
    try:
        _torch().empty(0, device=device)
    except (AssertionError, NotImplementedError, RuntimeError):
        return False
    return True


def _is_tensor(value: Any) -> bool:
    return _torch() is not None and isinstance(value, _torch().Tensor)


class _Gradients:
    """Gradients that a training has collected and not used yet: those of parameters that did not change in the last batch.

    A step that hides what it changes costs only a larger checkpoint.
    """

    def __init__(self, objects: dict[str, Any]) -> None:
        # Parameters that an optimizer has change together; the others are those of their model.
        self._objects = sorted(objects.items(), key=lambda item: not hasattr(item[1], "param_groups"))
        self._parameters: dict[str, list[Any]] = {}
        self._versions: dict[str, int] = {}

    def epoch_begins(self) -> None:
        """An optimizer may have more parameters than in the last one."""
        known: set[int] = set()
        for name, value in self._objects:
            parameters = getattr(value, "parameters", None)
            groups = getattr(value, "param_groups", [{"params": parameters() if callable(parameters) else []}])
            found = [one for group in groups for one in group["params"]]
            self._parameters[name] = [one for one in found if hasattr(one, "grad") and id(one) not in known]
            known.update(map(id, found))

    def batch_begins(self) -> None:
        self._versions = {name: self._version(name) for name in self._parameters}

    def state(self) -> dict[str, list[Any]]:
        """By the name of the optimizer, or of the model if none has its parameters."""
        waiting = [name for name in self._parameters if self._versions.get(name) == self._version(name)]
        found = {name: [one.grad for one in self._parameters[name]] for name in waiting}
        return {name: grads for name, grads in found.items() if any(one is not None for one in grads)}

    def restore(self, state: dict[str, list[Any]]) -> None:
        self.epoch_begins()
        for name, grads in state.items():
            self._versions[name] = self._version(name)
            for parameter, grad in zip(self._parameters[name], grads):
                if grad is not None:
                    # A copy, laid out like the parameter: it is restored twice, and the training may clear it in place.
                    grad = grad.clone() if grad.is_sparse else _torch().empty_like(parameter).copy_(grad)
                    grad = grad.detach().to(parameter.device)
                parameter.grad = grad

    def _version(self, name: str) -> int:
        return sum(one._version for one in self._parameters[name])


class _Attempt:
    """What an interrupted training needs, whoever runs its loop: a folder, a request to leave, an interval, progress."""

    def __init__(self, folder: Optional[str], every: Optional[float]) -> None:
        # The agent sets the folder and keeps earlier checkpoints itself, verified.
        ours = os.environ.get("UPDRAFT_CHECKPOINT")
        self.folder = folder or "checkpoints" if ours is None else os.path.join(ours, folder or "")
        self.keep = 2 if ours is None else 1
        self.interval = _Interval(every)
        self.progress = _Progress(os.environ.get("UPDRAFT_PROGRESS"))
        self.progress.saving = self.interval.figures
        self.is_asked_to_leave = False
        self.is_guarded = ours is not None
        self._restore_handler: Callable[[], object] = lambda: None

    def start(self) -> None:
        _refuse_several("updraft.training", "write checkpoints yourself, in the first process only")
        if os.path.realpath(self.folder) in _used:
            raise SystemExit(f"updraft: {self.folder} is another training's; give each a folder=… of its own")
        _used.add(os.path.realpath(self.folder))
        self.interval.start(time.monotonic())
        if self.is_guarded and threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGTERM, self._ask_to_leave)
            self._restore_handler = lambda: signal.signal(signal.SIGTERM, before)
            _shield_workers()

    def resume(self, position: _Position, state: dict[str, Any]) -> None:
        if not all(0 <= life < math.inf for life in state["lives"]):
            raise ValueError("an attempt cannot have lasted so long")
        self.interval.earlier = state["lives"]
        print(f"updraft: resuming in {position}", file=sys.stderr, flush=True)
        if state["format"] < _CHECKPOINT_FORMAT:
            text = "an earlier version saved this, whose augmentation was correlated; from here on it is not"
            print(f"updraft: {text}", file=sys.stderr, flush=True)

    def ignore_requests(self) -> None:
        """A second request must not cut the first one short."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._restore_handler = lambda: None

    def leave(self, position: _Position, is_saved: bool, is_any_saved: bool) -> None:
        if is_saved:
            print(f"updraft: saved in {position}, as asked", file=sys.stderr, flush=True)
        status = SAVED if is_any_saved else 128 + signal.SIGTERM
        atexit.register(_exit_now, status)
        raise SystemExit(status)

    def end(self) -> None:
        self._restore_handler()
        self.progress.flush()

    def _ask_to_leave(self, *_: Any) -> None:
        self.is_asked_to_leave = True
        _request_to_leave()
        # PyTorch would raise, wherever the training is, what has become of a worker that was asked, too.
        signal.signal(signal.SIGCHLD, _request_to_leave)


_LAUNCHERS = {
    "WORLD_SIZE": "torchrun, accelerate and deepspeed set it",
    "OMPI_COMM_WORLD_SIZE": "mpirun sets it",
    "PMI_SIZE": "mpiexec sets it",
}


def _refuse_several(what: str, otherwise: str) -> None:
    """One of several processes would save, and read, what only all of them together have."""
    found = [f"{name}={os.environ[name]}: {who}" for name, who in _LAUNCHERS.items() if _count_in(name) > 1]
    distributed = getattr(_torch(), "distributed", None)
    if not found and distributed is not None and distributed.is_available() and distributed.is_initialized():
        count = distributed.get_world_size()
        found = [f"torch.distributed has {count}"] if count > 1 else []
    if found:
        raise SystemExit(
            f"updraft: {what} is for one process, and this is one of several ({found[0]}). "
            f"Start the script once, with python and one GPU, or {otherwise}."
        )


def _count_in(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else 1


_used: set[str] = set()
"""Folders of the trainings of this process."""
_unfreed: list[Any] = []
"""What lives as long as this process."""


def _exit_now(status: int) -> None:
    """The slot is wanted back: workers have nothing to save, and Python would take a second to free what it has loaded."""
    atexit.unregister(_exit_now)
    _kill_workers()
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


class _Store:
    """The folder of checkpoints. A name holds a number that grows and the file's CRC-32: whole or ignored."""

    def __init__(self, folder: str, keep: int, trusts: bool = False) -> None:
        self.folder = folder
        self._trusts = trusts
        self._keep = keep
        # What the agent keeps it syncs itself; a folder that is lost with its machine needs no more than a rename.
        self._syncs = "UPDRAFT_CHECKPOINT" not in os.environ
        self._writer: Optional[threading.Thread] = None
        self._failure: Optional[BaseException] = None
        self._said: Any = None
        self._buffers: dict[Any, Any] = {}
        self._number = 0
        self._damaged: set[str] = set()
        self.path: Optional[str] = None
        """Of the checkpoint that was read."""
        self.explain: Callable[[], Optional[str]] = lambda: None
        """What in the state cannot be saved."""
        self.saves = 0
        """Checkpoints that this attempt has written."""

    @property
    def is_busy(self) -> bool:
        if isinstance(self._failure, _Refused) and self.saves == 0:
            raise SystemExit(f"updraft: {self._failure}")
        return self._writer is not None and self._writer.is_alive()

    def newest(self) -> Optional[str]:
        """The path of the newest checkpoint that is whole."""

        def damage(path: str) -> Optional[str]:
            number, crc = path[: -len(".pt")].split("-")[-2:]
            self._number = max(self._number, int(number))
            try:
                if _Reading.crc_of(path) == int(crc, 16):
                    return None
                why = "it is not as it was written"
            except OSError as error:
                why = str(error.strerror)
            self._damaged.add(os.path.basename(path))
            return why

        return _first_whole([path for path in self.paths() if os.path.basename(path) not in self._damaged], damage)

    def read(self, path: str) -> dict[str, Any]:
        self.path = path
        try:
            return _read(path, self._trusts)  # type: ignore[no-any-return]
        except _Refused as error:
            raise SystemExit(f"updraft: {error}") from error

    def using(self, what: str) -> contextlib.AbstractContextManager[None]:
        return _using(self.path, what)

    def save_now(self, make_state: Callable[[], dict[str, Any]]) -> bool:
        self.wait()
        try:
            state = make_state()
            # Memory of the host that is locked already takes a GPU's bytes several times faster.
            with _without_zip_checksums():
                self._write(_on_host(state, self._buffers) if self._buffers else state)
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
        # Where it is the first one, it ends the training.
        assert not self.is_busy
        failure, self._failure = self._failure, None
        if failure is not None:
            why = str(failure if isinstance(failure, (OSError, _Refused)) else self.explain() or failure)
            # Figures change each time.
            kind = getattr(failure, "errno", None) or why
            if kind != self._said:
                print(f"updraft: no checkpoint could be written: {why}", file=sys.stderr, flush=True)
            self._said = kind
        return failure is None

    def paths(self) -> list[str]:
        """Of all checkpoints, whole or not, the newest first."""
        return [os.path.join(self.folder, name) for name in self._names()]

    def _names(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(filter(_NAME.fullmatch, os.listdir(self.folder)), reverse=True)
        return []

    def _write(self, state: dict[str, Any]) -> None:
        try:
            name = self._write_file(state)
        except OSError as error:
            kept = self._by_use()
            if error.errno != errno.ENOSPC or len(kept) < 2:
                raise
            os.remove(os.path.join(self.folder, kept[-1]))
            name = self._write_file(state)
        self._said = None
        self.saves += 1
        for old in [known for known in self._by_use() if known != name][self._keep - 1 :]:
            with contextlib.suppress(OSError):
                os.remove(os.path.join(self.folder, old))

    def _by_use(self) -> list[str]:
        """The newest first, damaged ones last."""
        return sorted(self._names(), key=lambda name: name in self._damaged)

    def _write_file(self, state: dict[str, Any]) -> str:
        os.makedirs(self.folder, exist_ok=True)
        part = os.path.join(self.folder, ".checkpoint.part")
        whole = None
        try:
            with open(part, "wb", buffering=0) as file:
                whole = _WholeFile(file)
                _dump(state, whole)
                whole.finish()
                if self._syncs:
                    os.fsync(file.fileno())
            if not self._trusts:
                # Now, rather than when hours of training are to be resumed.
                _read(part, False)
            self._number += 1
            name = f"checkpoint-{self._number:012d}-{whole.crc:08x}.pt"
            os.replace(part, os.path.join(self.folder, name))
            return name
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.remove(part)
            if whole is not None and getattr(error, "errno", None) == errno.ENOSPC:
                free = shutil.disk_usage(self.folder).free
                figures = f"it takes {whole.size / 1e6:.1f} MB, and {free / 1e6:.1f} MB are free"
                raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {figures}") from error
            raise


def _first_whole(paths: list[str], damage: Callable[[str], Optional[str]]) -> Optional[str]:
    """The first path without a damage. Those before it are reported."""
    for left, path in zip(range(len(paths) - 1, -1, -1), paths):
        why = damage(path)
        if why is None:
            return path
        then = "trying the one before it" if left > 0 else "no other is left, so the training starts over"
        print(f"updraft: {path} is damaged; {then}: {why}", file=sys.stderr, flush=True)
    return None


_LARGE = 1 << 20
"""Bytes whose checksum takes longer than starting a thread."""


class _WholeFile:
    """Keeps the first error until all is written: PyTorch ends the process if a write fails under it."""

    def __init__(self, file: Any) -> None:
        self._file = io.BufferedWriter(file)
        self._error: Optional[OSError] = None
        self.crc = 0
        self.size = 0

    def write(self, data: Any) -> int:
        self.size += memoryview(data).nbytes
        if self._error is None:
            try:
                if memoryview(data).nbytes < _LARGE:
                    self.crc = zlib.crc32(data, self.crc)
                    self._file.write(data)
                else:
                    self._write_large(data)
            except OSError as error:
                self._error = error
        return memoryview(data).nbytes

    def _write_large(self, data: Any) -> None:
        """Summed up and written at once, on two cores: PyTorch frees it afterwards."""

        def sum_up() -> None:
            self.crc = zlib.crc32(data, self.crc)

        summing = threading.Thread(target=sum_up, name="updraft-checksum")
        try:
            summing.start()
        except RuntimeError:
            # No more threads are to be had.
            sum_up()
        try:
            self._file.write(data)
        finally:
            if summing.ident is not None:
                summing.join()

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
        self._saves = 0
        self._waiting = 0.0
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
        # What earlier runs on this pool have seen.
        usual = float(os.environ.get("UPDRAFT_MEAN_LIFE") or _USUAL_LIFE)
        seen = usual + sum(self.earlier) + (now - self._began)
        life = seen / (1 + len(self.earlier))
        return max(math.sqrt(2 * self._cost * life), self._cost / _WAIT_SHARE, 2 * self._writing)

    def waited(self, began: float, now: float) -> None:
        self._cost = max(now - began, 1e-4)
        self._last = now
        self._saves += 1
        self._waiting += now - began

    def figures(self) -> dict[str, float]:
        """Checkpoints so far, seconds that the training waited for them, and the time from one to the next."""
        if self._saves == 0:
            return {}
        every = self.seconds(time.monotonic())
        return {"saves": self._saves, "saveSeconds": round(self._waiting, 4), "saveEvery": round(every, 1)}

    def written(self, seconds: float) -> None:
        self._writing = seconds

    def lives(self) -> list[float]:
        return [*self.earlier, time.monotonic() - self._began]


class _Progress:
    """Lines for the file that Updraft reads; without one, nothing."""

    def __init__(self, path: Optional[str]) -> None:
        self._path = path
        self._last = -math.inf
        self._pending: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._saves = 0.0
        self.saving: Callable[[], dict[str, float]] = dict
        self.epochs: Optional[int] = None
        self.steps: Optional[int] = None
        self.samples = 0

    def log(self, position: _Position, metrics: dict[str, Any]) -> None:
        if self._path is None:
            return
        samples = self.samples or None
        counted = {"epochs": self.epochs, "step": position.batch, "steps": self.steps, "samples": samples}
        place = {"epoch": position.epoch + 1, **counted}
        values = {name: _number_or_copy(value) for name, value in metrics.items()}
        earlier = self._pending[-1] if self._pending else None
        if earlier is not None and earlier[0] == place and not earlier[1].keys() & values.keys():
            earlier[1].update(values)
        else:
            self._pending.append((place, values))
        if time.monotonic() - self._last >= 1 or len(self._pending) >= _MAX_PENDING:
            self.flush()

    def flush(self) -> None:
        saving = self.saving()
        saves = saving.get("saves", 0.0)
        if self._path is None or (not self._pending and saves == self._saves):
            return
        lines: list[dict[str, Any]] = [{**_numbers(metrics), **place} for place, metrics in self._pending] or [{}]
        if saves != self._saves:
            lines[-1].update(saving)
        texts = [json.dumps({name: value for name, value in line.items() if value is not None}) for line in lines]
        # No line is worth a training.
        with contextlib.suppress(OSError), open(self._path, "a", encoding="utf-8") as file:
            file.write("\n".join(texts) + "\n")
        self._pending, self._saves = [], saves
        self._last = time.monotonic()


_MAX_PENDING = 1000


def _number_or_copy(value: Any) -> Any:
    """Of a tensor that only waiting for its GPU could read now, a copy: the training may go on changing it."""
    with contextlib.suppress(TypeError, ValueError, RuntimeError, AttributeError):
        if hasattr(value, "detach"):
            # PyTorch warns of a number that would lose its gradient.
            value = value.detach()
            if value.device.type != "cpu" and value.numel() == 1:
                return value.clone()
        return float(value)
    return None


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
        self, loader: Any, done: int, rewind: Callable[[], None], caught_up: Callable[[bool], None]
    ) -> None:
        has_workers = loader.num_workers > 0
        repeats, order, by_batch = _order_of(loader)
        sampler = _Sampler(order, by_batch, done, rewind, caught_up)
        dataset = _Dataset(loader)
        options: dict[str, Any] = {
            "num_workers": loader.num_workers,
            "collate_fn": dataset.collate_fn(),
            "pin_memory": loader.pin_memory,
            "timeout": loader.timeout,
            "worker_init_fn": loader.worker_init_fn,
            "generator": loader.generator,
        }
        if has_workers:
            options["multiprocessing_context"] = loader.multiprocessing_context
            options["prefetch_factor"] = loader.prefetch_factor
            # One that is used for the rest of an epoch only ends with it.
            options["persistent_workers"] = (loader.persistent_workers or repeats is not None) and done == 0
        if hasattr(loader, "in_order"):
            options["in_order"] = loader.in_order
        if by_batch:
            options["batch_sampler"] = sampler
        else:
            options.update(sampler=sampler, batch_size=None)
        self.loader = _torch().utils.data.DataLoader(dataset, **options)


class _SeededReader:
    """Reads an iterable with random numbers that begin with the epoch, apart from those that the training draws meanwhile.

    What reads ahead, shuffles as it goes or starts over within an epoch is then the same when it is read again.
    """

    def __init__(self, iterable: Iterable[Any], seed: Optional[int] = None) -> None:
        if seed is None:
            seed = random.getrandbits(63) if _torch() is None else _draw_seed()
        self._its: Optional[dict[str, Any]] = None
        with self._drawing():
            _seed_all((seed,), {})
            self._iterator = iter(iterable)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with self._drawing():
            return next(self._iterator)

    @contextlib.contextmanager
    def _drawing(self) -> Iterator[None]:
        trainings = _random_now({}, brief=True)
        if self._its is not None:
            _set_random(self._its, {})
        try:
            yield
        finally:
            self._its = _random_now({}, brief=True)
            _set_random(trainings, {})


def _shield_workers() -> None:
    """Has workers of every DataLoader, the validation's too, survive SIGTERM, which the agent sends to the whole group."""
    kind = getattr(_torch(), "utils", None) and _torch().utils.data.dataloader._MultiProcessingDataLoaderIter
    if kind is None or hasattr(kind, "updraft"):
        return
    start = kind.__init__

    def start_shielded(self: Any, loader: Any) -> None:
        # They inherit it, and PyTorch makes SIGTERM deadly before `worker_init_fn` is called.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        theirs, loader.worker_init_fn = loader.worker_init_fn, _WorkerInit(loader.worker_init_fn)
        try:
            start(self, loader)
        finally:
            loader.worker_init_fn = theirs
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    kind.__init__, kind.updraft = start_shielded, True


class _WorkerInit:
    """The user's `worker_init_fn`, in a worker that only notes SIGTERM: the training needs it until it has left."""

    def __init__(self, inner: Optional[Callable[[int], None]]) -> None:
        self._inner = inner

    def __call__(self, worker: int) -> None:
        signal.signal(signal.SIGTERM, _request_to_leave)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        if self._inner is not None:
            self._inner(worker)


def _end_workers() -> None:
    """At exit, before multiprocessing sends them SIGTERM, which they survive, and waits for them forever."""
    workers = _workers()
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + 1
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
    _kill_workers()


def _kill_workers() -> None:
    workers = _workers()
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join(1)


def _workers() -> list[Any]:
    workers = [child for child in multiprocessing.active_children() if child.daemon]
    if workers:
        # PyTorch would report each one that is killed.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return workers


atexit.register(_end_workers)


class _Sampler:
    """A sampler's indices after the first `done`, each with its place: the epoch's seed, and its number.

    A DataLoader draws a seed when its workers start, and none while they persist. `rewind` undoes that.
    """

    def __init__(
        self,
        sampler: Any,
        by_batch: bool,
        done: int,
        rewind: Callable[[], None],
        caught_up: Callable[[bool], None],
    ) -> None:
        self._sampler = sampler
        self._by_batch = by_batch
        self._done = done
        self._rewind = rewind
        self._caught_up = caught_up

    def __getattr__(self, name: str) -> Any:
        # Such as `batch_size`, and the `sampler` of a batch sampler.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._sampler, name)

    def __len__(self) -> int:
        return max(0, len(self._sampler) - self._done)

    def __iter__(self) -> Iterator[Any]:
        self._rewind()
        seed = _draw_seed()
        # All at once: what a sampler draws later would mix with the numbers that the training draws.
        is_drawn, length = _draws_at_once(self._sampler), _length(self._sampler)
        indices = iter(self._sampler)
        size = (getattr(self._sampler, "batch_size", None) or 1) if self._by_batch else 1
        if not is_drawn and length is not None and length * size <= _MAX_INDICES:
            is_drawn, indices = True, iter(list(indices))
        next(itertools.islice(indices, self._done, self._done), None)
        self._caught_up(is_drawn)
        for place, index in enumerate(indices, self._done):
            yield self._item(seed, place, index)

    def _item(self, seed: int, place: int, index: Any) -> Any:
        if self._by_batch:
            return [((seed, place, nth), one) for nth, one in enumerate(index)]
        return (seed, place), index


_MAX_INDICES = 10_000_000
"""A list of them takes up to 400 MB. A longer one is read as it comes."""


def _draws_at_once(sampler: Any) -> bool:
    """Whether it is one of PyTorch's own that draws from the global generators only for its first index."""
    data = _torch().utils.data
    while type(sampler) is data.BatchSampler:
        sampler = sampler.sampler
    known = (data.SequentialSampler, data.RandomSampler, data.SubsetRandomSampler, data.WeightedRandomSampler)
    return type(sampler) in known and getattr(sampler, "generator", None) is None


class _Dataset:
    """A loader's dataset: each sample, requested with its place, draws random numbers of its own; without workers, each
    batch does, which takes less time.

    Otherwise it is the dataset: a `worker_init_fn` may open files in it.
    """

    def __init__(self, loader: Any) -> None:
        own = _Own(dataset=loader.dataset, collate=loader.collate_fn)
        self.__dict__.update(_dataset=loader.dataset, _collate=loader.collate_fn, _own=own)
        self.__dict__.update(_is_here=loader.num_workers == 0)

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
        place, index = item
        return self._drawn(place, lambda: self._dataset[index])

    def __getitems__(self, items: list[tuple[Any, Any]]) -> Any:
        many = getattr(self._dataset, "__getitems__", None)
        if many is None:
            return [self[item] for item in items]
        return self._drawn(items[0][0], lambda: many([index for _, index in items]))

    def collate_fn(self) -> Any:
        """What is done last to a batch."""
        return _Collate(self._collate, self._own) if self._is_here or _has_state(self._collate) else self._collate

    def _drawn(self, place: tuple[int, ...], read: Callable[[], Any]) -> Any:
        begins = not self._is_here or place[2:] in ((), (0,))
        return self._own.draw(place, read) if begins else self._own.draw_on(read)


class _Feed:
    """A framework's DataLoader, changed in place so that it can begin at any batch of an epoch.

    The framework reads ahead as it likes: samples draw random numbers by their place in the epoch, and the training's
    generators stay as they were. Several loaders that it combines, as Lightning does, are read again from the start.
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        # accelerate has the loader inside another one.
        plain = [getattr(one, "base_dataloader", one) for one in _loaders_in(loader)]
        self._datasets = [_dataset_of(one) for one in plain]
        self._sizes = [_batch_size_of(one) for one in plain]
        found = [_generators_of(one) for one in plain]
        self._generators = {f"{number} {name}": one for number, each in enumerate(found) for name, one in each.items()}
        self._samplers = [self._change(one, number) for number, one in enumerate(plain)]
        self.random: Optional[dict[str, Any]] = None
        """How the epoch began."""

    def _change(self, loader: Any, number: int) -> Optional[_FeedSampler]:
        torch = _torch()
        is_loader = isinstance(loader, torch.utils.data.DataLoader)
        if not is_loader or isinstance(loader.dataset, torch.utils.data.IterableDataset):
            return None
        name = "sampler" if loader.batch_sampler is None else "batch_sampler"
        sampler = _FeedSampler(getattr(loader, name), name == "batch_sampler", self, number)
        dataset = _Dataset(loader)
        # A DataLoader refuses this because it has usually been read; this one has not.
        object.__setattr__(loader, name, sampler)
        object.__setattr__(loader, "dataset", dataset)
        loader.collate_fn, loader._iterator = dataset.collate_fn(), None
        return sampler

    def begin(self, position: _Position, resumed: Optional[dict[str, Any]], skips: bool) -> None:
        """Before the epoch is read. The framework may skip what was trained on before it was interrupted, or we do."""
        if resumed is not None:
            # Between epochs, the next one begins as the last one ended.
            _set_random(resumed["epoch_random"] or resumed["random"], self._generators)
        self.random = _random_now(self._generators)
        done = position.batch if skips and self.can_skip else 0
        for dataset, size, sampler in zip(self._datasets, self._sizes, self._samplers):
            if hasattr(dataset, "set_epoch"):
                dataset.set_epoch(position.epoch)
            if hasattr(dataset, "updraft_seek"):
                if resumed is not None and resumed["stream"] is not None:
                    dataset.load_state_dict(resumed["stream"])
                dataset.updraft_seek(position.epoch, done * size)
            elif sampler is not None:
                sampler.begin(done)

    def state(self, position: _Position, lives: list[float]) -> dict[str, Any]:
        """What a framework's own checkpoint lacks."""
        stream: Any = self._datasets[0] if len(self._datasets) == 1 else None
        return {
            "format": _CHECKPOINT_FORMAT,
            "position": (position.epoch, position.batch),
            "random": _random_now(self._generators),
            "epoch_random": self.random,
            "stream": stream.state_dict() if hasattr(stream, "updraft_seek") else None,
            "lives": lives,
        }

    def end(self) -> None:
        """The next epoch has not begun yet."""
        self.random = None

    @property
    def can_skip(self) -> bool:
        is_one = len(self._datasets) == 1
        return is_one and (self._samplers[0] is not None or hasattr(self._datasets[0], "updraft_seek"))

    def rewind(self) -> None:
        if self.random is not None:
            _set_random(self.random, self._generators)

    def is_first(self, turn: tuple[int, int]) -> bool:
        """Whether the epoch's order is that of the only loader, or of the first one as long as it has not ended."""
        return len(self._samplers) == 1 or turn == (0, 0)

    def seed_of(self, turn: tuple[int, int]) -> int:
        """Of a loader beside the first one, or of one that starts over within the epoch."""
        state = (self.random or {})["torch"].tolist()
        return int.from_bytes(hashlib.blake2b(repr((turn, state)).encode(), digest_size=8).digest(), "little")


def _loaders_in(loaders: Any) -> list[Any]:
    """Those of a dict or list, in Lightning's order."""
    if isinstance(loaders, (dict, list, tuple)):
        return [one for each in _items_of(loaders) for one in _loaders_in(each[1])]
    return [loaders]


class _FeedSampler(_Sampler):
    """The sampler of a loader that a framework reads. Its length is that of the whole epoch, as frameworks expect."""

    def __init__(self, sampler: Any, by_batch: bool, feed: _Feed, number: int) -> None:
        super().__init__(sampler, by_batch, 0, feed.rewind, lambda _: None)
        self._feed = feed
        self._number = number
        self._ended = 0

    def __len__(self) -> int:
        return len(self._sampler)

    def begin(self, done: int) -> None:
        self._done = done
        self._ended = 0

    def __iter__(self) -> Iterator[Any]:
        # Who only looks at a batch does not end it, and so changes no order.
        turn = (self._number, self._ended)
        if self._feed.is_first(turn):
            yield from super().__iter__()
        else:
            seed = self._feed.seed_of(turn)
            # It may have no end.
            for place, index in enumerate(_SeededReader(self._sampler, seed)):
                yield self._item(seed, place, index)
        self._ended += 1


class _Collate:
    """A loader's `collate_fn`, after which the training draws from its own random numbers again."""

    def __init__(self, inner: Any, own: _Own) -> None:
        self._inner = inner
        self._own = own

    def __call__(self, samples: Any) -> Any:
        try:
            return self._own.collate(self._inner, samples)
        finally:
            self._own.end()


def _has_state(function: Any) -> bool:
    return not isinstance(function, types.FunctionType) or function.__closure__ is not None


class _LightningHooks:
    """Makes a training with Lightning's Trainer one that can be interrupted at any time.

        saving = updraft.LightningCheckpoint()
        trainer = Trainer(callbacks=[saving])
        trainer.fit(model, ckpt_path=saving.last)

    Checkpoints are Lightning's own, with what it lacks: random numbers and the place in the epoch. Averages over an
    epoch, such as `self.log(…, on_epoch=True)`, start over where the training resumes.
    """

    def __init__(
        self, *, folder: Optional[str] = None, every: Optional[float] = None, keep: Optional[int] = None,
        trust_checkpoint: bool = False
    ) -> None:
        self._attempt = _Attempt(folder, every)
        self._store = _Store(self._attempt.folder, keep or self._attempt.keep, trust_checkpoint)
        self._position = _Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._restored: Callable[[], None] = lambda: None
        self._module: Any = None
        self._gradients = _Gradients({})
        self._feed: Optional[_Feed] = None
        self._is_started = False

    @property
    def last(self) -> Optional[str]:
        """The newest checkpoint that is whole, for `ckpt_path`; None if there is none."""
        path = self._store.newest()
        if path is not None:
            # Lightning loads it, and some versions run what it names.
            self._store.read(path)
        return path

    def state_dict(self) -> dict[str, Any]:
        if self._feed is None:
            return {}
        learn = [one.requires_grad for one in self._module.parameters()]
        # With automatic optimization, it saves between two steps.
        gradients = {} if self._module.automatic_optimization else self._gradients.state()
        more = {"learn": learn, "gradients": gradients}
        return {**self._feed.state(self._position, self._attempt.interval.lives()), **more}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._resumed = state or None

    def on_train_start(self, trainer: Any, module: Any) -> None:
        if trainer.world_size > 1:
            raise SystemExit("updraft: LightningCheckpoint is for one device; with several, use ModelCheckpoint")
        if self._resumed is None and self._store.newest() is not None:
            raise SystemExit(
                f"updraft: {self._attempt.folder} has a checkpoint: pass ckpt_path=….last to fit, or remove the folder"
            )
        self._attempt.start()
        self._module = module
        optimizers = {f"optimizer {nth}": one for nth, one in enumerate(trainer.optimizers)}
        self._gradients = _Gradients({"module": module, **optimizers})
        self._attempt.progress.epochs = trainer.max_epochs if (trainer.max_epochs or 0) > 0 else None
        if self._resumed is not None:
            with self._store.using("place in the training"):
                self._position = _Position.of(self._resumed)
                self._attempt.resume(self._position, self._resumed)
            self._restored = _restorer(trainer, module)
            _announce_epoch(trainer.fit_loop)
            warnings.filterwarnings("ignore", ".*resuming from a checkpoint that ended before the epoch ended")
        self._begin_epoch(trainer)
        # Lightning has begun to read this epoch already.
        fetcher = trainer.fit_loop._data_fetcher
        iter(fetcher)
        if self._feed is not None and not self._feed.can_skip:
            # Of loaders without a length, it has read the first batches already.
            read = getattr(fetcher, "batches", [])
            for _ in range(self._position.batch):
                read.append(next(fetcher.iterator))
                read.pop(0)

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        # The first epoch has begun with the training.
        if self._is_started:
            self._position = _Position(trainer.current_epoch)
            self._begin_epoch(trainer)

    def _begin_epoch(self, trainer: Any) -> None:
        loader = trainer.train_dataloader
        if self._feed is None or self._feed.loader is not loader:
            self._feed = _Feed(loader)
        with self._store.using("begin of the epoch") if self._resumed is not None else contextlib.nullcontext():
            self._feed.begin(self._position, self._resumed, skips=True)
        batches = trainer.num_training_batches
        self._attempt.progress.steps = None if math.isinf(batches) else int(batches)

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        if self._resumed is not None:
            self._restored()
            with self._store.using("random numbers"):
                for parameter, learns in zip(module.parameters(), self._resumed.get("learn", [])):
                    parameter.requires_grad = learns
                self._gradients.restore(self._resumed.get("gradients", {}))
                _set_random(self._resumed["random"], {})
            self._resumed, self._restored = None, lambda: None
            # Otherwise it would step the schedulers of this epoch twice, taking it for one that was complete.
            trainer.fit_loop._restarting = False
        self._is_started = True
        self._position = _Position(trainer.current_epoch, batch_idx)
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self._between_batches(trainer)
        if not module.automatic_optimization:
            if batch_idx == 0:
                self._gradients.epoch_begins()
            self._gradients.batch_begins()

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        self._attempt.progress.log(self._position, {"loss": loss})

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        if self._is_started:
            self._attempt.progress.log(self._position, _reported(trainer.callback_metrics))

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
            began = time.monotonic()
            is_saved = self._store.save_now(state)
            self._attempt.interval.waited(began, time.monotonic())
            self._attempt.leave(self._position, is_saved, self._store.saves > 0)
        now = time.monotonic()
        if is_last or (not self._store.is_busy and self._attempt.interval.is_due(now)):
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
        return _without_functions(taken.state)  # type: ignore[no-any-return]


def _announce_epoch(fit_loop: Any) -> None:
    """Has every version of Lightning call `on_train_epoch_start` in a resumed epoch: it may set what no checkpoint has."""
    if getattr(fit_loop, "restarted_mid_epoch", False):
        fit_loop._restart_stage = sys.modules[type(fit_loop).__module__].RestartStage.RESTARTED_ON_EPOCH_START
        for count in (fit_loop.epoch_progress.total, fit_loop.epoch_progress.current):
            count.started -= 1


def _restorer(trainer: Any, module: Any) -> Callable[[], None]:
    """Undoes what hooks change as a resumed training starts: they had done so before it was saved."""
    parts = [module, *trainer.optimizers, *(one.scheduler for one in trainer.lr_scheduler_configs)]
    for one in trainer.callbacks:
        is_usual = type(one).on_train_epoch_start.__module__.endswith(".callbacks.callback")
        parts += [] if is_usual or isinstance(one, _LightningHooks) or not one.state_dict() else [one]
    states = [(one, _on_host(one.state_dict(), {})) for one in parts]

    def restore() -> None:
        for one, state in states:
            if one is module:
                one.load_state_dict(state, strict=False)
            elif not hasattr(one, "param_groups"):
                one.load_state_dict(state)
            elif len(one.param_groups) == len(state["param_groups"]):
                # A GPU may not have room for what it has now and for what it gets.
                one.state.clear()
                one.load_state_dict(state)

    return restore


_SUMS = "updraft.json"
"""Beside a Trainer's checkpoint: the CRC-32 of each of its files."""


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
        self, *, folder: Optional[str] = None, every: Optional[float] = None, keep: Optional[int] = None,
        trust_checkpoint: bool = False
    ) -> None:
        self._attempt = _Attempt(folder, every)
        self._trusts = trust_checkpoint
        self._keep = keep or self._attempt.keep
        self._position = _Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._feed: Optional[_Feed] = None
        self._output: Optional[str] = None
        self._path: Optional[str] = None
        self._began = 0.0
        self._saves = 0
        self._saved_step = 0
        self._failure: Optional[Exception] = None
        self._said: Any = None
        self._unread: Optional[dict[str, Any]] = None
        self._restore_skip: Callable[[], None] = lambda: None
        self._starts_over = False

    @property
    def last(self) -> Optional[str]:
        """The newest checkpoint that is whole, for `resume_from_checkpoint`; None if there is none."""
        found = [os.path.join(self._attempt.folder, name) for name in reversed(self._names())]
        self._resumed = None
        self._path = _first_whole(found, self._damage)
        self._starts_over = self._path is None
        return self._path

    def _damage(self, path: str) -> Optional[str]:
        try:
            # Earlier versions wrote none.
            sums = _read_json(os.path.join(path, _SUMS)) if os.path.exists(os.path.join(path, _SUMS)) else {}
            for name, crc in sums.items():
                if _crc_of(os.path.join(path, name)) != crc:
                    return f"{name} is not as it was written"
            self._resumed = self._read(path)
        except _Refused as error:
            raise SystemExit(f"updraft: {error}") from error
        except OSError as error:
            return f"{os.path.basename(error.filename or path)}: {error.strerror}"
        except (ValueError, AttributeError):
            return f"{_SUMS} is not as it was written"
        return None

    def _read(self, path: str) -> dict[str, Any]:
        """Ours, after those that the Trainer loads: some versions run what they name."""
        for file in os.listdir(path):
            # One it never loads.
            if file.endswith((".bin", ".pt", ".pth")) and file != "training_args.bin" and not self._trusts:
                content = _read(os.path.join(path, file), False)
                with _using(os.path.join(path, file), "random numbers"):
                    _checked(content.get("numpy") if isinstance(content, dict) else None)
        return _read(os.path.join(path, "updraft.pt"), self._trusts)  # type: ignore[no-any-return]

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if args.world_size > 1 or getattr(args, "n_gpu", 1) > 1:
            raise SystemExit("updraft: TrainerCheckpoint is for one device; with several, use save_steps")
        if getattr(args, "save_only_model", False):
            raise SystemExit("updraft: TrainerCheckpoint needs save_only_model=False, to resume")
        if state.global_step == 0 and self._names() and not self._starts_over:
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
                f"not divide: the Trainer cannot resume that exactly. Use {_divisor_near(self._steps, self._collects)}, "
                f"or leave out samples so that {self._steps - self._steps % self._collects} batches are left"
            )
        self._attempt.start()
        self._feed = _Feed(loader)
        self._attempt.progress.epochs = math.ceil(args.num_train_epochs)
        self._attempt.progress.steps = self._steps
        self._is_resumed = state.global_step > 0 and self._resumed is not None
        self._saved_step = state.global_step
        self._survive_failed_saves()
        if self._resumed is not None and self._is_resumed:
            with _using(self._path, "place in the training"):
                self._position = _Position.of(self._resumed)
                self._attempt.resume(self._position, self._resumed)
            if 0 < state.max_steps <= state.global_step:
                # Within an epoch, the Trainer would take one more step.
                self._skip_by(lambda *_: [])
                if self._steps is None:
                    object.__setattr__(getattr(loader, "base_dataloader", loader), "dataset", ())
            elif self._steps is None:
                self._resume_pass(loader)

    def _survive_failed_saves(self) -> None:
        """A checkpoint of ours that cannot be written costs no training. Callbacks do not get their trainer."""
        frame: Any = sys._getframe()
        while frame is not None and not hasattr(frame.f_locals.get("self"), "_save_checkpoint"):
            frame = frame.f_back
        if frame is None:
            return
        trainer = frame.f_locals["self"]
        usual = trainer._save_checkpoint

        def save(*args: Any, **kwargs: Any) -> None:
            if self._output is None:
                usual(*args, **kwargs)
                return
            self._failure = None
            try:
                usual(*args, **kwargs)
            except Exception as error:
                self._failure = self._in_plain_words(error)
                shutil.rmtree(trainer.args.output_dir, ignore_errors=True)
                if getattr(self._failure, "errno", None) == errno.ENOSPC and self._make_room():
                    save(*args, **kwargs)

        trainer._save_checkpoint = save

    def _resume_pass(self, loader: Any) -> None:
        """Without a length, the Trainer takes all passes over the data for one, and would skip all of their batches."""
        done = self._position.batch

        def count_passes(one: Any) -> Any:
            if hasattr(one, "set_epoch"):
                set_epoch = one.set_epoch
                one.set_epoch = lambda _: set_epoch(self._position.epoch)
            return one

        count_passes(loader)
        self._skip_by(lambda usual, one: count_passes(usual(one, done)))

    def _skip_by(self, skip: Callable[[Any, Any], Any]) -> None:
        """Instead of the Trainer, which skips batches at most once."""
        module: Any = importlib.import_module("transformers.trainer")
        usual = module.skip_first_batches

        def skip_once(loader: Any, *_: Any, **__: Any) -> Any:
            self._restore_skip()
            return skip(usual, loader)

        module.skip_first_batches = skip_once
        self._restore_skip = lambda: setattr(module, "skip_first_batches", usual)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        assert self._feed is not None
        resumed, self._resumed = (self._resumed if self._is_resumed else None), None
        if resumed is None and self._steps is not None:
            self._position = _Position(int(state.epoch or 0))
        with _using(self._path, "begin of the epoch") if resumed is not None else contextlib.nullcontext():
            self._unread = resumed and resumed["random"]
            # The Trainer itself skips what is done.
            self._feed.begin(self._position, resumed, skips=False)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._unread = None
        self._position = replace(self._position, batch=self._position.batch + self._collects)
        self._attempt.progress.log(self._position, {})
        # After the last one, the end of the epoch is the better moment: it may evaluate the model.
        if self._position.batch != self._steps:
            self._between_batches(args, state, control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        assert self._feed is not None
        if self._unread is not None:
            # No batch was left.
            with _using(self._path, "random numbers"):
                _set_random(self._unread, self._feed._generators)
        self._attempt.progress.flush()
        self._feed.end()
        self._position = _Position(self._position.epoch + 1)
        self._between_batches(args, state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        # Its epochs are fractions.
        numbers = {name: value for name, value in (logs or {}).items() if name not in ("epoch", "step")}
        is_between = self._position.batch == 0 and self._position.epoch > 0
        reported = _Position(self._position.epoch - 1, self._steps or 0) if is_between else self._position
        self._attempt.progress.log(reported, _reported(numbers))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._output is None:
            return
        part, args.output_dir, self._output = args.output_dir, self._output, None
        name = f"checkpoint-{state.global_step}"
        failure, self._failure = self._failure, None
        if failure is None:
            try:
                self._finish(os.path.join(part, name), name)
                self._saved_step, self._said = state.global_step, None
            except _Refused as error:
                if self._saves == 0:
                    # Now, rather than when hours of training are to be resumed.
                    raise SystemExit(f"updraft: {error}") from error
                failure = error
            except Exception as error:
                failure = self._in_plain_words(error)
        if failure is not None and str(failure) != self._said:
            self._said = str(failure)
            print(f"updraft: no checkpoint could be written: {failure}", file=sys.stderr, flush=True)
        shutil.rmtree(part, ignore_errors=True)
        is_saved = failure is None
        self._attempt.interval.waited(self._began, time.monotonic())
        if self._attempt.is_asked_to_leave:
            self._attempt.leave(self._position, is_saved, self._saves > 0)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._restore_skip()
        self._attempt.end()

    def _in_plain_words(self, failure: Exception) -> Exception:
        """Not every library says that the disk is full."""
        with contextlib.suppress(OSError):
            if not isinstance(failure, OSError) and shutil.disk_usage(self._attempt.folder).free < _LARGE:
                return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return failure

    def _make_room(self) -> bool:
        """Removes a damaged checkpoint or the oldest one; never the only one."""
        whole = [name for name in self._names() if int(name.split("-")[1]) <= self._saved_step]
        # Later ones are damaged, or this training would have resumed there.
        spare = [name for name in self._names() if name not in whole] + whole[:-1]
        for name in spare[:1]:
            shutil.rmtree(os.path.join(self._attempt.folder, name), ignore_errors=True)
        return len(spare) > 0

    def _between_batches(self, args: Any, state: Any, control: Any) -> None:
        now = time.monotonic()
        is_asked = self._attempt.is_asked_to_leave
        # A checkpoint that the arguments ask for stays where they say.
        if control.should_save or not (is_asked or self._attempt.interval.is_due(now)):
            return
        if is_asked:
            self._attempt.ignore_requests()
        if state.global_step == self._saved_step:
            # The training ends within an epoch, or the epoch with a batch that could have been followed by another.
            if is_asked:
                self._attempt.leave(self._position, True, True)
            return
        self._began = now
        self._output, args.output_dir = args.output_dir, os.path.join(self._attempt.folder, ".part")
        shutil.rmtree(args.output_dir, ignore_errors=True)
        control.should_save = True

    def _finish(self, path: str, name: str) -> None:
        """What the Trainer has written, completed, becomes a checkpoint by one rename."""
        assert self._feed is not None
        state = self._feed.state(self._position, self._attempt.interval.lives())
        _torch().save(state, os.path.join(path, "updraft.pt"))
        self._read(path)
        written = [os.path.join(parent, file) for parent, _, files in os.walk(path) for file in files]
        sums = {os.path.relpath(one, path): _crc_of(one) for one in written}
        _write_json(os.path.join(path, _SUMS), sums)
        for one in [*written, os.path.join(path, _SUMS)]:
            with open(one, "rb") as file:
                os.fsync(file.fileno())
        target = os.path.join(self._attempt.folder, name)
        # A damaged one may be in the way.
        shutil.rmtree(target, ignore_errors=True)
        os.replace(path, target)
        self._saves += 1
        names = self._names()
        # Later ones are damaged, or this training would have resumed there.
        kept = names[: names.index(name) + 1][-self._keep :]
        for old in set(names) - set(kept):
            shutil.rmtree(os.path.join(self._attempt.folder, old), ignore_errors=True)

    def _names(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            found = filter(re.compile(r"checkpoint-\d+").fullmatch, os.listdir(self._attempt.folder))
            return sorted(found, key=lambda name: int(name.split("-")[1]))
        return []


def _divisor_near(number: int, wanted: int) -> int:
    return min((one for one in range(1, number + 1) if number % one == 0), key=lambda one: abs(one - wanted))


def _reported(metrics: Any) -> dict[str, Any]:
    """Metrics without a `loss` that is the validation's."""
    return {name: value for name, value in dict(metrics).items() if name != "loss" or "eval_loss" not in metrics}


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


_COMPILER = "torch._dynamo"


class _CompilerStandIn(types.ModuleType):
    """Stands for `torch._dynamo` until something is compiled.

    An optimizer imports PyTorch's compiler, 1.4 s of every start, only to have some functions left alone. Until the
    compiler is there, nothing touches them anyway; whatever else is asked of it imports it.
    """

    def graph_break(self, *_: Any, **__: Any) -> None:
        """Ends a piece of a compilation: there is none."""

    def disable(self, fn: Any = None, *args: Any, **options: Any) -> Any:
        # PyTorch keeps its answer as an attribute of `fn`, which _CompilerFinder takes back. Others keep it where they like.
        if sys._getframe(1).f_globals.get("__name__") != "torch._compile":
            return _compiler_finder.load().disable(fn, *args, **options)
        _compiler_finder.left_alone[id(fn)] = fn
        return fn

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return vars(_compiler_finder.load())

    def __dir__(self) -> list[str]:
        return dir(_compiler_finder.load())

    def __getattr__(self, name: str) -> Any:
        # Whoever looks through all modules asks for such names.
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(_compiler_finder.load(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(_compiler_finder.load(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_compiler_finder.load(), name)


class _CompilerFinder:
    """Has Python find a `_CompilerStandIn`; whoever imports a part of the compiler gets all of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.left_alone: dict[int, Any] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == _COMPILER:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            return spec and _Ready.for_once(_CompilerStandIn(name), spec)
        if name.startswith(f"{_COMPILER}."):
            self.load()
            # Python has seen before that this part is not there: it would execute it a second time.
            part = sys.modules.get(name)
            return part and _Ready.for_once(part, part.__spec__)
        return None

    def load(self) -> Any:
        with self._lock:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                sys.modules.pop(_COMPILER, None)
                for fn in self.left_alone.values():
                    with contextlib.suppress(AttributeError):
                        delattr(fn, "__dynamo_disable")
        return importlib.import_module(_COMPILER)


class _Ready:
    """The loader, for one import, of a module that is there."""

    def __init__(self, module: types.ModuleType, usual: Any) -> None:
        self._module, self._usual = module, usual

    @classmethod
    def for_once(cls, module: types.ModuleType, spec: Any) -> Any:
        spec.loader = cls(module, spec.loader)
        return spec

    def create_module(self, _: Any) -> types.ModuleType:
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._usual

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)


_compiler_finder: Any = _CompilerFinder()
if "UPDRAFT_PROGRESS" in os.environ and _COMPILER not in sys.modules:
    sys.meta_path.insert(0, _compiler_finder)


def _can_begin_anywhere(loader: Any) -> bool:
    """Whether it is a torch DataLoader that another one can stand for, which begins at any batch.

    A subclass may have a `collate_fn` or a dataset of its own, as PyTorch Geometric's has, but no way of its own to read,
    unless that is known: timm's and Ultralytics' reads one endless epoch, torchdata's also skips.
    """
    torch = _torch()
    if torch is None or not isinstance(loader, torch.utils.data.DataLoader):
        return False
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        return False
    plain, kind = torch.utils.data.DataLoader, type(loader)
    reads = ("__iter__", "_get_iterator", "_index_sampler", "_auto_collation")
    is_plain = all(getattr(kind, name, None) is getattr(plain, name, None) for name in reads)
    return is_plain or _order_of(loader)[0] is not None or _is_stateful(loader)


def _inside(loader: Any) -> tuple[str, Any]:
    """The DataLoader with workers in one of accelerate, timm or tqdm, and the name it has there.

    Whatever else has loaders may combine their batches, or read one of them only.
    """
    loaders = _loaders_of(loader)
    if type(loader).__module__.split(".")[0] in ("accelerate", "timm", "tqdm") and len(loaders) == 1:
        [(name, inner)] = loaders.items()
        if _can_begin_anywhere(inner) and inner.num_workers > 0 and _length(inner) == _length(loader):
            return name, inner
    return "", None


def _loaders_of(loader: Any) -> dict[str, Any]:
    """The DataLoaders that are attributes of another loader."""
    torch = _torch()
    own = {} if torch is None else getattr(loader, "__dict__", {})
    return {name: one for name, one in own.items() if isinstance(one, torch.utils.data.DataLoader)}


def _is_stateful(loader: Any) -> bool:
    """Whether it is torchdata's."""
    return any(kind.__name__ == "StatefulDataLoader" for kind in type(loader).__mro__)


def _order_of(loader: Any) -> tuple[Optional[Any], Any, bool]:
    """What repeats the order of an epoch without end, if anything does; the order itself; and whether it is of batches."""
    by_batch = loader.batch_sampler is not None
    order = loader.batch_sampler if by_batch else loader.sampler
    # The usual way to keep workers from epoch to epoch, before PyTorch had one.
    repeats = order if type(order).__name__ == "_RepeatSampler" else None
    return repeats, order if repeats is None else repeats.sampler, by_batch


def _split_of(dataset: Any) -> list[Any]:
    """What distinguishes one random split of a dataset from another."""
    marks: list[Any] = []
    with contextlib.suppress(Exception):
        while hasattr(dataset, "dataset") and len(marks) < 10:
            marks.append(_mark_of(getattr(dataset, "__dict__", {}).get("indices")))
            dataset = dataset.dataset
    return marks


def _datasets() -> list[Any]:
    """Those of PyTorch that there are."""
    torch = _torch()
    return [one for one in gc.get_objects() if torch is not None and torch.utils.data.Dataset in type(one).__mro__]


def _marks_of(sampler: Any) -> dict[str, Any]:
    """Its numbers, and what distinguishes one order of its lists and arrays from another."""
    marks = {name: value if isinstance(value, int) else _mark_of(value) for name, value in vars(sampler).items()}
    return {name: mark for name, mark in marks.items() if mark is not None}


def _lists_of(dataset: Any) -> dict[str, int]:
    """What distinguishes one order of a dataset's names or places, of which no two are alike, from another."""
    marks = {}
    for name, value in vars(dataset).items():
        is_array = type(value).__name__ in ("ndarray", "Tensor") and value.ndim == 1
        with contextlib.suppress(Exception):
            if isinstance(value, (list, tuple)) or is_array:
                length, *items = _picked(value)
                is_order = len(set(map(repr, items))) == len(set(_picked(range(length))[1:])) > 1
                if is_order and not any(isinstance(one, float) for one in items):
                    flat = [one for each in items for one in (each if isinstance(each, list) else [each])]
                    # The same files may be in another folder.
                    folder = os.path.commonprefix([one for one in flat if isinstance(one, str) and os.sep in one])
                    texts = [one[len(folder) :] if isinstance(one, str) and os.sep in one else one for one in flat]
                    marks[name] = zlib.crc32(repr((length, texts)).encode())
    return marks


def _mark_of(value: Any) -> Optional[int]:
    """What distinguishes a list or array of plain values from others, however large it is; nothing if it is none."""
    with contextlib.suppress(Exception):
        if isinstance(value, (list, tuple, range, dict)) or hasattr(value, "tolist"):
            return zlib.crc32(repr(_picked(value)).encode())
    return None


def _picked(value: Any, count: int = 500) -> Any:
    """Its length, and its first items, its last ones, and some in between."""
    kinds: tuple[Any, ...] = (str, bytes, int, float)
    for kind in kinds:
        if isinstance(value, kind):
            # NumPy's versions print their own kinds differently.
            return kind(value)
    if value is None:
        return None
    if not isinstance(value, (list, tuple, range, dict)) and getattr(value, "ndim", 0) == 0:
        return os.fspath(value) if hasattr(value, "__fspath__") else _picked(value.item(), 0)
    if getattr(value, "ndim", 1) > 1:
        value = value.flat if hasattr(value, "flat") else value.view(-1)
    if count == 0:
        raise TypeError("too deep")
    if isinstance(value, dict):
        return [len(value), *((str(name), _picked(one, count // 10)) for name, one in itertools.islice(value.items(), count))]
    parts = [value[:count], value[-count:], value[:: len(value) // count + 1]]
    items = itertools.chain.from_iterable(one.tolist() if hasattr(one, "tolist") else one for one in parts)
    return [len(value), *(_picked(one, count // 10) for one in items)]


def _bare(loader: Any) -> Any:
    """A loader without the progress bar around it: tqdm's has it as `iterable`."""
    return getattr(loader, "iterable", loader)


def _dataset_of(loader: Any) -> Any:
    """What a loader reads: its dataset, or itself if it has none."""
    return getattr(_bare(loader), "dataset", _bare(loader))


def _batch_size_of(loader: Any) -> int:
    loader = _bare(loader)
    size = getattr(loader, "batch_size", None) or 1
    dataset = getattr(loader, "dataset", None)
    if isinstance(dataset, Stream):
        _check_batch_size(size, dataset._batch_size, "updraft.Stream")
    return size


def _check_batch_size(size: int, other: Optional[int], whose: str) -> None:
    """Positions are counted in batches, and workers share the samples of a stream by batches."""
    if other not in (None, size):
        raise SystemExit(f"updraft: the loader has batch_size={size}, {whose} has batch_size={other}; use the same")


def _generators_of(loader: Any, *, sampling: bool = False) -> dict[str, Any]:
    """Generators of its own that a loader draws from in this process, by their path; of its order only, if `sampling`."""
    loader = _bare(loader)
    batches, dataset = getattr(loader, "batch_sampler", None), getattr(loader, "dataset", None)
    roots = {"loader": loader, "sampler": getattr(loader, "sampler", None), "batches": batches}
    elsewhere = [getattr(loader, "_iterator", None)]
    if sampling or getattr(loader, "num_workers", 0) > 0:
        elsewhere += [dataset, getattr(loader, "collate_fn", None)]
    return _generators_in(_holders({**roots, "dataset": dataset}, elsewhere, shared=not sampling))


def _generators_in(holders: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, holder in holders.items():
        for name, one in list(_items_of(holder)):
            if _is_generator(one):
                # A dict may have 0 and "0".
                found[_unused(f"{path}.{name}", found)] = one
    return _each_once(found)


def _unused(path: str, found: dict[str, Any]) -> str:
    while path in found:
        path += "'"
    return path


_MAX_OBJECTS = 3000
_MAX_ITEMS = 1000
_MAX_VALUES = 100
"""Of a list: dicts, lists and tensors among its items."""


_VALUES = (str, bytes, int, float, dict, list, tuple)


def _holders(roots: dict[str, Any], elsewhere: Iterable[Any] = (), shared: bool = True) -> dict[str, Any]:
    """Dicts and lists with generators of random numbers that `roots` may draw from, by their path.

    Those are attributes, such as a dataset's, its transform's, or those of one of its transforms, and, if `shared`,
    variables of their classes and modules. What is large, such as a list of all samples, is looked at in part.
    """
    met = {id(one) for one in elsewhere}
    queue = collections.deque(roots.items())
    alive: list[Any] = []
    found: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    while queue and len(alive) < _MAX_OBJECTS:
        path, one = queue.popleft()
        if one is None or id(one) in met or isinstance(one, (str, bytes, int, float, types.ModuleType)):
            continue
        met.add(id(one))
        own, common = _parts_of(one)
        # What is no longer there would give its id to another.
        alive.append((one, own))
        for holder in own:
            items = list(itertools.islice(_items_of(holder), _MAX_ITEMS))
            if any(_is_generator(value) for _, value in items):
                found[_unused(path, found)] = holder
            objects = [item for item in items[_MAX_VALUES:] if not (isinstance(item[1], _VALUES) or _is_tensor(item[1]))]
            wanted = [item for item in [*items[:_MAX_VALUES], *objects] if not _is_generator(item[1])]
            queue.extend((f"{path}.{name}", value) for name, value in wanted)
        for each in common if shared else []:
            # A worker that is not forked has the script under another name.
            name = f"{getattr(each, '__module__', '')} {each.__name__}".replace("__mp_main__", "__main__")
            if name not in beside and isinstance(each, type) and _is_trainings(each.__module__):
                queue.extend((f"{name}.{place}", value) for place, value in list(vars(each).items()))
            beside[name] = vars(each)
    return {**found, **{path: each for path, each in beside.items() if any(map(_is_generator, list(each.values())))}}


def _parts_of(one: Any) -> tuple[list[Any], list[Any]]:
    """The dicts and lists that make up an object, and what it shares with others: its classes and their modules."""
    if isinstance(one, (dict, list, tuple, collections.deque)):
        return [one], []
    if isinstance(one, (set, frozenset)):
        # In an order that another process has, too, but for those of one class.
        return [sorted(itertools.islice(one, _MAX_ITEMS), key=lambda each: type(each).__qualname__)], []
    if isinstance(one, contextvars.ContextVar):
        with contextlib.suppress(LookupError):
            return [[one.get()]], []
        return [], []
    if isinstance(one, types.MethodType):
        return [[one.__self__, one.__func__]], []
    if isinstance(one, types.FunctionType):
        cells = []
        for cell in one.__closure__ or ():
            # An empty one.
            with contextlib.suppress(ValueError):
                cells.append(cell.cell_contents)
        more = [one.__kwdefaults__ or {}, vars(one), _globals_of(one)]
        return [cells, one.__defaults__ or (), *more], _modules(one.__module__)
    if isinstance(one, (staticmethod, classmethod, property)):
        return [[getattr(one, "__func__", None) or getattr(one, "fget", None)]], []
    if isinstance(one, types.GeneratorType):
        return ([], []) if one.gi_frame is None else ([one.gi_frame.f_locals], [])
    kind = type(one)
    if kind.__module__ in ("builtins", "itertools"):
        # What zip, map, islice and the like read from.
        return [gc.get_referents(one)] if hasattr(one, "__next__") else [], []
    own: list[Any] = [[one.func, one.args, one.keywords]] if isinstance(one, functools.partial) else []
    attributes = getattr(one, "__dict__", None)
    if isinstance(attributes, dict):
        own.append(attributes)
    slots = [name for each in kind.__mro__ for name in _slots_of(each) if not name.endswith("__")]
    if slots:
        own.append({name: getattr(one, name) for name in slots if hasattr(one, name)})
    homes = [each for each in (one if isinstance(one, type) else kind).__mro__ if _modules(each.__module__)]
    return own, [*homes, *itertools.chain.from_iterable(_modules(each.__module__) for each in homes)]


def _globals_of(function: Any) -> dict[str, Any]:
    """What a function of the training may use of its module, and of the modules there, such as a transform."""
    if not _is_trainings(function.__module__):
        return {}
    codes, known = [function.__code__], function.__globals__
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    names = [name for code in codes for name in code.co_names]
    found = {name: known[name] for name in names if name in known}
    for module, one in list(found.items()):
        if isinstance(one, types.ModuleType) and _is_trainings(one.__name__):
            found.update((f"{module}.{name}", vars(one)[name]) for name in names if name in vars(one))
    return found


def _slots_of(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    # As Python does, so that a subclass may have the same.
    private = f"_{kind.__name__.lstrip('_')}"
    return [private + name if name.startswith("__") and not name.endswith("__") else name for name in names]


def _modules(name: Optional[str]) -> list[Any]:
    """The module of this name, in a list; none if it is one of a library that has no generators of the training's own."""
    is_other = name is None or name.split(".")[0] in ("builtins", "numpy", "random", "torch")
    return [] if is_other or name not in sys.modules else [sys.modules[name]]


def _is_trainings(module: Optional[str]) -> bool:
    """Whether it is the script or a module beside it: to look through all code of libraries would take too long."""
    if module in ("__main__", "__mp_main__"):
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return file is not None and re.search(r"/lib/python3[^/]*/|/(site|dist)-packages/", file) is None


def _each_once(objects: dict[str, Any]) -> dict[str, Any]:
    """Under the first of its names."""
    first = {id(one): name for name, one in reversed(list(objects.items()))}
    return {name: one for name, one in objects.items() if first[id(one)] == name}


def _is_generator(value: Any) -> bool:
    """Whether it is a generator of random numbers that can be saved and restored."""
    torch, numpy = _torch(), _numpy()
    if isinstance(value, random.Random):
        # The global one is what `from random import randint` has as its own.
        return not isinstance(value, random.SystemRandom) and value is not getattr(random, "_inst", None)
    if numpy is not None and isinstance(value, (numpy.random.Generator, numpy.random.RandomState)):
        return True
    return torch is not None and isinstance(value, torch.Generator)


def _state_of(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.bit_generator.state if hasattr(generator, "bit_generator") else generator.get_state()


def _checked(state: Any) -> Any:
    """NumPy draws from memory beyond a state whose position is wrong."""
    place, buffered = 0, 0
    if isinstance(state, dict):
        inner = state.get("state")
        place, buffered = inner.get("pos", 0) if isinstance(inner, dict) else 0, state.get("buffer_pos", 0)
    elif isinstance(state, (tuple, list)) and len(state) > 2:
        place = state[2]
    if not (0 <= place <= 624 and 0 <= buffered <= 4):
        raise ValueError("a damaged state of NumPy's random numbers")
    return state


def _set_state_of(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif hasattr(generator, "bit_generator"):
        generator.bit_generator.state = _checked(state)
    else:
        generator.set_state(_checked(state))


def _plain(state: Any) -> Any:
    """A state without arrays of NumPy, which Lightning may refuse to load."""
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    if isinstance(state, tuple):
        return tuple(value if type(value) is int else _plain(value) for value in state)
    return state.tolist() if _numpy() is not None and isinstance(state, _numpy().ndarray) else state


def _random_now(generators: dict[str, Any], brief: bool = False) -> dict[str, Any]:
    """The state of every generator of random numbers that a training may draw from; for a moment only, if `brief`."""
    torch, numpy = _torch(), _numpy()
    state: dict[str, Any] = {"python": random.getstate(), "own": {name: _state_of(one) for name, one in generators.items()}}
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    state = state if brief else _plain(state)
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if not brief and torch.cuda.is_available() and torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def _set_random(state: dict[str, Any], generators: dict[str, Any], but: Iterable[Any] = ()) -> None:
    torch, numpy = _torch(), _numpy()
    random.setstate(state["python"])
    _set_own(state, generators, but)
    if numpy is not None and "numpy" in state:
        numpy.random.set_state(_checked(state["numpy"]))
    if torch is not None and "torch" in state:
        torch.set_rng_state(state["torch"])
        # Another machine may have another number of GPUs.
        for device, saved in enumerate(state.get("cuda", [])[: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(saved, device)


def _set_own(state: dict[str, Any], generators: dict[str, Any], but: Iterable[Any] = ()) -> None:
    """Some may stay as they are."""
    ready = {id(one) for one in but}
    saved = _own_states(state, generators)
    for name, one in generators.items():
        if name in saved and id(one) not in ready:
            _set_state_of(one, saved[name])


def _own_states(state: dict[str, Any], generators: dict[str, Any]) -> dict[str, Any]:
    # Older checkpoints have a list.
    return state["own"] if isinstance(state["own"], dict) else dict(zip(generators, state["own"]))


def _draw_seed() -> int:
    return int(_torch().empty((), dtype=_torch().int64, device="cpu").random_().item())


def _seed_all(place: tuple[int, ...], own: dict[str, Any]) -> None:
    """Gives every generator that a sample may draw from a stream of its own, by the sample's place and its own path.

    PyTorch's and NumPy's older one are the same algorithm, and draw the same from the same seed. Of a seed, both use 32
    bits, PyTorch's on a CPU: two of them coincide in one of 4 billion places.
    """
    root, torch, numpy = hashlib.blake2b(repr(place).encode()).digest(), _torch(), _numpy()
    pythons, torchs, numpys = struct.unpack_from("<QQI", root)
    random.seed(pythons)
    if torch is not None:
        torch.default_generator.manual_seed(torchs)
    if numpy is not None:
        numpy.random.seed(numpys)
    _seed_own(place, own)


def _seed_own(place: tuple[int, ...], own: dict[str, Any]) -> None:
    root = hashlib.blake2b(repr(place).encode()).digest()
    for path, one in own.items():
        digest = hashlib.blake2b(path.encode("utf-8", "surrogatepass"), key=root, digest_size=8).digest()
        seed = int.from_bytes(digest, "little")
        if hasattr(one, "bit_generator"):
            one.bit_generator.state = type(one.bit_generator)(seed).state
        elif hasattr(one, "manual_seed"):
            one.manual_seed(seed)
        else:
            one.seed(seed if isinstance(one, random.Random) else seed & 0xFFFFFFFF)


class _Own:
    """The generators that objects have now. They are looked for now and then: some are made with the first sample."""

    def __init__(self, **roots: Any) -> None:
        self._roots = roots
        self._uses = 0
        self._holders: dict[str, Any] = {}
        self._found: dict[str, Any] = {}
        self._place: tuple[int, ...] = ()
        self._aside: Any = None
        self._has_collated = False

    def __getstate__(self) -> dict[str, Any]:
        return vars(_Own(**self._roots))

    def draw(self, place: tuple[int, ...], read: Callable[[], Any]) -> Any:
        """What is read, with random numbers of its place. In the training's process, `end` puts its own back."""
        self._uses += 1
        if self._uses & (self._uses - 1) == 0:
            self._holders = _holders(self._roots)
        self._place, self._found = place, _generators_in(self._holders)
        if self._aside is None and _worker()[0] is None:
            self._aside = self._found, _random_now(self._found, brief=True)
        _seed_all(place, self._found)
        return self.draw_on(lambda: self._first(read, read)) if self._uses == 1 else self.draw_on(read)

    def collate(self, collate: Any, samples: Any) -> Any:
        if not self._has_collated and _has_state(collate):
            self._has_collated = True
            with contextlib.suppress(Exception):
                # It may change them.
                twins = copy.deepcopy(samples)
                return self._first(lambda: collate(twins), lambda: collate(samples))
        return collate(samples)

    def _first(self, read: Callable[[], Any], again: Callable[[], Any]) -> Any:
        """Reads again if it has made a generator of its own, which must draw by place, too."""
        before = _random_now(self._found, brief=True)
        drawn = read()
        self._holders = _holders(self._roots)
        known = {id(one) for one in self._found.values()}
        made = {path: one for path, one in _generators_in(self._holders).items() if id(one) not in known}
        if made:
            _set_random(before, self._found)
            _seed_own(self._place, made)
            drawn = again()
        return drawn

    def draw_on(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        if self._aside is not None:
            generators, state = self._aside
            _set_random(state, generators)
        self._aside = None


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
        if value.is_sparse:
            return value.detach().cpu().clone()
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
        # A generator's state is 625 numbers.
        return type(value)(
            one if type(one) is int else _copy_to_host(one, buffers, (*path, place)) for place, one in enumerate(value)
        )
    return copy.deepcopy(value)


def _without_functions(state: Any) -> Any:
    """Without PyTorch's functions, which some of its schedulers have in their state: a new one has them, too."""

    def is_data(value: Any) -> bool:
        value = value() if isinstance(value, weakref.WeakMethod) else value
        is_function = isinstance(value, (types.FunctionType, types.MethodType))
        return not (is_function and (value.__module__ or "").startswith("torch.optim."))

    if type(state) is dict:
        return {name: _without_functions(value) for name, value in state.items() if is_data(value)}
    if type(state) is list:
        return [_without_functions(value) if isinstance(value, (dict, list)) else value for value in state]
    return state


def _dump(state: dict[str, Any], file: Any) -> None:
    if _torch() is None:
        pickle.dump(state, file, protocol=4)
    else:
        _torch().save(state, file)


@contextlib.contextmanager
def _without_zip_checksums() -> Iterator[None]:
    """PyTorch writes the file without the checksums in it, which no one reads: its name has one of the whole file."""
    torch = _torch()
    options: Any = getattr(torch, "serialization", None)
    if not hasattr(options, "set_crc32_options"):
        yield
        return
    before = options.get_crc32_options()
    options.set_crc32_options(False)
    try:
        yield
    finally:
        options.set_crc32_options(before)


def _read(path: str, trusts: bool) -> Any:
    """A checkpoint, as tensors and plain values; if it is trusted, as whatever it says, which may be code."""
    with open(path, "rb") as file:
        is_torchs = file.read(2) == b"PK"
        file.seek(0)
        try:
            if trusts and not is_torchs:
                return pickle.load(file)
            if trusts:
                # Mapped, it is copied once, to where its tensors go. The file is never changed, only removed.
                mapped = {"mmap": True} if "mmap" in inspect.signature(_torch().load).parameters else {}
                return _torch().load(path, map_location="cpu", weights_only=False, **mapped)
            return _with_arrays(_Archive(file).read() if is_torchs else _Plain(file).load())
        except _Refused as error:
            raise _Refused(f"{path}: {error}") from None
        except Exception as error:
            # What Python says of a changed byte helps nobody.
            raise _Refused(_unusable(path, "its content cannot be read")) from error


def _unusable(path: str, why: str) -> str:
    todo = "Move it elsewhere: the training then resumes from the one before it, or starts over"
    return f"{path} is damaged, or not a checkpoint of updraft: {why}. {todo}"


@contextlib.contextmanager
def _using(path: Optional[str], what: str) -> Iterator[None]:
    """While a checkpoint that could be read is used: says of one that is wrong what is wrong, where, and what to do."""
    try:
        yield
    except StreamError:
        raise
    except _Refused as error:
        raise SystemExit(f"updraft: {path}: {error}") from error
    except Exception as error:
        raise SystemExit(f"updraft: {_unusable(path or 'the checkpoint', f'its {what} cannot be used')}") from error


class _Refused(pickle.UnpicklingError):
    """Of a checkpoint that could run code, or cannot be read."""


def _refusal(name: str) -> _Refused:
    return _Refused(
        f"the checkpoint names {name}, which is neither a tensor nor a plain value: reading it could run code. "
        "Save plain values; or, if only you can write to the checkpoint folder, pass trust_checkpoint=True"
    )


_PLAIN: tuple[Any, ...] = (set, frozenset, bytearray, complex, range, slice, list, dict, tuple)
_PLAIN += (int, float, bool, str, bytes)
_PLAIN += (collections.OrderedDict, collections.deque, collections.defaultdict)
_NAMES = {f"{one.__module__}.{one.__name__}": one for one in _PLAIN}
_NAMES.update({"builtins.xrange": range, "builtins.unicode": str, "builtins.long": int})
_STORED = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Untyped": "uint8"}
_STORED.update(Byte="uint8", Char="int8", Short="int16", Int="int32", Long="int64", Bool="bool")
_STORED.update(ComplexFloat="complex64", ComplexDouble="complex128")
_SWALR = "torch.optim.swa_utils.SWALR"


class _Plain(pickle.Unpickler):
    """Makes tensors and plain values. Of what a file names, it calls types written in C, and methods of its own only.

    PyTorch's `weights_only` lacks floats in 1.13, and could run code before 2.6.
    """

    _ours = {
        "_codecs.encode": "_bytes",
        "builtins.getattr": "_annealing",
        "collections.Counter": "_counter",
        "torch._utils._rebuild_tensor_v2": "_tensor",
        "torch._utils._rebuild_tensor_v3": "_tensor",
        "torch._utils._rebuild_parameter": "_parameter",
        "torch._utils._rebuild_sparse_tensor": "_sparse",
        "torch.serialization._get_layout": "_layout",
        "numpy.dtype": "_dtype",
        "numpy.ndarray": "_array",
        "numpy.core.multiarray._reconstruct": "_array",
        "numpy.core.multiarray.scalar": "_scalar",
    }

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}".replace("__builtin__.", "builtins.").replace("numpy._core.", "numpy.core.")
        if full in self._ours:
            return getattr(self, self._ours[full])
        if full in _NAMES or full == _SWALR:
            return _NAMES.get(full, full)
        torch = _torch()
        if torch is not None and module in ("torch", "torch.storage"):
            found = getattr(torch, _STORED.get(name[:-7], "") if name.endswith("Storage") else name, None)
            if isinstance(found, torch.dtype) or found in (torch.Size, torch.device):
                return found
        raise _refusal(full)

    def _bytes(self, text: str, _: str) -> bytes:
        return text.encode("latin1")

    def _annealing(self, scheduler: Any, name: Any) -> Any:
        """The function that this scheduler has in its state."""
        if scheduler != _SWALR or name not in ("_cosine_anneal", "_linear_anneal"):
            raise _refusal(f"{scheduler}.{name}")
        return getattr(_torch().optim.swa_utils.SWALR, name)

    def _counter(self, counts: dict[Any, int]) -> Any:
        return collections.Counter(counts)

    def _tensor(self, stored: Any, offset: int, size: Any, stride: Any, learns: bool, _: Any, *more: Any) -> Any:
        if more[:1] and isinstance(more[0], _torch().dtype):
            stored, more = stored.view(more[0]), more[1:]
        if any(more):
            raise _refusal("a tensor of an unknown kind")
        return stored.as_strided(size, stride, offset).requires_grad_(bool(learns))

    def _parameter(self, data: Any, learns: bool, _: Any) -> Any:
        return _torch().nn.Parameter(data, bool(learns))

    def _layout(self, name: str) -> str:
        return name

    def _sparse(self, layout: str, parts: Any) -> Any:
        indices, values, size, *more = parts
        limits = _torch().tensor(tuple(size)[: len(indices)]).unsqueeze(1)
        if layout != "torch.sparse_coo" or bool(((indices < 0) | (indices >= limits)).any()):
            raise _refusal("a sparse tensor of an unknown kind")
        made = _torch().sparse_coo_tensor(indices, values, tuple(size))
        return made.coalesce() if any(more) else made

    def _dtype(self, name: str, *_: Any) -> Any:
        return _Array(name)

    def _array(self, *_: Any) -> Any:
        return _Array("")

    def _scalar(self, dtype: Any, data: bytes) -> Any:
        return dtype.filled(data)[0]


class _Array:
    """Stands for an array of NumPy's, or its dtype, while it is read: what they say of themselves could corrupt memory."""

    made: Any = None

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype

    def __setstate__(self, state: Any) -> None:
        if not self._dtype:
            _, shape, dtype, is_fortran, data = state
            self.made = dtype.filled(data).reshape(shape, order="F" if is_fortran else "C")
        elif re.fullmatch(r"[biufcSU]\d{1,6}", self._dtype) and state[2:5] == (None, None, None):
            self.made = (">" if state[1] == ">" else "<") + self._dtype
        else:
            raise _refusal(f"numpy.dtype({self._dtype!r})")

    def filled(self, data: bytes) -> Any:
        return importlib.import_module("numpy").frombuffer(data, self.made).copy()


def _with_arrays(value: Any) -> Any:
    if isinstance(value, _Array):
        return importlib.import_module("numpy").dtype(value.made) if isinstance(value.made, str) else value.made
    if isinstance(value, (dict, list, collections.deque)):
        for place, one in list(_items_of(value)):
            # Most are numbers.
            if isinstance(one, (_Array, dict, list, tuple, collections.deque)):
                value[place] = _with_arrays(one)
    elif type(value) is tuple and not all(isinstance(one, int) for one in value):
        return tuple(map(_with_arrays, value))
    return value


class _Archive:
    """What PyTorch saves: a zip, not compressed, of a pickle and the bytes of tensors, which are mapped.

    Whoever else may load it, as frameworks do, must find the same in it: no name twice, nothing before it, no program.
    """

    def __init__(self, file: Any) -> None:
        files = zipfile.ZipFile(file).infolist()
        self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._folder = files[0].filename.split("/")[0]
        self._files = {one.filename.lower(): one for one in files}
        programs = [name for name in self._files if name.endswith(".pkl")]
        if len(self._files) < len(files) or len(programs) > 1 or files[0].header_offset != 0:
            raise ValueError("it is a zip of another kind than torch.save writes")
        self._stored: dict[Any, Any] = {}

    def read(self) -> Any:
        begin, size = self._find("data.pkl")
        reader = _Plain(io.BytesIO(self._mapped[begin : begin + size]))
        setattr(reader, "persistent_load", self._load)
        return reader.load()

    def _find(self, name: str) -> tuple[int, int]:
        """Its first byte, and its size. Its checksum may be missing; the whole file has one."""
        info = self._files[f"{self._folder}/{name}".lower()]
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError("it is compressed")
        lengths = struct.unpack_from("<HH", self._mapped, info.header_offset + 26)
        return info.header_offset + 30 + sum(lengths), info.file_size

    def _load(self, what: Any) -> Any:
        """The bytes of one or more tensors."""
        _, dtype, key, _, count = what
        if count == 0:
            return _torch().empty(0, dtype=dtype)
        if (key, dtype) not in self._stored:
            begin, _ = self._find(f"data/{key}")
            self._stored[key, dtype] = _torch().frombuffer(self._mapped, dtype=dtype, count=count, offset=begin)
        return self._stored[key, dtype]


class _Reading(threading.Thread):
    """Reads a checkpoint, beside what comes before `updraft.training`, which needs its checksum."""

    _under_way: dict[str, _Reading] = {}

    def __init__(self, path: str) -> None:
        super().__init__(name="updraft-reading", daemon=True)
        self._path = path
        self._crc: Optional[int] = None

    @classmethod
    def begin(cls, path: str) -> None:
        # Without a thread, it is read later.
        with contextlib.suppress(RuntimeError):
            reading = cls(path)
            reading.start()
            cls._under_way[path] = reading

    @classmethod
    def crc_of(cls, path: str) -> int:
        reading = cls._under_way.pop(path, None)
        if reading is not None:
            reading.join()
        return _crc_of(path) if reading is None or reading._crc is None else reading._crc

    def run(self) -> None:
        with contextlib.suppress(OSError):
            self._crc = _crc_of(self._path)


def _crc_of(path: str) -> int:
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            crc = zlib.crc32(piece, crc)
    return crc


class StreamError(RuntimeError):
    """A shard is damaged, or the data set is not the one that the checkpoint was made with."""


class Stream:
    """The samples of a data set of tar shards, read from the tars as they are, while Updraft brings them.

        stream = updraft.Stream("data", batch_size=256, transform=decode)
        loader = torch.utils.data.DataLoader(stream, batch_size=256, num_workers=6)

    A sample is a dict, as WebDataset has it: its name as `__key__`, and the bytes of each of its files by extension.
    Files of one sample follow one another and have the same name up to the first dot. Nothing in a shard is executed:
    decoding is what `transform` does.

    The order depends on `seed` and the epoch only, not on the number of workers: shards are permuted, and the samples
    of each `block` of shards are shuffled together. `run.batches` of `updraft.training` resumes at the very next sample; a
    loop of your own calls `set_epoch` before each epoch. With PyTorch loaded, this is an `IterableDataset`.
    """

    def __new__(cls, *_: Any, **__: Any) -> Stream:
        return object.__new__(_as_torch_dataset(cls))

    def __init__(
        self,
        folder: str,
        *,
        batch_size: Optional[int] = None,
        seed: int = 0,
        transform: Optional[Callable[[dict[str, Any]], Any]] = None,
        shuffle: bool = True,
        block: Optional[int] = None,
    ) -> None:
        _refuse_several("updraft.Stream", "read the shards with WebDataset")
        self._batch_size = batch_size
        self._shards = _Shards(folder)
        self._seed, self._shuffle, self._transform = seed, shuffle, transform
        self._own = _Own(transform=transform)
        self._block = self._shards.block_that_fits(block) if shuffle else 1
        self._waited = 0.0
        self._epochs: Optional[float] = None
        """How many the training wants, if it has said so."""
        self._early: Any = None
        self._is_early = False
        """In workers: whether they were started before the training."""
        self._start_file: Optional[str] = None
        if _torch() is not None:
            # Workers that persist from epoch to epoch have a copy of this object: they read where to begin.
            handle, self._start_file = tempfile.mkstemp(".json", "updraft-stream-")
            os.close(handle)
            for own in (self._start_file, self._pause_file):
                weakref.finalize(self, _remove_own, own, os.getpid())
        self._begin_at(_Start())
        if not os.path.exists(self._shards.hint or ""):
            self._want(self._start)

    def set_epoch(self, epoch: int) -> None:
        """Begins at the first sample of this epoch, counted from 0."""
        if epoch != self._start.epoch:
            self._begin_at(_Start(epoch))

    def updraft_seek(self, epoch: int, samples: int) -> None:
        """Begins after this many samples of the epoch. Shards before them are not read, if their sizes are known."""
        self._seek(epoch, samples)

    def _seek(self, epoch: int, samples: int, run: Optional[int] = None) -> None:
        self._begin_at(self._start_after(epoch, samples), run)
        self._want(self._start)

    def state_dict(self) -> dict[str, Any]:
        """All that a reader elsewhere needs. With workers, the position is known to `run.batches` only."""
        state = {
            "format": _FORMAT,
            "shards": self._shards.identity,
            "order": [self._seed, self._shuffle, self._block],
            "epoch": self._next.epoch,
            "samples": self._next.samples,
            "run": self._start.run,
            "counts": self._shards.counts_so_far(),
        }
        self._leave_hint(state)
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["shards"] != self._shards.identity:
            raise StreamError(f"the shards in {self._shards.folder} are not those of the checkpoint; use those, or start over without it")
        seed, shuffle, block = state["order"]
        if (seed, shuffle) != (self._seed, self._shuffle):
            raise StreamError(f"the checkpoint has seed={seed}, shuffle={shuffle}; use the same")
        self._block = self._shards.block_that_fits(block) if shuffle else 1
        self._shards.counts = list(state["counts"])
        self._seek(state["epoch"], state["samples"], state.get("run"))

    def __len__(self) -> int:
        """Samples of an epoch, once the sizes of all shards are known."""
        return self._shards.samples()

    def __getitem__(self, _: Any) -> Any:
        raise TypeError("updraft.Stream has no index; to use it with a DataLoader, import torch before you make it")

    def __iter__(self) -> Iterator[Any]:
        worker, workers = _worker()
        if workers > 1 and self._batch_size is None:
            raise ValueError("with several workers, updraft.Stream needs the batch_size of the loader")
        start = self._start if worker is None or self._start_file is None else _Start(**_read_json(self._start_file))
        if not worker:
            self._want(start)
        if worker is not None and gc.get_freeze_count() == 0:
            # Its many lists of samples would have Python look through all of PyTorch's objects again and again.
            gc.freeze()
        samples = self._samples(start, worker or 0, workers)
        return samples if worker is not None else self._counted(start, samples)

    def __reduce__(self) -> Any:
        plain = next(kind for kind in type(self).__mro__ if kind.__module__ != "updraft torch")
        return _new_stream, (plain,), {**self.__dict__, "_early": None}

    def _note_position(self, epoch: int, samples: int) -> None:
        """What only a training knows if its loader has workers: they read ahead."""
        self._next = _Start(epoch, samples)

    def _read_early(self, loader: Any) -> None:
        """Begins where the training will resume, or begin, and reads ahead in the loader's workers or in a thread."""
        if self._shards.stream_folder is None:
            return
        hint = self._shards.hint
        if hint is not None and os.path.exists(hint):
            try:
                self.load_state_dict(_read_json(hint)["state"])
            except (OSError, ValueError, KeyError, TypeError, StreamError):
                return
        if getattr(loader, "num_workers", 0) == 0:
            for first in self._blocks(self._start.epoch)[self._start.block :][:1]:
                threading.Thread(target=self._shards.index_soon, args=[first], name="updraft-prefetch", daemon=True).start()
            return
        # What the loader draws now it must not have drawn: the training restores, and draws, its numbers later.
        generators = _generators_of(loader)
        drawn = _random_now(generators, brief=True)
        _write_text(self._pause_file, "")
        self._is_early = True
        self._early = (loader, self._start, iter(loader))
        self._is_early = False
        _set_random(drawn, generators)

    def _take_early(self, loader: Any) -> Any:
        """The batches that this loader reads already; None if it reads none, or not from where it should."""
        early, self._early = self._early, None
        if early is None:
            return None
        _remove_own(self._pause_file, os.getpid())
        its, start, batches = early
        # With workers that persist, whoever else has read from the loader has read from these.
        is_unread = getattr(batches, "_num_yielded", 0) == 0
        return batches if its is loader and start == self._start and is_unread else None

    @property
    def _pause_file(self) -> str:
        """As long as it is there, only the first batch is read: PyTorch needs the cores to start."""
        return f"{self._start_file}.pause"

    def _pause(self) -> None:
        # Not forever: a training that never asks for its batches should still end.
        until = time.monotonic() + 30
        while os.path.exists(self._pause_file) and not _Requests.to_leave and time.monotonic() < until:
            time.sleep(0.01)

    def _counted(self, start: _Start, samples: Iterator[Any]) -> Iterator[Any]:
        """The samples, read by the process that also saves: it knows the position, and when the epoch has ended."""
        self._next = start
        for sample in samples:
            self._next = replace(self._next, samples=self._next.samples + 1)
            yield sample
        self._begin_at(_Start(start.epoch + 1))

    def _samples(self, start: _Start, worker: int, workers: int) -> Iterator[Any]:
        """What a worker reads: of every `workers` batches from `start` on, its own."""
        size = self._batch_size or 1
        before, place, is_taken = start.before, 0, not self._is_early
        # Two streams of one training draw apart.
        drawn_from = (start.run, *self._shards.identity, self._seed, start.epoch)
        with _Reader(self._shards.stream_folder, start.epoch, self._waited) as reader:
            if self._is_early:
                reader.is_needed = lambda: start == _Start(**_read_json(self._start_file or ""))
            for number, shards in enumerate(self._blocks(start.epoch)[start.block :], start.block):
                reader.begin(place)
                with contextlib.ExitStack() as files:
                    # Each worker begins with another shard, so that they share the work of indexing.
                    turn = worker * len(shards) // workers
                    opened = {one: self._shards.open(one, reader, files) for one in shards[turn:] + shards[:turn]}
                    self._waited = reader.waited
                    order = [(opened[one], sample) for one in shards for sample in opened[one].samples]
                    if self._shuffle:
                        random.Random(f"{self._seed} {start.epoch} {number}").shuffle(order)
                    first = max(0, start.samples - before)
                    for nth, (shard, sample) in enumerate(order[first:], before + first):
                        batch = (nth - start.samples) // size
                        if batch % workers == worker:
                            if batch > 0 and not is_taken:
                                self._pause()
                                is_taken = True
                            yield self._decoded(shard.read(sample), (*drawn_from, nth))
                before, place = before + len(order), place + len(shards)
        if before == 0:
            raise StreamError(f"{self._shards.folder} has no samples: their files need an extension, like 0001.jpg")

    def _decoded(self, sample: dict[str, Any], place: tuple[int, ...]) -> Any:
        transform = self._transform
        if transform is None or _torch() is None:
            return sample if transform is None else transform(sample)
        try:
            # Whichever worker decodes it, or none, a sample draws the same random numbers.
            return self._own.draw(place, lambda: transform(dict(sample)))
        finally:
            self._own.end()

    def _blocks(self, epoch: int) -> list[list[int]]:
        """The shards of each block. The first blocks of a training are small, so that its first batch comes early."""
        order = list(range(len(self._shards.names)))
        if self._shuffle:
            random.Random(f"{self._seed} {epoch}").shuffle(order)
        blocks, size = [], 1 if epoch == 0 else self._block
        while order:
            blocks.append(order[:size])
            order = order[size:]
            size = min(2 * size, self._block)
        return blocks

    def _start_after(self, epoch: int, samples: int) -> _Start:
        """In the block of this sample, as far as the sizes of the shards before it are known."""
        start = _Start(epoch, samples)
        for shards in self._blocks(epoch):
            before = _sum_of([self._shards.count(shard) for shard in shards], start.before)
            if before is None or before > samples:
                break
            start = replace(start, block=start.block + 1, before=before)
        return start

    def _begin_at(self, start: _Start, run: Optional[int] = None) -> None:
        if run is None:
            # The training's own seed, restored with its random numbers: other seeds, other augmentation.
            run = 0 if _torch() is None else int(_torch().initial_seed())
        self._start = self._next = replace(start, run=run)
        if self._start_file is not None:
            _write_json(self._start_file, vars(self._start))

    def _wanted(self, start: _Start) -> dict[str, Any]:
        rest = self._blocks(start.epoch)[start.block :]
        if self._epochs is None or start.epoch + 1 < self._epochs:
            rest += self._blocks(start.epoch + 1)
        order = list(itertools.chain.from_iterable(rest))
        return {"format": _FORMAT, "epoch": start.epoch, "order": order, "block": self._block}

    def _want(self, start: _Start) -> None:
        if self._shards.stream_folder is not None:
            _write_json(os.path.join(self._shards.stream_folder, "wanted.json"), self._wanted(start))

    def _leave_hint(self, state: dict[str, Any]) -> None:
        """Leaves what a resumed training will want first beside its checkpoint: the agent brings it while Python starts."""
        if self._shards.hint is not None:
            wanted = self._wanted(self._start_after(state["epoch"], state["samples"]))
            with contextlib.suppress(OSError):
                _write_json(self._shards.hint, {**wanted, "state": state})


def prefetch(loader: Any) -> Any:
    """Lets a loader of a `Stream` read its first batch, also of a resumed training, while the model is made; the loader.

        loader = updraft.prefetch(DataLoader(stream, batch_size=256, num_workers=6))

    For `run.batches`. Without Updraft it does nothing.
    """
    stream = _dataset_of(loader)
    if not isinstance(stream, Stream):
        raise TypeError(f"updraft.prefetch needs a loader of an updraft.Stream, not of {type(stream).__name__}")
    attempt = _Attempt(None, None)
    if attempt.is_guarded:
        _shield_workers()
    stream._read_early(_bare(loader))
    if attempt.is_guarded:
        for path in _Store(attempt.folder, attempt.keep).paths()[:1]:
            _Reading.begin(path)
    return loader


def _as_torch_dataset(kind: type) -> type:
    """The class, as an IterableDataset if PyTorch is loaded: a DataLoader accepts nothing else."""
    torch = _torch()
    if torch is None or issubclass(kind, torch.utils.data.IterableDataset):
        return kind
    if kind not in _torch_datasets:
        bases = (kind, torch.utils.data.IterableDataset)
        _torch_datasets[kind] = type(kind.__name__, bases, {"__module__": "updraft torch", "__doc__": kind.__doc__})
    return _torch_datasets[kind]


_torch_datasets: dict[type, type] = {}


def _new_stream(kind: type[Stream]) -> Stream:
    return kind.__new__(kind)


def _worker() -> tuple[Optional[int], int]:
    """The number of this worker of a DataLoader, none in the process of the training, and how many there are."""
    info = None if _torch() is None else _torch().utils.data.get_worker_info()
    return (None, 1) if info is None else (info.id, info.num_workers)


@dataclass(frozen=True)
class _Start:
    """Where an epoch begins: after `samples` samples, in block `block`, which has `before` samples before it.

    `run` is what the random numbers of its samples come from, beside their place.
    """

    epoch: int = 0
    samples: int = 0
    block: int = 0
    before: int = 0
    run: int = 0


_BLOCK_BYTES = 1_000_000_000
"""A resumed training needs a whole block at once: 8 s at 120 MB/s."""
_MAX_BLOCK = 16
_INDEX_FORMAT = 3
"""On a laptop, indexes of an earlier version may be beside the shards."""


class _Shards:
    """The tars of a folder: listed, counted, and opened as they arrive.

    With Updraft, `.stream/list.json` lists them, whether they are there yet or not. Without, the tars that are there
    are all there are. Offsets are kept in `.stream/index`, also of shards that were removed meanwhile.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        listed = os.path.join(folder, ".stream", "list.json")
        self._is_brought = os.path.exists(listed)
        self._keep: Optional[int] = None
        if self._is_brought:
            content = _read_json(listed)
            shards = [(one["name"], one.get("bytes"), one.get("samples")) for one in content["shards"]]
            self._keep = content.get("keep")
        else:
            found = os.listdir(folder) if os.path.isdir(folder) else []
            names = sorted(name for name in found if name.endswith(".tar") and not name.startswith("."))
            for name in sorted(found):
                stem, dot, how = name.rpartition(".tar.")
                if dot and how in ("gz", "bz2", "xz", "zst") and f"{stem}.tar" not in names:
                    raise _compressed(os.path.join(folder, name), how)
            shards = [(name, os.path.getsize(os.path.join(folder, name)), None) for name in names]
        if not shards:
            raise StreamError(_why_no_shards(folder))
        self.names, self._bytes, counts = (list(column) for column in zip(*shards))
        for name in self.names:
            if os.path.basename(name) != name or name in ("", ".", ".."):
                raise StreamError(f"{listed}: {name!r} is not a file name")
        self.counts: list[Optional[int]] = counts
        self._indexes: dict[int, list[Any]] = {}

    @property
    def stream_folder(self) -> Optional[str]:
        """Where the agent and the readers leave notes for each other."""
        return os.path.join(self.folder, ".stream") if self._is_brought else None

    @property
    def hint(self) -> Optional[str]:
        saved = os.environ.get("UPDRAFT_CHECKPOINT")
        if saved is None or not self._is_brought:
            return None
        return os.path.join(saved, f"stream-{os.path.basename(os.path.abspath(self.folder))}.json")

    @property
    def identity(self) -> list[int]:
        """The number of shards, and a checksum of their names and sizes."""
        return [len(self.names), zlib.crc32(repr([self.names, self._bytes]).encode())]

    def block_that_fits(self, block: Optional[int]) -> int:
        largest: Optional[int] = max((size for size in self._bytes if size is not None), default=None)
        keep = self._keep
        if largest is None:
            # Sizes that nobody knows before the shards have come.
            return block or (4 if keep is None else 2)
        if block is None:
            limit = _BLOCK_BYTES if keep is None else min(_BLOCK_BYTES, keep // 2)
            at_least = 2 if keep is None or keep >= 4 * largest else 1
            return max(at_least, min(_MAX_BLOCK, limit // max(1, largest)))
        if keep is not None and block * largest > keep:
            need = f"a block of {block} shards needs {block * largest / 1e9:.1f} GB"
            raise StreamError(f"{need}; keep is {keep / 1e9:.1f} GB")
        return max(1, block)

    def count(self, number: int) -> Optional[int]:
        """Samples of a shard, if that can be known now."""
        if self.counts[number] is None:
            with contextlib.suppress(FileNotFoundError):
                index = self._saved_index(number, only_count=True)
                self.counts[number] = len(self._index(number)) if index is None else index
        return self.counts[number]

    def counts_so_far(self) -> list[Optional[int]]:
        indexed: set[str] = set()
        with contextlib.suppress(OSError):
            indexed.update(os.listdir(self._index_folder))
        for number, name in enumerate(self.names):
            if self.counts[number] is None and f"{name}.json" in indexed:
                self.counts[number] = self._saved_index(number, only_count=True)
        return list(self.counts)

    def samples(self) -> int:
        counts = self.counts_so_far() if self._is_brought else [self.count(one) for one in range(len(self.names))]
        total = _sum_of(counts)
        if total is None:
            raise TypeError("the number of samples is not known before all shards have arrived once")
        return total

    def open(self, number: int, reader: _Reader, files: contextlib.ExitStack) -> _Shard:
        """Waits for a shard. Once open, it may be removed."""
        path = os.path.join(self.folder, self.names[number])
        while True:
            try:
                file = files.enter_context(open(path, "rb", buffering=0))
                break
            except FileNotFoundError:
                if not self._is_brought:
                    raise StreamError(f"{path} is gone") from None
                reader.wait()
        samples = self._index(number, file)
        if self.counts[number] not in (None, len(samples)):
            raise StreamError(f"{path} has {len(samples)} samples, not {self.counts[number]} as listed")
        self.counts[number] = len(samples)
        return _Shard(path, file, samples)

    def index_soon(self, numbers: list[int]) -> None:
        """Indexes shards as they come. What is wrong with one, its reader will say."""
        for number in numbers:
            path = os.path.join(self.folder, self.names[number])
            while self._is_brought and not os.path.exists(path):
                time.sleep(0.02)
            with contextlib.suppress(OSError, StreamError):
                self._index(number)

    @property
    def _index_folder(self) -> str:
        return os.path.join(self.folder, ".stream", "index")

    def _index(self, number: int, file: Any = None) -> list[Any]:
        if number in self._indexes:
            return self._indexes[number]
        samples: Optional[list[Any]] = self._saved_index(number)
        if samples is None:
            path = os.path.join(self.folder, self.names[number])
            with contextlib.ExitStack() as stack:
                tar = stack.enter_context(open(path, "rb", buffering=0)) if file is None else file
                samples = _samples_of(_members(tar, path), path)
            try:
                lines = [self._index_mark(number, len(samples)), samples]
                text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
                _write_text(os.path.join(self._index_folder, f"{self.names[number]}.json"), text)
            except OSError:
                # A folder that cannot be written to: each process remembers.
                self._indexes[number] = samples
        return samples

    def _index_mark(self, number: int, samples: int) -> dict[str, Any]:
        """The first line of an index: what it is of. A shard that is brought again has another time, but the same size."""
        changed = None if self._is_brought else os.stat(os.path.join(self.folder, self.names[number])).st_mtime_ns
        return {"format": _INDEX_FORMAT, "samples": samples, "bytes": self._bytes[number], "changed": changed}

    def _saved_index(self, number: int, only_count: bool = False) -> Any:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open(os.path.join(self._index_folder, f"{self.names[number]}.json"), encoding="ascii") as file:
                mark = json.loads(file.readline())
                if mark != self._index_mark(number, mark["samples"]):
                    return None
                return mark["samples"] if only_count else json.loads(file.readline())
        return None


def _why_no_shards(folder: str) -> str:
    if os.path.isdir(folder):
        return f"{folder} has no tar shards: no file there is named *.tar"
    if os.path.isfile(folder) or "://" in folder or set(folder) & set("{}*?[]"):
        where = "give it the folder, such as the one that `into` of a [data] table names"
        return f"updraft.Stream reads all tar shards of a folder, and {folder!r} is not one; {where}"
    return f"{os.path.abspath(folder)} has no tar shards: there is no such folder"


def _compressed(path: str, how: str) -> StreamError:
    todo = "such a shard cannot be read from the middle; decompress it to a plain .tar (gunzip, unxz, unzstd)"
    return StreamError(f"{path} is compressed ({how}): {todo}")


_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class _Shard:
    """An open shard: each sample is its name, then extension, offset and size of each of its files."""

    path: str
    file: Any
    samples: list[Any]

    def read(self, sample: Any) -> dict[str, Any]:
        name, *files = sample
        content: dict[str, Any] = {"__key__": name}
        for extension, offset, size in zip(*[iter(files)] * 3):
            content[extension] = data = _read_at(self.file, offset, size)
            if len(data) != size:
                raise StreamError(f"{self.path} was cut off: {name} at byte {offset} has {len(data)} of {size} bytes")
        return content


class _Reader:
    """What a process reports to the agent: from which place on it needs shards, and how long it has waited for them."""

    def __init__(self, folder: Optional[str], epoch: int, waited: float) -> None:
        self._file = None if folder is None else os.path.join(folder, "at", f"{os.getpid()}.json")
        self._epoch, self._place = epoch, 0
        self._parent = os.getppid()
        self._written = 0.0
        self.waited = waited
        self.is_needed: Callable[[], bool] = lambda: True
        """Whether the training still begins where this one has."""

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.remove(self._file)

    def begin(self, place: int) -> None:
        self._place = place
        self._write()

    def wait(self) -> None:
        if _Requests.to_leave:
            raise _Leaving("asked to leave while waiting for a shard")
        if os.getppid() != self._parent:
            raise SystemExit("the training has ended")
        if not self.is_needed():
            raise StreamError("the training begins elsewhere")
        began = time.monotonic()
        time.sleep(0.02)
        self.waited += time.monotonic() - began
        if began - self._written > 1:
            self._write()

    def _write(self) -> None:
        if self._file is None:
            return
        self._written = time.monotonic()
        place = {"epoch": self._epoch, "position": self._place, "waited": round(self.waited, 3), "pid": os.getpid()}
        _write_json(self._file, place)


_TAR_BLOCK = 512
_TAR_END = bytes(_TAR_BLOCK)
_TAR_PIECE = 4 * _TAR_BLOCK
_MAX_META = 1 << 20


def _members(file: Any, path: str) -> Iterator[tuple[str, int, int]]:
    """Name, offset and size of every regular file of a tar, from its headers only."""
    end, at = os.fstat(file.fileno()).st_size, 0
    name, size = None, None
    piece, first = b"", 0
    while True:
        # The next header after a small file is in the same piece.
        if at + _TAR_BLOCK > first + len(piece):
            piece, first = _read_at(file, at, _TAR_PIECE), at
        header = piece[at - first : at - first + _TAR_BLOCK]
        if at == 0:
            for mark, packed in _PACKED.items():
                if header.startswith(mark):
                    raise _compressed(path, packed)
        if len(header) < _TAR_BLOCK:
            raise StreamError(f"{path} is cut off at byte {at + len(header)}: it has no end mark")
        if header == _TAR_END:
            return
        try:
            kind = _checked_kind(header)
            data = at + _TAR_BLOCK
            # Links, devices and folders have no bytes, whatever their headers say.
            stored = 0 if kind in b"123456" else _tar_number(header[124:136])
            if kind not in b"123456xgLK" and size is not None:
                stored = size
            if not 0 <= stored <= end - data:
                raise ValueError(f"{stored} bytes should follow; the file ends at byte {end}")
            if kind == b"x":
                fields = _pax_fields(_meta(file, data, stored))
                name, size = fields.get("path", name), _number_in(fields["size"], 10) if "size" in fields else size
            elif kind == b"L":
                name = _text(_meta(file, data, stored))
        except ValueError as error:
            raise StreamError(f"{path} is damaged, or no tar, at byte {at}: {error}") from error
        at = data + -(-stored // _TAR_BLOCK) * _TAR_BLOCK
        if kind in b"xgLK":
            continue
        if kind not in b"123456":
            yield name or _tar_name(header), data, stored
        name, size = None, None


def _checked_kind(header: bytes) -> bytes:
    # Adler-32 has the sum of all bytes in it, and takes a tenth of the time of `sum`.
    total = (zlib.adler32(header) & 0xFFFF) - 1 - sum(header[148:156]) + 8 * ord(" ")
    if (total - _tar_number(header[148:156])) % 65521 != 0:
        raise ValueError("wrong checksum of a header")
    kind = header[156:157]
    if kind == b"S":
        raise ValueError("a sparse file")
    # Before POSIX, a folder was a file with a slash at its end.
    return b"5" if kind in b"\0" and header[:100].rstrip(b"\0").endswith(b"/") else kind


def _tar_number(field: bytes) -> int:
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    return _number_in(field.strip(b" \0") or b"0", 8)


def _number_in(digits: Any, base: int) -> int:
    try:
        return int(digits, base)
    except ValueError:
        raise ValueError("a header has something else where a number should be") from None


def _tar_name(header: bytes) -> str:
    name = _text(header[:100])
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _meta(file: Any, offset: int, size: int) -> bytes:
    if size > _MAX_META:
        raise ValueError(f"a name of {size} bytes")
    return _read_at(file, offset, size)


def _pax_fields(data: bytes) -> dict[str, str]:
    fields = {}
    while data:
        digits, _, _ = data.partition(b" ")
        length = _number_in(digits, 10)
        if not len(digits) < length <= len(data):
            raise ValueError(f"a field of {length} bytes in an extended header of {len(data)}")
        record, data = data[:length], data[length:]
        name, _, value = record[len(digits) + 1 : -1].partition(b"=")
        fields[_text(name)] = _text(value)
    if any(name.startswith("GNU.sparse") for name in fields):
        raise ValueError("a sparse file")
    return fields


_META_FOLDER = re.compile(r"__[^/]*__(/|$)")


def _samples_of(members: Iterable[tuple[str, int, int]], path: str) -> list[Any]:
    """Groups files by WebDataset's rule. Files without a dot, hidden ones and `__meta__/…` belong to no sample."""
    samples: list[Any] = []
    for name, offset, size in members:
        stem, dot, extension = name[name.rfind("/") + 1 :].partition(".")
        if not stem or not dot or (name.startswith("__") and _META_FOLDER.match(name)):
            continue
        key = name[: len(name) - len(extension) - 1]
        if not samples or samples[-1][0] != key:
            samples.append([key])
        sample = samples[-1]
        if extension.lower() in sample[1::3]:
            raise StreamError(f"{path} has {name} twice, at byte {offset} again")
        sample += extension.lower(), offset, size
    return samples


def _sum_of(counts: Iterable[Optional[int]], start: int = 0) -> Optional[int]:
    """None if one of them is not known."""
    total = start
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _read_at(file: Any, offset: int, size: int) -> bytes:
    data = os.pread(file.fileno(), size, offset)
    while len(data) < size:
        more = os.pread(file.fileno(), size - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def _read_json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _write_json(path: str, value: Any) -> None:
    _write_text(path, json.dumps(value))


def _write_text(path: str, text: str) -> None:
    """Written under another name, then renamed: whoever reads it sees all of it."""
    part = f"{path}.{os.getpid()}.part"
    try:
        file = open(part, "w", encoding="utf-8")
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(part, "w", encoding="utf-8")
    with file:
        file.write(text)
    os.replace(part, path)


def _remove_own(path: str, process: int) -> None:
    """Removes a file, unless this process is a fork of the one that made it."""
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            os.remove(path)


class _Leaving(StreamError):
    """Raised by a stream that waits for a shard when the training is asked to leave: it may never come."""


class _Requests:
    to_leave = False


def _request_to_leave(*_: Any) -> None:
    _Requests.to_leave = True
