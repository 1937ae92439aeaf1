"""The folder of checkpoints."""

import contextlib
import errno
import io
import json
import os
import pickle
import re
import shutil
import threading
import time
import zlib
from typing import Any, Callable, Generator, Optional

from .errors import Refused, say, using
from .files import crc_of, read_json, sized
from .loaded import get_torch
from .reading import read_checkpoint
from .state import on_host

_Complete = Callable[[dict[str, Any]], dict[str, Any]]
"""Adds to a copy of the state what need not be there at once."""
_NAME = re.compile(r"checkpoint-(\d{12})-([0-9a-f]{8})(\.pt)?")
_STATE, _MANIFEST = "state.pt", "manifest.json"
"""What is in the folder of a checkpoint in parts, beside these."""


class Store:
    """The folder of checkpoints. A name holds a number that grows and the file's CRC-32: whole or ignored.

    A checkpoint in parts is a folder, whose name has that of its manifest, which has those of its files.
    """

    def __init__(self, folder: str, keep: int, trusts: bool = False) -> None:
        self.folder = folder
        self._trusts = trusts
        self._keep = keep
        # What the agent keeps it syncs itself; a folder that is lost with its machine needs no more than a rename.
        self._syncs = "UPDRAFT_CHECKPOINT" not in os.environ
        self._writer: Optional[threading.Thread] = None
        self._failure: Optional[BaseException] = None
        self._said: Any = None
        self._buffers: dict[Any, Any] = {}
        self._number = 0
        self._damaged: set[str] = set()
        self.path: Optional[str] = None
        """Of the checkpoint that was read."""
        self.explain: Callable[[], Optional[str]] = lambda: None
        """What in the state cannot be saved."""
        self.saved: Optional[str] = None
        """The last checkpoint that this attempt has written."""

    @property
    def is_busy(self) -> bool:
        if isinstance(self._failure, Refused) and self.saved is None:
            raise SystemExit(f"updraft: {self._failure}")
        return self._writer is not None and self._writer.is_alive()

    def newest(self) -> Optional[str]:
        """The path of the newest checkpoint that is whole."""

        def damage(path: str) -> Optional[str]:
            number, crc = os.path.basename(path).split(".")[0].split("-")[1:]
            self._number = max(self._number, int(number))
            try:
                if _is_whole(path, int(crc, 16)):
                    return None
                why = "it is not as it was written"
            except OSError as error:
                why = str(error.strerror)
            self._damaged.add(path)
            return why

        return first_whole([path for path in self.paths() if path not in self._damaged], damage)

    def read(self, path: str) -> dict[str, Any]:
        self.path = path
        try:
            return read_checkpoint(os.path.join(path, _STATE) if os.path.isdir(path) else path, self._trusts)  # type: ignore[no-any-return]
        except Refused as error:
            raise SystemExit(f"updraft: {error}") from error

    def using(self, what: str) -> contextlib.AbstractContextManager[None]:
        return using(self.path, what)

    def save_now(self, make_state: Callable[[], dict[str, Any]], complete: _Complete = dict) -> bool:
        self.wait()
        with self._noting_failure():
            state = make_state()
            # Memory of the host that is locked already takes a GPU's bytes several times faster.
            self._write(complete(on_host(state, self._buffers) if self._buffers else state))
        return self.wait()

    def save_soon(
        self, make_state: Callable[[], dict[str, Any]], written: Callable[[float], None], complete: _Complete = dict
    ) -> None:
        """Copies the state to the host's memory and writes it in a thread, while the training continues."""
        self.wait()

        def write() -> None:
            began = time.monotonic()
            with self._noting_failure():
                self._write(complete(state))
            written(time.monotonic() - began)

        with self._noting_failure():
            state = on_host(make_state(), self._buffers)
            self._writer = threading.Thread(target=write, name="updraft-checkpoint")
            self._writer.start()
            return
        self.wait()

    @contextlib.contextmanager
    def _noting_failure(self) -> Generator[None, None, None]:
        try:
            yield
        except Exception as error:
            self._failure = error

    @property
    def part(self) -> str:
        """Where the next checkpoint is written."""
        return os.path.join(self.folder, ".checkpoint.part")

    def finish_parts(self, state: dict[str, Any], files: dict[str, Any]) -> bool:
        """The rest of a checkpoint whose parts are written: its state, its manifest, its name."""
        with self._noting_failure():
            self._finish(self._write_folder(state, files))
        return self.wait()

    def clear_part(self) -> None:
        _remove(self.part)

    def wait(self) -> bool:
        """Waits for the writer. A checkpoint that could not be written costs no training; the next one may work."""
        if self._writer is not None:
            self._writer.join()
        self._writer = None
        # Where it is the first one, it ends the training.
        assert not self.is_busy
        failure, self._failure = self._failure, None
        if failure is not None:
            why = str(failure if isinstance(failure, (OSError, Refused)) else self.explain() or failure)
            # Figures change each time.
            kind = getattr(failure, "errno", None) or why
            if kind != self._said:
                say(f"no checkpoint could be written: {why}")
            self._said = kind
        return failure is None

    def paths(self) -> list[str]:
        """Of all checkpoints, whole or not, the newest first."""
        with contextlib.suppress(FileNotFoundError):
            names = sorted(filter(_NAME.fullmatch, os.listdir(self.folder)), reverse=True)
            return [os.path.join(self.folder, name) for name in names]
        return []

    def _write(self, state: dict[str, Any]) -> None:
        try:
            name = self._write_file(state)
        except OSError as error:
            kept = self._by_use()
            if error.errno != errno.ENOSPC or len(kept) < 2:
                raise
            _remove(kept[-1])
            name = self._write_file(state)
        self._finish(name)

    def _finish(self, name: str) -> None:
        self._said = None
        self.saved = name
        for old in [known for known in self._by_use() if os.path.basename(known) != name][self._keep - 1 :]:
            _remove(old)

    def _write_folder(self, state: dict[str, Any], files: dict[str, Any]) -> str:
        path = os.path.join(self.part, _STATE)
        with open(path, "wb") as file:
            write_checkpoint(state, file)
        if not self._trusts:
            read_checkpoint(path, False)
        text = json.dumps({**files, _STATE: sized(path)}).encode()
        with open(os.path.join(self.part, _MANIFEST), "wb") as file:
            file.write(text)
        if self._syncs:
            os.sync()
        self._number += 1
        name = f"checkpoint-{self._number:012d}-{zlib.crc32(text):08x}"
        os.rename(self.part, os.path.join(self.folder, name))
        return name

    def _by_use(self) -> list[str]:
        """The newest first, damaged ones last."""
        return sorted(self.paths(), key=lambda path: path in self._damaged)

    def _write_file(self, state: dict[str, Any]) -> str:
        os.makedirs(self.folder, exist_ok=True)
        part, whole = self.part, None
        # A link there would lead elsewhere.
        self.clear_part()
        try:
            with open(part, "xb", buffering=0) as file:
                whole = _WholeFile(file)
                with _without_zip_checksums():
                    write_checkpoint(state, whole)
                whole.finish()
                if self._syncs:
                    os.fsync(file.fileno())
            if not self._trusts:
                # Now, rather than when hours of training are to be resumed.
                read_checkpoint(part, False)
            self._number += 1
            name = f"checkpoint-{self._number:012d}-{whole.crc:08x}.pt"
            os.replace(part, os.path.join(self.folder, name))
            return name
        except BaseException as error:
            self.clear_part()
            if whole is not None and getattr(error, "errno", None) == errno.ENOSPC:
                free = shutil.disk_usage(self.folder).free
                figures = f"it takes {whole.size / 1e6:.1f} MB, and {free / 1e6:.1f} MB are free"
                raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {figures}") from error
            raise


def _is_whole(path: str, crc: int) -> bool:
    if not os.path.isdir(path):
        return crc_of(path) == crc
    manifest = os.path.join(path, _MANIFEST)
    if crc_of(manifest) != crc:
        return False
    files: dict[str, Any] = read_json(manifest)
    return files == {name: sized(os.path.join(path, name)) for name in files}


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        (shutil.rmtree if os.path.isdir(path) and not os.path.islink(path) else os.remove)(path)


def first_whole(paths: list[str], damage: Callable[[str], Optional[str]]) -> Optional[str]:
    """The first path without a damage. Those before it are reported."""
    for left, path in zip(range(len(paths) - 1, -1, -1), paths):
        why = damage(path)
        if why is None:
            return path
        then = "trying the one before it" if left > 0 else "no other is left, so the training starts over"
        say(f"{path} is damaged; {then}: {why}")
    return None


class _WholeFile:
    """Keeps the first error until all is written: PyTorch ends the process if a write fails under it."""

    def __init__(self, file: Any) -> None:
        self._file = io.BufferedWriter(file)
        self._error: Optional[OSError] = None
        self.crc = 0
        self.size = 0

    def write(self, data: Any) -> int:
        self.size += memoryview(data).nbytes
        if self._error is None:
            try:
                self.crc = zlib.crc32(data, self.crc)
                self._file.write(data)
            except OSError as error:
                self._error = error
        return memoryview(data).nbytes

    def flush(self) -> None:
        """PyTorch calls it; `finish` is what counts."""

    def finish(self) -> None:
        try:
            if self._error is not None:
                raise self._error
            self._file.flush()
        finally:
            with contextlib.suppress(OSError):
                self._file.detach()


def write_checkpoint(state: dict[str, Any], file: Any) -> None:
    if get_torch() is None:
        pickle.dump(state, file, protocol=4)
    else:
        get_torch().save(state, file)


@contextlib.contextmanager
def _without_zip_checksums() -> Generator[None, None, None]:
    """PyTorch writes the file without the checksums in it, which no one reads: its name has one of the whole file."""
    torch = get_torch()
    options: Any = getattr(torch, "serialization", None)
    if not hasattr(options, "set_crc32_options"):
        yield
        return
    before = options.get_crc32_options()
    options.set_crc32_options(False)
    try:
        yield
    finally:
        options.set_crc32_options(before)

