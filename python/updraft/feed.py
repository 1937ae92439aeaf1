"""Loaders that a framework reads."""

from __future__ import annotations

import hashlib
from typing import Any, Iterator, Optional

from .generators import generators_of
from .loaded import get_torch
from .loaders import dataset_of, loaders_in
from .loading import Dataset, Sampler, SeededReader, batch_size_of
from .position import CHECKPOINT_FORMAT, Position
from .randomness import random_now, set_random
from .ranks import this_rank


class Feed:
    """A framework's DataLoader, changed in place so that it can begin at any batch of an epoch.

    The framework reads ahead as it likes: samples draw random numbers by their place in the epoch, and the training's
    generators stay as they were. Several loaders that it combines, as Lightning does, are read again from the start.
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        # accelerate has the loader inside another one.
        plain = [getattr(one, "base_dataloader", one) for one in loaders_in(loader)]
        self._datasets = [dataset_of(one) for one in plain]
        self._sizes = [batch_size_of(one) for one in plain]
        found = [generators_of(one) for one in plain]
        self._generators = {f"{number} {name}": one for number, each in enumerate(found) for name, one in each.items()}
        self._samplers = [self._change(one, number) for number, one in enumerate(plain)]
        self.random: Optional[dict[str, Any]] = None
        """How the epoch began."""

    def _change(self, loader: Any, number: int) -> Optional[_FeedSampler]:
        torch = get_torch()
        is_loader = isinstance(loader, torch.utils.data.DataLoader)
        if not is_loader or isinstance(loader.dataset, torch.utils.data.IterableDataset):
            return None
        name = "sampler" if loader.batch_sampler is None else "batch_sampler"
        sampler = _FeedSampler(getattr(loader, name), name == "batch_sampler", self, number)
        dataset = Dataset(loader)
        # A DataLoader refuses this because it has usually been read; this one has not.
        object.__setattr__(loader, name, sampler)
        object.__setattr__(loader, "dataset", dataset)
        loader.collate_fn, loader._iterator = dataset.collate_fn(), None
        return sampler

    def begin(self, position: Position, resumed: Optional[dict[str, Any]], skips: bool) -> None:
        """Before the epoch is read. The framework may skip what was trained on before it was interrupted, or we do."""
        if resumed is not None:
            # Between epochs, the next one begins as the last one ended.
            set_random(resumed["epoch_random"] or resumed["random"], self._generators)
        self.random = random_now(self._generators)
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

    def state(self, position: Position, lives: list[float]) -> dict[str, Any]:
        """What a framework's own checkpoint lacks."""
        stream: Any = self._datasets[0] if len(self._datasets) == 1 else None
        return {
            "format": CHECKPOINT_FORMAT,
            "position": (position.epoch, position.batch),
            **self.own(),
            "stream": stream.state_dict() if hasattr(stream, "updraft_seek") else None,
            "lives": lives,
        }

    def own(self) -> dict[str, Any]:
        """What each process has of it."""
        return {"random": random_now(self._generators), "epoch_random": self.random}

    def end(self) -> None:
        """The next epoch has not begun yet."""
        self.random = None

    @property
    def can_skip(self) -> bool:
        is_one = len(self._datasets) == 1
        return is_one and (self._samplers[0] is not None or hasattr(self._datasets[0], "updraft_seek"))

    def rewind(self) -> None:
        if self.random is not None:
            set_random(self.random, self._generators)

    def is_first(self, turn: tuple[int, int]) -> bool:
        """Whether the epoch's order is that of the only loader, or of the first one as long as it has not ended."""
        return len(self._samplers) == 1 or turn == (0, 0)

    def seed_of(self, turn: tuple[int, int]) -> int:
        """Of a loader beside the first one, or of one that starts over within the epoch."""
        state = (self.random or {})["torch"].tolist()
        return int.from_bytes(hashlib.blake2b(repr((turn, state)).encode(), digest_size=8).digest(), "little")


class _FeedSampler(Sampler):
    """The sampler of a loader that a framework reads. Its length is that of the whole epoch, as frameworks expect."""

    def __init__(self, sampler: Any, by_batch: bool, feed: Feed, number: int) -> None:
        super().__init__(sampler, by_batch, 0, feed.rewind, lambda _: None)
        self._feed = feed
        self._number = number
        self._ended = 0
        self._rank = this_rank()[0]

    def __len__(self) -> int:
        return len(self._sampler)

    def _item(self, seed: int, place: int, index: Any) -> Any:
        # Processes may begin with the same random numbers, and read other samples.
        return super()._item(seed + self._rank, place, index)

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
            for place, index in enumerate(SeededReader(self._sampler, seed)):
                yield self._item(seed, place, index)
        self._ended += 1
