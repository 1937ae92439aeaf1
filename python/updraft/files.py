"""Small files, written whole or not at all."""

import contextlib
import errno
import fcntl
import json
import os
import zlib
from typing import Any


def crc_of(path: str) -> int:
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            crc = zlib.crc32(piece, crc)
    return crc


def sized(path: str) -> list[int]:
    """Its size and CRC-32."""
    return [os.path.getsize(path), crc_of(path)]


def read_json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_json(path: str, value: Any) -> None:
    write_text(path, json.dumps(value))


def write_text(path: str, text: str) -> None:
    """Written under another name, then renamed: whoever reads it sees all of it."""
    part = f"{path}.{os.getpid()}.part"
    try:
        file = open(part, "w", encoding="utf-8")
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(part, "w", encoding="utf-8")
    with file:
        file.write(text)
    os.replace(part, path)


_locked: set[tuple[int, str]] = set()
"""Process and folder."""


def lock_folder(path: str) -> bool:
    """Whether no other process has locked it; then it is this one's until it ends. Not every file system has locks."""
    owner = os.getpid()
    if (owner, os.path.realpath(path)) in _locked:
        return True
    try:
        os.makedirs(path, exist_ok=True)
        file = os.open(path, os.O_RDONLY)
        # A worker that outlives the training must not keep it.
        os.register_at_fork(after_in_child=lambda: os.close(file) if os.getppid() == owner else None)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno != errno.EWOULDBLOCK
    _locked.add((owner, os.path.realpath(path)))
    return True


def remove_own(path: str, process: int) -> None:
    """Removes a file, unless this process is a fork of the one that made it."""
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            os.remove(path)
