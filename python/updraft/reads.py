"""How a training reads its loaders: on from where it was interrupted, with the random numbers of an undisturbed one."""

import itertools
import weakref
from typing import Any, Callable, Iterable, Iterator, Optional

from .attempt import Attempt
from .checks import Checks
from .generators import each_once, generators_of
from .loaded import get_torch
from .loaders import can_begin_anywhere, check_share, dataset_of, loader_inside, loaders_of, undecoded, without_bar
from .loading import SeededReader, Share, beginning_after
from .objects import Objects
from .position import Position
from .randomness import draw_seed, own_states, random_now, seed_all, set_own, set_random
from .store import Store
from .stream import Stream


class Reads:
    """What a training knows of the loader of its loop, and of the random numbers that belong to it."""

    def __init__(self, objects: Objects, attempt: Attempt, keep: Optional[int], trusts: bool) -> None:
        self._objects, self._attempt = objects, attempt
        self._trusts = trusts
        self._store = Store(attempt.folder, keep or attempt.keep, trusts)
        self._store.explain = objects.problem
        self._checks = Checks(objects, attempt.folder)
        self._position = Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._handed = objects.generators
        self._generators = dict(self._handed)
        self._loaders: dict[str, Any] = {}
        self._loader: Any = None
        self._stream: Any = None
        self._reading: Any = None
        self._spent: Any = None
        self._batch_size: Optional[int] = None
        self._share = Share()
        self._seed: Optional[int] = None
        """Of what must not depend on the number of processes."""
        self._epoch_random: Any = None
        self._order_random: Any = None
        self._restore_loader: Callable[[], None] = lambda: None
        self._wrapped: Any = weakref.WeakKeyDictionary()

    def _forget_loaders(self) -> None:
        """Or their workers would live until Python looks for cycles; PyTorch then waits 5 s for each of them."""
        self._loader = self._stream = self._reading = self._spent = self._resumed = None
        self._loaders, self._generators = {}, dict(self._handed)
        self._wrapped.clear()
        self._checks.forget()

    def _find_generators(self) -> None:
        self._loaders.update(self._generators_in(self._loader, self._position.loop))
        self._generators = each_once({**self._handed, **self._loaders})

    @staticmethod
    def _generators_in(loader: Any, loop: int) -> dict[str, Any]:
        found = generators_of(loader)
        return {f"{name} of loop {loop + 1}": one for name, one in found.items()} if loop > 0 else found

    def _restore_epoch(self, resumed: dict[str, Any], begins_anywhere: bool) -> None:
        """What the loop of an interrupted epoch begins with."""
        for name in [] if begins_anywhere else own_states(resumed["random"], self._generators):
            if name.startswith("dataset") and name not in self._generators:
                todo = "make it together with the dataset, or its samples will not be those of an undisturbed training"
                self._checks.warn(f"the generator {name} is not there yet: {todo}")
        if resumed["epoch_random"] is None:
            # Those that were handed over may have been used in this epoch already.
            set_own(resumed["random"], self._generators, but=self._handed.values())
            return
        set_random(resumed["epoch_random"], self._generators)
        # Before the loader starts workers: its dataset may have them.
        self._objects.restore_values(resumed, self._store)

    def _check_processes(self, loader: Any) -> None:
        """Of a loader that nobody shares among them but its owner, a batch is another one with another number of them."""
        before, now = (self._resumed or {}).get("processes", 1), self._attempt.ranks.count
        is_common = isinstance(undecoded(loader), (list, tuple, range)) or hasattr(dataset_of(loader), "updraft_seek")
        if before != now and not (is_common or can_begin_anywhere(undecoded(loader))):
            raise SystemExit(
                f"updraft: {before} processes have begun this epoch, and run.batches does not share a {type(loader).__name__} "
                f"among them: resume it with {before}"
            )

    def _random_of_order(self, loop: int) -> Any:
        """What the loader draws the order from: of several processes apart from what they draw, which their number changes."""
        if not self._share.is_elastic:
            return self._epoch_random
        if self._resumed is not None and self._resumed["epoch_random"] is not None:
            return self._resumed["order"]
        seed_all((self._seed or 0, self._position.epoch, loop), {})
        apart = {**random_now({}), "own": self._attempt.ranks.of_first(self._epoch_random["own"])}
        set_random(self._epoch_random, {})
        return apart

    def _seeking(self, loader: Any, done: int, share: Share) -> Iterator[Any]:
        dataset = dataset_of(loader)
        # The loader of accelerate would count the epochs of this attempt.
        for one in each_once({"loader": without_bar(loader), "dataset": dataset}).values():
            if hasattr(one, "set_epoch"):
                one.set_epoch(self._position.epoch)
        bare, seed = undecoded(loader), self._seed
        if seed is None and get_torch() is not None:
            seed = int(get_torch().initial_seed())
        if hasattr(dataset, "updraft_seek"):
            self._stream = dataset
            if self._resumed is not None and self._resumed.get("stream") is not None:
                with self._store.using("place in the stream"):
                    dataset.load_state_dict(self._resumed["stream"])
            samples = done * (self._batch_size or 1)
            if isinstance(dataset, Stream):
                dataset._epochs, bare = self._attempt.progress.epochs, dataset._loader_of_rank(bare)
                dataset._seek(self._position.epoch, samples, seed)
            else:
                dataset.updraft_seek(self._position.epoch, samples)
        rest = self._rest_of(bare, done, share) if self._stream is None else self._sought(bare, done)
        decoded = getattr(loader, "updraft_decoded", None)
        # Its crops follow from places, so it may read ahead of the training.
        return rest if decoded is None else decoded(rest, done, seed, share)

    def _rest_of(self, loader: Iterable[Any], done: int, share: Share) -> Iterator[Any]:
        """The loader's batches without the first `done`, with the random numbers of an undisturbed training."""
        if can_begin_anywhere(loader):
            return iter(self._beginning_after(done, loader, share))
        name, inner = loader_inside(loader)
        if inner is not None:
            # Its workers draw by place, so it may read ahead of the training.
            setattr(loader, name, self._beginning_after(done, inner, share))
            self._restore_loader = lambda: setattr(loader, name, inner)
            return iter(loader)
        bare = without_bar(loader)
        if any(getattr(one, "persistent_workers", False) for one in (bare, *loaders_of(bare).values())):
            kind = type(dataset_of(loader)).__name__
            self._checks.warn(
                f"with persistent_workers=True, a loader of {kind} may not resume exactly: workers that outlive an epoch "
                "draw other random numbers than new ones; leave it off"
            )
        # Reading and dropping is slow, but right for any iterable.
        iterator: Iterator[Any] = iter(loader) if isinstance(loader, (list, tuple, range)) else SeededReader(loader)
        next(itertools.islice(iterator, done, done), None)
        self._caught_up(done, generators_of(loader).values())
        return iterator

    def _beginning_after(self, done: int, loader: Any, share: Share) -> Any:
        """A DataLoader for the rest of the epoch."""
        if share.count > 1 and not share.is_taken:
            check_share(loader, share.count)

        def drawn(_: bool) -> None:
            if share.is_elastic:
                set_random(self._epoch_random, self._handed)

        def caught_up(is_drawn: bool) -> None:
            drawn(is_drawn)
            self._caught_up(done, () if is_drawn else generators_of(loader, sampling=True).values())

        def rewind() -> None:
            set_random(self._order_random, self._generators)

        if done > 0:
            return beginning_after(done, loader, rewind, caught_up, share)
        self._caught_up(done)
        # Kept, because its workers may persist from epoch to epoch.
        if loader not in self._wrapped:
            self._wrapped[loader] = beginning_after(0, loader, rewind, drawn, share)
        return self._wrapped[loader]

    def _sought(self, loader: Iterable[Any], done: int) -> Iterator[Any]:
        """The batches of a loader whose dataset begins where it should."""
        iterator = iter(loader)
        if get_torch() is not None:
            # It drew a seed if its workers have just started, and none if they persist. Now one is drawn in any case.
            set_random(self._epoch_random, {})
            draw_seed()
        self._caught_up(done)
        return iterator

    def _caught_up(self, done: int, used: Iterable[Any] = ()) -> None:
        """Generators that were used for what is skipped, too, are where they should be."""
        if self._resumed is not None and self._resumed["epoch_random"] is not None:
            # Once more: an epoch may change them before its loop, and has done so when they were saved.
            self._objects.restore(self._resumed, self._store)
            if done > 0:
                with self._store.using("random numbers"):
                    set_random(self._resumed["random"], self._generators, but=used)
        self._resumed = None
