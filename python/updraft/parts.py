"""Models in parts, as FSDP2 has them: every process writes its own, and as many processes as one likes read them again."""

import contextlib
import importlib
import os
import pathlib
from typing import Any, Callable

from .errors import Refused, refusal, unusable
from .files import sized
from .loaded import get_torch
from .reading import DataUnpickler, read_saved
from .state import Path, mapped

_PART = "updraft part"


def take_parts(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A checkpoint without the tensors of which each process has a part, and these by their name."""
    parts: dict[str, Any] = {}

    def take(one: Any, path: Path) -> Any:
        name = "/".join(map(str, path))
        parts[name] = one.detach()
        return {_PART: name, "path": list(path), "dtype": one.dtype}

    return mapped(state, lambda one: hasattr(one, "to_local"), take), parts


def write_parts(folder: str, rank: int, parts: dict[str, Any]) -> dict[str, list[int]]:
    """Together, all processes; size and CRC-32 of the files that this one has written."""
    checkpoint = importlib.import_module("torch.distributed.checkpoint")
    checkpoint.save(parts, storage_writer=checkpoint.FileSystemWriter(folder))
    begins = (f"__{rank}_", ".metadata") if rank == 0 else (f"__{rank}_",)
    return {name: sized(os.path.join(folder, name)) for name in os.listdir(folder) if name.startswith(begins)}


def read_parts(state: dict[str, Any], folder: str, like: Callable[[Path], Any], trusts: bool) -> dict[str, Any]:
    """A checkpoint with its parts, laid out as this training has them: over other processes, or over none."""
    found: dict[str, Any] = {}
    mapped(state, _is_placeholder, lambda one, _: found.setdefault(one[_PART], one))
    if not found:
        return state
    empty = get_torch().empty_like
    wanted = {name: empty(like(tuple(one["path"])).detach(), dtype=one["dtype"]) for name, one in found.items()}
    checkpoint = importlib.import_module("torch.distributed.checkpoint")
    reader = checkpoint.FileSystemReader(folder)
    if not trusts:
        metadata = _metadata_of(folder)
        reader.read_metadata = lambda *_, **__: metadata
        reader.read_data = lambda plan, planner: _read_data(folder, metadata.storage_data, plan, planner)
    try:
        checkpoint.load(wanted, storage_reader=reader)
    except checkpoint.CheckpointException as error:
        raise Refused(unusable(folder, "a part of it cannot be read")) from error
    return mapped(state, _is_placeholder, lambda one, _: wanted[one[_PART]])  # type: ignore[no-any-return]


def _read_data(folder: str, stored: Any, plan: Any, planner: Any) -> Any:
    """As PyTorch's own reader, which could run code before 2.6, but as data."""
    for item in plan.items:
        place = stored[item.storage_index]
        with open(os.path.join(folder, place.relative_path), "rb") as file:
            file.seek(place.offset)
            tensor = read_saved(file.read(place.length))
        for dim, (begin, length) in enumerate(zip(item.storage_offsets, item.lengths)):
            tensor = tensor.narrow(dim, begin, length)
        target = planner.resolve_tensor(item).detach()
        target.copy_(tensor)
        planner.commit_tensor(item, target)
    done = get_torch().futures.Future()
    done.set_result(None)
    return done


def _is_placeholder(value: Any) -> bool:
    return isinstance(value, dict) and _PART in value


class _MetadataUnpickler(DataUnpickler):
    """Also makes what PyTorch's list of parts is made of, which does nothing when it is made."""

    _plain = {
        "torch.distributed.checkpoint.metadata": (
            "Metadata", "TensorStorageMetadata", "ChunkStorageMetadata", "MetadataIndex", "TensorProperties", "StorageMeta",
            "_MEM_FORMAT_ENCODING",
        ),
        "torch.distributed._shard.sharded_tensor.metadata": ("TensorProperties", "MEM_FORMAT_ENCODING"),
        "torch.distributed.checkpoint.filesystem": ("_StorageInfo",),
    }

    def find_class(self, module: str, name: str) -> Any:
        if name in self._plain.get(module, ()):
            return getattr(importlib.import_module(module), name)
        if module.split(".")[0] == "pathlib" and name in ("Path", "PosixPath"):
            return pathlib.PurePosixPath
        return super().find_class(module, name)

    def _layout(self, name: str) -> Any:
        if name != "torch.strided":
            raise refusal(name)
        return get_torch().strided


def _metadata_of(folder: str) -> Any:
    """PyTorch's list of parts, read as data; of tensors only, in files of this folder."""
    with open(os.path.join(folder, ".metadata"), "rb") as file:
        metadata = _MetadataUnpickler(file).load()
    kinds = {type(one).__name__ for one in metadata.state_dict_metadata.values()}
    files = {one.relative_path for one in metadata.storage_data.values()}
    if kinds - {"TensorStorageMetadata"} or any(os.path.basename(one) != one for one in files):
        raise Refused(f"{folder}: its list of parts names something else than tensors in this folder")
    with contextlib.suppress(AttributeError):
        metadata.storage_meta.load_id = None
    return metadata
