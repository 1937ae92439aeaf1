"""The objects that a training hands over, saved and restored together."""

import collections
import contextlib
import copy
import itertools
from typing import Any, Iterator, Optional

from .generators import is_generator
from .loaded import get_torch
from .state import Gradients, Values, check_can_be_saved, modes_of, unwrapped, without_functions
from .store import Store


_MAX_BEGIN = 10_000_000
"""Bytes of a dict's or list's tensors that a checkpoint has twice: as they are, and as the epoch has begun with them."""


class Objects:
    """By the names that they were handed over with."""

    def __init__(self, handed: dict[str, Any]) -> None:
        self.generators = {name: value for name, value in handed.items() if is_generator(value)}
        self._objects = {name: value for name, value in handed.items() if name not in self.generators}
        for name, value in self._objects.items():
            if isinstance(value, (dict, list, collections.deque)) and not hasattr(value, "state_dict"):
                self._objects[name] = value = Values(name, value)
            check_can_be_saved(name, value)
        self.gradients = Gradients(self._objects)

    def __getitem__(self, name: str) -> Any:
        return self._objects[name]

    def handed(self) -> list[Any]:
        return list(self._objects.values())

    def are_sharded(self) -> bool:
        """Whether no process has all of a model, as with FSDP2."""
        models = [one for one in self._objects.values() if modes_of(one) is not None]
        if any(type(part).__name__ == "FullyShardedDataParallel" for one in models for part in one.modules()):
            raise SystemExit("updraft: FullyShardedDataParallel cannot be saved in parts; use fully_shard, of PyTorch 2.6 or later")
        return any(hasattr(part, "to_local") for one in models for part in one.parameters())

    def like(self, path: tuple[Any, ...]) -> Any:
        """A tensor that is laid out over the processes as the one at this place of a checkpoint is to be."""
        kind, name, *places = path
        if kind == "gradients":
            return self.gradients.parameters(name)[places[0]]
        value = unwrapped(self._objects[name])
        groups = getattr(value, "param_groups", None)
        if groups is not None:
            return [one for group in groups for one in group["params"]][places[1]]
        found = value.state_dict()
        for place in places:
            found = found[place]
        return found

    def names(self) -> list[str]:
        return sorted([*self._objects, *self.generators])

    def problem(self) -> Optional[str]:
        """What in the dicts and lists cannot be saved."""
        return next(filter(None, (one.problem() for one in self.values().values())), None)

    def shared(self) -> set[int]:
        """The ids of what stays the same object when it is restored."""
        return {id(value) for each in self.values().values() for value in each.shared()}

    def state(self) -> dict[str, Any]:
        return {
            "objects": {name: without_functions(unwrapped(value).state_dict()) for name, value in self._objects.items()},
            "kinds": {name: type(value).__name__ for name, value in self._objects.items()},
            "groups": {name: self._groups_of(value) for name, value in self._objects.items()},
            "generators": list(self.generators),
            "modes": {name: modes_of(value) for name, value in self._objects.items()},
            "gradients": self.gradients.state(),
        }

    def restore(self, state: dict[str, Any], store: Store) -> None:
        with store.using("values"):
            self._load(state, self._objects, store.folder)
            self.gradients.restore(state.get("gradients", {}))
            self._set_modes(state)

    def restore_values(self, state: dict[str, Any], store: Store) -> None:
        """The dicts and lists only."""
        self._load(state, self.values(), store.folder)

    def left_out(self) -> Iterator[str]:
        """Optimizers inside another, such as SAM's, whose `state_dict` has only the outer one's state."""
        kind: Any = getattr(getattr(get_torch(), "optim", None), "Optimizer", ())
        for outer in self._objects.values():
            if isinstance(outer, kind) and type(outer).state_dict is kind.state_dict:
                for name, inner in vars(outer).items():
                    is_left_out = isinstance(inner, kind) and all(inner is not one for one in self._objects.values())
                    if is_left_out and inner.state and inner.state is not outer.state:
                        yield f"{type(outer).__name__}.{name}"

    def _parameters(self) -> Iterator[tuple[tuple[str, int], Any]]:
        """Those of the models, each by the model's name and its place there."""
        for name, value in self._objects.items():
            if modes_of(value) is not None:
                yield from (((name, place), one) for place, one in enumerate(value.parameters()))

    def values(self) -> dict[str, Values]:
        return {name: value for name, value in self._objects.items() if isinstance(value, Values)}

    def values_now(self) -> dict[str, Any]:
        now = {}
        for name, value in self.values().items():
            # What cannot be copied, no checkpoint can have. Averaged weights are as large as the model.
            with contextlib.suppress(Exception):
                if value.bytes_of_tensors() <= _MAX_BEGIN:
                    now[name] = copy.deepcopy(value.state_dict())
        return now

    def _groups_of(self, optimizer: Any) -> list[Any]:
        """Which parameters an optimizer's groups have: its `state_dict` has only their number."""
        places = {id(one): place for place, one in self._parameters()}
        groups = getattr(optimizer, "param_groups", [])
        return [[places.get(id(one)) for one in group["params"]] for group in groups]

    def _add_groups(self, optimizer: Any, saved: list[Any]) -> None:
        """Groups that the training has added since it began. An epoch that adds them again when it is resumed may."""
        known = len(getattr(optimizer, "param_groups", []))
        if not 0 < known < len(saved):
            return
        parameters = dict(self._parameters())
        added = []
        for group in saved[known:]:
            if None in group:
                hint = "hand over the model of the parameters that add_param_group was given"
                raise ValueError(f"the checkpoint has {len(saved)} parameter groups, and there are {known}; {hint}")
            added.append([parameters[place] for place in group])
            optimizer.add_param_group({"params": added[-1]})
        add = optimizer.add_param_group

        def add_once(group: dict[str, Any]) -> None:
            params = group["params"]
            params = [params] if hasattr(params, "requires_grad") else list(params)
            ours = {id(one) for one in params}
            again = next((one for one in added if {id(each) for each in one} == ours), None)
            if again is None:
                add({**group, "params": params})
            else:
                added[:] = [one for one in added if one is not again]

        optimizer.add_param_group = add_once

    def _set_modes(self, state: dict[str, Any]) -> None:
        for name, modes in state.get("modes", {}).items():
            if modes is not None and modes != modes_of(self._objects[name]):
                model = unwrapped(self._objects[name])
                for parameter, learns in zip(model.parameters(), modes[0]):
                    parameter.requires_grad = learns
                for module, is_training in zip(model.modules(), modes[1]):
                    module.training = is_training

    def _load(self, state: dict[str, Any], objects: Any, folder: str) -> None:
        torch = get_torch()
        owners = [one for one in objects.values() if hasattr(one, "param_groups")]
        pairs = [(a, b) for a, b in itertools.combinations(owners, 2) if a.param_groups is b.param_groups]
        for name, value in objects.items():
            try:
                self._add_groups(value, state.get("groups", {}).get(name, []))
                if torch is not None and isinstance(value, torch.optim.Optimizer):
                    kind, saved = type(value).__name__, state.get("kinds", {}).get(name)
                    if saved not in (None, kind):
                        raise ValueError(f"it is of {saved}, this is {kind}")
                    # A GPU may not have room for what it has now and for what it gets.
                    value.state.clear()
                unwrapped(value).load_state_dict(state["objects"][name])
            except Exception as error:
                # What is not said of the values is said of Python's.
                is_said = isinstance(error, (RuntimeError, ValueError)) and str(error)
                why = error if is_said else f"what is saved is not of a {type(value).__name__}"
                raise SystemExit(
                    f"updraft: {name} does not fit the checkpoint in {folder}: {why}\n"
                    "Remove the folder to start over."
                ) from error
        # One optimizer inside another steps with the outer one's learning rate.
        for one, other in pairs:
            other.param_groups = one.param_groups
