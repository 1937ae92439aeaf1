"""Trainings with Lightning."""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, Callable, Optional

from .attempt import Attempt
from .feed import Feed
from .loaded import joined, private
from .position import Position
from .progress import metrics_of_training
from .randomness import set_random
from .state import Gradients, on_host, without_functions
from .store import Store


class LightningHooks:
    """What `LightningCheckpoint` does; without the framework."""

    def __init__(
        self, *, folder: Optional[str] = None, every: Optional[float] = None, keep: Optional[int] = None,
        trust_checkpoint: bool = False
    ) -> None:
        self._attempt = Attempt(folder, every)
        self._store = Store(self._attempt.folder, keep or self._attempt.keep, trust_checkpoint)
        self._position = Position()
        self._resumed: Optional[dict[str, Any]] = None
        self._restored: Callable[[], None] = lambda: None
        self._module: Any = None
        self._gradients = Gradients({})
        self._feed: Optional[Feed] = None
        self._is_started = False

    @property
    def last(self) -> Optional[str]:
        """The newest checkpoint that is whole, for `ckpt_path`; None if there is none."""
        path = self._store.newest()
        if path is not None:
            # Lightning loads it, and some versions run what it names.
            self._store.read(path)
        return path

    def state_dict(self) -> dict[str, Any]:
        if self._feed is None:
            return {}
        learn = [one.requires_grad for one in self._module.parameters()]
        # With automatic optimization, it saves between two steps.
        gradients = {} if self._module.automatic_optimization else self._gradients.state()
        more = {"learn": learn, "gradients": gradients}
        return {**self._feed.state(self._position, self._attempt.interval.lives()), **more}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._resumed = state_dict or None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if trainer.world_size > 1 and type(trainer.strategy).__name__ != "DDPStrategy":
            raise SystemExit("updraft: LightningCheckpoint is for one device, or for strategy='ddp'; here, use ModelCheckpoint")
        if self._resumed is None and self._store.newest() is not None:
            raise SystemExit(
                f"updraft: {self._attempt.folder} has a checkpoint: pass ckpt_path=….last to fit, or remove the folder"
            )
        self._attempt.start()
        self._module = pl_module
        optimizers = {f"optimizer {nth}": one for nth, one in enumerate(trainer.optimizers)}
        self._gradients = Gradients({"module": pl_module, **optimizers})
        self._attempt.progress.epochs = trainer.max_epochs if (trainer.max_epochs or 0) > 0 else None
        if self._resumed is not None:
            self._resumed = self._attempt.part_of(self._resumed)
            with self._store.using("place in the training"):
                self._position = Position.of(self._resumed)
                self._attempt.resume(self._position, self._resumed)
            self._restored = _restorer(trainer, pl_module)
            _announce_epoch(trainer.fit_loop)
            warnings.filterwarnings("ignore", ".*resuming from a checkpoint that ended before the epoch ended")
        self._begin_epoch(trainer)
        # Lightning has begun to read this epoch already.
        so = "the first epoch of this attempt is not read as in an undisturbed training"
        fetcher = private(trainer.fit_loop, "_data_fetcher", "Lightning", so)
        if fetcher is None:
            return
        iter(fetcher)
        if self._feed is not None and not self._feed.can_skip:
            # Of loaders without a length, it has read the first batches already.
            read = getattr(fetcher, "batches", [])
            for _ in range(self._position.batch):
                read.append(next(fetcher.iterator))
                read.pop(0)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        # The first epoch has begun with the training.
        if self._is_started:
            self._position = Position(trainer.current_epoch)
            self._begin_epoch(trainer)

    def _begin_epoch(self, trainer: Any) -> None:
        loader = trainer.train_dataloader
        if self._feed is None or self._feed.loader is not loader:
            self._feed = Feed(loader)
        with self._store.using("begin of the epoch") if self._resumed is not None else contextlib.nullcontext():
            self._feed.begin(self._position, self._resumed, skips=True)
        batches = trainer.num_training_batches
        self._attempt.progress.steps = None if math.isinf(batches) else int(batches)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self._resumed is not None:
            self._restored()
            with self._store.using("random numbers"):
                for parameter, learns in zip(pl_module.parameters(), self._resumed.get("learn", [])):
                    parameter.requires_grad = learns
                self._gradients.restore(self._resumed.get("gradients", {}))
                set_random(self._resumed["random"], {})
            self._resumed, self._restored = None, lambda: None
            # Otherwise it would step the schedulers of this epoch twice, taking it for one that was complete.
            if private(trainer.fit_loop, "_restarting", "Lightning", "schedulers may step twice in this epoch") is not None:
                trainer.fit_loop._restarting = False
        self._is_started = True
        self._position = Position(trainer.current_epoch, batch_idx)
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self._between_batches(trainer)
        if not pl_module.automatic_optimization:
            if batch_idx == 0:
                self._gradients.epoch_begins()
            self._gradients.batch_begins()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        self._attempt.progress.log(self._position, {"loss": loss})

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self._is_started:
            self._attempt.progress.log(self._position, metrics_of_training(trainer.callback_metrics))

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._between_batches(trainer, is_last=True)
        self._store.wait()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage == "fit":
            self._attempt.end()
            self._store.wait()

    def _between_batches(self, trainer: Any, is_last: bool = False) -> None:
        attempt, began = self._attempt, time.monotonic()
        stop = attempt.agree(self._store.is_busy)
        if is_last and attempt.ranks.count > 1:
            stop = "save"
        if stop == "" and not is_last:
            return
        assert self._feed is not None
        others = attempt.ranks.gather(self._feed.own)
        if attempt.ranks.rank > 0:
            # Lightning waits for all processes.
            self._checkpoint(trainer)
            if stop == "leave":
                attempt.ranks.wait_to_leave()
            return

        def complete(state: dict[str, Any]) -> dict[str, Any]:
            if attempt.ranks.count > 1:
                state["callbacks"][getattr(self, "state_key")]["others"] = others()
            return state

        if stop == "leave":
            attempt.ignore_requests()
            is_saved = self._store.save_now(lambda: self._checkpoint(trainer), complete)
            attempt.interval.waited(began, time.monotonic())
            attempt.leave(self._position, is_saved, self._store.saved)
        self._store.save_soon(lambda: self._checkpoint(trainer), attempt.interval.written, complete)
        attempt.interval.waited(began, time.monotonic())

    def _checkpoint(self, trainer: Any) -> dict[str, Any]:
        """What Lightning would write."""
        usual, taken = trainer.strategy.checkpoint_io, _Taken()
        trainer.strategy.checkpoint_io = taken
        try:
            trainer.save_checkpoint(self._attempt.folder)
        finally:
            trainer.strategy.checkpoint_io = usual
        return without_functions(taken.state)  # type: ignore[no-any-return]


def _announce_epoch(fit_loop: Any) -> None:
    """Has every version of Lightning call `on_train_epoch_start` in a resumed epoch: it may set what no checkpoint has."""
    if getattr(fit_loop, "restarted_mid_epoch", False):
        so = "on_train_epoch_start is not called in the rest of this epoch"
        stages = private(sys.modules[type(fit_loop).__module__], "RestartStage", "Lightning", so)
        if stages is None or private(fit_loop, "_restart_stage", "Lightning", so) is None:
            return
        fit_loop._restart_stage = stages.RESTARTED_ON_EPOCH_START
        for count in (fit_loop.epoch_progress.total, fit_loop.epoch_progress.current):
            count.started -= 1


def _restorer(trainer: Any, module: Any) -> Callable[[], None]:
    """Undoes what hooks change as a resumed training starts: they had done so before it was saved."""
    parts = [module, *trainer.optimizers, *(one.scheduler for one in trainer.lr_scheduler_configs)]
    for one in trainer.callbacks:
        is_usual = type(one).on_train_epoch_start.__module__.endswith(".callbacks.callback")
        parts += [] if is_usual or isinstance(one, LightningHooks) or not one.state_dict() else [one]
    states = [(one, on_host(one.state_dict(), {})) for one in parts]

    def restore() -> None:
        for one, state in states:
            if one is module:
                one.load_state_dict(state, strict=False)
            elif not hasattr(one, "param_groups"):
                one.load_state_dict(state)
            elif len(one.param_groups) == len(state["param_groups"]):
                # A GPU may not have room for what it has now and for what it gets.
                one.state.clear()
                one.load_state_dict(state)

    return restore


class _Taken:
    """In place of Lightning's `CheckpointIO`: keeps what it is given, in the first process."""

    state: dict[str, Any] = {}

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        self.state = checkpoint


if TYPE_CHECKING:
    from lightning.pytorch import Callback as _Callback
else:
    _Callback = object


class LightningCheckpoint(LightningHooks, _Callback):
    """Makes a training with Lightning's Trainer one that can be interrupted at any time.

        saving = updraft.LightningCheckpoint()
        trainer = Trainer(callbacks=[saving])
        trainer.fit(model, ckpt_path=saving.last)
    """

    def __new__(cls, *_: Any, **__: Any) -> LightningCheckpoint:
        package = "pytorch_lightning" if "pytorch_lightning" in sys.modules else "lightning.pytorch"
        made: LightningCheckpoint = object.__new__(joined(cls, importlib.import_module(package).Callback))
        return made
