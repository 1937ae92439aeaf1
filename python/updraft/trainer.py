"""Trainings with the Trainer of Hugging Face's transformers."""

from __future__ import annotations

import contextlib
import errno
import importlib
import inspect
import math
import os
import re
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Optional

from .attempt import Attempt
from .errors import Refused, using
from .feed import Feed
from .files import crc_of, read_json, write_json
from .loaded import get_torch, joined, private
from .loaders import length_of
from .position import Position
from .progress import metrics_of_training
from .randomness import checked_state, set_random
from .reading import read_checkpoint
from .store import first_whole

_SUMS = "updraft.json"
"""Beside a Trainer's checkpoint: the CRC-32 of each of its files."""


class TrainerHooks:
    """What `TrainerCheckpoint` does; without the framework."""

    def __init__(
        self, *, folder: Optional[str] = None, every: Optional[float] = None, keep: Optional[int] = None,
        trust_checkpoint: bool = False
    ) -> None:
        self._attempt = Attempt(folder, every)
        self._trusts = trust_checkpoint
        self._keep = keep or self._attempt.keep
        self._position = Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._feed: Optional[Feed] = None
        self._output: Optional[str] = None
        self._path: Optional[str] = None
        self._began = 0.0
        self._saved: Optional[str] = None
        self._saved_step = 0
        self._failure: Optional[Exception] = None
        self._said: Any = None
        self._stop = self._now = ""
        self._unread: Optional[dict[str, Any]] = None
        self._restore_skip: Callable[[], None] = lambda: None
        self._starts_over = False

    @property
    def last(self) -> Optional[str]:
        """The newest checkpoint that is whole, for `resume_from_checkpoint`; None if there is none."""
        found = [os.path.join(self._attempt.folder, name) for name in reversed(self._names())]
        self._resumed = None
        self._path = first_whole(found, self._damage)
        self._starts_over = self._path is None
        return self._path

    def _damage(self, path: str) -> Optional[str]:
        try:
            # Earlier versions wrote none.
            sums = read_json(os.path.join(path, _SUMS)) if os.path.exists(os.path.join(path, _SUMS)) else {}
            for name, crc in sums.items():
                if crc_of(os.path.join(path, name)) != crc:
                    return f"{name} is not as it was written"
            self._resumed = self._read(path)
        except Refused as error:
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
                content = read_checkpoint(os.path.join(path, file), False)
                with using(os.path.join(path, file), "random numbers"):
                    checked_state(content.get("numpy") if isinstance(content, dict) else None)
        return read_checkpoint(os.path.join(path, "updraft.pt"), self._trusts)  # type: ignore[no-any-return]

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        loader = kwargs["train_dataloader"]
        if not _can_share(args, loader):
            raise SystemExit(
                "updraft: TrainerCheckpoint is for one device, or a process for each, without FSDP, DeepSpeed and "
                "IterableDataset; see docs/checkpoints.md"
            )
        if getattr(args, "save_only_model", False):
            raise SystemExit("updraft: TrainerCheckpoint needs save_only_model=False")
        if state.global_step == 0 and self._names() and not self._starts_over:
            raise SystemExit(
                f"updraft: {self._attempt.folder} has a checkpoint: "
                "pass resume_from_checkpoint=….last to train, or remove the folder"
            )
        self._steps = length_of(loader)
        self._collects = args.gradient_accumulation_steps
        if self._steps is not None and self._steps % self._collects > 0:
            raise SystemExit(
                f"updraft: an epoch has {self._steps} batches, which gradient_accumulation_steps={self._collects} does "
                "not divide: the Trainer cannot resume that exactly. Leave out samples, or use another number"
            )
        self._attempt.start()
        self._feed = Feed(loader)
        self._attempt.progress.epochs = math.ceil(args.num_train_epochs)
        self._attempt.progress.steps = self._steps
        self._is_resumed = state.global_step > 0 and self._resumed is not None
        self._saved_step = state.global_step
        self._survive_failed_saves()
        if self._resumed is not None and self._is_resumed:
            self._resumed = self._attempt.part_of(self._resumed, is_elastic=False)
            with using(self._path, "place in the training"):
                self._position = Position.of(self._resumed)
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
        frame: Any = inspect.currentframe()
        while frame is not None and not hasattr(frame.f_locals.get("self"), "_save_checkpoint"):
            frame = frame.f_back
        trainer: Any = None if frame is None else frame.f_locals["self"]
        so = "a checkpoint that cannot be written ends the training"
        if private(trainer, "_save_checkpoint", "transformers", so) is None:
            return
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
                if self._attempt.ranks.rank > 0:
                    return
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
        so = "an interrupted epoch is not resumed where it was"
        usual = private(module, "skip_first_batches", "transformers", so)
        if usual is None:
            return

        def skip_once(loader: Any, *_: Any, **__: Any) -> Any:
            self._restore_skip()
            return skip(usual, loader)

        module.skip_first_batches = skip_once
        self._restore_skip = lambda: setattr(module, "skip_first_batches", usual)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        assert self._feed is not None
        resumed, self._resumed = (self._resumed if self._is_resumed else None), None
        if resumed is None and self._steps is not None:
            self._position = Position(int(state.epoch or 0))
        with using(self._path, "begin of the epoch") if resumed is not None else contextlib.nullcontext():
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
            with using(self._path, "random numbers"):
                set_random(self._unread, self._feed._generators)
        self._attempt.progress.flush()
        self._feed.end()
        self._position = Position(self._position.epoch + 1)
        self._between_batches(args, state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        # Its epochs are fractions.
        numbers = {name: value for name, value in (logs or {}).items() if name not in ("epoch", "step")}
        is_between = self._position.batch == 0 and self._position.epoch > 0
        reported = Position(self._position.epoch - 1, self._steps or 0) if is_between else self._position
        self._attempt.progress.log(reported, metrics_of_training(numbers))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._output is None:
            return
        part, args.output_dir, self._output = args.output_dir, self._output, None
        name = f"checkpoint-{state.global_step}"
        failure, self._failure = self._failure, None
        assert self._feed is not None
        ranks = self._attempt.ranks
        others = ranks.gather(self._feed.own)
        if failure is None and ranks.rank == 0:
            try:
                self._finish(os.path.join(part, name), name, others)
            except Refused as error:
                if self._saved is None:
                    # Now, rather than when hours of training are to be resumed.
                    raise SystemExit(f"updraft: {error}") from error
                failure = error
            except Exception as error:
                failure = self._in_plain_words(error)
        if failure is not None and str(failure) != self._said:
            self._said = str(failure)
            self._attempt.say(f"no checkpoint could be written: {failure}")
        if ranks.rank == 0:
            shutil.rmtree(part, ignore_errors=True)
        is_saved = ranks.of_first(failure is None, "saved")
        if is_saved:
            self._saved_step, self._said = state.global_step, None
        self._attempt.interval.waited(self._began, time.monotonic())
        if self._now == "leave":
            self._attempt.leave(self._position, is_saved, self._saved)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._restore_skip()
        self._attempt.end()

    def _in_plain_words(self, failure: Exception) -> Exception:
        """Not every library says that the disk is full."""
        with contextlib.suppress(OSError):
            if not isinstance(failure, OSError) and shutil.disk_usage(self._attempt.folder).free < 1 << 20:
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
        attempt, self._began = self._attempt, time.monotonic()
        self._stop = attempt.agree(False) or self._stop
        # A checkpoint that the arguments ask for stays where they say.
        if control.should_save or not self._stop:
            return
        self._now, self._stop = self._stop, ""
        if self._now == "leave":
            attempt.ignore_requests()
        if state.global_step == self._saved_step:
            # The training ends within an epoch, or the epoch with a batch that could have been followed by another.
            if self._now == "leave":
                attempt.leave(self._position, True, self._saved or "")
            return
        self._output, args.output_dir = args.output_dir, os.path.join(attempt.folder, ".part")
        if attempt.ranks.rank == 0:
            shutil.rmtree(args.output_dir, ignore_errors=True)
        # Nobody writes there before.
        attempt.ranks.of_first(None, "part")
        control.should_save = True

    def _finish(self, path: str, name: str, others: Callable[[], list[Any]]) -> None:
        """What the Trainer has written, completed, becomes a checkpoint by one rename."""
        assert self._feed is not None
        state = self._feed.state(self._position, self._attempt.interval.lives())
        state["others"] = others()
        for rank in range(1, self._attempt.ranks.count):
            # Written by that process, into a folder that all of them must see.
            os.stat(f"{path}/rng_state_{rank}.pth")
        get_torch().save(state, os.path.join(path, "updraft.pt"))
        self._read(path)
        written = [os.path.join(parent, file) for parent, _, files in os.walk(path) for file in files]
        sums = {os.path.relpath(one, path): crc_of(one) for one in written}
        write_json(os.path.join(path, _SUMS), sums)
        for one in [*written, os.path.join(path, _SUMS)]:
            with open(one, "rb") as file:
                os.fsync(file.fileno())
        target = os.path.join(self._attempt.folder, name)
        # A damaged one may be in the way.
        shutil.rmtree(target, ignore_errors=True)
        os.replace(path, target)
        self._saved = name
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


def _can_share(args: Any, loader: Any) -> bool:
    """Whether several processes have all of the model each, and read a dataset by its indices."""
    if args.world_size < 2 > getattr(args, "n_gpu", 1):
        return True
    if isinstance(getattr(loader, "base_dataloader", loader).dataset, get_torch().utils.data.IterableDataset):
        return False
    return "MULTI_" in str(importlib.import_module("accelerate.state").AcceleratorState().distributed_type)


if TYPE_CHECKING:
    from transformers import TrainerCallback as _Callback
else:
    _Callback = object


class TrainerCheckpoint(TrainerHooks, _Callback):
    """Makes a training with the Trainer of Hugging Face's transformers one that can be interrupted at any time.

        saving = updraft.TrainerCheckpoint()
        trainer = Trainer(model, args, train_dataset=…, callbacks=[saving])
        trainer.train(resume_from_checkpoint=saving.last)
    """

    def __new__(cls, *_: Any, **__: Any) -> TrainerCheckpoint:
        made: TrainerCheckpoint = object.__new__(joined(cls, importlib.import_module("transformers").TrainerCallback))
        return made
