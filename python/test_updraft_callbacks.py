"""Interrupts trainings of Lightning and of Hugging Face's Trainer, and compares them with undisturbed ones."""

from __future__ import annotations

import errno
import glob
import importlib
import importlib.util
import json
import logging
import os
import random
import shutil
import signal
import sys
import unittest
import unittest.mock
import warnings
from typing import Any, Callable, Sequence

import test_ranks
import updraft
from test_ranks import Killed, RanksTest
from test_updraft import NEVER, AttemptTest, Interruption, Noisy, torch


def lacks(*modules: str) -> bool:
    return torch is None or any(importlib.util.find_spec(name) is None for name in modules)


# Here, because each attempt is a fork: it would load them again.
for module in ("lightning.pytorch", "transformers.trainer"):
    if not lacks(module.split(".")[0], "accelerate"):
        importlib.import_module(module)


def is_old(name: str, *version: int) -> bool:
    found = getattr(sys.modules.get(name), "__version__", "0").split(".")[:2]
    return tuple(map(int, found)) < version


def net() -> Any:
    layers = [torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)]
    return torch.nn.Sequential(*layers)


def loss_of(model: Any, indices: Any, images: Any) -> Any:
    return (model(images).squeeze(1) - indices / 30).pow(2).mean()


class Record:
    """What each batch was and what it cost. A batch that is trained on again must be the same again."""

    def __init__(self) -> None:
        self._path = os.path.join(os.environ["UPDRAFT_CHECKPOINT"] + os.environ.get("RANK", "") + ".jsonl")

    def add(self, place: list[int], indices: Any, loss: Any) -> None:
        with open(self._path, "a") as file:
            print(json.dumps([place, indices.tolist(), loss.item()]), file=file)

    def read(self) -> list[Any]:
        with open(self._path) as file:
            lines = [json.loads(line) for line in file]
        seen: dict[str, Any] = {}
        for place, *what in lines:
            assert seen.setdefault(str(place), what) == what, f"batch {place} differs: {what}, {seen[str(place)]}"
        return [[place, *what] for place, what in seen.items()]


def ending(interruption: Interruption) -> Callable[[], None]:
    left = iter(range(interruption._left - 1, -1, -1))

    def batch_done() -> None:
        if next(left, None) == 0:
            os.kill(os.getpid(), interruption._signal)

    return batch_done


def with_lightning(
    interruption: Interruption,
    workers: int = 0,
    also: int = 0,
    endless: bool = False,
    peeks: bool = False,
    unsized: bool = False,
    hooks: bool = False,
    more: Sequence[Any] = (),
    manual: bool = False,
    **options: Any,
) -> list[Any]:
    """With `also`, the number of its samples, a second loader is read beside the first one, more than once.

    If `endless`, that one has no end; if `peeks`, a callback looks at a batch as each epoch starts; if `unsized`, the
    first loader has no length; if `hooks`, the model changes, and sets what no checkpoint has, as each epoch starts.
    `more` are callbacks. If `manual`, the model itself collects the gradients of three batches.
    """
    from lightning.pytorch import Callback, LightningModule, Trainer

    quiet("lightning.pytorch", "lightning.fabric")
    torch.manual_seed(1)
    random.seed(1)
    record, batch_done = Record(), ending(interruption)

    class Model(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()
            self.scale = 1.0
            self.automatic_optimization = not manual
            self.register_buffer("seen", torch.zeros(()))

        def on_train_epoch_start(self) -> None:
            if hooks:
                self.scale = 1 / (1 + self.current_epoch)
                self.seen.zero_()
                self.optimizers().param_groups[0]["weight_decay"] *= 2
                if self.current_epoch == 1:
                    self.net[0].requires_grad_(False)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            both = [batch["a"], batch["b"]] if also else [batch]
            self.seen += 1
            loss = sum(loss_of(self.net, *one) for one in both) * self.scale * (1 + self.seen)
            record.add([self.current_epoch, batch_idx], torch.cat([one[0] for one in both]), loss)
            if manual:
                self.manual_backward(loss)
                if batch_idx % 3 == 2:
                    self.optimizers().step()
                    self.optimizers().zero_grad()
            return loss

        def on_train_batch_end(self, *_: Any) -> None:
            batch_done()

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_acc", torch.rand(()))

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]

    class Peek(Callback):
        def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
            for one in [*trainer.train_dataloader.values()] if also else [trainer.train_dataloader]:
                next(iter(one))

    saving = updraft.LightningCheckpoint(every=0)
    options.update(logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu")
    callbacks = [saving, *[Peek()] * peeks, *more]
    trainer = Trainer(max_epochs=3, callbacks=callbacks, enable_model_summary=False, **options)
    model = Model()
    how = {"batch_size": 4, "shuffle": True, "num_workers": workers}
    # Who looks at a batch of workers that persist takes it from the training.
    how["persistent_workers"] = workers > 0 and not peeks
    loader = torch.utils.data.DataLoader(flow(), 4) if unsized else torch.utils.data.DataLoader(Noisy(), **how)
    if also:
        fewer = torch.utils.data.Subset(Noisy(), range(also))
        if endless:
            how.update(shuffle=False, sampler=Endless())
        loader = {"a": loader, "b": torch.utils.data.DataLoader(fewer, **how)}
    validation = torch.utils.data.DataLoader(Noisy(), batch_size=15)
    trainer.fit(model, loader, validation, ckpt_path=saving.last)
    return [record.read(), [one.tolist() for one in model.parameters()]]


def flow() -> Any:
    class Flow(torch.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            return ((index, torch.full((8,), index / 30)) for index in range(30))

    return Flow()


class Endless:
    def __iter__(self) -> Any:
        while True:
            yield random.randrange(14)


def with_trainer(
    interruption: Interruption, workers: int = 0, collect: int = 1, keep: int = 1, data: Any = None, **options: Any
) -> list[Any]:
    from transformers import Trainer, TrainerCallback, TrainingArguments

    quiet("transformers")
    record, batch_done = Record(), ending(interruption)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def forward(self, indices: Any, images: Any) -> Any:
            return {"loss": loss_of(self.net, indices, images)}

    class Recorded(Trainer):
        def compute_loss(self, model: Any, inputs: Any, *more: Any, **kwargs: Any) -> Any:
            loss = super().compute_loss(model, inputs, *more, **kwargs)
            if model.training:
                record.add([self.state.global_step, *inputs["indices"].tolist()], inputs["indices"], loss)
            return loss

    class End(TrainerCallback):
        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            batch_done()

    torch.manual_seed(1)
    model = Model()
    # Its name before transformers 4.41.
    when = "eval_strategy" if hasattr(TrainingArguments, "eval_strategy") else "evaluation_strategy"
    args = TrainingArguments(
        "out", **{"num_train_epochs": 3, **options}, per_device_train_batch_size=5, learning_rate=0.01, seed=7, use_cpu=True,
        logging_steps=2, save_strategy="no", **{when: "epoch"}, report_to=[], disable_tqdm=True,
        remove_unused_columns=False, dataloader_num_workers=workers, gradient_accumulation_steps=collect,
    )  # fmt: skip
    saving = updraft.TrainerCheckpoint(every=0, keep=keep)
    trainer = Recorded(
        model, args, train_dataset=data or Noisy(), eval_dataset=Noisy(),
        data_collator=as_batch if data else collate, callbacks=[saving, End()],
    )  # fmt: skip
    trainer.train(resume_from_checkpoint=saving.last)
    return [record.read(), [one.tolist() for one in model.parameters()]]


def on_disk_for(checkpoints: int) -> Callable[[Interruption], list[Any]]:
    def train(interruption: Interruption) -> list[Any]:
        from transformers import Trainer

        usual = Trainer.save_model

        def save_model(*args: Any, **kwargs: Any) -> None:
            if sum(name.startswith("checkpoint-") for name in os.listdir("saved")) >= checkpoints:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            usual(*args, **kwargs)

        os.mkdir("saved")
        with unittest.mock.patch.object(Trainer, "save_model", save_model):
            return with_trainer(interruption, keep=2)

    return train


def with_accelerate(interruption: Interruption, workers: int) -> list[Any]:
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration

    torch.manual_seed(1)
    random.seed(1)
    how = DataLoaderConfiguration(use_seedable_sampler=workers == 0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=3, dataloader_config=how)
    model, losses = net(), []
    loader = torch.utils.data.DataLoader(Noisy(), 4, True, num_workers=workers, persistent_workers=workers > 0)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=0.01), loader)
    with updraft.training(model, optimizer, losses, every=0) as run:
        for _ in run.epochs(3):
            for indices, images in run.batches(loader):
                with accelerator.accumulate(model):
                    loss = loss_of(model, indices, images)
                    accelerator.backward(loss)
                    optimizer.step()
                    optimizer.zero_grad()
                losses.append([indices.tolist(), loss.item()])
                interruption.batch_done(run)
    return losses


def damage(path: str) -> None:
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        file.write(b"?" * 64)


def collate(samples: Any) -> Any:
    batch = as_batch(samples)
    # As a collator that masks words does.
    return {**batch, "images": batch["images"] + 0.01 * torch.rand(len(samples), 8)}


def as_batch(samples: Any) -> Any:
    indices, images = zip(*samples)
    return {"indices": torch.tensor(indices), "images": torch.stack(images)}


def quiet(*names: str) -> None:
    warnings.simplefilter("ignore")
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    sys.stdout = open(os.devnull, "w")


def at_random(seed: int, batches: int) -> list[tuple[int, int]]:
    """When a training is interrupted, and how: four times within its batches, as the seed says."""
    draw = random.Random(seed)
    return [(draw.randrange(1, batches // 4), draw.choice([signal.SIGKILL, signal.SIGTERM])) for _ in range(4)]


@unittest.skipIf(lacks("lightning"), "this Python has no Lightning")
class WithLightning(AttemptTest):
    def test_same_samples_losses_and_weights(self) -> None:
        self.same_after(with_lightning, at_random(1, 24), "whole")

    def test_same_at_other_moments(self) -> None:
        self.same_after(with_lightning, at_random(2, 24), "whole")

    def test_same_with_workers_that_persist(self) -> None:
        self.same_after(lambda end: with_lightning(end, workers=2), at_random(3, 24), "whole")

    def test_same_with_collected_gradients_and_validation_within_an_epoch(self) -> None:
        options = {"accumulate_grad_batches": 3, "val_check_interval": 0.5}
        self.same_after(lambda end: with_lightning(end, **options), at_random(4, 24), "whole")

    def test_same_with_several_loaders(self) -> None:
        for workers in (0, 1):
            with self.subTest(workers=workers):
                train = lambda end: with_lightning(end, workers, also=14)
                self.same_after(train, at_random(5 + workers, 24), f"whole-{workers}")
                shutil.rmtree("saved")
                os.remove("saved.jsonl")

    def test_same_with_a_second_loader_that_has_no_end(self) -> None:
        train = lambda end: with_lightning(end, also=14, endless=True, limit_train_batches=8)
        self.same_after(train, at_random(7, 24), "whole")

    def test_same_with_a_callback_that_looks_at_a_batch(self) -> None:
        for also, workers in ((0, 0), (0, 2), (14, 0)):
            with self.subTest(also=also, workers=workers):
                train = lambda end: with_lightning(end, workers, also, peeks=True)
                self.same_after(train, at_random(8 + workers, 24), f"whole-{also}-{workers}")
                shutil.rmtree("saved")
                os.remove("saved.jsonl")

    def test_same_with_a_loader_that_has_no_length(self) -> None:
        for also in (0, 14):
            with self.subTest(also=also):
                train = lambda end: with_lightning(end, also=also, unsized=True)
                self.same_after(train, at_random(11, 24), f"whole-{also}")
                shutil.rmtree("saved")
                os.remove("saved.jsonl")

    def test_same_with_hooks_of_a_model_as_an_epoch_starts(self) -> None:
        # Within an epoch, at its end, and within the one after a layer was frozen.
        ends = [(4, signal.SIGTERM), (4, signal.SIGTERM), (12, signal.SIGKILL), (3, signal.SIGTERM)]
        self.same_after(lambda end: with_lightning(end, hooks=True), ends, "whole")

    def test_same_with_callbacks_that_change_it_from_epoch_to_epoch(self) -> None:
        from lightning.pytorch.callbacks import GradientAccumulationScheduler, StochasticWeightAveraging

        changing = {
            "accumulation": lambda: GradientAccumulationScheduler({0: 1, 1: 2}),
            "averaging": lambda: StochasticWeightAveraging(0.05, swa_epoch_start=1),
        }
        for name, make in changing.items():
            with self.subTest(callback=name):
                train = lambda end: with_lightning(end, more=[make()])
                self.same_after(train, [(12, signal.SIGTERM), (4, signal.SIGTERM)], f"whole-{name}")
                shutil.rmtree("saved")
                os.remove("saved.jsonl")

    def test_same_with_gradients_that_a_model_collects_itself(self) -> None:
        # Also over the end of an epoch of eight batches.
        ends = [(4, signal.SIGTERM), (4, signal.SIGTERM), (3, signal.SIGKILL), (4, signal.SIGTERM)]
        self.same_after(lambda end: with_lightning(end, manual=True), ends, "whole")

    def test_refuses_to_start_over_by_mistake(self) -> None:
        self.attempt(with_lightning, (3, signal.SIGTERM), UPDRAFT_CHECKPOINT="saved")

        def forgetful(interruption: Interruption) -> list[Any]:
            updraft.LightningCheckpoint.last = None
            return with_lightning(interruption)

        self.assertEqual(self.attempt(forgetful, NEVER, UPDRAFT_CHECKPOINT="saved")[0], 1)

    def test_reports_progress(self) -> None:
        self.attempt(with_lightning, NEVER, UPDRAFT_CHECKPOINT="saved", UPDRAFT_PROGRESS="progress.jsonl")
        with open("progress.jsonl") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([lines[0][name] for name in ("epoch", "epochs", "step", "steps")], [1, 3, 0, 8])
        # The agent gives it its name, apart from the training's.
        self.assertTrue(any("val_acc" in line for line in lines))
        self.assertFalse(any("accuracy" in line for line in lines))


@unittest.skipIf(lacks("accelerate"), "this Python has no accelerate")
class WithAccelerate(AttemptTest):
    def test_same_samples_losses_and_weights(self) -> None:
        for workers in (0, 1):
            with self.subTest(workers=workers):
                train = lambda end: with_accelerate(end, workers)
                self.same_after(train, [(3, signal.SIGTERM), (9, signal.SIGKILL), (6, signal.SIGTERM)], f"whole-{workers}")
                shutil.rmtree("saved")


@unittest.skipIf(lacks("transformers", "accelerate"), "this Python has no transformers and accelerate")
class WithTrainer(AttemptTest):
    def test_same_samples_losses_and_weights(self) -> None:
        self.same_after(with_trainer, at_random(1, 18), "whole")

    def test_same_at_other_moments(self) -> None:
        self.same_after(with_trainer, at_random(2, 18), "whole")

    def test_same_with_workers(self) -> None:
        self.same_after(lambda end: with_trainer(end, workers=2), at_random(3, 18), "whole")

    def test_same_with_collected_gradients(self) -> None:
        self.same_after(lambda end: with_trainer(end, collect=2), at_random(4, 9), "whole")

    def test_skips_a_checkpoint_with_a_damaged_file(self) -> None:
        _, undisturbed = self.attempt(with_trainer, NEVER, UPDRAFT_CHECKPOINT="whole")
        self.attempt(lambda end: with_trainer(end, keep=2), (9, signal.SIGKILL), UPDRAFT_CHECKPOINT="saved")
        damage("saved/checkpoint-8/optimizer.pt")
        self.assertEqual(self.attempt(with_trainer, NEVER, UPDRAFT_CHECKPOINT="saved"), (0, undisturbed))
        why = "saved/checkpoint-8 is damaged; trying the one before it: optimizer.pt is not as it was written"
        self.assertIn(why, self.said())
        self.assertEqual(sorted(os.listdir("saved/checkpoint-18")), sorted(os.listdir("whole/checkpoint-18")))
        self.assertFalse(os.path.exists("saved/checkpoint-8"))

    def test_starts_over_if_all_checkpoints_are_damaged(self) -> None:
        _, undisturbed = self.attempt(with_trainer, NEVER, UPDRAFT_CHECKPOINT="whole")
        self.attempt(with_trainer, (3, signal.SIGKILL), UPDRAFT_CHECKPOINT="saved")
        damage("saved/checkpoint-2/updraft.pt")
        self.assertEqual(self.attempt(with_trainer, NEVER, UPDRAFT_CHECKPOINT="saved"), (0, undisturbed))
        self.assertIn("is damaged; no other is left, so the training starts over: updraft.pt is", self.said())

    @unittest.skipIf(is_old("transformers", 4, 50), "the Trainer of 4.46 and before ends such a training")
    def test_same_with_several_passes_over_data_without_a_length(self) -> None:
        class Passes(torch.utils.data.IterableDataset):
            epoch = 0

            def set_epoch(self, epoch: int) -> None:
                self.epoch = epoch

            def __iter__(self) -> Any:
                noise = torch.Generator().manual_seed(self.epoch)
                return ((index, torch.rand(8, generator=noise)) for index in range(20))

        train = lambda end: with_trainer(end, data=Passes(), max_steps=15)
        # At the end of the first pass, and within the next one.
        self.same_after(train, [(4, signal.SIGTERM), (7, signal.SIGTERM)], "whole")

    def test_takes_no_step_more_after_an_end_within_an_epoch(self) -> None:
        train = lambda end: with_trainer(end, num_train_epochs=1.5)
        undisturbed = self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="whole")
        self.assertEqual(undisturbed[0], 0)
        self.assertNotIn("no checkpoint", self.said())
        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="whole"), undisturbed)

    def test_a_full_disk_costs_the_checkpoint_and_not_the_training(self) -> None:
        _, undisturbed = self.attempt(with_trainer, NEVER, UPDRAFT_CHECKPOINT="whole")
        self.assertEqual(self.attempt(on_disk_for(0), NEVER, UPDRAFT_CHECKPOINT="saved"), (0, undisturbed))
        message = "updraft: no checkpoint could be written: [Errno 28] No space left on device\n"
        self.assertEqual(self.said().count("no checkpoint"), 1)
        self.assertIn(message, self.said())

    def test_the_oldest_checkpoint_makes_room(self) -> None:
        self.attempt(on_disk_for(2), NEVER, UPDRAFT_CHECKPOINT="saved")
        self.assertEqual(sorted(os.listdir("saved")), ["checkpoint-17", "checkpoint-18"])
        self.assertNotIn("no checkpoint", self.said())

    def test_says_what_to_write_for_several_devices(self) -> None:
        from transformers import TrainingArguments
        from transformers.trainer_utils import get_last_checkpoint

        loader = unittest.mock.Mock(base_dataloader=torch.utils.data.DataLoader(flow()))
        with self.assertRaises(SystemExit) as refused:
            args = unittest.mock.Mock(world_size=2, n_gpu=1)
            updraft.TrainerCheckpoint().on_train_begin(args, None, None, train_dataloader=loader)
        self.assertIn("see docs/checkpoints.md", str(refused.exception))
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../docs/checkpoints.md")) as file:
            said = file.read().replace(", …)", ", use_cpu=True, report_to=[])")
        arguments = said[said.index("TrainingArguments(") : said.index("`, and `trainer.train")]
        with unittest.mock.patch.dict(os.environ, UPDRAFT_CHECKPOINT="own"):
            args = eval(arguments, {"TrainingArguments": TrainingArguments, "os": os})
        os.makedirs("own/checkpoint-200")
        self.assertEqual(args.output_dir, "own")
        self.assertEqual(get_last_checkpoint(args.output_dir), "own/checkpoint-200")

    def test_refuses_to_collect_gradients_beyond_an_epoch_and_says_what_to_do(self) -> None:
        self.assertEqual(self.attempt(lambda end: with_trainer(end, collect=4), NEVER, UPDRAFT_CHECKPOINT="saved")[0], 1)
        self.assertIn("=4 does not divide: the Trainer cannot resume that exactly. Leave out", self.said())

    def test_reports_progress(self) -> None:
        self.attempt(with_trainer, NEVER, UPDRAFT_CHECKPOINT="saved", UPDRAFT_PROGRESS="progress.jsonl")
        with open("progress.jsonl") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([lines[-1][name] for name in ("epoch", "epochs", "steps")], [3, 3, 6])


@unittest.skipIf(lacks("transformers", "accelerate"), "needs transformers")
class InRanks(RanksTest):
    """Of Hugging Face's Trainer, with DistributedDataParallel."""

    def train(self, count: int, killed: Killed, folder: str) -> list[int]:
        env = {"LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
        return self.attempt(in_ranks, count, killed, folder, **env)

    def test_same_with_kills_and_requests(self) -> None:
        self.assertEqual(self.train(2, test_ranks.NEVER, "whole"), [0, 0], self.said())
        whole = self.results(2)
        self.assertEqual(whole[0][1], whole[1][1])
        read = [[index for place, index, _ in rows if json.loads(place)[0] < 3] for rows, _ in whole]
        self.assertEqual(sorted(sum(read[0] + read[1], [])), list(range(30)))
        for killed in (Killed(1, 4, signal.SIGKILL), Killed(1, 2, signal.SIGTERM), Killed(0, 2, signal.SIGTERM)):
            codes = self.train(2, killed, "saved")
            if killed.by == signal.SIGKILL:
                self.assertIn(-9, codes)
            else:
                self.assertEqual(codes, [updraft.SAVED] * 2, self.said())
        self.assertEqual(self.train(2, test_ranks.NEVER, "saved"), [0, 0], self.said(0) + self.said(1))
        self.assertEqual(self.results(2), whole)
        self.assertIn("resuming in epoch", self.said())
        saved, usual = (sorted(os.listdir(glob.glob(f"{one}/checkpoint-*")[0])) for one in ("saved", "whole"))
        self.assertEqual(saved, usual)
        self.assertIn("rng_state_1.pth", saved)

    def test_fewer_cannot_go_on(self) -> None:
        self.assertEqual(self.train(2, Killed(0, 4, signal.SIGTERM), "saved"), [updraft.SAVED] * 2, self.said())
        self.assertEqual(self.train(1, test_ranks.NEVER, "saved"), [1])
        self.assertIn("resume it with 2, not 1", self.said())

    def test_processes_draw_other_random_numbers(self) -> None:
        def drawn(rank: int, count: int, _: Any) -> Any:
            loader = torch.utils.data.DataLoader(Noisy(), 4)
            feed = updraft.feed.Feed(loader)
            torch.manual_seed(1)
            feed.begin(updraft.position.Position(), None, skips=False)
            return next(iter(loader))[1].tolist()

        self.assertEqual(self.attempt(drawn, 2, test_ranks.NEVER, "saved"), [0, 0], self.said())
        self.assertNotEqual(*self.results(2))


def in_ranks(rank: int, count: int, killed: Killed) -> list[Any]:
    from transformers import TrainingArguments

    # PyTorch 1 cannot load to a CPU that has a number.
    plain = property(lambda self: torch.device(self._setup_devices.type))
    with unittest.mock.patch.object(TrainingArguments, "device", plain):
        return with_trainer(Interruption(killed.left if rank == killed.rank else 0, killed.by), num_train_epochs=6)


if __name__ == "__main__":
    unittest.main()
