"""What a loop carries from batch to batch by itself, and would lose when it is interrupted."""

from __future__ import annotations

import ast
import collections
import linecache
import os
import types
from typing import Any, Iterable, Iterator, Optional

from .loaded import is_tensor
from .state import unwrapped

_LOOPS = ("batches", "enumerate", "steps")
_CLOCKS = ("time", "perf_counter", "monotonic", "process_time")


def warnings_of(frame: Optional[types.FrameType], handed: set[int]) -> Iterator[str]:
    """What to write instead, where the innermost frame has a loop of the training's. `handed` are ids of what is saved."""
    while frame is not None:
        is_ours = frame.f_globals.get("__package__") == __package__
        loop = None if is_ours else _loop_at(frame.f_code.co_filename, frame.f_lineno)
        if loop is not None:
            yield from _warnings_in(loop, frame, handed)
            return
        frame = frame.f_back


def _warnings_in(loop: ast.For, frame: types.FrameType, handed: set[int]) -> Iterator[str]:
    name = os.path.basename(frame.f_code.co_filename)
    if any(isinstance(one, ast.Call) and _name(one.func) == "enumerate" for one in ast.walk(loop.iter)):
        yield (
            f"{name}:{loop.lineno}: enumerate starts over at 0 when the training is resumed; "
            "write run.enumerate(loader) instead of enumerate(run.batches(loader))"
        )
    variables = {**frame.f_globals, **frame.f_locals}
    lost = {text: line for text, line in _Carried(loop).lines.items() if _is_lost(text, variables, handed)}
    if lost:
        yield (
            f"{name}:{min(lost.values())}: {' and '.join(lost)}, carried from batch to batch, starts over when the "
            "training is resumed; use run.mean(loss=loss) for a mean, or keep it in a dict that you hand to "
            "updraft.training"
        )


def _loop_at(path: str, line: int) -> Optional[ast.For]:
    """The innermost loop over `run.batches` or the like around a line."""
    text = "".join(linecache.getlines(path))
    if not any(f".{name}(" in text for name in _LOOPS):
        return None
    loops = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.For) and node.lineno <= line <= (node.end_lineno or 0) and _is_ours(node.iter)
    ]
    return max(loops, key=lambda node: node.lineno, default=None)


def _is_ours(iterated: ast.expr) -> bool:
    calls = [one.func for one in ast.walk(iterated) if isinstance(one, ast.Call)]
    return any(isinstance(one, ast.Attribute) and one.attr in _LOOPS for one in calls)


def _name(node: ast.AST) -> Optional[str]:
    """`total`, or `self.total`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else None


class _Carried(ast.NodeVisitor):
    """Names that a loop reads before it writes them, and lists that it appends to, with their lines."""

    def __init__(self, loop: ast.For) -> None:
        self.lines: dict[str, int] = {}
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._visit_all([loop.target, *loop.body])

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        # As it is evaluated.
        self.visit(node.value)
        calls = [_name(one.func) or "" for one in ast.walk(node.value) if isinstance(one, ast.Call)]
        if not any(name.split(".")[-1] in _CLOCKS for name in calls):
            self._visit_all(node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        self._note(_name(node.target), node.lineno, reads=True, writes=True)

    def visit_Name(self, node: ast.Name) -> None:
        is_read = isinstance(node.ctx, ast.Load)
        self._note(node.id, node.lineno, reads=is_read, writes=not is_read)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            self._note(_name(node.func.value), node.lineno, reads=True, writes=True)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Runs elsewhere."""

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Runs elsewhere."""

    def _note(self, name: Optional[str], line: int, *, reads: bool, writes: bool) -> None:
        if name is None:
            return
        if reads and name not in self._written:
            self._read.add(name)
        if writes and name in self._read:
            self.lines.setdefault(name, line)
        if writes:
            self._written.add(name)


def _is_lost(name: str, variables: dict[str, Any], handed: set[int]) -> bool:
    first, _, attribute = name.partition(".")
    value = variables.get(first)
    if attribute:
        if id(value) in handed:
            return False
        value = getattr(value, "__dict__", {}).get(attribute)
    is_carried = type(value) in (int, float) or isinstance(value, (list, collections.deque)) or is_tensor(value)
    return is_carried and id(value) not in handed


def numbers_of(objects: Iterable[Any]) -> dict[str, Any]:
    """Plain numbers in attributes of models, which their `state_dict` leaves out."""
    found = {}
    for model in objects:
        modules: Any = getattr(unwrapped(model), "named_modules", dict)
        for path, one in modules() or {}:
            own = {name: value for name, value in vars(one).items() if type(value) in (int, float)}
            found.update({f"{type(one).__name__}.{name} ({path or 'the model'})": value for name, value in own.items()})
    return found
