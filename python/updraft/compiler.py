"""Stands for PyTorch's compiler until something is compiled."""

import contextlib
import importlib
import importlib.machinery
import inspect
import os
import sys
import threading
import types
from typing import Any

_COMPILER = "torch._dynamo"


class _CompilerStandIn(types.ModuleType):
    """Stands for `torch._dynamo` until something is compiled.

    An optimizer imports PyTorch's compiler, 1.4 s of every start, only to have some functions left alone. Until the
    compiler is there, nothing touches them anyway; whatever else is asked of it imports it.
    """

    def graph_break(self, *_: Any, **__: Any) -> None:
        """Ends a piece of a compilation: there is none."""

    def disable(self, fn: Any = None, *args: Any, **options: Any) -> Any:
        # PyTorch keeps its answer as an attribute of `fn`, which _CompilerFinder takes back. Others keep it where they like.
        caller: Any = inspect.currentframe()
        if caller.f_back.f_globals.get("__name__") != "torch._compile":
            return _compiler_finder.load().disable(fn, *args, **options)
        _compiler_finder.left_alone[id(fn)] = fn
        return fn

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return vars(_compiler_finder.load())

    def __dir__(self) -> list[str]:
        return dir(_compiler_finder.load())

    def __getattr__(self, name: str) -> Any:
        # Whoever looks through all modules asks for such names.
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(_compiler_finder.load(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(_compiler_finder.load(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_compiler_finder.load(), name)


class _CompilerFinder:
    """Has Python find a `_CompilerStandIn`; whoever imports a part of the compiler gets all of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.left_alone: dict[int, Any] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == _COMPILER:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            return spec and _Ready.for_once(_CompilerStandIn(name), spec)
        if name.startswith(f"{_COMPILER}."):
            self.load()
            # Python has seen before that this part is not there: it would execute it a second time.
            part = sys.modules.get(name)
            return part and _Ready.for_once(part, part.__spec__)
        return None

    def load(self) -> Any:
        with self._lock:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                sys.modules.pop(_COMPILER, None)
                for fn in self.left_alone.values():
                    with contextlib.suppress(AttributeError):
                        delattr(fn, "__dynamo_disable")
        return importlib.import_module(_COMPILER)


class _Ready:
    """The loader, for one import, of a module that is there."""

    def __init__(self, module: types.ModuleType, usual: Any) -> None:
        self._module, self._usual = module, usual

    @classmethod
    def for_once(cls, module: types.ModuleType, spec: Any) -> Any:
        spec.loader = cls(module, spec.loader)
        return spec

    def create_module(self, _: Any) -> types.ModuleType:
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._usual

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)


_compiler_finder: Any = _CompilerFinder()


def stand_in() -> None:
    """In jobs of Updraft, unless `UPDRAFT_COMPILER=real`, or the compiler is there already."""
    wants_real = os.environ.get("UPDRAFT_COMPILER") == "real"
    if "UPDRAFT_PROGRESS" in os.environ and _COMPILER not in sys.modules and not wants_real:
        sys.meta_path.insert(0, _compiler_finder)
