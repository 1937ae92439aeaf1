"""Takes away, one by one, what PyTorch, Lightning and transformers keep private, and sees that trainings go on."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import types
import unittest
import unittest.mock
from typing import Any

import updraft
from test_updraft import NEVER, AttemptTest, learn, torch
from updraft import leaving, lightning, loaded, state, trainer


class Gone(AttemptTest):
    """Each is looked up by `loaded.private`, which says once what steps aside."""

    def setUp(self) -> None:
        super().setUp()
        loaded._missed.clear()
        self.said_now = io.StringIO()
        redirected = contextlib.redirect_stderr(self.said_now)
        redirected.__enter__()
        self.addCleanup(redirected.__exit__, None, None, None)
        self.addCleanup(updraft.attempt.used_folders.clear)

    def missed(self, *names: str) -> None:
        lines = self.said_now.getvalue().splitlines()
        found = [line.split(" has no ")[1].split(",")[0] for line in lines if line.startswith("updraft: this version of ")]
        self.assertEqual(found, list(names))

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_workers_that_cannot_be_shielded(self) -> None:
        with unittest.mock.patch.object(torch.utils.data.dataloader, "_MultiProcessingDataLoaderIter", None):
            leaving.shield_workers()
            leaving.shield_workers()
        self.missed("_MultiProcessingDataLoaderIter")

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_loaders_without_what_is_only_looked_at(self) -> None:
        """`_iterator`, `_get_iterator`, `_index_sampler` and `_auto_collation`: nothing else is asked."""

        class Bare(torch.utils.data.DataLoader):
            _get_iterator = _index_sampler = _auto_collation = None

        loader = torch.utils.data.DataLoader(range(4))
        with unittest.mock.patch.object(torch.utils.data, "DataLoader", Bare):
            self.assertFalse(updraft.loaders.can_begin_anywhere(loader))
        self.assertEqual(updraft.generators.generators_of(types.SimpleNamespace(dataset=range(4))), {})
        self.missed()

    def test_parameters_without_a_version(self) -> None:
        gradient, one = object(), types.SimpleNamespace(grad=None)
        gradients = state.Gradients({"model": types.SimpleNamespace(parameters=lambda: [one])})
        gradients.epoch_begins()
        gradients.batch_begins()
        one.grad = gradient
        self.assertEqual(gradients.state(), {"model": [gradient]})
        self.missed("_version")

    def test_a_lightning_without_its_fetcher_and_its_restart(self) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(unittest.mock.patch.object(lightning, "Feed"))
            hooks = lightning.LightningHooks(folder="saved")
            fit_loop: Any = types.SimpleNamespace(restarted_mid_epoch=True)
            fakes: dict[str, Any] = {"world_size": 1, "optimizers": [], "max_epochs": 1, "lr_scheduler_configs": []}
            fakes.update(callbacks=[], train_dataloader=[], num_training_batches=1, current_epoch=0, fit_loop=fit_loop)
            fakes.update(accumulate_grad_batches=2)
            empty: dict[str, Any] = {}
            methods = {"parameters": lambda: [], "state_dict": lambda: empty, "load_state_dict": lambda *_, **__: None}
            module: Any = types.SimpleNamespace(automatic_optimization=True, **methods)
            random = updraft.randomness.random_now({})
            hooks.load_state_dict({"format": 2, "position": (0, 1), "lives": [], "random": random, "epoch_random": random})
            hooks.on_train_start(types.SimpleNamespace(**fakes), module)
            hooks.on_train_batch_start(types.SimpleNamespace(**fakes), module, None, 1)
        self.missed("RestartStage", "_data_fetcher", "_restarting")

    def test_a_trainer_without_its_saving_and_its_skipping(self) -> None:
        hooks = trainer.TrainerHooks(folder="saved")
        with unittest.mock.patch.dict(sys.modules, {"transformers.trainer": types.ModuleType("transformers.trainer")}):
            with unittest.mock.patch.dict(sys.modules, transformers=types.ModuleType("transformers")):
                hooks._survive_failed_saves()
                hooks._skip_by(lambda usual, loader: loader)
        self.missed("_save_checkpoint", "skip_first_batches")

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_a_whole_training_without_any_of_pytorchs(self) -> None:
        def train(interruption: Any) -> Any:
            torch.utils.data.dataloader._MultiProcessingDataLoaderIter = None
            with unittest.mock.patch.object(state, "private", lambda *_: None):
                return learn(interruption, lambda: torch.utils.data.DataLoader([(torch.tensor(1), torch.ones(8))] * 4))

        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved")[0], 0)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_several_processes_without_the_store_of_their_group(self) -> None:
        ranks = updraft.ranks.Ranks()
        distributed = types.SimpleNamespace(is_initialized=lambda: True, distributed_c10d=types.SimpleNamespace())
        with unittest.mock.patch.object(updraft.ranks, "this_rank", lambda: (1, 2)):
            with unittest.mock.patch.object(torch, "distributed", distributed), self.assertRaises(SystemExit):
                ranks.open()
        self.missed("_get_default_store")

    def test_every_private_name_is_in_a_test_here(self) -> None:
        folder = os.path.dirname(os.path.abspath(updraft.__file__))
        texts = []
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    texts.append(file.read())
        asked = {line.split('"')[1] for text in texts for line in text.split("private(")[1:] if line.count('"') > 1}
        with open(os.path.abspath(__file__), encoding="utf-8") as file:
            ours = file.read()
        self.assertEqual([name for name in sorted(asked) if f'"{name}"' not in ours and name != "_restart_stage"], [])


class Compiler(unittest.TestCase):
    @unittest.skipIf(torch is None or not hasattr(torch, "compile"), "PyTorch before 2.0 has no compiler")
    def test_the_real_one_is_used_if_the_environment_says_so(self) -> None:
        program = "import sys, updraft, torch; torch.optim.SGD([torch.zeros(1, requires_grad=True)], 1); print('sympy' in sys.modules)"
        folder = os.path.dirname(os.path.dirname(os.path.abspath(updraft.__file__)))
        found = []
        for more in ({}, {"UPDRAFT_COMPILER": "real"}):
            env = {**os.environ, "PYTHONPATH": folder, "UPDRAFT_PROGRESS": "progress", **more}
            done = subprocess.run([sys.executable, "-B", "-c", program], env=env, check=True, stdout=subprocess.PIPE, text=True)
            found.append(done.stdout.strip())
        self.assertEqual(found, ["False", "True"])


class Help(unittest.TestCase):
    def test_names_everything_whatever_is_installed(self) -> None:
        import pydoc

        text = pydoc.plain(pydoc.render_doc(updraft))
        for name in updraft.__all__:
            self.assertIn(name, text)
        self.assertIn("ckpt_path=saving.last", text)
        self.assertFalse(hasattr(updraft, "trainning"))
