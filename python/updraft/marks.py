"""What distinguishes one order of samples from another."""

import contextlib
import gc
import itertools
import os
import zlib
from typing import Any, Optional

from .loaded import get_torch


def split_of(dataset: Any) -> list[Any]:
    """What distinguishes one random split of a dataset from another."""
    marks: list[Any] = []
    with contextlib.suppress(Exception):
        while hasattr(dataset, "dataset") and len(marks) < 10:
            marks.append(_mark_of(getattr(dataset, "__dict__", {}).get("indices")))
            dataset = dataset.dataset
    return marks


def datasets_alive() -> list[Any]:
    """Those of PyTorch that there are."""
    torch = get_torch()
    return [one for one in gc.get_objects() if torch is not None and torch.utils.data.Dataset in type(one).__mro__]


def marks_of(sampler: Any) -> dict[str, Any]:
    """Its numbers, and what distinguishes one order of its lists and arrays from another."""
    marks = {name: value if isinstance(value, (int, float)) else _mark_of(value) for name, value in vars(sampler).items()}
    return {name: mark for name, mark in marks.items() if mark is not None}


def lists_of(dataset: Any) -> dict[str, int]:
    """What distinguishes one order of a dataset's names or places, of which no two are alike, from another."""
    # A subset's samples are those of another.
    inner = getattr(dataset, "dataset", None)
    marks = {f"dataset.{name}": mark for name, mark in (lists_of(inner) if hasattr(inner, "__dict__") else {}).items()}
    for name, value in vars(dataset).items():
        is_array = type(value).__name__ in ("ndarray", "Tensor") and value.ndim == 1
        with contextlib.suppress(Exception):
            if isinstance(value, (list, tuple)) or is_array:
                length, *items = _picked(value)
                is_order = len(set(map(repr, items))) == len(set(_picked(range(length))[1:])) > 1
                if is_order and not any(isinstance(one, float) for one in items):
                    flat = [one for each in items for one in (each if isinstance(each, list) else [each])]
                    # The same files may be in another folder.
                    folder = os.path.commonprefix([one for one in flat if isinstance(one, str) and os.sep in one])
                    texts = [one[len(folder) :] if isinstance(one, str) and os.sep in one else one for one in flat]
                    marks[name] = zlib.crc32(repr((length, texts)).encode())
    return marks


def _mark_of(value: Any) -> Optional[int]:
    """What distinguishes a list or array of plain values from others, however large it is; nothing if it is none."""
    with contextlib.suppress(Exception):
        if isinstance(value, (list, tuple, range, dict)) or hasattr(value, "tolist"):
            return zlib.crc32(repr(_picked(value)).encode())
    return None


def _picked(value: Any, count: int = 500) -> Any:
    """Its length, and its first items, its last ones, and some in between."""
    kinds: tuple[Any, ...] = (str, bytes, int, float)
    for kind in kinds:
        if isinstance(value, kind):
            # NumPy's versions print their own kinds differently.
            return kind(value)
    if value is None:
        return None
    if not isinstance(value, (list, tuple, range, dict)) and getattr(value, "ndim", 0) == 0:
        return os.fspath(value) if hasattr(value, "__fspath__") else _picked(value.item(), 0)
    array: Any = value
    if getattr(array, "ndim", 1) > 1:
        value = array.flat if hasattr(array, "flat") else array.view(-1)
    if count == 0:
        raise TypeError("too deep")
    if isinstance(value, dict):
        return [len(value), *((str(name), _picked(one, count // 10)) for name, one in itertools.islice(value.items(), count))]
    parts: list[Any] = [value[:count], value[-count:], value[:: len(value) // count + 1]]
    items = itertools.chain.from_iterable(one.tolist() if hasattr(one, "tolist") else one for one in parts)
    return [len(value), *(_picked(one, count // 10) for one in items)]
