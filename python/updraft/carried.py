"""What a loop carries from batch to batch by itself, and would lose when it is interrupted."""

import ast
import collections
import functools
import itertools
import linecache
import os
import types
from typing import Any, Iterable, Iterator, Optional

from .generators import is_generator, is_trainings
from .loaded import is_tensor
from .marks import marks_of
from .state import unwrapped

_LOOPS = ("batches", "enumerate", "steps", "epochs")
_CLOCKS = ("time", "perf_counter", "monotonic", "process_time")


def warnings_of(frame: Optional[types.FrameType], handed: set[int]) -> Iterator[str]:
    """What to write instead, where frames are in loops of the training's. `handed` are ids of what is saved."""
    for place, (name, loops, variables) in enumerate(_loops_around(frame)):
        yield from (f"{name}:{text}" for text in _left_out(loops[0], variables, handed))
        if place == 0:
            yield from (f"{name}:{text}" for text in _warnings_in(loops[-1], variables, handed))


def _loops_around(frame: Optional[types.FrameType]) -> Iterator[tuple[str, list[ast.For], dict[str, Any]]]:
    """File, loops and variables of each frame that is in loops of the training's, the innermost first."""
    while frame is not None:
        is_ours = frame.f_globals.get("__package__") == __package__
        loops = [] if is_ours else _loops_at(frame.f_code.co_filename, frame.f_lineno)
        if loops:
            yield os.path.basename(frame.f_code.co_filename), loops, {**frame.f_globals, **frame.f_locals}
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
    found = [one for one in _loops_of(path) if one.lineno <= line <= (one.end_lineno or 0)]
    return sorted(found, key=lambda one: one.lineno)


@functools.lru_cache(maxsize=None)
def _loops_of(path: str) -> list[ast.For]:
    text, found = "".join(linecache.getlines(path)), []
    statements: list[Any] = [ast.parse(text)] if any(f".{name}(" in text for name in _LOOPS) else []
    for one in statements:
        if isinstance(one, ast.For) and _is_ours(one.iter):
            found.append(one)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            statements += getattr(one, part, [])
    return found


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


Noted = dict[int, tuple[Any, str, dict[str, Any]]]
"""By the id of an object: the object, what to say of those of its attributes that change, and a mark of each."""


def noted(models: Iterable[Any], frame: Optional[types.FrameType], handed: set[int]) -> Noted:
    """Plain numbers of models, and all of other objects that the innermost loop names, which no `state_dict` has."""
    found: Noted = {}
    so = "changes, and starts over when the training is resumed"
    for name, loops, variables in itertools.islice(_loops_around(frame), 1):
        known = _Carried(loops[-1]).lines
        for node in [part for line in loops[-1].body for part in ast.walk(line)]:
            text = _name(node) or ""
            one = _value_of(text, variables)
            if id(one) not in handed and _has_state_of_its_own(one):
                todo = "give its class state_dict and load_state_dict and hand it over, or use run.mean(loss=loss) for a mean"
                marks = {each: mark for each, mark in marks_of(one).items() if f"{text}.{each}" not in known}
                found.setdefault(id(one), (one, f"{name}:{getattr(node, 'lineno', 0)}: {text} ({{}}) {so}; {todo}", marks))
    for model in models:
        modules: Any = getattr(unwrapped(model), "named_modules", dict)
        for path, one in modules() or {}:
            own = {name: value for name, value in vars(one).items() if type(value) in (int, float)}
            says = f"{type(one).__name__}.{{}} ({path or 'the model'}) {so}; make it a buffer of the model"
            found[id(one)] = one, says, own
    return found


def _has_state_of_its_own(one: Any) -> bool:
    """Whether it is an object of the training's, or one that can be reset: a meter, an environment. A bar may start over."""
    kind = type(one)
    is_plain = not isinstance(getattr(one, "__dict__", None), dict) or isinstance(one, (type, types.ModuleType, types.FunctionType))
    if is_plain or kind.__module__.split(".")[0] in ("tqdm", __package__) or is_generator(one) or hasattr(one, "__next__"):
        return False
    if not (is_trainings(kind.__module__) or hasattr(one, "reset")):
        return False
    return not getattr(one, "state_dict", dict)()


def changed(before: Noted, now: Noted) -> Iterator[str]:
    for key, (_, says, marks) in now.items():
        names = [name for name, mark in marks.items() if key in before and before[key][2].get(name) != mark]
        if names:
            yield says.format(" and ".join(names))
