"""What is saved of the objects that a training hands over."""

import collections
import collections.abc
import copy
import pickle
import types
import weakref
from typing import Any, Callable, Iterable, Iterator, Optional

from .loaded import get_torch, is_tensor, private


def check_can_be_saved(name: str, value: Any) -> None:
    kind = type(value).__name__
    if hasattr(value, "batch_sampler"):
        raise TypeError(f"{name} of updraft.training is a {kind}: give it to run.batches only, which restores its place")
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        return
    hint = "put it into a dict that you hand over and use, as in best = {'loss': 9.9}"
    if isinstance(value, tuple) or hasattr(value, "__next__"):
        hint = "hand over the objects themselves, one by one"
    raise TypeError(f"{name} of updraft.training has no state_dict: {kind}; {hint}")


def modes_of(value: Any) -> Any:
    """What a model's `state_dict` leaves out: which parameters are frozen, and which layers are in training mode."""
    if not (callable(getattr(value, "parameters", None)) and callable(getattr(value, "modules", None))):
        return None
    model = unwrapped(value)
    return [one.requires_grad for one in model.parameters()], [one.training for one in model.modules()]


def unwrapped(value: Any) -> Any:
    """The model inside DistributedDataParallel: a single process that goes on has it without."""
    wrapper: Any = getattr(getattr(getattr(get_torch(), "nn", None), "parallel", None), "DistributedDataParallel", ())
    return value.module if isinstance(value, wrapper) else value


class Values:
    """A dict, list or deque of the training's own. Its content is restored, so that whoever has it sees that."""

    def __init__(self, name: str, values: Any) -> None:
        self.name = f"{name} of updraft.training"
        self._values = values
        for _, one in self._items():
            if hasattr(one, "state_dict"):
                # It would be another object after a resume, which no one uses.
                kind = f"{type(values).__name__} with a {type(one).__name__}"
                raise TypeError(f"{self.name} is a {kind}; hand over models and optimizers themselves")
        problem = self.problem()
        if problem is not None:
            raise TypeError(problem)

    def problem(self) -> Optional[str]:
        """What keeps it from being saved."""
        for place, one in self._items():
            try:
                pickle.dumps(None if is_tensor(one) else one)
            except Exception as error:
                return f"{self.name} has {place!r}, which cannot be saved: {error}; leave it out of the dict or list"
        return None

    def bytes_of_tensors(self) -> int:
        return sum(one.numel() * one.element_size() for _, one in _tensors_in(self._values))

    def state_dict(self) -> dict[str, Any]:
        # A checkpoint has all tensors on the CPU.
        devices = {path: str(one.device) for path, one in _tensors_in(self._values) if one.device.type != "cpu"}
        values = list(self._values) if isinstance(self._values, collections.deque) else self._values
        return {"values": values, "devices": devices}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """A tensor stays the same one, on its device: others may have it, too."""
        ours, values = dict(self._items()), copy.copy(state["values"])
        devices = {path: one for path, one in state.get("devices", {}).items() if _is_there(one)}
        for place, one in list(items_of(values)):
            old: Any = ours.get(place)
            if is_tensor(one) and is_tensor(old) and old.shape == one.shape and old.dtype == one.dtype:
                old.data.copy_(one)
                values[place] = old
            else:
                found = _tensors_in(one, (place,))
                moved = {id(each): each.to(devices[path]) for path, each in found if path in devices}
                values[place] = copy.deepcopy(one, moved)
        self._values.clear()
        (self._values.update if isinstance(self._values, dict) else self._values.extend)(values)

    def shared(self) -> list[Any]:
        """What stays the same object when it is restored."""
        return [self._values, *(one for _, one in self._items() if is_tensor(one))]

    def _items(self) -> Iterable[tuple[Any, Any]]:
        # A copy: a checkpoint is written beside the training.
        return list(items_of(self._values))


def items_of(values: Any) -> Iterable[tuple[Any, Any]]:
    return values.items() if isinstance(values, collections.abc.Mapping) else enumerate(values)


def _tensors_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The tensors of dicts and lists, by their path."""
    if is_tensor(value):
        yield path, value
    elif isinstance(value, (dict, list, tuple)):
        for place, one in items_of(value):
            # Long lists are mostly of numbers.
            if not isinstance(one, (int, float, str)):
                yield from _tensors_in(one, (*path, place))


def _is_there(device: str) -> bool:
    try:
        get_torch().empty(0, device=device)
    except (AssertionError, NotImplementedError, RuntimeError):
        return False
    return True


class Gradients:
    """Gradients that a training has collected and not used yet: those of parameters that did not change in the last batch.

    A step that hides what it changes costs only a larger checkpoint.
    """

    def __init__(self, objects: dict[str, Any]) -> None:
        # Parameters that an optimizer has change together; the others are those of their model.
        self._objects = sorted(objects.items(), key=lambda item: not hasattr(item[1], "param_groups"))
        self._parameters: dict[str, list[Any]] = {}
        self._versions: dict[str, int] = {}

    def epoch_begins(self) -> None:
        """An optimizer may have more parameters than in the last one."""
        known: set[int] = set()
        for name, value in self._objects:
            parameters = getattr(value, "parameters", None)
            groups = getattr(value, "param_groups", [{"params": parameters() if callable(parameters) else []}])
            found = [one for group in groups for one in group["params"]]
            self._parameters[name] = [one for one in found if hasattr(one, "grad") and id(one) not in known]
            known.update(map(id, found))

    def parameters(self, name: str) -> list[Any]:
        self.epoch_begins()
        return self._parameters[name]

    def batch_begins(self) -> None:
        self._versions = {name: self._version(name) for name in self._parameters}

    def state(self) -> dict[str, list[Any]]:
        """By the name of the optimizer, or of the model if none has its parameters."""
        waiting = [name for name in self._parameters if self._versions.get(name) == self._version(name)]
        found = {name: [one.grad for one in self._parameters[name]] for name in waiting}
        return {name: grads for name, grads in found.items() if any(one is not None for one in grads)}

    def restore(self, state: dict[str, list[Any]]) -> None:
        self.epoch_begins()
        for name, grads in state.items():
            self._versions[name] = self._version(name)
            for parameter, grad in zip(self._parameters[name], grads):
                if grad is not None:
                    # A copy, laid out like the parameter: it is restored twice, and the training may clear it in place.
                    grad = grad.clone() if grad.is_sparse else get_torch().empty_like(parameter).copy_(grad)
                    grad = grad.detach().to(parameter.device)
                parameter.grad = grad

    def _version(self, name: str) -> int:
        so = "checkpoints have the gradients of the last batch, too, and are larger"
        return sum(private(one, "_version", "PyTorch", so) or 0 for one in self._parameters[name])


Path = tuple[Any, ...]


def mapped(value: Any, is_wanted: Callable[[Any], bool], made: Callable[[Any, Path], Any], path: Path = ()) -> Any:
    """A copy of dicts, lists and tuples, with what is wanted among them made into something else, by its path."""
    if is_wanted(value):
        return made(value, path)
    if isinstance(value, dict):
        # The type is kept: a state_dict has metadata as an attribute.
        twin = copy.copy(value)
        for name, one in value.items():
            twin[name] = mapped(one, is_wanted, made, (*path, name))
        return twin
    if isinstance(value, list) or type(value) is tuple:
        # A generator's state is 625 numbers.
        return type(value)(
            one if type(one) is int else mapped(one, is_wanted, made, (*path, place)) for place, one in enumerate(value)
        )
    return value


def on_host(value: Any, buffers: dict[Any, Any]) -> Any:
    """A copy of the state that the training cannot change, tensors in buffers of the host that are used again."""
    torch = get_torch()

    def copied(one: Any, path: Path) -> Any:
        if not is_tensor(one):
            return copy.deepcopy(one)
        if one.is_sparse:
            return one.detach().cpu().clone()
        buffer = buffers.get(path)
        if buffer is None or buffer.shape != one.shape or buffer.dtype != one.dtype:
            buffer = torch.empty(one.shape, dtype=one.dtype, device="cpu", pin_memory=one.is_cuda)
            buffers[path] = buffer
        return buffer.copy_(one.detach(), non_blocking=True)

    copies = mapped(value, lambda one: not (isinstance(one, (dict, list)) or type(one) is tuple), copied)
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return copies


def without_functions(state: Any) -> Any:
    """Without PyTorch's functions, which some of its schedulers have in their state: a new one has them, too."""

    def is_data(value: Any) -> bool:
        value = value() if isinstance(value, weakref.WeakMethod) else value
        is_function = isinstance(value, (types.FunctionType, types.MethodType))
        return not (is_function and (value.__module__ or "").startswith("torch.optim."))

    if type(state) is dict:
        return {name: without_functions(value) for name, value in state.items() if is_data(value)}
    if type(state) is list:
        return [without_functions(value) if isinstance(value, (dict, list)) else value for value in state]
    return state
