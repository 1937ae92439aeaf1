"""A training that can be interrupted at any time."""

from __future__ import annotations

import math
import os
import sys
import time
import types
from dataclasses import astuple, replace
from typing import Any, Callable, Iterable, Iterator, Optional, TypeVar

from .attempt import Attempt
from .errors import Leaving
from .generators import each_once
from .leaving import unfreed
from .loaded import get_torch
from .loaders import can_begin_anywhere, check_batch_size, dataset_of, is_shared, length_of, undecoded, without_bar
from .loading import Share, batch_size_of, steps_of
from .objects import Objects
from .parts import read_parts, take_parts, write_parts
from .position import CHECKPOINT_FORMAT, Position
from .progress import Means, averaged
from .randomness import random_now, seed_all, set_random
from .reads import Reads
from .stream import Stream

Batch = TypeVar("Batch")


def training(
    *objects: Any,
    folder: Optional[str] = None,
    every: Optional[float] = None,
    keep: Optional[int] = None,
    trust_checkpoint: bool = False,
    **named: Any,
) -> Training:
    """What is to be saved and restored: anything with `state_dict` and `load_state_dict`, generators of random numbers of
    the training's own, and its dicts, lists and deques of plain values or tensors.

    `every` is the time between checkpoints in seconds; without it, it follows from what a checkpoint costs. `keep` is the
    number of checkpoints in `folder`. With `trust_checkpoint`, reading one runs whatever code it names.
    """
    names = {f"object {place}": value for place, value in enumerate(objects, 1)}
    return Training({**names, **named}, folder=folder, every=every, keep=keep, trusts=trust_checkpoint)


class Training(Reads):
    """A training that can be interrupted at any time. Made by `training`, used in a `with` statement."""

    def __init__(
        self, objects: dict[str, Any], *, folder: Optional[str], every: Optional[float], keep: Optional[int],
        trusts: bool = False
    ) -> None:
        super().__init__(Objects(objects), Attempt(folder, every), keep, trusts)
        self._interval = self._attempt.interval
        self._progress = self._attempt.progress
        self._loop = -1
        self._begin: Any = None
        self._held: Optional[dict[str, Any]] = None
        self._held_for = ""
        self._is_open = self._is_sharded = False
        self._means = Means()
        self._paused_after: Optional[Position] = None
        self._attempt.leave_at_once = self._leave_if_paused

    def __enter__(self) -> Training:
        self._attempt.start()
        self._is_open = True
        ranks = self._attempt.ranks
        self._checks.speaks = ranks.rank == 0
        self._is_sharded = self._objects.are_sharded()
        name = ranks.of_first(os.path.basename(self._store.newest() or "") if ranks.rank == 0 else None)
        if name:
            self._resume(os.path.join(self._store.folder, name))
        self._share = Share(ranks.rank, ranks.count, is_elastic=self._seed is not None or ranks.count > 1)
        if self._share.is_elastic:
            self._seed = ranks.of_first(int(get_torch().initial_seed()) if self._seed is None else self._seed)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._is_open = False
        try:
            self._attempt.end()
        finally:
            self._store.wait()
        if kind is None:
            self._forget_loaders()

    @property
    def epoch(self) -> int:
        """The current epoch, counted from 0."""
        return self._position.epoch

    @property
    def batch(self) -> int:
        """The current batch of the loop, counted from 0, also after a resume: `enumerate` would start over."""
        return self._position.batch

    def epochs(self, total: int) -> Iterator[int]:
        """The epochs that are left of `total`, counted from 0, the interrupted one first."""
        self._check_is_open()
        if not isinstance(total, float) and not hasattr(total, "__index__"):
            raise TypeError(f"run.epochs takes the number of epochs, as in run.epochs(10), not a {type(total).__name__}")
        self._progress.epochs = total
        if self._resumed is not None:
            self._say_resumed(total)
            # What an epoch draws before its loop, such as an order, it draws again.
            is_between = self._resumed["epoch_random"] is None
            if is_between and self._resumed.get("samples"):
                self._checks.note_datasets()
            with self._store.using("begin of the epoch"):
                begin = self._resumed["random" if is_between else "begin"]
                set_random(begin, self._handed)
                for name, values in begin.get("values", {}).items():
                    self._objects[name].load_state_dict(values)
        while self._position.epoch < total:
            self._loop = 0
            self._begin = random_now(self._handed)
            self._begin["values"] = self._objects.values_now()
            yield self._position.epoch
            self._loop = -1
            self._resumed = None
            self._means = Means()
            self._position = Position(self._position.epoch + 1)
            self._epoch_random = self._paused_after = None
            self._epoch_ends(is_last=self._position.epoch >= total)

    def steps(self, total: int) -> Iterator[int]:
        """The steps that are left of `total`, counted from 0, of a training without epochs."""
        for _ in self.epochs(1):
            yield from self.batches(range(total))

    def enumerate(self, loader: Iterable[Batch], *, accumulate: int = 1) -> Iterator[tuple[int, Batch]]:
        """`batches`, each with its number in the loop, also after a resume."""
        for batch in self.batches(loader, accumulate=accumulate):
            yield self._position.batch, batch

    def batches(self, loader: Iterable[Batch], *, accumulate: int = 1) -> Iterator[Batch]:
        """The batches that are left of this loop. An epoch may have several, one after the other.

        With `accumulate`, the number of batches whose gradients are collected, it saves only in between.
        A dataset with `updraft_seek(epoch, samples)` begins there by itself, and its `state_dict` is saved.
        """
        self._check_is_open()
        if self._loop < 0 or self._reading is not None:
            where = "run.batches goes into each epoch of run.epochs(…), which takes the place of range(…)"
            raise RuntimeError(f"{where}; within its loop, iterate over other loaders directly")
        loop, self._loop = self._loop, self._loop + 1
        if loop == 0:
            self._loaders = {}
        if self._resumed is None:
            self._position = Position(self._position.epoch, loop=loop)
        elif loop < self._position.loop:
            # It is done; what it drew from is saved with the loop that follows.
            self._loaders.update(self._generators_in(loader, loop))
            return
        if loader is self._spent:
            kind = type(loader).__name__
            raise RuntimeError(
                f"run.batches was given this {kind} in an earlier epoch: after an interruption it would start over. "
                "Give it the loader itself, or make a new iterator in each epoch"
            )
        if isinstance(loader, types.GeneratorType) or type(loader).__module__ in ("builtins", "itertools"):
            self._spent = loader if hasattr(loader, "__next__") else None
        self._objects.gradients.epoch_begins()
        done = 0
        self._loader, self._stream = loader, None
        known = len(each_once({**self._handed, **self._loaders}))
        self._find_generators()
        if loop > 0 and len(self._generators) > known:
            self._checks.warn(
                f"hand over the generators that loop {loop + 1} of an epoch draws from: an epoch that is resumed before it "
                "cannot restore them"
            )
        if hasattr(loader, "__next__") and len(self._generators) > len(self._handed):
            self._checks.warn(
                f"hand over the generators that the loaders of this {type(loader).__name__} have: it may have drawn from "
                "them before run.batches can restore them"
            )
        self._checks.check_order(without_bar(loader))
        count = self._attempt.ranks.count
        share = replace(self._share, is_taken=count > 1 and is_shared(loader))
        self._batch_size = size = batch_size_of(loader) * (count if share.is_taken else 1)
        self._checks.check_samples(dataset_of(loader), self._resumed)
        # accelerate counts the batches since its last step itself, from 0.
        accumulate = max(accumulate, getattr(getattr(without_bar(loader), "gradient_state", None), "num_steps", 1))
        if self._resumed is not None:
            done = self._position.batch
            if done > 0:
                self._check_processes(loader)
                check_batch_size(size, self._resumed.get("batch_size"), "the checkpoint")
            with self._store.using("random numbers"):
                self._restore_epoch(self._resumed, can_begin_anywhere(undecoded(loader)))
        self._epoch_random = random_now(self._generators)
        self._order_random = self._random_of_order(loop)
        self._progress.steps = length = steps_of(loader, share)
        if length != length_of(loader):
            self._checks.warn("the last batch is left out: it has fewer samples than there are processes")
        rest = self._seeking(loader, done, share)
        self._reading, self._paused_after = rest, None
        saved: Optional[Position] = None
        self._checks.note_loop(sys._getframe(1))
        try:
            for batch in self._until_asked(rest):
                if self._held is not None:
                    self._save(self._held_for)
                    self._held = None
                self._objects.gradients.batch_begins()
                yield batch
                self._position = replace(self._position, batch=self._position.batch + 1)
                self._progress.samples += size
                # After the last batch, the end of the epoch is the better moment: a resumed loop would be empty.
                if self._position.batch % accumulate != 0 or self._position.batch == length:
                    continue
                stop = self._attempt.agree(self._store.is_busy)
                if stop and length is None:
                    # Only the next batch shows that this was not the last one; reading it may draw random numbers.
                    self._held, self._held_for = self._place(), stop
                elif stop or self._position.batch + accumulate >= (length or math.inf):
                    saved = self._position if self._save(stop, is_offered=True) else None
            # Validation may follow.
            self._paused_after = saved
        finally:
            self._reading = self._held = None
            self._restore_loader()
            # Once: it is the training's own again.
            self._restore_loader = lambda: None

    def log(self, **metrics: Any) -> None:
        """Reports metrics, such as `loss` and `accuracy`. They are written, and a GPU's are read, about once a second."""
        self._progress.log(self._position, metrics)

    def mean(self, **metrics: Any) -> dict[str, Any]:
        """Adds metrics of a batch, reports their means over the epoch, and returns these: of interrupted ones, too."""
        means = self._means.add(metrics)
        if metrics and self._position.batch + 1 == self._progress.steps and self._share.count > 1:
            means = self._means_of_all(list(metrics))
        self.log(**{name: means[name] for name in metrics})
        return means

    def _means_of_all(self, names: list[str]) -> dict[str, Any]:
        ranks = self._attempt.ranks
        mine = self._means.plain(names)
        each = ranks.gather(lambda: mine, "mean")()
        self._means.sums.update(ranks.of_first(averaged([mine, *each]) if ranks.rank == 0 else None, "mean of all"))
        return self._means.add({})

    def _check_is_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("run.epochs and run.batches go into the statement `with updraft.training(…) as run:`")

    def _leave_if_paused(self) -> None:
        """When it is asked to, while it validates: from its place before the last batch. The others leave with it."""
        if self._paused_after is not None and self._attempt.ranks.rank == 0:
            self._attempt.ignore_requests()
            self._attempt.leave(self._paused_after, self._store.wait(), self._store.saved)

    def _epoch_ends(self, is_last: bool) -> None:
        stop = self._attempt.agree(self._store.is_busy)
        # All of several processes know that this is the end, and not yet that one of them was asked to leave.
        is_alone = self._attempt.ranks.count == 1
        if stop or is_last:
            self._save("save" if is_last and not (is_alone and stop) else stop)

    def _save(self, stop: str, is_offered: bool = False) -> bool:
        """Where all processes are at the same place. The first one may decide by itself whether to take an offer."""
        ranks, now = self._attempt.ranks, time.monotonic()
        if self._is_sharded:
            return stop != "" and self._save_parts(stop)
        is_cheap = is_offered and not self._store.is_busy and self._interval.can_afford(now)
        others = ranks.gather(self._mine, is_wanted=stop != "" or is_cheap)
        if stop == "leave" and ranks.rank > 0:
            ranks.wait_to_leave()
        elif stop == "leave":
            self._leave(lambda state: _joined(state, others()))
        elif ranks.rank == 0 and (stop or is_cheap):
            self._store.save_soon(self._state, self._interval.written, lambda state: _joined(state, others()))
            self._interval.waited(now, time.monotonic())
            return True
        return False

    def _save_parts(self, stop: str) -> bool:
        """In all processes, each its own; while the training waits."""
        ranks, began, store = self._attempt.ranks, time.monotonic(), self._store
        if stop == "leave":
            self._attempt.ignore_requests()
        state, parts = take_parts(self._state())
        others = ranks.gather(self._mine)
        if ranks.rank == 0:
            store.clear_part()
        is_saved, mine = False, {}
        try:
            mine = write_parts(store.part, ranks.rank, parts)
        except Exception as error:
            # PyTorch has it fail in all of them.
            self._attempt.say(f"no checkpoint could be written: {str(error).splitlines()[-1]}")
        each = ranks.gather(lambda: mine, "parts")
        if ranks.rank == 0:
            files = [mine, *each()]
            if all(files):
                is_saved = store.finish_parts(_joined(state, others()), {name: one for part in files for name, one in part.items()})
            self._interval.waited(began, time.monotonic())
        if stop == "leave" and ranks.rank > 0:
            ranks.wait_to_leave()
        if stop == "leave":
            unfreed.append(self._reading)
            self._attempt.leave(self._position, is_saved, store.saved)
        return is_saved

    def _leave(self, complete: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> None:
        if self._is_sharded:
            self._save_parts("leave")
        self._attempt.ignore_requests()
        began = time.monotonic()
        is_saved = self._store.save_now(self._state, complete)
        self._interval.waited(began, time.monotonic())
        # Freed on the way out, it would wait for its workers to end; they are killed.
        unfreed.append(self._reading)
        self._attempt.leave(self._position, is_saved, self._store.saved)

    def _until_asked(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches, or the way out if it is asked to leave while a stream waits for data, or loses workers to that."""
        ranks = self._attempt.ranks
        if self._attempt.is_asked_to_leave and isinstance(self._stream, Stream) and ranks.count == 1:
            # Workers that were not there yet have not been asked, and may wait forever.
            self._leave()
        try:
            yield from batches
        except RuntimeError as error:
            is_way_out = isinstance(error, Leaving) or str(error).startswith("DataLoader worker")
            if not is_way_out or not self._attempt.is_asked_to_leave:
                raise
            if ranks.count == 1:
                self._leave()
            # The others may be within this batch.
            self._attempt.ignore_requests()
            if ranks.rank > 0:
                ranks.wait_to_leave()
            self._attempt.leave(self._position, self._store.wait(), self._store.saved)

    def _place(self) -> dict[str, Any]:
        """What reading the next batch may change."""
        if isinstance(self._stream, Stream):
            self._stream._note_position(self._position.epoch, self._position.batch * (self._batch_size or 1))
        stream = self._stream.state_dict() if hasattr(self._stream, "state_dict") else None
        # A loader may have replaced one; an iterator at its end has none any more.
        self._find_generators()
        return {"random": random_now(self._generators), "stream": stream}

    def _state(self) -> dict[str, Any]:
        for inner in self._objects.left_out():
            self._checks.warn(f"{inner} starts over when it is resumed: hand it to updraft.training, too")
        if self._reading is not None:
            self._checks.check_loop(sys._getframe(1))
        return {
            "format": CHECKPOINT_FORMAT,
            "position": astuple(self._position),
            "means": self._means.sums if self._share.count == 1 else self._means.plain(),
            "processes": self._share.count,
            "seed": self._seed,
            "order": self._order_random if self._share.is_elastic else None,
            "batch_size": self._batch_size,
            "samples": self._checks.samples,
            "epoch_random": self._epoch_random,
            "begin": self._begin,
            **(self._held or self._place()),
            "lives": self._interval.lives(),
            **self._objects.state(),
        }

    def _mine(self) -> dict[str, Any]:
        """What a process that is not the first one has of its own."""
        begin = {name: one for name, one in (self._begin or {}).items() if name != "values"}
        random = (self._held or {"random": random_now(self._generators)})["random"]
        return {"random": random, "epoch_random": self._epoch_random, "begin": begin, "means": self._means.plain()}

    def _of_rank(self, state: dict[str, Any]) -> dict[str, Any]:
        """A checkpoint, with what was this process's own. One more than there were has random numbers of its own."""
        rank, others = self._attempt.ranks.rank, state.get("others", [])
        # One process alone draws the order from what it draws everything else from.
        state["order"] = state.get("order") or state["epoch_random"]
        if rank == 0:
            return state
        if rank <= len(others):
            own = others[rank - 1]
        else:
            seed_all((*state["position"], rank), self._handed)
            now = random_now(self._handed)
            own = {"random": now, "epoch_random": state["epoch_random"] and now, "begin": now}
        begin = state["begin"] and {**own["begin"], "values": state["begin"].get("values", {})}
        return {**state, "random": own["random"], "epoch_random": own["epoch_random"], "begin": begin}

    def _resume(self, path: str) -> None:
        if not os.path.exists(path):
            raise SystemExit(f"updraft: there is no {path} here: all nodes must share the checkpoint folder")
        state = self._read(path)
        with self._store.using("content"):
            saved = sorted([*state["objects"], *state.get("generators", [])])
            # As they will be used.
            self._position = Position.of(state)
            is_between = state["epoch_random"] is None
            for part in (state["random"], state["begin"] or {}, state.get("samples", {})):
                dict(part)
        ours = self._objects.names()
        if saved != ours:
            raise SystemExit(
                f"updraft: the checkpoint in {self._store.folder} is of another training: it has {', '.join(saved)}; "
                f"this one has {', '.join(ours)}. Remove the folder to start over."
            )
        state = self._with_parts(state, path)
        self._objects.restore(state, self._store)
        # Within an epoch, they are loaded again before its loop. An object may keep, and change, what it has loaded.
        self._resumed = state if is_between else self._with_parts(self._read(path), path)
        self._seed = state.get("seed")
        with self._store.using("times"):
            self._attempt.resume(None, state)
            self._means = Means(state.get("means", {}))

    def _read(self, path: str) -> dict[str, Any]:
        state = self._store.read(path)
        with self._store.using("content"):
            return self._of_rank(state)

    def _with_parts(self, state: dict[str, Any], path: str) -> dict[str, Any]:
        if not os.path.isdir(path):
            return state
        with self._store.using("parts"):
            return read_parts(state, path, self._objects.like, self._trusts)

    def _say_resumed(self, total: int) -> None:
        is_done = self._position.epoch >= total
        done = f"all {total} epochs are done; remove {self._store.folder} to train again"
        self._attempt.say(done if is_done else f"resuming in {self._position}")


def _joined(state: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """A checkpoint of all processes."""
    if not others:
        return state
    means = averaged([state["means"], *(one["means"] for one in others)])
    return {**state, "means": means, "others": [{**one, "means": None} for one in others]}
