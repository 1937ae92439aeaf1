"""Reads checkpoints as data: tensors and plain values, never code."""

import collections
import importlib
import inspect
import io
import mmap
import pickle
import re
import struct
import zipfile
from typing import Any

from .errors import Refused, refusal, unusable
from .loaded import get_torch
from .state import items_of


def read_checkpoint(path: str, trusts: bool) -> Any:
    """A checkpoint, as tensors and plain values; if it is trusted, as whatever it says, which may be code."""
    with open(path, "rb") as file:
        is_torchs = file.read(2) == b"PK"
        file.seek(0)
        try:
            if trusts and not is_torchs:
                return pickle.load(file)
            if trusts:
                # Mapped, it is copied once, to where its tensors go. The file is never changed, only removed.
                mapped = {"mmap": True} if "mmap" in inspect.signature(get_torch().load).parameters else {}
                return get_torch().load(path, map_location="cpu", weights_only=False, **mapped)
            if is_torchs:
                return _with_arrays(_Archive(file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)).read())
            return _with_arrays(DataUnpickler(file).load())
        except Refused as error:
            raise Refused(f"{path}: {error}") from None
        except Exception as error:
            # What Python says of a changed byte helps nobody.
            raise Refused(unusable(path, "its content cannot be read")) from error


def read_saved(saved: bytes) -> Any:
    """What torch.save has written, as tensors and plain values."""
    return _Archive(io.BytesIO(saved), bytearray(saved)).read()


_BUILTIN: tuple[Any, ...] = (set, frozenset, bytearray, complex, range, slice, list, dict, tuple)
_SCALARS: tuple[Any, ...] = (int, float, bool, str, bytes)
_OTHERS: tuple[Any, ...] = (collections.OrderedDict, collections.deque, collections.defaultdict)
_NAMES = {f"{one.__module__}.{one.__name__}": one for one in (*_BUILTIN, *_SCALARS, *_OTHERS)}
_NAMES.update({"builtins.xrange": range, "builtins.unicode": str, "builtins.long": int})
_STORED = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Untyped": "uint8"}
_STORED.update(Byte="uint8", Char="int8", Short="int16", Int="int32", Long="int64", Bool="bool")
_STORED.update(ComplexFloat="complex64", ComplexDouble="complex128")
_SWALR = "torch.optim.swa_utils.SWALR"


class DataUnpickler(pickle.Unpickler):
    """Makes tensors and plain values. Of what a file names, it calls types written in C, and methods of its own only.

    PyTorch's `weights_only` lacks floats in 1.13, and could run code before 2.6.
    """

    _ours = {
        "_codecs.encode": "_bytes",
        "builtins.getattr": "_annealing",
        "collections.Counter": "_counter",
        "torch._utils._rebuild_tensor_v2": "_tensor",
        "torch._utils._rebuild_tensor_v3": "_tensor",
        "torch._utils._rebuild_parameter": "_parameter",
        "torch._utils._rebuild_sparse_tensor": "_sparse",
        "torch.serialization._get_layout": "_layout",
        "numpy.dtype": "_dtype",
        "numpy.ndarray": "_array",
        "numpy.core.multiarray._reconstruct": "_array",
        "numpy.core.multiarray.scalar": "_scalar",
    }

    def load(self) -> Any:
        self._guarded: list[Any] = []
        found = super().load()
        for one in self._guarded:
            vars(one).clear()
        return found

    def guarded(self, tensor: Any) -> Any:
        """A file must not give it a state: where it begins in memory would not be checked."""
        tensor.__setstate__ = lambda _: self.find_class("torch", "Tensor.__setstate__")
        self._guarded.append(tensor)
        return tensor

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}".replace("__builtin__.", "builtins.").replace("numpy._core.", "numpy.core.")
        if full in self._ours:
            return getattr(self, self._ours[full])
        if full in _NAMES or full == _SWALR:
            return _NAMES.get(full, full)
        torch = get_torch()
        if torch is not None and module in ("torch", "torch.storage"):
            found = getattr(torch, _STORED.get(name[:-7], "") if name.endswith("Storage") else name, None)
            if isinstance(found, torch.dtype) or found in (torch.Size, torch.device):
                return found
        raise refusal(full)

    def _bytes(self, text: str, _: str) -> bytes:
        return text.encode("latin1")

    def _annealing(self, scheduler: Any, name: Any) -> Any:
        """The function that this scheduler has in its state."""
        if scheduler != _SWALR or name not in ("_cosine_anneal", "_linear_anneal"):
            raise refusal(f"{scheduler}.{name}")
        return getattr(get_torch().optim.swa_utils.SWALR, name)

    def _counter(self, counts: dict[Any, int]) -> Any:
        return collections.Counter(counts)

    def _tensor(self, stored: Any, offset: int, size: Any, stride: Any, learns: bool, _: Any, *more: Any) -> Any:
        if more[:1] and isinstance(more[0], get_torch().dtype):
            stored, more = stored.view(more[0]), more[1:]
        if any(more):
            raise refusal("a tensor of an unknown kind")
        return self.guarded(stored.as_strided(size, stride, offset).requires_grad_(bool(learns)))

    def _parameter(self, data: Any, learns: bool, _: Any) -> Any:
        return self.guarded(get_torch().nn.Parameter(data, bool(learns)))

    def _layout(self, name: str) -> str:
        return name

    def _sparse(self, layout: str, parts: Any) -> Any:
        indices, values, size, *more = parts
        limits = get_torch().tensor(tuple(size)[: len(indices)]).unsqueeze(1)
        if layout != "torch.sparse_coo" or bool(((indices < 0) | (indices >= limits)).any()):
            raise refusal("a sparse tensor of an unknown kind")
        made = get_torch().sparse_coo_tensor(indices, values, tuple(size))
        return self.guarded(made.coalesce() if any(more) else made)

    def _dtype(self, name: str, *_: Any) -> Any:
        return _Array(name)

    def _array(self, *_: Any) -> Any:
        return _Array("")

    def _scalar(self, dtype: Any, data: bytes) -> Any:
        return dtype.filled(data)[0]


class _Array:
    """Stands for an array of NumPy's, or its dtype, while it is read: what they say of themselves could corrupt memory."""

    made: Any = None

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype

    def __setstate__(self, state: Any) -> None:
        if not self._dtype:
            _, shape, dtype, is_fortran, data = state
            self.made = dtype.filled(data).reshape(shape, order="F" if is_fortran else "C")
        elif re.fullmatch(r"[biufcSU]\d{1,6}", self._dtype) and state[2:5] == (None, None, None):
            self.made = (">" if state[1] == ">" else "<") + self._dtype
        else:
            raise refusal(f"numpy.dtype({self._dtype!r})")

    def filled(self, data: bytes) -> Any:
        return importlib.import_module("numpy").frombuffer(data, self.made).copy()


def _with_arrays(value: Any) -> Any:
    if isinstance(value, _Array):
        return importlib.import_module("numpy").dtype(value.made) if isinstance(value.made, str) else value.made
    if isinstance(value, (dict, list, collections.deque)):
        for place, one in list(items_of(value)):
            # Most are numbers.
            if isinstance(one, (_Array, dict, list, tuple, collections.deque)):
                value[place] = _with_arrays(one)
    elif type(value) is tuple and not all(isinstance(one, int) for one in value):
        return tuple(map(_with_arrays, value))
    return value


class _Archive:
    """What PyTorch saves: a zip, not compressed, of a pickle and the bytes of tensors, which are mapped.

    Whoever else may load it, as frameworks do, must find the same in it: no name twice, nothing before it, no program.
    """

    def __init__(self, file: Any, mapped: Any) -> None:
        files = zipfile.ZipFile(file).infolist()
        self._mapped = mapped
        self._folder = files[0].filename.split("/")[0]
        self._files = {one.filename.lower(): one for one in files}
        programs = [name for name in self._files if name.endswith(".pkl")]
        if len(self._files) < len(files) or len(programs) > 1 or files[0].header_offset != 0:
            raise ValueError("it is a zip of another kind than torch.save writes")
        self._stored: dict[Any, Any] = {}

    def read(self) -> Any:
        begin, size = self._find("data.pkl")
        reader = DataUnpickler(io.BytesIO(self._mapped[begin : begin + size]))
        setattr(reader, "persistent_load", lambda what: reader.guarded(self._load(what)))
        return reader.load()

    def _find(self, name: str) -> tuple[int, int]:
        """Its first byte, and its size. Its checksum may be missing; the whole file has one."""
        info = self._files[f"{self._folder}/{name}".lower()]
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError("it is compressed")
        lengths = struct.unpack_from("<HH", self._mapped, info.header_offset + 26)
        return info.header_offset + 30 + sum(lengths), info.file_size

    def _load(self, what: Any) -> Any:
        """The bytes of one or more tensors."""
        _, dtype, key, _, count = what
        if count == 0:
            return get_torch().empty(0, dtype=dtype)
        if (key, dtype) not in self._stored:
            begin, _ = self._find(f"data/{key}")
            self._stored[key, dtype] = get_torch().frombuffer(self._mapped, dtype=dtype, count=count, offset=begin)
        return self._stored[key, dtype]
