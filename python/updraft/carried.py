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

_LOOPS = ("batches", "enumerate", "steps", "epochs")
_CLOCKS = ("time", "perf_counter", "monotonic", "process_time")


def warnings_of(frame: Optional[types.FrameType], handed: set[int]) -> Iterator[str]:
    """What to write instead, where frames are in loops of the training's. `handed` are ids of what is saved."""
    is_innermost = True
    while frame is not None:
        is_ours = frame.f_globals.get("__package__") == __package__
        loops = [] if is_ours else _loops_at(frame.f_code.co_filename, frame.f_lineno)
        if loops:
            name, variables = os.path.basename(frame.f_code.co_filename), {**frame.f_globals, **frame.f_locals}
            yield from (f"{name}:{text}" for text in _left_out(loops[0], variables, handed))
            if is_innermost:
                yield from (f"{name}:{text}" for text in _warnings_in(loops[-1], variables, handed))
            is_innermost = False
        frame = frame.f_back


def _warnings_in(loop: ast.For, variables: dict[str, Any], handed: set[int]) -> Iterator[str]:
    if any(isinstance(one, ast.Call) and _name(one.func) == "enumerate" for one in ast.walk(loop.iter)):
        yield (
            f"{loop.lineno}: enumerate starts over at 0 when the training is resumed; "
            "write run.enumerate(loader) instead of enumerate(run.batches(loader))"
        )
    lost = {text: line for text, line in _Carried(loop).lines.items() if _is_lost(text, variables, handed)}
    if lost:
        yield (
            f"{min(lost.values())}: {' and '.join(lost)}, carried from batch to batch, starts over when the "
            "training is resumed; use run.mean(loss=loss) for a mean, or keep it in a dict that you hand to "
            "updraft.training"
        )


def _left_out(loop: ast.For, variables: dict[str, Any], handed: set[int]) -> Iterator[str]:
    """What the loop has take steps, such as a scheduler, and nobody has handed over."""
    for call in ast.walk(loop):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("step", "update"):
            name = _name(call.func.value) or ""
            one = _value_of(name, variables)
            # accelerate's have nothing of their own, beside one that is handed over.
            is_saved = id(one) in handed or type(one).__module__.startswith("accelerate.")
            if not is_saved and hasattr(one, "load_state_dict") and one.state_dict():
                yield f"{call.lineno}: {name} starts over when the training is resumed: hand it to updraft.training, too"


def _loops_at(path: str, line: int) -> list[ast.For]:
    """The loops over `run.batches` or the like around a line, the outermost first."""
    text = "".join(linecache.getlines(path))
    if not any(f".{name}(" in text for name in _LOOPS):
        return []
    loops = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.For) and _is_ours(node.iter)]
    return sorted((one for one in loops if one.lineno <= line <= (one.end_lineno or 0)), key=lambda one: one.lineno)


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
        target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        self._note(_name(target), node.lineno, reads=True, writes=True)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        # Of a tensor, a part may be overwritten with each batch.
        if isinstance(node.ctx, ast.Store) and isinstance(getattr(node.slice, "value", None), str):
            self._note(_name(node.value), node.lineno, reads=True, writes=True)
        self.generic_visit(node)

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


def _value_of(name: str, variables: dict[str, Any]) -> Any:
    first, _, attribute = name.partition(".")
    value = variables.get(first)
    return getattr(value, "__dict__", {}).get(attribute) if attribute else value


def _is_lost(name: str, variables: dict[str, Any], handed: set[int]) -> bool:
    first, _, attribute = name.partition(".")
    value = _value_of(name, variables)
    if id(value) in handed or (attribute and id(variables.get(first)) in handed):
        return False
    is_tensors = is_tensor(value) or (isinstance(value, tuple) and any(map(is_tensor, value)))
    return is_tensors or type(value) in (int, float) or isinstance(value, (dict, list, collections.deque))


def numbers_of(objects: Iterable[Any]) -> dict[str, Any]:
    """Plain numbers in attributes of models, which their `state_dict` leaves out."""
    found = {}
    for model in objects:
        modules: Any = getattr(unwrapped(model), "named_modules", dict)
        for path, one in modules() or {}:
            own = {name: value for name, value in vars(one).items() if type(value) in (int, float)}
            found.update({f"{type(one).__name__}.{name} ({path or 'the model'})": value for name, value in own.items()})
    return found
