"""A data set that is read from its tar shards."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import random
import tempfile
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from .errors import StreamError
from .files import read_json, remove_own, write_json
from .loaded import JOINED, get_torch, joined, this_worker
from .loaders import check_share, options_of
from .ranks import this_rank
from .randomness import OwnGenerators
from .shards import Reader, Shards, sum_of

_FORMAT = 1


if TYPE_CHECKING:
    from torch.utils.data import IterableDataset

    _Dataset = IterableDataset[Any]
else:
    _Dataset = object


class Stream(_Dataset):
    """The samples of a data set of tar shards, read from the tars as they are, while Updraft brings them.

        stream = updraft.Stream("data", batch_size=256, transform=decode)
        loader = torch.utils.data.DataLoader(stream, batch_size=256, num_workers=6)

    A sample is a dict, as WebDataset has it: its name as `__key__`, and the bytes of each of its files by extension.
    The order depends on `seed` and the epoch only: shards are permuted, and the samples of each `block` of shards are
    shuffled together. `run.batches` resumes at the very next sample; a loop of your own calls `set_epoch` before each epoch.
    """

    def __new__(cls, *_: Any, **__: Any) -> Stream:
        # A DataLoader accepts nothing else.
        torch = get_torch()
        return object.__new__(cls if torch is None else joined(cls, torch.utils.data.IterableDataset))

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
        self._batch_size = batch_size
        self._shards = Shards(folder)
        self._seed, self._shuffle, self._transform = seed, shuffle, transform
        self._own = OwnGenerators(transform=transform)
        self._block = self._shards.block_that_fits(block) if shuffle else 1
        self._waited = 0.0
        self._is_counted = True
        self._epochs: Optional[float] = None
        """How many the training wants, if it has said so."""
        self._of_process: dict[str, Any] = {"rank": 0, "ranks": 1, "drops": False}
        self._mine: Any = None
        """The user's loader, and one for this process's part of its batches."""
        self._start_file: Optional[str] = None
        if get_torch() is not None:
            # Workers that persist from epoch to epoch have a copy of this object: they read where to begin.
            handle, self._start_file = tempfile.mkstemp(".json", "updraft-stream-")
            os.close(handle)
            weakref.finalize(self, remove_own, self._start_file, os.getpid())
        self._begin_at(Start())
        if not os.path.exists(self._shards.hint or ""):
            self._want(self._start)

    def set_epoch(self, epoch: int) -> None:
        """Begins at the first sample of this epoch, counted from 0."""
        if epoch != self._start.epoch:
            self._begin_at(Start(epoch))

    def updraft_seek(self, epoch: int, samples: int) -> None:
        """Begins after this many samples of the epoch. Shards before them are not read, if their sizes are known."""
        self._seek(epoch, samples)

    def _seek(self, epoch: int, samples: int, run: Optional[int] = None) -> None:
        self._begin_at(self._start_after(epoch, samples), run)
        self._want(self._start)

    def updraft_place(self) -> tuple[tuple[int, ...], int]:
        """What the random numbers of the samples come from, beside their place in the epoch, and the first place."""
        return self._drawn_from(self._start), self._start.samples

    def updraft_is_plain(self) -> bool:
        """Whether samples are read as they are. Then a thread may read ahead, and whoever has it do so notes the position."""
        self._is_counted = self._transform is not None
        return not self._is_counted

    def updraft_note(self, samples: int) -> None:
        """That the training has been given this many samples of the epoch."""
        self._note_position(self._start.epoch, samples)

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
        worker, workers = this_worker()
        if workers > 1 and self._batch_size is None:
            raise ValueError("with several workers, updraft.Stream needs the batch_size of the loader")
        start = self._start if worker is None or self._start_file is None else Start(**read_json(self._start_file))
        if not worker:
            self._want(start)
        if worker is not None and gc.get_freeze_count() < 10_000:
            # Its many lists of samples would have Python look through all of PyTorch's objects again and again.
            gc.freeze()
        samples = self._samples(start, worker or 0, workers)
        return self._counted(start, samples) if worker is None and self._is_counted else samples

    def __reduce__(self) -> Any:
        plain = next(kind for kind in type(self).__mro__ if kind.__module__ != JOINED)
        return _new_stream, (plain,), {**self.__dict__, "_mine": None}

    def _loader_of_rank(self, loader: Any) -> Any:
        """One of this stream that has this process's part of each batch. Others begin before the processes are known."""
        rank, ranks = this_rank()
        if ranks == 1:
            return loader
        if self._batch_size is None or not hasattr(loader, "batch_size") or type(loader).__module__.startswith("accelerate"):
            raise SystemExit("updraft: with several processes, updraft.Stream needs a batch_size, and PyTorch's own DataLoader")
        check_share(loader, ranks)
        self._of_process = {"rank": rank, "ranks": ranks, "drops": loader.drop_last}
        if self._mine is None or self._mine[0] is not loader:
            options = options_of(loader, loader.persistent_workers)
            made = get_torch().utils.data.DataLoader(self, loader.batch_size // ranks, **options)
            self._mine = loader, made
        return self._mine[1]

    def _note_position(self, epoch: int, samples: int) -> None:
        """What only a training knows if its loader has workers: they read ahead."""
        self._next = Start(epoch, samples)

    def _counted(self, start: Start, samples: Iterator[Any]) -> Iterator[Any]:
        """The samples, read by the process that also saves: it knows the position, and when the epoch has ended."""
        self._next = start
        for sample in samples:
            self._next = replace(self._next, samples=self._next.samples + 1)
            yield sample
        self._begin_at(Start(start.epoch + 1))

    def _samples(self, start: Start, worker: int, workers: int) -> Iterator[Any]:
        """What a worker reads: of every `workers` batches from `start` on, its own."""
        size = self._batch_size or 1
        before, place = start.before, 0
        held: list[Any] = []
        drawn_from = self._drawn_from(start)
        with Reader(self._shards.stream_folder, start.epoch, self._waited) as reader:
            for number, shards in enumerate(self._blocks(start.epoch)[start.block :], start.block):
                reader.begin(place)
                with contextlib.ExitStack() as files:
                    # Each worker begins with another shard, so that they share the work of indexing.
                    turn = worker * len(shards) // workers
                    opened = {one: self._shards.open(one, reader, files) for one in shards[turn:] + shards[:turn]}
                    self._waited = reader.waited
                    # Numbers: pairs would have Python look through all of PyTorch's objects for garbage, again and again.
                    wide = max(len(one.samples) for one in opened.values())
                    order = [wide * one + nth for one in shards for nth in range(len(opened[one].samples))]
                    if self._shuffle:
                        random.Random(f"{self._seed} {start.epoch} {number}").shuffle(order)
                    first = max(0, start.samples - before)
                    for nth, one in enumerate(order[first:], before + first):
                        batch, at = divmod(nth - start.samples, size)
                        if batch % workers == worker and at % start.ranks == start.rank:
                            shard = opened[one // wide]
                            held.append((shard.read(one % wide), (*drawn_from, nth)))
                        # Only all of a batch is one for each process.
                        if start.ranks == 1 or at == size - 1:
                            yield from (self._decoded(*one) for one in held)
                            held.clear()
                before, place = before + len(order), place + len(shards)
        if not start.drops and (before - start.samples) % size >= start.ranks:
            yield from (self._decoded(*one) for one in held)
        if before == 0:
            raise StreamError(f"{self._shards.folder} has no samples: their files need an extension, like 0001.jpg")

    def _drawn_from(self, start: Start) -> tuple[int, ...]:
        # Two streams of one training draw apart.
        return (start.run, *self._shards.identity, self._seed, start.epoch)

    def _decoded(self, sample: dict[str, Any], place: tuple[int, ...]) -> Any:
        transform = self._transform
        if transform is None or get_torch() is None:
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

    def _start_after(self, epoch: int, samples: int) -> Start:
        """In the block of this sample, as far as the sizes of the shards before it are known."""
        start = Start(epoch, samples)
        for shards in self._blocks(epoch):
            before = sum_of([self._shards.count(shard) for shard in shards], start.before)
            if before is None or before > samples:
                break
            start = replace(start, block=start.block + 1, before=before)
        return start

    def _begin_at(self, start: Start, run: Optional[int] = None) -> None:
        if run is None:
            # The training's own seed, restored with its random numbers: other seeds, other augmentation.
            run = 0 if get_torch() is None else int(get_torch().initial_seed())
        self._start = self._next = replace(start, run=run, **self._of_process)
        if self._start_file is not None:
            write_json(self._start_file, vars(self._start))

    def _wanted(self, start: Start) -> dict[str, Any]:
        rest = self._blocks(start.epoch)[start.block :]
        if self._epochs is None or start.epoch + 1 < self._epochs:
            rest += self._blocks(start.epoch + 1)
        order = list(itertools.chain.from_iterable(rest))
        return {"format": _FORMAT, "epoch": start.epoch, "order": order, "block": self._block}

    def _want(self, start: Start) -> None:
        if self._shards.stream_folder is not None:
            write_json(os.path.join(self._shards.stream_folder, "wanted.json"), self._wanted(start))

    def _leave_hint(self, state: dict[str, Any]) -> None:
        """Leaves what a resumed training will want first beside its checkpoint: the agent brings it while Python starts."""
        if self._shards.hint is not None:
            wanted = self._wanted(self._start_after(state["epoch"], state["samples"]))
            with contextlib.suppress(OSError):
                write_json(self._shards.hint, wanted)


def _new_stream(kind: type[Stream]) -> Stream:
    return kind.__new__(kind)


@dataclass(frozen=True)
class Start:
    """Where an epoch begins: after `samples` samples, in block `block`, which has `before` samples before it.

    `run` is what the random numbers of its samples come from, beside their place. Of several processes, this one reads
    every `ranks`-th sample of a batch from `rank` on, and of a last batch that is not whole nothing if it `drops` it.
    """

    epoch: int = 0
    samples: int = 0
    block: int = 0
    before: int = 0
    run: int = 0
    rank: int = 0
    ranks: int = 1
    drops: bool = False
