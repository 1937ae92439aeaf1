"""Finds the generators of random numbers that samples may draw from."""

import collections
import collections.abc
import contextlib
import copyreg
import functools
import gc
import itertools
import random
import re
import sys
import types
from typing import Any, Iterable, Optional

from .loaded import get_numpy, get_torch, is_tensor
from .loaders import without_bar
from .state import items_of


def generators_of(loader: Any, *, sampling: bool = False) -> dict[str, Any]:
    """Generators of its own that a loader draws from in this process, by their path; of its order only, if `sampling`."""
    loader = without_bar(loader)
    batches, dataset = getattr(loader, "batch_sampler", None), getattr(loader, "dataset", None)
    roots = {"loader": loader, "sampler": getattr(loader, "sampler", None), "batches": batches}
    elsewhere = [getattr(loader, "_iterator", None)]
    if sampling or getattr(loader, "num_workers", 0) > 0:
        elsewhere += [dataset, getattr(loader, "collate_fn", None)]
    return generators_in(find_holders({**roots, "dataset": dataset}, elsewhere, shared=not sampling))


def generators_in(holders: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, holder in holders.items():
        for name, one in list(items_of(holder)):
            if is_generator(one):
                # A dict may have 0 and "0".
                found[_unused(f"{path}.{name}", found)] = one
    return each_once(found)


def _unused(path: str, found: dict[str, Any]) -> str:
    while path in found:
        path += "'"
    return path


MAX_OBJECTS = 3000
MAX_ITEMS = 1000
_MAX_VALUES = 100
"""Of a list: dicts, lists and tensors among its items."""
_VALUES = (str, bytes, int, float, dict, list, tuple)


def find_holders(roots: dict[str, Any], elsewhere: Iterable[Any] = (), shared: bool = True) -> dict[str, Any]:
    """Dicts and lists with generators of random numbers that `roots` may draw from, by their path.

    Those are attributes, such as a dataset's, its transform's, or those of one of its transforms, and, if `shared`,
    variables of their classes and modules. What is large, such as a list of all samples, is looked at in part.
    """
    met = {id(one) for one in elsewhere}
    queue = collections.deque(roots.items())
    # The rest of a long list, such as the paths of all samples: a transform comes first, however deep it is.
    later: collections.deque[Any] = collections.deque()
    alive: list[Any] = []
    found: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    while (queue or later) and len(alive) < MAX_OBJECTS:
        path, one = (queue or later).popleft()
        if one is None or id(one) in met or isinstance(one, (str, bytes, int, float, types.ModuleType)):
            continue
        met.add(id(one))
        own, common = _parts_of(one)
        # What is no longer there would give its id to another.
        alive.append((one, own))
        for holder in own:
            items = list(itertools.islice(items_of(holder), MAX_ITEMS))
            if any(is_generator(value) for _, value in items):
                found[_unused(path, found)] = holder
            objects = [item for item in items[_MAX_VALUES:] if not (isinstance(item[1], _VALUES) or is_tensor(item[1]))]
            for places, some in ((queue, items[:_MAX_VALUES]), (later, objects)):
                places.extend((f"{path}.{name}", value) for name, value in some if not is_generator(value))
        for each in common if shared else []:
            # A worker that is not forked has the script under another name.
            name = f"{getattr(each, '__module__', '')} {each.__name__}".replace("__mp_main__", "__main__")
            if name not in beside and isinstance(each, type) and is_trainings(each.__module__):
                queue.extend((f"{name}.{place}", value) for place, value in list(vars(each).items()))
            beside[name] = vars(each)
    return {**found, **{path: each for path, each in beside.items() if any(map(is_generator, list(each.values())))}}


def _parts_of(one: Any) -> tuple[list[Any], list[Any]]:
    """The dicts and lists that make up an object, and what it shares with others: its classes and their modules."""
    if isinstance(one, dict):
        return [one, one.keys()], []
    if isinstance(one, (list, tuple, collections.deque)):
        return [one], []
    if isinstance(one, (collections.abc.Set, collections.abc.ValuesView)):
        # A set has another order in each process.
        return [sorted(itertools.islice(one, MAX_ITEMS), key=lambda each: str(type(each)))], []
    if isinstance(one, types.MethodType):
        return [[one.__self__, one.__func__]], []
    if isinstance(one, types.BuiltinMethodType):
        # Such as the `random` of a generator.
        return [[one.__self__]], []
    if isinstance(one, types.FunctionType):
        cells = []
        for cell in one.__closure__ or ():
            # An empty one.
            with contextlib.suppress(ValueError):
                cells.append(cell.cell_contents)
        more = [one.__kwdefaults__ or {}, vars(one), _globals_of(one)]
        return [cells, one.__defaults__ or (), *more], modules_named(one.__module__)
    if isinstance(one, (staticmethod, classmethod, property)):
        return [[getattr(one, "__func__", None) or getattr(one, "fget", None)]], []
    if isinstance(one, types.GeneratorType):
        return ([], []) if one.gi_frame is None else ([one.gi_frame.f_locals], [])
    kind = type(one)
    if kind.__module__ in ("builtins", "itertools"):
        # What zip, map, islice and the like read from.
        return [gc.get_referents(one)] if hasattr(one, "__next__") else [], []
    own: list[Any] = [[one.func, one.args, one.keywords]] if isinstance(one, functools.partial) else []
    attributes = getattr(one, "__dict__", None)
    if isinstance(attributes, dict):
        own.append(attributes)
    # As `pickle` finds them, private ones too.
    own.append({name: getattr(one, name) for name in getattr(copyreg, "_slotnames")(kind) if hasattr(one, name)})
    homes = [each for each in (one if isinstance(one, type) else kind).__mro__ if modules_named(each.__module__)]
    return own, [*homes, *itertools.chain.from_iterable(modules_named(each.__module__) for each in homes)]


def _globals_of(function: Any) -> dict[str, Any]:
    """What a function of the training may use of its module, and of the modules there, such as a transform."""
    if not is_trainings(function.__module__):
        return {}
    codes, known = [function.__code__], function.__globals__
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    names = [name for code in codes for name in code.co_names]
    found = {name: known[name] for name in names if name in known}
    for module, one in list(found.items()):
        if isinstance(one, types.ModuleType) and is_trainings(one.__name__):
            found.update((f"{module}.{name}", vars(one)[name]) for name in names if name in vars(one))
    return found


def modules_named(name: Optional[str]) -> list[Any]:
    """The module of this name, in a list; none if it is one of a library that has no generators of the training's own."""
    is_other = name is None or name.split(".")[0] in ("builtins", "numpy", "random", "torch")
    return [] if is_other or name not in sys.modules else [sys.modules[name]]


def is_trainings(module: Optional[str]) -> bool:
    """Whether it is the script or a module beside it: to look through all code of libraries would take too long."""
    if module in ("__main__", "__mp_main__"):
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return file is not None and re.search(r"/lib/python3[^/]*/|/(site|dist)-packages/", file) is None


def each_once(objects: dict[str, Any]) -> dict[str, Any]:
    """Under the first of its names."""
    first = {id(one): name for name, one in reversed(list(objects.items()))}
    return {name: one for name, one in objects.items() if first[id(one)] == name}


def is_generator(value: Any) -> bool:
    """Whether it is a generator of random numbers that can be saved and restored."""
    torch, numpy = get_torch(), get_numpy()
    if isinstance(value, random.Random):
        # The global one is what `from random import randint` has as its own.
        return not isinstance(value, random.SystemRandom) and value is not getattr(random, "_inst", None)
    if numpy is not None and isinstance(value, (numpy.random.Generator, numpy.random.RandomState)):
        return True
    return torch is not None and isinstance(value, torch.Generator)
