"""States and seeds of random numbers."""

import contextlib
import copy
import hashlib
import random
import struct
import types
from typing import Any, Callable, Iterable

from .generators import find_holders, generators_in
from .loaded import get_numpy, get_torch, this_worker


def has_state(function: Any) -> bool:
    return not isinstance(function, types.FunctionType) or function.__closure__ is not None


def state_of(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.bit_generator.state if hasattr(generator, "bit_generator") else generator.get_state()


def checked_state(state: Any) -> Any:
    """NumPy draws from memory beyond a state whose position is wrong."""
    place, buffered = 0, 0
    if isinstance(state, dict):
        inner = state.get("state")
        place, buffered = inner.get("pos", 0) if isinstance(inner, dict) else 0, state.get("buffer_pos", 0)
    elif isinstance(state, (tuple, list)) and len(state) > 2:
        place = state[2]
    if not (0 <= place <= 624 and 0 <= buffered <= 4):
        raise ValueError("a damaged state of NumPy's random numbers")
    return state


def set_state_of(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif hasattr(generator, "bit_generator"):
        generator.bit_generator.state = checked_state(state)
    else:
        generator.set_state(checked_state(state))


def _plain(state: Any) -> Any:
    """A state without arrays of NumPy, which Lightning may refuse to load."""
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    if isinstance(state, tuple):
        return tuple(value if type(value) is int else _plain(value) for value in state)
    return state.tolist() if get_numpy() is not None and isinstance(state, get_numpy().ndarray) else state


def random_now(generators: dict[str, Any], brief: bool = False) -> dict[str, Any]:
    """The state of every generator of random numbers that a training may draw from; for a moment only, if `brief`."""
    torch, numpy = get_torch(), get_numpy()
    state: dict[str, Any] = {"python": random.getstate(), "own": {name: state_of(one) for name, one in generators.items()}}
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    state = state if brief else _plain(state)
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if not brief and torch.cuda.is_available() and torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_random(state: dict[str, Any], generators: dict[str, Any], but: Iterable[Any] = ()) -> None:
    torch, numpy = get_torch(), get_numpy()
    random.setstate(state["python"])
    set_own(state, generators, but)
    if numpy is not None and "numpy" in state:
        numpy.random.set_state(checked_state(state["numpy"]))
    if torch is not None and "torch" in state:
        torch.set_rng_state(state["torch"])
        # Another machine may have another number of GPUs.
        for device, saved in enumerate(state.get("cuda", [])[: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(saved, device)


def set_own(state: dict[str, Any], generators: dict[str, Any], but: Iterable[Any] = ()) -> None:
    """Some may stay as they are."""
    ready = {id(one) for one in but}
    saved = own_states(state, generators)
    for name, one in generators.items():
        if name in saved and id(one) not in ready:
            set_state_of(one, saved[name])


def own_states(state: dict[str, Any], generators: dict[str, Any]) -> dict[str, Any]:
    # Older checkpoints have a list.
    return state["own"] if isinstance(state["own"], dict) else dict(zip(generators, state["own"]))


def draw_seed() -> int:
    return int(get_torch().empty((), dtype=get_torch().int64, device="cpu").random_().item())


def seed_all(place: tuple[int, ...], own: dict[str, Any]) -> None:
    """Gives every generator that a sample may draw from a stream of its own, by the sample's place and its own path.

    PyTorch's and NumPy's older one are the same algorithm, and draw the same from the same seed. Of a seed, both use 32
    bits, PyTorch's on a CPU: two of them coincide in one of 4 billion places.
    """
    root, torch, numpy = hashlib.blake2b(repr(place).encode()).digest(), get_torch(), get_numpy()
    pythons, torchs, numpys = struct.unpack_from("<QQI", root)
    random.seed(pythons)
    if torch is not None:
        torch.default_generator.manual_seed(torchs)
    if numpy is not None:
        numpy.random.seed(numpys)
    _seed_own(place, own)


def _seed_own(place: tuple[int, ...], own: dict[str, Any]) -> None:
    root = hashlib.blake2b(repr(place).encode()).digest()
    for path, one in own.items():
        digest = hashlib.blake2b(path.encode("utf-8", "surrogatepass"), key=root, digest_size=8).digest()
        seed = int.from_bytes(digest, "little")
        if hasattr(one, "bit_generator"):
            one.bit_generator.state = type(one.bit_generator)(seed).state
        elif hasattr(one, "manual_seed"):
            one.manual_seed(seed)
        else:
            one.seed(seed if isinstance(one, random.Random) else seed & 0xFFFFFFFF)


class OwnGenerators:
    """The generators that objects have now. They are looked for now and then: some are made with the first sample."""

    def __init__(self, **roots: Any) -> None:
        self._roots = roots
        self._uses = 0
        self._holders: dict[str, Any] = {}
        self._found: dict[str, Any] = {}
        self._place: tuple[int, ...] = ()
        self._aside: Any = None
        self._has_collated = False

    def __getstate__(self) -> dict[str, Any]:
        return vars(OwnGenerators(**self._roots))

    def draw(self, place: tuple[int, ...], read: Callable[[], Any]) -> Any:
        """What is read, with random numbers of its place. In the training's process, `end` puts its own back."""
        self._uses += 1
        if self._uses & (self._uses - 1) == 0:
            self._holders = find_holders(self._roots)
        self._place, self._found = place, generators_in(self._holders)
        if self._aside is None and this_worker()[0] is None:
            self._aside = self._found, random_now(self._found, brief=True)
        seed_all(place, self._found)
        return self.draw_on(lambda: self._first(read, read)) if self._uses == 1 else self.draw_on(read)

    def collate(self, collate: Any, samples: Any) -> Any:
        if not self._has_collated and has_state(collate):
            self._has_collated = True
            with contextlib.suppress(Exception):
                # It may change them.
                twins = copy.deepcopy(samples)
                return self._first(lambda: collate(twins), lambda: collate(samples))
        return collate(samples)

    def _first(self, read: Callable[[], Any], again: Callable[[], Any]) -> Any:
        """Reads again if it has made a generator of its own, which must draw by place, too."""
        before = random_now(self._found, brief=True)
        drawn = read()
        self._holders = find_holders(self._roots)
        known = {id(one) for one in self._found.values()}
        made = {path: one for path, one in generators_in(self._holders).items() if id(one) not in known}
        if made:
            set_random(before, self._found)
            _seed_own(self._place, made)
            drawn = again()
        return drawn

    def draw_on(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        if self._aside is not None:
            generators, state = self._aside
            set_random(state, generators)
        self._aside = None
