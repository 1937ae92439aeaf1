"""PyTorch and NumPy, if the training has loaded them: nothing here loads them for it."""

import sys
from typing import Any, Optional

from .errors import say


def is_tensor(value: Any) -> bool:
    return get_torch() is not None and isinstance(value, get_torch().Tensor)


def get_torch() -> Any:
    """PyTorch, if the training has loaded it."""
    return sys.modules.get("torch")


def get_numpy() -> Any:
    return sys.modules.get("numpy")


_missed: set[str] = set()


def private(holder: Any, name: str, whose: str, so: str) -> Any:
    """What is private there. If another version has it no more, what needs it steps aside, which is said once."""
    found = getattr(holder, name, None)
    if found is None and name not in _missed:
        _missed.add(name)
        say(f"this version of {whose} has no {name}, so {so}")
    return found


JOINED = "updraft joined"
"""What the classes that `joined` makes have as their module."""
_joined: dict[tuple[type, type], type] = {}


def joined(kind: type[Any], base: type) -> type[Any]:
    """A class that is also a framework's: only when it is used, its framework must be there."""
    if issubclass(kind, base):
        return kind
    if (kind, base) not in _joined:
        own = {"__module__": JOINED, "__doc__": kind.__doc__, "__qualname__": kind.__qualname__}
        _joined[kind, base] = type(kind.__name__, (kind, base), own)
    return _joined[kind, base]


def this_worker() -> tuple[Optional[int], int]:
    """The number of this worker of a DataLoader, none in the process of the training, and how many there are."""
    info = None if get_torch() is None else get_torch().utils.data.get_worker_info()
    return (None, 1) if info is None else (info.id, info.num_workers)
