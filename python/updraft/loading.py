"""Loaders that begin at any batch, and whose samples draw random numbers of their own."""

import contextlib
import itertools
import random
from dataclasses import dataclass
from typing import Any, Callable, Generator, Iterable, Iterator, Optional

from .loaded import get_torch
from .loaders import check_batch_size, length_of, options_of, order_of, undecoded, without_bar
from .randomness import OwnGenerators, draw_seed, has_state, random_now, seed_all, set_random
from .stream import Stream


@dataclass(frozen=True)
class Share:
    """What a process takes of each batch: of several processes, every `count`-th sample from `rank` on."""

    rank: int = 0
    count: int = 1
    is_taken: bool = False
    """Whether its sampler has done so."""
    is_elastic: bool = False
    """Whether as many processes as one likes may go on: without workers, too, each sample draws random numbers of its own."""


def beginning_after(
    done: int,
    loader: Any,
    rewind: Callable[[], None],
    caught_up: Callable[[bool], None],
    share: Share = Share(),
) -> Any:
    """A torch DataLoader like `loader` that begins after `done` batches and makes workers' random numbers repeatable.

    A worker's generators depend on all that it has loaded before. Here each sample seeds them, by the epoch's seed and
    its place in the epoch, so a resumed epoch, or one with other workers, draws the same numbers for it.
    """
    repeats, order, by_batch = order_of(loader)
    sampler = Sampler(order, by_batch, done, rewind, caught_up, share)
    dataset = Dataset(loader, share.is_elastic)
    # A loader that is used for the rest of an epoch only ends with it.
    persists = (loader.persistent_workers or repeats is not None) and done == 0
    options = {**options_of(loader, persists), "collate_fn": dataset.collate_fn()}
    options.update({"batch_sampler": sampler} if by_batch else {"sampler": sampler, "batch_size": None})
    return get_torch().utils.data.DataLoader(dataset, **options)


class SeededReader:
    """Reads an iterable with random numbers that begin with the epoch, apart from those that the training draws meanwhile.

    What reads ahead, shuffles as it goes or starts over within an epoch is then the same when it is read again.
    """

    def __init__(self, iterable: Iterable[Any], seed: Optional[int] = None) -> None:
        if seed is None:
            seed = random.getrandbits(63) if get_torch() is None else draw_seed()
        self._its: Optional[dict[str, Any]] = None
        with self._drawing():
            seed_all((seed,), {})
            self._iterator = iter(iterable)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with self._drawing():
            return next(self._iterator)

    @contextlib.contextmanager
    def _drawing(self) -> Generator[None, None, None]:
        trainings = random_now({}, brief=True)
        if self._its is not None:
            set_random(self._its, {})
        try:
            yield
        finally:
            self._its = random_now({}, brief=True)
            set_random(trainings, {})


class Sampler:
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
        share: Share = Share(),
    ) -> None:
        self._share = share
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
        seed = draw_seed()
        # All at once: what a sampler draws later would mix with the numbers that the training draws.
        is_drawn, length = _draws_at_once(self._sampler), length_of(self._sampler)
        indices = iter(self._sampler)
        size = (getattr(self._sampler, "batch_size", None) or 1) if self._by_batch else 1
        is_listed = self._share.count > 1 or (length is not None and length * size <= _MAX_INDICES)
        if not is_drawn and is_listed:
            is_drawn, indices = True, iter(list(indices))
        next(itertools.islice(indices, self._done, self._done), None)
        # It is drawn with the first one.
        drawn = list(itertools.islice(indices, 1)) if is_drawn else []
        self._caught_up(is_drawn)
        for place, index in enumerate(itertools.chain(drawn, indices), self._done):
            item = self._item(seed, place, index)
            if not item:
                return
            yield item

    def _item(self, seed: int, place: int, index: Any) -> Any:
        """None if it is a last batch with fewer samples than there are processes."""
        rank, count, is_taken = self._share.rank, self._share.count, self._share.is_taken
        if not self._by_batch:
            return (seed, place), index
        if not is_taken and len(index) < count:
            return None
        mine = index if is_taken else index[rank::count]
        return [((seed, place, rank + count * nth), one) for nth, one in enumerate(mine)]


_MAX_INDICES = 10_000_000
"""A list of them takes up to 400 MB. A longer one is read as it comes."""


def _draws_at_once(sampler: Any) -> bool:
    """Whether it is one of PyTorch's own that draws from the global generators only for its first index."""
    data = get_torch().utils.data
    while type(sampler) is data.BatchSampler:
        sampler = sampler.sampler
    known = (data.SequentialSampler, data.RandomSampler, data.SubsetRandomSampler, data.WeightedRandomSampler)
    return type(sampler) in known and getattr(sampler, "generator", None) is None


class Dataset:
    """A loader's dataset: each sample, requested with its place, draws random numbers of its own; without workers, each
    batch does, which takes less time.

    Otherwise it is the dataset: a `worker_init_fn` may open files in it.
    """

    def __init__(self, loader: Any, by_sample: bool = False) -> None:
        own = OwnGenerators(dataset=loader.dataset, collate=loader.collate_fn)
        self.__dict__.update(_dataset=loader.dataset, _collate=loader.collate_fn, _own=own)
        self.__dict__.update(_is_here=loader.num_workers == 0, _by_sample=by_sample)

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
        if many is None or self._by_sample:
            return [self[item] for item in items]
        return self._drawn(items[0][0], lambda: many([index for _, index in items]))

    def collate_fn(self) -> Any:
        """What is done last to a batch."""
        return _Collate(self._collate, self._own) if self._is_here or has_state(self._collate) else self._collate

    def _drawn(self, place: tuple[int, ...], read: Callable[[], Any]) -> Any:
        begins = self._by_sample or not self._is_here or place[2:] in ((), (0,))
        return self._own.draw(place, read) if begins else self._own.draw_on(read)


class _Collate:
    """A loader's `collate_fn`, after which the training draws from its own random numbers again."""

    def __init__(self, inner: Any, own: OwnGenerators) -> None:
        self._inner = inner
        self._own = own

    def __call__(self, samples: Any) -> Any:
        try:
            return self._own.collate(self._inner, samples)
        finally:
            self._own.end()


def batch_size_of(loader: Any) -> int:
    loader = without_bar(loader)
    size = getattr(loader, "batch_size", None) or 1
    dataset = getattr(loader, "dataset", None)
    if isinstance(dataset, Stream):
        check_batch_size(size, dataset._batch_size, "updraft.Stream")
    return size


def steps_of(loader: Any, share: Share) -> Optional[int]:
    """Batches of an epoch, the last one as far as all processes have a part of it."""
    length, bare = length_of(loader), undecoded(without_bar(loader))
    size, sampler = getattr(bare, "batch_size", None), getattr(bare, "sampler", None)
    if share.count == 1 or share.is_taken or length is None or size is None or bare.drop_last:
        return length
    rest = (length_of(sampler) or length_of(bare.dataset) or 0) % size
    return length - 1 if 0 < rest < share.count else length
