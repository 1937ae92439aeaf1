"""One attempt of a training: its folder, its interval, its progress, and whether it is asked to leave."""

import atexit
import math
import multiprocessing
import os
import signal
import threading
import time
from typing import Any, Callable, Optional

from .errors import say
from .files import lock_folder, write_json
from .interval import Interval
from .leaving import SAVED, exit_now, request_to_leave, shield_workers
from .position import CHECKPOINT_FORMAT, Position
from .progress import Progress
from .ranks import START, Ranks


class Attempt:
    """What an interrupted training needs, whoever runs its loop: a folder, a request to leave, an interval, progress."""

    def __init__(self, folder: Optional[str], every: Optional[float]) -> None:
        # The agent sets the folder and keeps earlier checkpoints itself, verified.
        ours = os.environ.get("UPDRAFT_CHECKPOINT")
        self.folder = folder or "checkpoints" if ours is None else os.path.join(ours, folder or "")
        self.keep = 2 if ours is None else 1
        self.interval = Interval(every)
        self.progress = Progress(os.environ.get("UPDRAFT_PROGRESS"))
        self.progress.saving = self.interval.figures
        self.ranks = Ranks()
        self.is_asked_to_leave = False
        self.leave_at_once: Callable[[], None] = lambda: None
        self._restore_handler: Callable[[], object] = lambda: None

    def start(self) -> None:
        self.ranks.open()
        if os.path.realpath(self.folder) in used_folders:
            raise SystemExit(f"updraft: {self.folder} is another training's; give each a folder=… of its own")
        if self.ranks.rank == 0 and not lock_folder(self.folder):
            once = "start the script once, or give each process a folder=… of its own"
            raise SystemExit(f"updraft: another process is training with {self.folder}; {once}. {START}")
        used_folders.add(os.path.realpath(self.folder))
        if self.ranks.rank > 0:
            self.progress = Progress(None)
        self.progress.measure()
        self.interval.start(time.monotonic())
        if "UPDRAFT_CHECKPOINT" in os.environ and threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGTERM, self._ask_to_leave)
            self._restore_handler = lambda: signal.signal(signal.SIGTERM, before)
            if multiprocessing.parent_process() is not None:
                # `mp.spawn` has it sent to a process whose parent has ended, which SIGTERM does at once; this one saves first.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            shield_workers()

    def resume(self, position: Optional[Position], state: dict[str, Any]) -> None:
        if not all(0 <= life < math.inf for life in state["lives"]):
            raise ValueError("an attempt cannot have lasted so long")
        self.interval.earlier = state["lives"]
        if position is not None:
            self.say(f"resuming in {position}")
        if state["format"] < CHECKPOINT_FORMAT:
            self.say("an earlier version saved this, whose augmentation was correlated; from here on it is not")

    def part_of(self, state: dict[str, Any], is_elastic: bool = True) -> dict[str, Any]:
        """A framework's checkpoint, with the random numbers of this process; between epochs, others may go on if `is_elastic`."""
        rank, others = self.ranks.rank, state.get("others", [])
        before, now = len(others) + 1, self.ranks.count
        if before != now and (state["epoch_random"] is not None or not is_elastic):
            raise SystemExit(f"updraft: {before} processes have begun this epoch: resume it with {before}, not {now}")
        return {**state, **others[rank - 1]} if 0 < rank <= len(others) else state

    def agree(self, is_busy: bool) -> str:
        """Whether all processes save here, or leave."""
        is_due = self.ranks.rank == 0 and not is_busy and self.interval.is_due(time.monotonic())
        return self.ranks.agree("leave" if self.is_asked_to_leave else "save" if is_due else "")

    def say(self, text: str) -> None:
        """Once, not by each process."""
        if self.ranks.rank == 0:
            say(text)

    def ignore_requests(self) -> None:
        """A second request must not cut the first one short."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._restore_handler = lambda: None

    def leave(self, position: Position, is_saved: bool, saved: Optional[str]) -> None:
        """With `saved`, the name of the last checkpoint, to be resumed."""
        if self.ranks.rank > 0:
            self.ranks.wait_to_leave()
        if is_saved:
            self.say(f"saved in {position}, as asked")
        status = 128 + signal.SIGTERM if saved is None else SAVED
        ours = os.environ.get("UPDRAFT_CHECKPOINT")
        if saved is not None and ours is not None and (self.ranks.count > 1 or "LOCAL_RANK" in os.environ):
            # Who started the processes, such as torchrun, may end with another code.
            write_json(os.path.join(ours, ".left"), {"checkpoint": saved, "rank": 0, "pid": os.getpid()})
        if self.ranks.count > 1:
            self.ranks.leave(status)
        atexit.register(exit_now, status)
        raise SystemExit(status)

    def end(self) -> None:
        self._restore_handler()
        self.progress.flush()
        self.ranks.close()

    def _ask_to_leave(self, *_: Any) -> None:
        self.is_asked_to_leave = True
        request_to_leave()
        # PyTorch would raise, wherever the training is, what has become of a worker that was asked, too.
        signal.signal(signal.SIGCHLD, request_to_leave)
        self.leave_at_once()


used_folders: set[str] = set()
"""Folders of the trainings of this process."""
