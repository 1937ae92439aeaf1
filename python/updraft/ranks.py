"""The processes of one training: who is which, what the first one decides, and where all of them save or leave."""

import collections
import contextlib
import io
import itertools
import os
import pickle
import threading
import time
from typing import Any, Callable, Optional

from .leaving import exit_now
from .loaded import get_torch, is_tensor, private
from .reading import DataUnpickler
from .state import mapped

START = (
    'For a training of several processes, write `[train] processes = "gpus"`, or use torchrun, and call '
    "torch.distributed.init_process_group before updraft.training"
)

_LOOK = 0.5
"""Seconds that a process may go on without asking what the others want."""
_MAX_AHEAD = 32
"""Places where it could save, in that time: a look takes 40 us, and the places to come may take longer than those before."""
_TIMEOUT = 60.0
"""Seconds that a checkpoint waits for what the other processes have for it."""


def this_rank() -> tuple[int, int]:
    """The number of this process among those of its training, and how many there are."""
    distributed = getattr(get_torch(), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    if "RANK" in os.environ and _count_in("WORLD_SIZE") > 1:
        return int(os.environ["RANK"]), _count_in("WORLD_SIZE")
    for name in ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        if _count_in(name) > 1:
            raise SystemExit(
                f"updraft: this is one of several processes ({name}={os.environ[name]}), and nothing says which one. {START}"
            )
    return 0, 1


def _count_in(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else 1


_trainings = itertools.count()


class Ranks:
    """This process among those of its training. Where it is the only one, nothing here asks, waits or writes.

    All of it goes through the key-value store of the process group: no collective, so it works beside any backend, in
    threads, and while another process is somewhere else.
    """

    def __init__(self) -> None:
        self.rank, self.count = 0, 1
        self._store: Any = None
        self._end = threading.Event()
        self._point = self._limit = self._stops = 0
        self._asked: collections.Counter[str] = collections.Counter()
        self._looked = (0, 0.0)
        self._unwanted: list[str] = []
        self._leaving = threading.Lock()

    def open(self) -> None:
        """All processes begin the same trainings, one after the other."""
        self.rank, self.count = this_rank()
        if self.count == 1:
            return
        distributed = get_torch().distributed
        if not distributed.is_initialized():
            raise SystemExit(f"updraft: there are {self.count} processes. {START}")
        so = "a training of several processes cannot save itself"
        found = private(distributed.distributed_c10d, "_get_default_store", "PyTorch", so)
        if found is None:
            raise SystemExit(1)
        self._store = distributed.PrefixStore(f"updraft {next(_trainings)}", found())
        if self.rank > 0:
            threading.Thread(target=self._watch, name="updraft-ranks", daemon=True).start()

    def close(self) -> None:
        self._end.set()

    def agree(self, wish: str) -> str:
        """What all processes do at this place, to which each of them comes: nothing, "save" or "leave".

        One number of the store says how many places they may pass without asking again. Whoever comes there moves it on;
        whoever wishes something marks it, in one step with the number. A marked one never moves. So nobody is beyond it,
        everybody stops right there, and nobody has waited for another.
        """
        self._point += 1
        if self._store is None:
            return wish
        now = time.monotonic()
        if not wish and self._point < self._limit and now < self._looked[1] + _LOOK:
            return ""
        key, what = f"stop {self._stops}", ""
        while True:
            text = self._swap(key, "", str(self._point))
            limit, _, what = text.partition(" ")
            self._limit = int(limit)
            if what or (self._point < self._limit and not wish):
                break
            self._swap(key, text, f"{limit} {wish}" if wish else str(self._point + self._stride(now)))
        self._looked = self._point, now
        if not what or self._point < self._limit:
            return ""
        self._stops += 1
        return what

    def _stride(self, now: float) -> int:
        point, last = self._looked
        return max(1, min(_MAX_AHEAD, int((self._point - point) * _LOOK / max(1e-6, now - last))))

    def _swap(self, key: str, old: str, new: str) -> str:
        return str(self._store.compare_set(key, old, new), "utf-8")

    def of_first(self, value: Any, what: str = "first") -> Any:
        """The first process's value, in all of them. It stays in the store: nothing large."""
        if self._store is None:
            return value
        self._asked[what] += 1
        key = f"{what} {self._asked[what]}"
        if self.rank > 0:
            return _unpacked(self._wait_for(key))
        self._store.set(key, _packed(value))
        return value

    def gather(self, mine: Callable[[], Any], what: str = "own", is_wanted: bool = True) -> Callable[[], list[Any]]:
        """What the other processes have here. Only the first one wants it, or not, and waits for it when it likes."""
        if self._store is None:
            return list
        self._asked[what] += 1
        keys = [f"{what} {self._asked[what]} {other}" for other in range(1, self.count)]
        if self.rank > 0:
            self._store.set(keys[self.rank - 1], _packed(mine()))
            return list
        unwanted, self._unwanted = self._unwanted, [] if is_wanted else keys
        self._delete(unwanted)
        until = time.monotonic() + _TIMEOUT

        def gathered() -> list[Any]:
            found = [_unpacked(self._wait_for(key, until)) for key in keys]
            self._delete(keys)
            return found

        return gathered

    def _delete(self, keys: list[str]) -> None:
        for key in keys:
            self._store.delete_key(key)

    def _get(self, key: str) -> Optional[bytes]:
        """Without waiting, in every version and every kind of store."""
        found: bytes = self._store.compare_set(key, "?", "?")
        return None if found == b"?" else found

    def _wait_for(self, key: str, until: float = float("inf")) -> bytes:
        wait = 0.001
        while True:
            found = self._get(key)
            if found is not None:
                return found
            self._leave_too()
            if time.monotonic() > until:
                raise TimeoutError(f"process {key.split()[-1]} is not there after {_TIMEOUT:.0f} s")
            time.sleep(wait)
            wait = min(0.05, 2 * wait)

    def leave(self, status: int) -> None:
        """The first process, once all is saved; it has the others leave, wherever they are."""
        self._store.set("left", str(status))
        until = time.monotonic() + 5
        while self._store.add("gone", 0) < self.count - 1 and time.monotonic() < until:
            time.sleep(0.005)
        exit_now(status)

    def wait_to_leave(self) -> None:
        self._wait_for("never")

    def _leave_too(self) -> None:
        status = self._get("left") if self.rank > 0 else None
        if status is not None and self._leaving.acquire(blocking=False):
            self._store.add("gone", 1)
            exit_now(int(status))

    def _watch(self) -> None:
        """A process may be in a collective that never ends, because another one has left."""
        # A store that is gone has gone with the first process.
        with contextlib.suppress(RuntimeError):
            while not self._end.wait(_LOOK):
                self._leave_too()


def _packed(value: Any) -> bytes:
    """Random numbers' states and plain values. A store can be written to by others: what comes is read as data."""
    return pickle.dumps(mapped(value, is_tensor, lambda one, _: bytes(one.tolist())), 4)


def _unpacked(data: bytes) -> Any:
    def made(one: bytes, _: Any) -> Any:
        return get_torch().frombuffer(bytearray(one), dtype=get_torch().uint8)

    return mapped(DataUnpickler(io.BytesIO(data)).load(), lambda one: isinstance(one, bytes), made)
