"""Reads streams in every way: with and without workers, interrupted, elsewhere, short of disk, from hostile tars."""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import unittest.mock
from typing import Any, Callable, Iterator, Optional

import updraft
from test_updraft import NEVER, AttemptTest, Interruption, Tape, torch, seed_all

if torch is not None:
    import numpy

SIZES = [5, 9, 1, 7, 0, 8, 6, 4]
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
KEYS = [f"{shard}/{number:04d}" for shard, size in enumerate(SIZES) for number in range(size)]


def add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    header = tarfile.TarInfo(name)
    header.size = len(data)
    archive.addfile(header, io.BytesIO(data))


def write_shards(folder: str) -> None:
    """Samples of two files each, their number in one of them, as the three formats of tar have it."""
    os.makedirs(folder)
    first = 0
    for shard, size in enumerate(SIZES):
        with tarfile.open(f"{folder}/train-{shard}.tar", "w", format=FORMATS[shard % 3]) as archive:
            for number in range(size):
                add(archive, f"{shard}/{number:04d}.jpg", b"%d" % (first + number) * (1 + 400 * (number % 3)))
                add(archive, f"{shard}/{number:04d}.cls", b"%d" % (first + number))
        first += size


def list_shards(source: str, folder: str, keep: Optional[int] = None, samples: bool = False) -> None:
    """What the agent writes before the training starts."""
    os.makedirs(f"{folder}/.stream")
    names = sorted(name for name in os.listdir(source) if name.endswith(".tar"))
    shards = [{"name": name, "bytes": os.path.getsize(f"{source}/{name}")} for name in names]
    if samples:
        for shard, size in zip(shards, SIZES):
            shard["samples"] = size
    with open(f"{folder}/.stream/list.json", "w") as file:
        json.dump({"format": 1, "shards": shards, "keep": keep}, file)


def read_json(path: str) -> Any:
    with open(path) as file:
        return json.load(file)


class Agent:
    """Brings shards in the order that is wanted, a few ahead of the slowest reader, and removes used ones."""

    def __init__(self, source: str, folder: str, ahead: int) -> None:
        self._source, self._folder, self._ahead = source, folder, ahead
        self._names = [shard["name"] for shard in read_json(f"{folder}/.stream/list.json")["shards"]]
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._work)
        self.brought: list[str] = []

    def __enter__(self) -> Agent:
        self.thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self.thread.join()

    def _work(self) -> None:
        while not self._stop.wait(0.002):
            try:
                wanted = read_json(f"{self._folder}/.stream/wanted.json")
                at = f"{self._folder}/.stream/at"
                readers = [read_json(f"{at}/{name}") for name in os.listdir(at) if name.endswith(".json")]
            except FileNotFoundError:
                continue
            places = [reader["position"] for reader in readers if reader["epoch"] == wanted["epoch"]]
            first = min(places, default=0)
            needed = [self._names[number] for number in wanted["order"][first : first + self._ahead]]
            for name in set(self._names) - set(needed):
                if os.path.exists(f"{self._folder}/{name}"):
                    os.remove(f"{self._folder}/{name}")
            for name in needed:
                if not os.path.exists(f"{self._folder}/{name}"):
                    shutil.copy(f"{self._source}/{name}", f"{self._folder}/.part")
                    os.rename(f"{self._folder}/.part", f"{self._folder}/{name}")
                    self.brought.append(name)
                    break


def key(sample: dict[str, Any]) -> str:
    return sample["__key__"]


def keys(stream: updraft.Stream) -> list[str]:
    return [key(sample) for sample in stream]


class StreamTest(AttemptTest):
    def setUp(self) -> None:
        super().setUp()
        write_shards("source")

    def stream(self, folder: str = "source", **options: Any) -> updraft.Stream:
        return updraft.Stream(folder, **{"seed": 3, "block": 3, **options})


class Order(StreamTest):
    def test_every_sample_once_and_each_epoch_in_another_order(self) -> None:
        stream = self.stream()
        first, second = keys(stream), keys(stream)
        self.assertEqual(sorted(first), sorted(KEYS))
        self.assertEqual(sorted(second), sorted(KEYS))
        self.assertNotEqual(first, second)
        stream.set_epoch(0)
        self.assertEqual(keys(stream), first)
        self.assertNotEqual(keys(self.stream(seed=4)), first)
        self.assertEqual(keys(self.stream(shuffle=False)), KEYS)

    def test_the_order_is_the_same_in_every_version(self) -> None:
        self.assertEqual(
            keys(self.stream())[:6],
            ["6/0001", "6/0003", "6/0000", "6/0002", "6/0004", "6/0005"],
        )

    def test_a_sample_is_its_files_by_extension(self) -> None:
        sample = list(self.stream(shuffle=False))[6]
        self.assertEqual(sample, {"__key__": "1/0001", "jpg": b"6" * 401, "cls": b"6"})
        self.assertEqual(len(self.stream()), len(KEYS))
        self.assertEqual(list(self.stream(shuffle=False, transform=key)), KEYS)

    def test_begins_at_any_sample_and_reads_no_shard_before_it(self) -> None:
        whole = keys(self.stream())
        keys(self.stream())
        for samples in range(len(KEYS) + 1):
            stream = self.stream()
            stream.updraft_seek(0, samples)
            self.assertEqual(keys(stream), whole[samples:])

    def test_samples_of_a_block_are_mixed_and_the_first_blocks_are_small(self) -> None:
        shards = [one[0] for one in keys(self.stream(block=4))]
        # The first shard alone, then two, then four.
        self.assertEqual(len(set(shards[: shards.count(shards[0])])), 1)
        self.assertGreater(sum(one != other for one, other in zip(shards, shards[1:])), 2 * len(SIZES))

    def test_a_changed_shard_is_indexed_again(self) -> None:
        keys(self.stream())
        with tarfile.open("source/train-0.tar", "w") as archive:
            add(archive, "new.txt", b"1")
        self.assertIn("new", keys(self.stream()))

    def test_an_index_of_an_earlier_version_is_made_again(self) -> None:
        whole = keys(self.stream())
        path = "source/.stream/index/train-0.tar.json"
        with open(path) as file:
            mark, samples = map(json.loads, file)
        nested = [[name, [[extension, at, size]]] for name, extension, at, size, *_ in samples]
        with open(path, "w") as file:
            file.write(f"{json.dumps({**mark, 'format': 1})}\n{json.dumps(nested)}")
        self.assertEqual(keys(self.stream()), whole)

    def test_a_folder_that_cannot_be_written_to_needs_no_index(self) -> None:
        with open("source/.stream", "w"):
            pass
        self.assertEqual(keys(self.stream(shuffle=False)), KEYS)

    def test_names_what_it_cannot_read(self) -> None:
        os.mkdir("empty")
        with self.assertRaisesRegex(updraft.StreamError, "'empty' has none: no file there"):
            self.stream("empty")
        with self.assertRaisesRegex(updraft.StreamError, "'nowhere' has none: there is no such folder"):
            self.stream("nowhere")
        for pattern in ("data/train-{000..099}.tar", "https://server/data/train-0.tar", "data/*.tar"):
            with self.assertRaisesRegex(updraft.StreamError, "reads all tar shards of a folder, .* has none"):
                self.stream(pattern)
        # One that is there twice is read once.
        for name in ("a.tar", "a.tar.gz", "b.tar.zst"):
            open(f"empty/{name}", "wb").close()
        with self.assertRaisesRegex(updraft.StreamError, r"empty/b.tar.zst is compressed \(zst\): .* decompress it"):
            self.stream("empty")


class WithAgent(StreamTest):
    def setUp(self) -> None:
        super().setUp()
        list_shards("source", "data")

    def test_waits_for_shards_and_uses_removed_ones_again(self) -> None:
        whole = [keys(one) for one in [self.stream()] for _ in range(3)]
        with Agent("source", "data", ahead=6) as agent:
            stream = self.stream("data")
            self.assertEqual([keys(stream) for _ in range(3)], whole)
        self.assertGreater(len(agent.brought), len(SIZES))
        self.assertEqual(os.listdir("data/.stream/at"), [])
        self.assertEqual(len(os.listdir("data/.stream/index")), len(SIZES))

    def test_says_what_it_wants_and_where_it_is(self) -> None:
        stream = self.stream("data")
        wanted = read_json("data/.stream/wanted.json")
        self.assertEqual((wanted["epoch"], len(wanted["order"]), wanted["block"]), (0, 2 * len(SIZES), 3))
        first = f"data/train-{wanted['order'][0]}.tar"
        shutil.copy(first.replace("data", "source"), first)
        next(iter(stream))
        place = {"epoch": 0, "position": 0, "waited": 0.0, "pid": os.getpid()}
        samples = iter(stream)
        next(samples)
        self.assertEqual(read_json(f"data/.stream/at/{os.getpid()}.json"), place)
        agent, wait = Agent("source", "data", ahead=6), updraft.shards.Reader.wait
        self.addCleanup(agent.__exit__)

        def begin_and_wait(reader: updraft.shards.Reader) -> None:
            if agent.thread.ident is None:
                agent.__enter__()
            wait(reader)

        # Nothing comes before the stream waits for it.
        with unittest.mock.patch.object(updraft.shards.Reader, "wait", begin_and_wait):
            for _ in range(len(KEYS) - 1):
                next(samples)
        after = read_json(f"data/.stream/at/{os.getpid()}.json")
        self.assertGreater(after["position"], 0)
        self.assertGreater(after["waited"], 0)

    def test_resumes_elsewhere_without_the_shards_it_has_used(self) -> None:
        whole = keys(self.stream())
        with Agent("source", "data", ahead=6):
            stream = self.stream("data")
            samples = iter(stream)
            used = [key(next(samples)) for _ in range(25)]
            state = json.loads(json.dumps(stream.state_dict()))
            samples.close()
        list_shards("source", "elsewhere")
        elsewhere = self.stream("elsewhere")
        elsewhere.load_state_dict(state)
        with Agent("source", "elsewhere", ahead=6) as agent:
            self.assertEqual(used + keys(elsewhere), whole)
            self.assertEqual(len(elsewhere._blocks(0)[0]), 1)
            self.assertNotIn(f"train-{elsewhere._blocks(0)[0][0]}.tar", agent.brought)

    def test_sizes_may_be_listed(self) -> None:
        list_shards("source", "listed", samples=True)
        stream = self.stream("listed")
        self.assertEqual(len(stream), len(KEYS))
        with self.assertRaisesRegex(TypeError, "not known before all shards have arrived"):
            len(self.stream("data"))
        stream.updraft_seek(0, 30)
        self.assertLess(len(read_json("listed/.stream/wanted.json")["order"]), 2 * len(SIZES))
        shutil.copytree("source", "listed", dirs_exist_ok=True)
        with tarfile.open("listed/train-0.tar", "w") as archive:
            add(archive, "new.txt", b"1")
        with self.assertRaisesRegex(updraft.StreamError, "train-0.tar has 1 samples, not 5 as listed"):
            keys(self.stream("listed"))

    def test_sizes_may_be_unknown(self) -> None:
        os.makedirs("range/.stream")
        with open("range/.stream/list.json", "w") as file:
            names = sorted(name for name in os.listdir("source") if name.endswith(".tar"))
            json.dump({"format": 1, "shards": [{"name": name} for name in names], "keep": None}, file)
        with Agent("source", "range", ahead=8):
            self.assertEqual(keys(updraft.Stream("range", seed=3)), keys(self.stream(block=4)))

    def test_refuses_the_position_of_another_data_set_or_order(self) -> None:
        stream = self.stream("data")
        state = stream.state_dict()
        with self.assertRaisesRegex(updraft.StreamError, "the checkpoint has seed=3, shuffle=True; use the same"):
            self.stream("data", seed=1).load_state_dict(state)
        os.remove("source/train-1.tar")
        with self.assertRaisesRegex(updraft.StreamError, "are not those of the checkpoint"):
            self.stream().load_state_dict(state)

    def test_a_block_fits_into_the_disk(self) -> None:
        largest = max(os.path.getsize(f"source/{name}") for name in os.listdir("source"))
        for keep, block in [(None, 16), (8 * largest, 4), (4 * largest, 2), (largest, 1)]:
            folder = f"keep-{keep}"
            list_shards("source", folder, keep=keep)
            self.assertEqual(updraft.Stream(folder)._block, block)
        with self.assertRaisesRegex(updraft.StreamError, "a block of 3 shards needs .* GB; keep is"):
            self.stream(folder)

    def test_leaves_when_asked_while_it_waits(self) -> None:
        folder = "data"

        def train(interruption: Interruption) -> list[Any]:
            random.seed(1)
            if folder == "data":
                threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGTERM]).start()
            with updraft.training(tape=Tape(), every=0) as run:
                for _ in run.epochs(1):
                    drawn = random.random()
                    for _ in run.batches(self.stream(folder)):
                        pass
            return [drawn]

        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved")[0], updraft.SAVED, self.said())
        self.assertIn("saved in epoch 1 after batch 0", self.said())
        # What the epoch drew before its loop, it draws again.
        folder = "source"
        first = random.Random(1).random()
        self.assertEqual(self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved"), (0, [first]), self.said())

    def test_a_training_saves_what_its_stream_knows(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            # The same folder: what is wanted first is in a note beside the checkpoint, by the folder's name.
            tape, folder = Tape(), "data"
            shutil.rmtree(folder, ignore_errors=True)
            list_shards("source", folder)
            with Agent("source", folder, ahead=6) as agent:
                stream = self.stream(folder, batch_size=2)
                with updraft.training(tape=tape, every=0) as run:
                    for _ in run.epochs(1):
                        for sample in run.batches(stream):
                            tape.lines.append(key(sample))
                            interruption.batch_done(run)
                return [tape.lines, stream._blocks(0)[0], agent.brought]

        self.assertEqual(self.attempt(train, (25, signal.SIGTERM), UPDRAFT_CHECKPOINT="saved")[0], updraft.SAVED)
        _, (lines, [first], brought) = self.attempt(train, NEVER, UPDRAFT_CHECKPOINT="saved")
        self.assertEqual(lines, keys(self.stream()))
        self.assertNotIn(f"train-{first}.tar", brought)

    def test_leaves_a_hint_beside_the_checkpoint(self) -> None:
        os.environ["UPDRAFT_CHECKPOINT"] = "saved"
        self.addCleanup(os.environ.pop, "UPDRAFT_CHECKPOINT")
        with Agent("source", "data", ahead=6):
            stream = self.stream("data")
            samples = iter(stream)
            for _ in range(30):
                next(samples)
            stream.state_dict()
            order = stream._wanted(updraft.stream.Start())["order"]
        hint = read_json("saved/stream-data.json")
        self.assertLess(len(hint["order"]), len(order))
        self.assertEqual(hint["order"], order[-len(hint["order"]) :])


class Hostile(StreamTest):
    def refuses(self, data: bytes, message: str) -> None:
        shutil.rmtree("bad", ignore_errors=True)
        os.mkdir("bad")
        with open("bad/bad.tar", "wb") as file:
            file.write(data)
        with self.assertRaisesRegex(updraft.StreamError, message):
            list(updraft.Stream("bad"))

    def tar(self, *files: tuple[str, bytes], format: int = tarfile.USTAR_FORMAT) -> bytes:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w", format=format) as archive:
            for name, content in files:
                add(archive, name, content)
        return data.getvalue()

    def names(self, data: bytes) -> list[str]:
        os.makedirs("fine", exist_ok=True)
        with open("fine/fine.tar", "wb") as file:
            file.write(data)
        return keys(updraft.Stream("fine", shuffle=False))

    def patched(self, data: bytes, at: int, field: bytes) -> bytes:
        """A header changed, its checksum right."""
        header = bytearray(data[:512])
        header[at : at + len(field)] = field
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        return bytes(header) + data[512:]

    def test_long_and_strange_names_are_only_names(self) -> None:
        names = ["a" * 90 + "/" + "b" * 120, "ü" * 70, "../../etc/passwd", "/dev/null", "c" * 3000, "plain"]
        for format in FORMATS[1:]:
            self.assertEqual(self.names(self.tar(*((f"{name}.txt", b"1") for name in names), format=format)), names)
        self.assertEqual(self.names(self.tar(("x" * 80 + "/" + "y" * 90 + ".a", b""))), ["x" * 80 + "/" + "y" * 90])

    def test_what_is_no_sample_is_left_out(self) -> None:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as archive:
            for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
                header = tarfile.TarInfo("folder/x.jpg")
                header.type, header.linkname = kind, "/etc/passwd"
                archive.addfile(header)
            for name in ("README", "._a.jpg", ".DS_Store", "__meta__/info.json", "a.JPG", "a.b.c"):
                add(archive, name, b"1")
        self.assertEqual(self.names(data.getvalue()), ["a"])
        self.assertEqual(list(list(updraft.Stream("fine"))[0]), ["__key__", "jpg", "b.c"])
        with self.assertRaisesRegex(updraft.StreamError, "fine has no samples: their files need an extension"):
            self.names(self.tar(("0001", b"1"), ("0002", b"2")))

    def test_damaged_tars_are_named_with_the_place(self) -> None:
        good = self.tar(("a.txt", b"1" * 600), ("b.txt", b"2" * 600))
        self.refuses(good[:1000], "bad.tar is damaged.* at byte 0: 600 bytes should follow; the file ends at byte 1000")
        self.refuses(good[:1536], "bad.tar is cut off at byte 1536: it has no end mark")
        self.refuses(good[:1700], "bad.tar is cut off at byte 1700: it has no end mark")
        self.refuses(good[:100], "cut off at byte 100")
        self.refuses(b"", "cut off at byte 0")
        self.refuses(good[:1536] + b"?" + good[1537:], "at byte 1536: wrong checksum of a header")
        self.refuses(b"\x1f\x8b" + bytes(600), r"bad.tar is compressed \(gzip\): .* decompress it to a plain .tar")
        self.refuses(self.tar(("a.txt", b"1"), ("a.txt", b"2")), "has a.txt twice, at byte 1536 again")

    def test_sizes_that_lie_are_refused(self) -> None:
        good = self.tar(("a.txt", b"1" * 600))
        self.refuses(self.patched(good, 124, b"77777777777\0"), "8589934591 bytes should follow")
        self.refuses(self.patched(good, 124, b"\x80" + b"\xff" * 11), "bytes should follow")
        self.refuses(self.patched(good, 124, b"\xff" * 12), "at byte 0")
        self.refuses(self.patched(good, 124, b"-0000000001\0"), "at byte 0")
        self.refuses(self.patched(good, 156, b"S"), "a sparse file")
        self.refuses(b"\xdd" * 1024, "at byte 0: a header has something else where a number should be")
        self.refuses(self.patched(self.tar(("a.txt", b"1" * (2 << 20))), 156, b"L"), "a name of 2097152 bytes")

    def test_pax_headers_that_lie_are_refused(self) -> None:
        for record, message in [
            (b"17 size=99999999\n", "99999999 bytes should follow"),
            (b"11 size=-1\n", "at byte"),
            (b"0 path=a\n", "at byte"),
            (b"-5 path=a\n", "at byte"),
            (b"9999999999 path=a\n", "a field of 9999999999 bytes"),
            (b"no number", "a header has something else where a number should be"),
            (b"26 GNU.sparse.realsize=10\n", "a sparse file"),
        ]:
            with self.subTest(record=record):
                meta = self.patched(self.tar(("m", record)), 156, b"x")[:1024]
                self.refuses(meta + self.tar(("a.txt", b"1" * 600)), message)

    def test_a_list_with_paths_is_refused(self) -> None:
        os.makedirs("data/.stream")
        for name in ("../x.tar", "/x.tar", "", ".."):
            with open("data/.stream/list.json", "w") as file:
                json.dump({"format": 1, "shards": [{"name": name, "bytes": 1}]}, file)
            with self.assertRaisesRegex(updraft.StreamError, "is not a file name"):
                updraft.Stream("data")

    def test_random_bytes_never_hang_nor_crash(self) -> None:
        good = self.tar(*((f"{number}.txt", b"1" * number) for number in range(6)), format=tarfile.PAX_FORMAT)
        chance = random.Random(1)
        os.mkdir("bad")
        for _ in range(300):
            data = bytearray(good)
            for _ in range(chance.randint(1, 6)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            with open("bad/bad.tar", "wb") as file:
                file.write(data[: chance.randrange(len(data))] if chance.random() < 0.3 else data)
            try:
                list(updraft.Stream("bad"))
            except updraft.StreamError as error:
                self.assertIn("bad/bad.tar", str(error))


def decode(sample: dict[str, Any]) -> Any:
    """A label and an augmented image: every random number counts."""
    number = int(sample["cls"])
    noise = random.random() + numpy.random.rand() + torch.rand(8)
    return number, torch.full((8,), number / len(KEYS)) + 0.1 * noise


def label(sample: dict[str, Any]) -> int:
    return int(sample["cls"])


def frozen(_: Any) -> int:
    return gc.get_freeze_count()


@unittest.skipIf(torch is None, "this Python has no PyTorch")
class WithTorch(StreamTest):
    def loader(self, folder: str = "source", transform: Callable[..., Any] = label, **options: Any) -> Any:
        stream = self.stream(folder, batch_size=4, transform=transform)
        return torch.utils.data.DataLoader(stream, batch_size=4, **options)

    def batches(self, loader: Any, epoch: int = 0) -> list[list[int]]:
        loader.dataset.set_epoch(epoch)
        return [batch.tolist() for batch in loader]

    def test_the_same_batches_for_any_number_of_workers(self) -> None:
        whole = [self.batches(self.loader(), epoch) for epoch in range(3)]
        self.assertEqual(sorted(sum(whole[0], [])), list(range(len(KEYS))))
        for workers in (1, 3):
            loader = self.loader(num_workers=workers)
            self.assertEqual(self.batches(loader), whole[0])
        persistent = self.loader(num_workers=3, persistent_workers=True)
        self.assertEqual([self.batches(persistent, epoch) for epoch in range(3)], whole)

    def test_can_be_sent_to_a_worker_that_is_not_forked(self) -> None:
        stream = self.stream()
        stream.updraft_seek(1, 5)
        sent = pickle.loads(pickle.dumps(stream))
        self.assertIsInstance(sent, torch.utils.data.IterableDataset)
        self.assertEqual(keys(sent), keys(stream))

    def test_begins_at_any_batch_with_workers(self) -> None:
        whole = self.batches(self.loader())
        loader = self.loader(num_workers=2)
        loader.dataset.updraft_seek(0, 12)
        self.assertEqual([batch.tolist() for batch in loader], whole[3:])
        self.assertEqual(len(loader), len(whole))

    def test_workers_do_not_look_through_the_objects_of_pytorch(self) -> None:
        loader = self.loader(transform=frozen, num_workers=1)
        self.assertGreater(min(next(iter(loader)).tolist()), 10_000)
        # Some versions of Python freeze a few hundred objects of their own.
        self.assertLess(gc.get_freeze_count(), 10_000)

    def test_the_last_epoch_wants_nothing_for_a_next_one(self) -> None:
        list_shards("source", "data")
        shutil.copytree("source", "data", dirs_exist_ok=True)
        model = torch.nn.Linear(1, 1)
        wanted = []
        with updraft.training(model, folder="saved") as run:
            for _ in run.epochs(2):
                for _ in run.batches(self.loader("data")):
                    wanted.append(len(read_json("data/.stream/wanted.json")["order"]))
        self.assertEqual(set(wanted), {2 * len(SIZES), len(SIZES)})

    def test_several_workers_need_the_batch_size(self) -> None:
        loader = torch.utils.data.DataLoader(self.stream(), batch_size=None, num_workers=2)
        with self.assertRaisesRegex(ValueError, "needs the batch_size of the loader"):
            next(iter(loader))

    def test_an_error_in_a_worker_ends_a_training_under_updraft(self) -> None:
        script = (
            "import torch, updraft\n"
            "stream = updraft.Stream('source', batch_size=4, transform=lambda sample: 1 // int(sample['cls']))\n"
            "loader = torch.utils.data.DataLoader(stream, batch_size=4, num_workers=2, multiprocessing_context='fork')\n"
            "with updraft.training() as run:\n"
            "    for _ in run.epochs(1):\n"
            "        list(run.batches(loader))\n"
        )
        here = os.path.dirname(os.path.abspath(__file__))
        environment = {**os.environ, "UPDRAFT_CHECKPOINT": "saved", "PYTHONPATH": here}
        ended = subprocess.run(
            [sys.executable, "-B", "-c", script], env=environment, stderr=subprocess.PIPE, text=True, timeout=60
        )
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, "ZeroDivisionError: .*\n\\s*$")

    def test_stream_loader_and_checkpoint_agree_on_the_batch_size(self) -> None:
        def sizes(stream_size: int, loader_size: int) -> Iterator[int]:
            loader = torch.utils.data.DataLoader(self.stream(batch_size=stream_size, transform=label), loader_size)
            updraft.attempt.used_folders.clear()
            with updraft.training(folder="sizes", every=0) as run:
                for _ in run.epochs(1):
                    yield from map(len, run.batches(loader))

        with self.assertRaisesRegex(SystemExit, "the loader has batch_size=4, updraft.Stream has batch_size=2"):
            next(sizes(2, 4))
        self.assertEqual(list(itertools.islice(sizes(4, 4), 2)), [4, 4])
        with self.assertRaisesRegex(SystemExit, "the loader has batch_size=2, the checkpoint has batch_size=4"):
            next(sizes(2, 2))

    def learn(self, interruption: Interruption, loader: Any) -> list[Any]:
        seed_all()
        layers = [torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)]
        model = torch.nn.Sequential(*layers)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        tape = Tape()
        with updraft.training(model, optimizer, tape=tape, every=0) as run:
            for _ in run.epochs(3):
                for labels, images in run.batches(loader):
                    optimizer.zero_grad()
                    loss = (model(images).squeeze(1) - labels / len(KEYS)).pow(2).mean()
                    loss.backward()
                    optimizer.step()
                    tape.lines.append([labels.tolist(), loss.item()])
                    interruption.batch_done(run)
        return tape.lines

    def test_the_same_losses_after_any_interruption_each_time_elsewhere(self) -> None:
        def train(interruption: Interruption) -> list[Any]:
            with tempfile.TemporaryDirectory(dir=".") as folder:
                list_shards("source", f"{folder}/data")
                with Agent("source", f"{folder}/data", ahead=7):
                    loader = self.loader(f"{folder}/data", decode, num_workers=workers, persistent_workers=workers > 0)
                    return self.learn(interruption, loader)

        for workers in (0, 2):
            with self.subTest(workers=workers):
                chance = random.Random(workers)
                ends = [(chance.randint(1, 9), chance.choice([signal.SIGKILL, signal.SIGTERM])) for _ in range(2)]
                # Once after the last batch of an epoch.
                ends.insert(0, (-(-len(KEYS) // 4), signal.SIGTERM))
                self.same_after(train, ends, f"whole-{workers}")
                shutil.rmtree("saved")
