"""Notices what would make a resumed training differ."""

import contextlib
import weakref
from typing import Any, Optional

from .carried import Noted, changed, noted, warnings_of
from .errors import say
from .generators import MAX_OBJECTS, modules_named
from .marks import datasets_alive, lists_of, marks_of, split_of
from .objects import Objects


class Checks:
    """Of the order and the samples of a training's loaders. Each warning is printed once."""

    def __init__(self, objects: Objects, folder: str) -> None:
        self._objects = objects
        self._folder = folder
        self._warnings: set[str] = set()
        self._orders: dict[int, Any] = {}
        self._early: list[Any] = []
        self._noted: Optional[Noted] = None
        self._has_checked = False
        self.speaks = True
        self.samples: dict[str, Any] = {}
        """What distinguishes them from others."""

    def warn(self, text: str) -> None:
        if text not in self._warnings and self.speaks:
            say(text)
        self._warnings.add(text)

    def forget(self) -> None:
        self._early, self._noted = [], {}

    def note_datasets(self) -> None:
        """Those that there are before an epoch begins."""
        self._early = datasets_alive()

    def note_loop(self, frame: Any) -> None:
        """Before the first batch."""
        if self._noted is None:
            self._noted = self._now(frame)

    def _now(self, frame: Any) -> Noted:
        # Whatever a script is like: these are only warnings.
        with contextlib.suppress(Exception):
            return noted(self._objects.handed(), frame, self._handed())
        return {}

    def _handed(self) -> set[int]:
        return self._objects.shared() | {id(one) for one in self._objects.handed()}

    def check_loop(self, frame: Any) -> None:
        """Warns, at the first save, of what changes from batch to batch and is not saved."""
        if self._has_checked:
            return
        self._has_checked = True
        with contextlib.suppress(Exception):
            for text in [*changed(self._noted or {}, self._now(frame)), *warnings_of(frame, self._handed())]:
                self.warn(text)
        self._noted = {}

    def check_order(self, loader: Any) -> None:
        """Warns of a sampler that goes on from epoch to epoch by itself: a resumed one would begin with the first."""
        batches = getattr(loader, "batch_sampler", None)
        for one in (getattr(loader, "sampler", None), batches, getattr(batches, "sampler", None)):
            # Whatever a sampler is like: this is only a warning.
            with contextlib.suppress(Exception):
                if not hasattr(one, "set_epoch"):
                    is_torchs = not modules_named(type(one).__module__)
                    advice = (
                        "change it between epochs only, and hand it over in a dict, as {'weights': sampler.weights}"
                        if is_torchs
                        else "make the order from a generator, or from a set_epoch(epoch) that you call"
                    )
                    now = marks_of(one)
                    self._warn_of_changes(one, {"weights": now["weights"]} if is_torchs else now, advice)

    def _warn_of_changes(self, one: Any, now: dict[str, Any], advice: str) -> None:
        known, first = self._orders.get(id(one), (lambda: None, now))
        if known() is not one:
            # By its id: it may have no hash.
            self._orders[id(one)] = (weakref.ref(one), now)
            return
        handed = self._objects.shared()
        others = [name for name, mark in first.items() if mark != now.get(name)]
        changed = " and ".join(name for name in others if id(vars(one).get(name)) not in handed)
        if changed:
            self.warn(
                f"{type(one).__name__} changes its {changed} from epoch to epoch, and starts over when it is resumed, "
                f"unless you set that before run.batches: {advice}"
            )

    def check_samples(self, dataset: Any, state: Optional[dict[str, Any]]) -> None:
        """Refuses a random split that is not the checkpoint's: it would train on samples of the validation."""
        early, self._early = self._early, []
        self.samples = now = {"split": split_of(dataset)}
        resumed = state or {"epoch_random": None}
        saved: dict[str, Any] = resumed.get("samples") or now
        with contextlib.suppress(Exception):
            self._check_lists(dataset, saved.get("lists", {}), resumed["epoch_random"] is not None)
        if saved["split"] == now["split"]:
            return
        if resumed["epoch_random"] is None:
            # The next epoch may have another loader than the last one: one that it makes, or another of several.
            is_early = any(one is dataset for one in early)
            if not is_early or not saved["split"] or any(split_of(one) == saved["split"] for one in early[:MAX_OBJECTS]):
                return
        raise SystemExit(
            f"updraft: the loader's samples are not those of the checkpoint in {self._folder}: a random "
            "split without a seed differs in every attempt. Give it one, as in random_split(…, "
            "generator=torch.Generator().manual_seed(0)), and remove the folder to start over."
        )

    def _check_lists(self, dataset: Any, saved: dict[str, int], is_resumed: bool) -> None:
        """Warns of a dataset that has its samples in another order than in the checkpoint, or than in the last epoch."""
        if any(hasattr(dataset, name) for name in ("set_epoch", "updraft_seek", "state_dict")):
            return
        now = lists_of(dataset)
        self._warn_of_changes(dataset, now, "make the order from a generator, or from a set_epoch(epoch) that you call")
        # What changes while it is read, such as a cache, says nothing about the order.
        first = self._orders[id(dataset)][1]
        self.samples["lists"] = {name: mark for name, mark in now.items() if mark == first.get(name)}
        if is_resumed:
            changed = " and ".join(name for name, mark in now.items() if saved.get(name, mark) != mark)
            if changed:
                self.warn(
                    f"{type(dataset).__name__} has another {changed} than in the checkpoint, so samples may be read twice or "
                    "not at all: a list that is shuffled without a seed, or as os.listdir returns it, differs in every "
                    "attempt. Sort it, then shuffle it with random.Random(0)"
                )
