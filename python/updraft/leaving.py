"""Signals, workers and the way out."""

import atexit
import contextlib
import multiprocessing.util
import os
import signal
import sys
import threading
import time
from typing import Any, Callable, Optional

from .loaded import get_torch, private

SAVED = 85
"""Exit code for "saved, run me again"."""
unfreed: list[Any] = []
"""What lives as long as this process."""


def exit_now(status: int) -> None:
    """The slot is wanted back: workers have nothing to save, and Python would take a second to free what it has loaded."""
    atexit.unregister(exit_now)
    kill_workers()
    if threading.current_thread() is threading.main_thread():
        with contextlib.suppress(Exception):
            getattr(atexit, "_run_exitfuncs")()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


def shield_workers() -> None:
    """Has workers of every DataLoader, the validation's too, survive SIGTERM, which the agent sends to the whole group."""
    if getattr(get_torch(), "utils", None) is None:
        return
    so = "workers of loaders end when the job is asked to leave, and the batch they were reading is read again"
    kind = private(get_torch().utils.data.dataloader, "_MultiProcessingDataLoaderIter", "PyTorch", so)
    if kind is None or hasattr(kind, "updraft"):
        return
    start = kind.__init__

    def start_shielded(self: Any, loader: Any) -> None:
        # They inherit it, and PyTorch makes SIGTERM deadly before `worker_init_fn` is called.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        method = getattr(loader, "multiprocessing_context", None) or multiprocessing
        parent = os.getpid() if method.get_start_method() == "fork" else None
        theirs, loader.worker_init_fn = loader.worker_init_fn, _WorkerInit(loader.worker_init_fn, parent)
        try:
            start(self, loader)
        finally:
            loader.worker_init_fn = theirs
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    kind.__init__, kind.updraft = start_shielded, True


class _WorkerInit:
    """The user's `worker_init_fn`, in a worker that only notes SIGTERM: the training needs it until it has left."""

    def __init__(self, inner: Optional[Callable[[int], None]], parent: Optional[int]) -> None:
        self._inner, self._parent = inner, parent

    def __call__(self, worker: int) -> None:
        if self._parent not in (None, os.getppid()):
            # PyTorch would take its new parent for the training, and wait for work forever.
            os._exit(1)
        signal.signal(signal.SIGTERM, request_to_leave)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        if self._inner is not None:
            self._inner(worker)


def _end_workers() -> None:
    """At exit, before multiprocessing sends them SIGTERM, which they survive, and waits for them forever."""
    workers = live_workers()
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + 1
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
    kill_workers()


def kill_workers() -> None:
    workers = live_workers()
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join(1)


def live_workers() -> list[Any]:
    workers = [child for child in multiprocessing.active_children() if child.daemon]
    if workers and threading.current_thread() is threading.main_thread():
        # PyTorch would report each one that is killed.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return workers


# Imported first, it ends them later.
_ends_them_too = multiprocessing.util
atexit.register(_end_workers)


class Requests:
    to_leave = False


def request_to_leave(*_: Any) -> None:
    Requests.to_leave = True
