"""The shards of a data set."""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from dataclasses import dataclass
from typing import Any, Iterable, Optional

from .errors import Leaving, StreamError
from .files import read_json, write_json, write_text
from .leaving import Requests
from .tar import compressed, members, read_at, samples_of

_BLOCK_BYTES = 1_000_000_000
"""A resumed training needs a whole block at once: 8 s at 120 MB/s."""
_MAX_BLOCK = 16
_INDEX_FORMAT = 3
"""On a laptop, indexes of an earlier version may be beside the shards."""


class Shards:
    """The tars of a folder: listed, counted, and opened as they arrive.

    With Updraft, `.stream/list.json` lists them. Offsets are kept in `.stream/index`, also of shards that are gone.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        listed = os.path.join(folder, ".stream", "list.json")
        self._is_brought = os.path.exists(listed)
        self._keep: Optional[int] = None
        if self._is_brought:
            content = read_json(listed)
            shards = [(one["name"], one.get("bytes"), one.get("samples")) for one in content["shards"]]
            self._keep = content.get("keep")
        else:
            found = os.listdir(folder) if os.path.isdir(folder) else []
            names = sorted(name for name in found if name.endswith(".tar") and not name.startswith("."))
            for name in sorted(found):
                stem, dot, how = name.rpartition(".tar.")
                if dot and how in ("gz", "bz2", "xz", "zst") and f"{stem}.tar" not in names:
                    raise compressed(os.path.join(folder, name), how)
            shards = [(name, os.path.getsize(os.path.join(folder, name)), None) for name in names]
        if not shards:
            why = "no file there is named *.tar" if os.path.isdir(folder) else "there is no such folder"
            reads = "updraft.Stream reads all tar shards of a folder, such as `into` of a [data] table"
            raise StreamError(f"{reads}; {folder!r} has none: {why}")
        self.names, self._bytes, counts = (list(column) for column in zip(*shards))
        for name in self.names:
            if os.path.basename(name) != name or name in ("", ".", ".."):
                raise StreamError(f"{listed}: {name!r} is not a file name")
        self.counts: list[Optional[int]] = counts
        self._indexes: dict[int, list[Any]] = {}

    @property
    def stream_folder(self) -> Optional[str]:
        """Where the agent and the readers leave notes for each other."""
        return os.path.join(self.folder, ".stream") if self._is_brought else None

    @property
    def hint(self) -> Optional[str]:
        saved = os.environ.get("UPDRAFT_CHECKPOINT")
        if saved is None or not self._is_brought:
            return None
        return os.path.join(saved, f"stream-{os.path.basename(os.path.abspath(self.folder))}.json")

    @property
    def identity(self) -> list[int]:
        """The number of shards, and a checksum of their names and sizes."""
        return [len(self.names), zlib.crc32(repr([self.names, self._bytes]).encode())]

    def block_that_fits(self, block: Optional[int]) -> int:
        largest: Optional[int] = max((size for size in self._bytes if size is not None), default=None)
        keep = self._keep
        if largest is None:
            # Sizes that nobody knows before the shards have come.
            return block or (4 if keep is None else 2)
        if block is None:
            limit = _BLOCK_BYTES if keep is None else min(_BLOCK_BYTES, keep // 2)
            at_least = 2 if keep is None or keep >= 4 * largest else 1
            return max(at_least, min(_MAX_BLOCK, limit // max(1, largest)))
        if keep is not None and block * largest > keep:
            need = f"a block of {block} shards needs {block * largest / 1e9:.1f} GB"
            raise StreamError(f"{need}; keep is {keep / 1e9:.1f} GB")
        return max(1, block)

    def count(self, number: int) -> Optional[int]:
        """Samples of a shard, if that can be known now."""
        if self.counts[number] is None:
            with contextlib.suppress(FileNotFoundError):
                index = self._saved_index(number, only_count=True)
                self.counts[number] = len(self._index(number)) if index is None else index
        return self.counts[number]

    def counts_so_far(self) -> list[Optional[int]]:
        indexed: set[str] = set()
        with contextlib.suppress(OSError):
            indexed.update(os.listdir(self._index_folder))
        for number, name in enumerate(self.names):
            if self.counts[number] is None and f"{name}.json" in indexed:
                self.counts[number] = self._saved_index(number, only_count=True)
        return list(self.counts)

    def samples(self) -> int:
        counts = self.counts_so_far() if self._is_brought else [self.count(one) for one in range(len(self.names))]
        total = sum_of(counts)
        if total is None:
            raise TypeError("the number of samples is not known before all shards have arrived once")
        return total

    def open(self, number: int, reader: Reader, files: contextlib.ExitStack) -> _Shard:
        """Waits for a shard. Once open, it may be removed."""
        path = os.path.join(self.folder, self.names[number])
        while True:
            try:
                file = files.enter_context(open(path, "rb", buffering=0))
                break
            except FileNotFoundError:
                if not self._is_brought:
                    raise StreamError(f"{path} is gone") from None
                reader.wait()
        samples = self._index(number, file)
        if self.counts[number] not in (None, len(samples)):
            raise StreamError(f"{path} has {len(samples)} samples, not {self.counts[number]} as listed")
        self.counts[number] = len(samples)
        return _Shard(path, file, samples)

    @property
    def _index_folder(self) -> str:
        return os.path.join(self.folder, ".stream", "index")

    def _index(self, number: int, file: Any = None) -> list[Any]:
        if number in self._indexes:
            return self._indexes[number]
        samples: Optional[list[Any]] = self._saved_index(number)
        if samples is None:
            path = os.path.join(self.folder, self.names[number])
            with contextlib.ExitStack() as stack:
                tar = stack.enter_context(open(path, "rb", buffering=0)) if file is None else file
                samples = samples_of(members(tar, path), path)
            try:
                lines = [self._index_mark(number, len(samples)), samples]
                text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
                write_text(os.path.join(self._index_folder, f"{self.names[number]}.json"), text)
            except OSError:
                # A folder that cannot be written to: each process remembers.
                self._indexes[number] = samples
        return list(map(tuple, samples))

    def _index_mark(self, number: int, samples: int) -> dict[str, Any]:
        """The first line of an index: what it is of. A shard that is brought again has another time, but the same size."""
        changed = None if self._is_brought else os.stat(os.path.join(self.folder, self.names[number])).st_mtime_ns
        return {"format": _INDEX_FORMAT, "samples": samples, "bytes": self._bytes[number], "changed": changed}

    def _saved_index(self, number: int, only_count: bool = False) -> Any:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open(os.path.join(self._index_folder, f"{self.names[number]}.json"), encoding="ascii") as file:
                mark = json.loads(file.readline())
                if mark != self._index_mark(number, mark["samples"]):
                    return None
                return mark["samples"] if only_count else json.loads(file.readline())
        return None


@dataclass(frozen=True)
class _Shard:
    """An open shard: each sample is its name, then extension, offset and size of each of its files."""

    path: str
    file: Any
    samples: list[Any]

    def read(self, number: int) -> dict[str, Any]:
        name, *files = self.samples[number]
        content: dict[str, Any] = {"__key__": name}
        for extension, offset, size in zip(*[iter(files)] * 3):
            content[extension] = data = read_at(self.file, offset, size)
            if len(data) != size:
                raise StreamError(f"{self.path} was cut off: {name} at byte {offset} has {len(data)} of {size} bytes")
        return content


class Reader:
    """What a process reports to the agent: from which place on it needs shards, and how long it has waited for them."""

    def __init__(self, folder: Optional[str], epoch: int, waited: float) -> None:
        self._file = None if folder is None else os.path.join(folder, "at", f"{os.getpid()}.json")
        self._epoch, self._place = epoch, 0
        self._parent = os.getppid()
        self._written = 0.0
        self.waited = waited

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.remove(self._file)

    def begin(self, place: int) -> None:
        self._place = place
        self._write()

    def wait(self) -> None:
        if Requests.to_leave:
            raise Leaving("asked to leave while waiting for a shard")
        if os.getppid() != self._parent:
            raise SystemExit("the training has ended")
        began = time.monotonic()
        time.sleep(0.02)
        self.waited += time.monotonic() - began
        if began - self._written > 1:
            self._write()

    def _write(self) -> None:
        if self._file is None:
            return
        self._written = time.monotonic()
        place = {"epoch": self._epoch, "position": self._place, "waited": round(self.waited, 3), "pid": os.getpid()}
        write_json(self._file, place)


def sum_of(counts: Iterable[Optional[int]], start: int = 0) -> Optional[int]:
    """None if one of them is not known."""
    total = start
    for count in counts:
        if count is None:
            return None
        total += count
    return total
