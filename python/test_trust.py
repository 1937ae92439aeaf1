"""Plants checkpoints that would run a command, under each reader, and sees that nothing runs."""

from __future__ import annotations

import collections
import contextlib
import importlib
import io
import os
import pickle
import random
import re
import resource
import shutil
import sys
import unittest
import unittest.mock
import zipfile
import zlib
from typing import Any

import updraft
from test_updraft import NEVER, AttemptTest, Interruption, Tape, learn, torch

if torch is not None:
    import numpy


class Evil:
    def __init__(self, call: Any = os.system, *args: Any) -> None:
        self._call, self._args = call, args or ("touch ran",)

    def __reduce__(self) -> Any:
        return self._call, self._args


def code_of(*lines: str) -> bytes:
    return "\n".join(lines).encode() + b"\n."


PLANTED = {
    "a command": pickle.dumps({"objects": Evil()}),
    "a function beside a plain type": code_of("c__builtin__\nexec", "(S'open(\"ran\",\"w\")'", "tR"),
    "a function beside a container": code_of("ccollections\nnamedtuple", "(S'a'", "S'b'", "tR"),
    "a loader of PyTorch": code_of("ctorch\nload", "(S'ran'", "tR"),
    "an attribute": code_of("c__builtin__\ngetattr", "(ccollections\nOrderedDict", "S'fromkeys'", "tR"),
    "a part of a known name": code_of("ccollections\nOrderedDict.fromkeys", "(S'a'", "tR"),
    "memory as an object": code_of("cnumpy\ndtype", "(S'O8'", "I0", "I1", "tR(I3", "S'|'", "NNNI-1", "I-1", "I63", "tb"),
}


def plant(path: str, state: Any) -> None:
    if isinstance(state, bytes):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", state)
    else:
        torch.save(state, path)


def named(path: str) -> str:
    """As a checkpoint that is whole."""
    with open(path, "rb") as file:
        crc = zlib.crc32(file.read())
    target = os.path.join(os.path.dirname(path), f"checkpoint-000000000001-{crc:08x}.pt")
    os.rename(path, target)
    return target


class Planted(AttemptTest):
    def setUp(self) -> None:
        super().setUp()
        os.mkdir("saved")
        # Each test has its own folder.
        self.addCleanup(updraft.attempt.used_folders.clear)

    def refused(self, use: Any, *words: str) -> None:
        with self.assertRaises(SystemExit) as ended:
            use()
        self.assertFalse(os.path.exists("ran"))
        for word in words:
            self.assertIn(word, str(ended.exception))

    def train(self) -> None:
        with updraft.training(tape=Tape(), folder="saved"):
            pass

    def test_nothing_runs_without_pytorch(self) -> None:
        for kind, planted in PLANTED.items():
            with self.subTest(kind), unittest.mock.patch.dict(sys.modules, torch=None):
                with open("saved/part", "wb") as file:
                    file.write(planted)
                path = named("saved/part")
                updraft.attempt.used_folders.clear()
                self.refused(self.train)
                os.remove(path)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_nothing_runs_under_any_reader(self) -> None:
        for kind, planted in PLANTED.items():
            with self.subTest(kind):
                plant("saved/part", planted)
                path = named("saved/part")
                updraft.attempt.used_folders.clear()
                self.refused(self.train)
                self.refused(lambda: updraft.lightning.LightningHooks(folder="saved").last)
                os.remove(path)
                for name in ("updraft.pt", "optimizer.pt", "rng_state.pth", "pytorch_model.bin"):
                    os.mkdir("saved/checkpoint-1")
                    plant("saved/checkpoint-1/updraft.pt", {})
                    plant(f"saved/checkpoint-1/{name}", planted)
                    self.refused(lambda: updraft.trainer.TrainerHooks(folder="saved").last)
                    for file in os.listdir("saved/checkpoint-1"):
                        os.remove(f"saved/checkpoint-1/{file}")
                    os.rmdir("saved/checkpoint-1")

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_says_which_class_and_how_to_allow_it(self) -> None:
        torch.save({"objects": Evil()}, "saved/part")
        named("saved/part")
        # Python's own name of os.system.
        self.refused(self.train, "posix.system", "trust_checkpoint=True")

    @unittest.skipUnless(hasattr(torch, "compile"), "needs PyTorch 2")
    def test_parts_of_a_model_are_data(self) -> None:
        saving = importlib.import_module("torch.distributed.checkpoint")
        part = torch.arange(12.0).reshape(3, 4)
        saving.save({"w": part}, storage_writer=saving.FileSystemWriter("saved"))
        state = {"w": {updraft.parts._PART: "w", "path": ["w"], "dtype": part.dtype}}

        def read() -> Any:
            return updraft.parts.read_parts(state, "saved", lambda path: torch.zeros(3, 4), False)["w"]

        self.assertTrue(torch.equal(read(), part))
        with open("saved/.metadata", "rb") as file:
            metadata = pickle.load(file)
        (place,) = metadata.storage_data.values()
        for kind, planted in PLANTED.items():
            with self.subTest(kind):
                plant("planted", planted)
                place.offset, place.length = 0, os.stat("planted").st_size
                shutil.copy("planted", os.path.join("saved", place.relative_path))
                with open("saved/.metadata", "wb") as file:
                    pickle.dump(metadata, file)
                with self.assertRaisesRegex(updraft.errors.Refused, "^saved is damaged.*Move it elsewhere"):
                    read()
                self.assertFalse(os.path.exists("ran"))

    def test_nothing_is_written_through_a_link(self) -> None:
        os.mkdir("folder")
        for target, kept in (("mine", "precious"), ("folder", None)):
            if kept is not None:
                with open(target, "w") as file:
                    file.write(kept)
            os.symlink(os.path.abspath(target), "saved/.checkpoint.part")
            store = updraft.store.Store("saved", 2, False)
            self.assertTrue(store.save_now(lambda: {"a": 1}))
            self.assertTrue(updraft.reading.read_checkpoint(store.newest() or "", False) == {"a": 1})
        self.assertEqual(os.listdir("folder"), [])
        with open("mine") as file:
            self.assertEqual(file.read(), "precious")

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_no_tensor_is_moved_beyond_its_memory(self) -> None:
        for made in (torch.ones(16), torch.nn.Parameter(torch.ones(16))):
            torch.save(made, "saved/part")
            with zipfile.ZipFile("saved/part") as archive:
                content = {name: archive.read(name) for name in archive.namelist()}
            with zipfile.ZipFile("saved/part", "w") as archive:
                for name, text in content.items():
                    # A state of it: itself, 12, (16,), (1,).
                    state = b"(h" + text[-2:-1] + b"K\x0c(K\x10t(K\x01ttb."
                    archive.writestr(name, text[:-1] + state if name.endswith("/data.pkl") else text)
            with self.assertRaisesRegex(updraft.errors.Refused, "torch.Tensor.__setstate__"):
                updraft.reading.read_checkpoint("saved/part", False)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_archives_that_another_reader_may_understand_otherwise_are_refused(self) -> None:
        plain = pickle.dumps({}, 2)
        for names in (["a/data.pkl", "a/DATA.PKL"], ["a/data.pkl", "a/constants.pkl"], ["a/data.pkl", "b/data.pkl"]):
            with zipfile.ZipFile("saved/part", "w") as archive:
                for name in names:
                    archive.writestr(name, plain)
            with self.assertRaises(updraft.errors.Refused):
                updraft.reading.read_checkpoint("saved/part", False)
        with open("saved/part", "wb") as file:
            file.write(b"PK before it")
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("a/data.pkl", plain)
        with self.assertRaises(updraft.errors.Refused):
            updraft.reading.read_checkpoint("saved/part", False)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_what_trainings_save_is_read_as_it_was(self) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
        optimizer = torch.optim.AdamW(model.parameters())
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        kinds = torch.optim.lr_scheduler
        schedulers = [kinds.MultiStepLR(optimizer, [1, 2]), torch.optim.swa_utils.SWALR(optimizer, 0.1)]
        dtypes = [torch.bfloat16, torch.float16, torch.float64, torch.complex64, torch.bool, torch.int8, torch.uint8]
        whole = torch.arange(6.0)
        saved = {
            "states": [one.state_dict() for one in (model, optimizer, *schedulers)],
            "tensors": [torch.ones(2, 3).t(), torch.empty(0, 3), *(torch.ones(3).to(one) for one in dtypes)],
            "views": [whole[1:], whole[:2]],
            "sparse": torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)),
            "plain": (1 << 90, -2.5, None, True, "ü", b"\xff\0", {1, 2}, 1j, range(3), collections.Counter("aab")),
            "numpy": [numpy.float64(1.5), numpy.arange(6).reshape(2, 3), (numpy.ones(2, ">f4"), numpy.array(["ab"]))],
            "random": (random.getstate(), numpy.random.get_state(), numpy.random.default_rng(1).bit_generator.state),
            "more": [torch.float16, torch.device("cuda:1"), torch.Size([2]), collections.deque([1], 2)],
        }
        torch.save(saved, "saved/part")
        read = updraft.reading.read_checkpoint("saved/part", False)
        self.assertEqual(printed(read), printed(saved))
        self.assertEqual(read["states"][0]._metadata, saved["states"][0]._metadata)
        read["views"][0][0] = 9
        self.assertEqual(read["views"][1][1], 9)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_schedulers_with_functions_in_their_state_are_resumed(self) -> None:
        kinds = torch.optim.lr_scheduler

        def several(optimizer: Any) -> Any:
            return kinds.SequentialLR(optimizer, [kinds.LinearLR(optimizer), kinds.OneCycleLR(optimizer, 0.1, 30)], [2])

        makes = {
            "one cycle": lambda optimizer: kinds.OneCycleLR(optimizer, 0.1, 30, anneal_strategy="linear"),
            "cycles": lambda optimizer: kinds.CyclicLR(optimizer, 0.01, 0.1),
            "averaging": lambda optimizer: torch.optim.swa_utils.SWALR(optimizer, 0.1),
            "several": several,
        }
        for name, make in makes.items():
            def train(interruption: Interruption) -> list[float]:
                optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1, momentum=0.9)
                scheduler, tape = make(optimizer), Tape()
                with updraft.training(optimizer, scheduler, tape=tape, every=0) as run:
                    for _ in run.epochs(1):
                        for _ in run.batches(range(9)):
                            optimizer.step()
                            scheduler.step()
                            tape.lines.append(optimizer.param_groups[0]["lr"])
                            interruption.batch_done(run)
                return tape.lines

            with self.subTest(name):
                whole = self.attempt(train, NEVER, UPDRAFT_CHECKPOINT=f"whole-{name}")
                ends = [self.attempt(train, end, UPDRAFT_CHECKPOINT=f"resumed-{name}")[0] for end in ((3, 9), (2, 15))]
                self.assertEqual(ends, [-9, updraft.SAVED])
                self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT=f"resumed-{name}"), whole)
                self.assertEqual((whole[0], len(whole[1])), (0, 9))

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_a_state_that_has_numpy_read_beyond_it_is_refused(self) -> None:
        legacy, modern = numpy.random.RandomState(1), numpy.random.Generator(numpy.random.MT19937(1))
        counting = numpy.random.Generator(numpy.random.Philox(1))
        wrong = (*legacy.get_state()[:2], 10**8, 0, 0.0)
        state = modern.bit_generator.state
        state["state"]["pos"] = -(10**8)
        buffered = {**counting.bit_generator.state, "buffer_pos": -9}
        for one, planted in ((legacy, wrong), (modern, state), (counting, buffered)):
            with self.assertRaisesRegex(ValueError, "damaged state"):
                updraft.randomness.set_state_of(one, planted)
            updraft.randomness.set_state_of(one, updraft.randomness.state_of(one))
        with self.assertRaisesRegex(ValueError, "damaged state"):
            updraft.randomness.set_random({**updraft.randomness.random_now({}), "numpy": wrong}, {})
        os.mkdir("saved/checkpoint-1")
        plant("saved/checkpoint-1/rng_state.pth", {"numpy": wrong})
        words = ("saved/checkpoint-1/rng_state.pth is damaged", "its random numbers cannot be used", "Move it elsewhere")
        self.refused(lambda: updraft.trainer.TrainerHooks(folder="saved").last, *words)

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_an_object_of_a_class_ends_the_training_at_its_first_save_unless_it_is_trusted(self) -> None:
        def train(interruption: Interruption, trusts: bool) -> list[Any]:
            tape = Tape()
            tape.lines = [Note()]
            with updraft.training(tape=tape, every=0, trust_checkpoint=trusts) as run:
                for _ in run.epochs(1):
                    for _ in run.batches(range(5)):
                        run._store.wait()
                        interruption.batch_done(run)
            return [type(one).__name__ for one in tape.lines]

        refused = self.attempt(lambda end: train(end, False), NEVER, UPDRAFT_CHECKPOINT="saved")
        self.assertEqual((refused, os.listdir("saved")), ((1, None), []))
        self.assertRegex(self.said(), r"names test_trust\.Note, .* pass trust_checkpoint=True")
        self.attempt(lambda end: train(end, True), (2, 9), UPDRAFT_CHECKPOINT="saved")
        self.assertEqual(self.attempt(lambda end: train(end, True), NEVER, UPDRAFT_CHECKPOINT="saved"), (0, ["Note"]))

    @unittest.skipIf(torch is None, "no PyTorch")
    def test_a_checkpoint_of_an_earlier_version_is_resumed_and_named(self) -> None:
        make_loader = lambda: torch.utils.data.DataLoader(torch.arange(30), batch_size=4, collate_fn=images)

        def earlier(interruption: Interruption) -> Any:
            updraft.loop.CHECKPOINT_FORMAT = 1
            return learn(interruption, make_loader)

        self.attempt(earlier, (5, 15), UPDRAFT_CHECKPOINT="saved")
        code, result = self.attempt(lambda end: learn(end, make_loader), NEVER, UPDRAFT_CHECKPOINT="saved")
        whole = self.attempt(lambda end: learn(end, make_loader), NEVER, UPDRAFT_CHECKPOINT="whole")
        self.assertEqual((code, result), whole)
        self.assertEqual(self.said().count("whose augmentation was correlated"), 1)


SAID = re.compile(
    r"updraft: (saved/checkpoint-\S+( is damaged|: the checkpoint names ).*"
    # A name was damaged.
    r"|the checkpoint in saved is of another training: it has .+|\w+ does not fit .* in saved: .+)",
    re.S,
)
TODO = re.compile("Move it elsewhere|the training starts over|Remove the folder to start over|pass trust_checkpoint=True")


def damaged(data: bytes, chance: random.Random) -> bytes:
    """By flipped bits, cuts, pieces that changed places and pieces of zeros."""
    changed, at, size = bytearray(data), chance.randrange(len(data)), chance.randint(1, 300)
    how, other = chance.choice(["bit", "bits", "cut", "swap", "zeros"]), chance.randrange(len(data))
    if how == "cut":
        return data[:at]
    if how == "swap":
        size = min(size, len(data) - max(at, other))
        changed[at : at + size], changed[other : other + size] = data[other : other + size], data[at : at + size]
    elif how == "zeros":
        changed[at : at + size] = bytes(len(changed[at : at + size]))
    else:
        for place in [at, *(chance.randrange(len(data)) for _ in range(size if how == "bits" else 0))]:
            changed[place] ^= 1 << chance.randrange(8)
    return bytes(changed)


class Damaged(AttemptTest):
    def train(self, trusts: bool, saves: bool) -> None:
        updraft.attempt.used_folders.clear()
        objects: dict[str, Any] = {"tape": Tape(), "best": {"loss": 1.5, "all": [1, 2]}, "rng": random.Random(1)}
        loader: Any = range(4)
        if updraft.loaded.get_torch() is not None:
            model = torch.nn.Linear(3, 2)
            objects.update(model=model, optimizer=torch.optim.AdamW(model.parameters()))
            objects.update(noise=numpy.random.default_rng(1))
            loader = torch.utils.data.DataLoader(range(16), 4, shuffle=True)
        every = 0 if saves else 1e9
        with updraft.training(folder="saved", every=every, keep=1, trust_checkpoint=trusts, **objects) as run:
            for _ in run.epochs(1):
                for _ in run.batches(loader):
                    if saves and updraft.loaded.get_torch() is not None:
                        objects["model"](torch.ones(1, 3)).sum().backward()
                        objects["optimizer"].step()
                    run._store.wait()
                    if saves and run.batch == 2:
                        return

    def test_every_damage_is_reported_with_the_file_and_what_to_do(self) -> None:
        """Whatever was changed: also what has the right checksum, as after a rename or in memory."""
        count = int(os.environ.get("UPDRAFT_TEST_DAMAGES", "40"))
        self.assertEqual(self.attempt(lambda _: self.damage(count), NEVER), (0, None))

    def test_a_file_of_another_value_than_a_checkpoint_is_reported_too(self) -> None:
        for trusts in (False, True):
            os.makedirs("saved", exist_ok=True)
            with open("saved/other", "wb") as file:
                pickle.dump(3, file)
            named("saved/other")
            with self.assertRaisesRegex(SystemExit, "saved/.* is damaged.*Move it elsewhere"):
                self.train(trusts, saves=False)

    def damage(self, count: int) -> None:
        # Python's reader may ask for as much memory as a damaged number says.
        with open("/proc/self/statm") as file:
            limit = int(file.read().split()[0]) * resource.getpagesize() + (1 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for kind in ("plain", "data", "trusted"):
            if torch is None and kind != "plain":
                continue
            with unittest.mock.patch.dict(sys.modules, torch=None if kind == "plain" else torch):
                shutil.rmtree("saved", ignore_errors=True)
                self.train(False, saves=True)
                [name] = os.listdir("saved")
                with open(f"saved/{name}", "rb") as file:
                    whole = file.read()
                chance, refused = random.Random(kind), 0
                for _ in range(count):
                    for old in os.listdir("saved"):
                        os.remove(f"saved/{old}")
                    data = damaged(whole, chance)
                    crc = zlib.crc32(data) if chance.random() < 0.8 else zlib.crc32(whole)
                    with open(f"saved/checkpoint-000000000001-{crc:08x}.pt", "wb") as file:
                        file.write(data)
                    said = io.StringIO()
                    try:
                        with contextlib.redirect_stderr(said):
                            self.train(kind == "trusted", saves=False)
                    except SystemExit as end:
                        said.write(str(end.code))
                    if "resuming in" not in said.getvalue() or "damaged" in said.getvalue():
                        refused += data != whole
                        self.assertRegex(said.getvalue().removeprefix("updraft: resuming in epoch 1 after batch 2\n"), SAID)
                        self.assertRegex(said.getvalue(), TODO)
                        self.assertNotRegex(said.getvalue(), "load key|object has no|not subscriptable|KeyError|zip file")
                self.assertGreater(refused, count // 3)


def images(samples: list[Any]) -> Any:
    indices = torch.stack(samples)
    return indices, indices.unsqueeze(1).repeat(1, 8) / 30


class Note:
    pass


def printed(value: Any) -> str:
    """With the type, shape and order of everything."""
    if isinstance(value, dict):
        return f"{type(value)} {[(name, printed(one)) for name, one in value.items()]}"
    if isinstance(value, (list, tuple, collections.deque)):
        return f"{type(value)} {[printed(one) for one in value]}"
    if torch.is_tensor(value):
        stride = None if value.is_sparse else value.stride()
        dense = value.to_dense() if value.is_sparse else value
        return f"{value.dtype} {value.shape} {stride} {dense.tolist()}"
    if isinstance(value, numpy.ndarray):
        return f"{value.dtype.str} {value.shape} {value.flags.writeable} {value.tolist()}"
    return f"{type(value)} {value!r}"
