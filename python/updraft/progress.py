"""What a training reports."""

import contextlib
import json
import math
import time
from typing import Any, Callable, Iterable, Optional

from .loaded import get_torch
from .position import Position


class Progress:
    """Lines for the file that Updraft reads; without one, nothing."""

    def __init__(self, path: Optional[str]) -> None:
        self._path = path
        self._last = -math.inf
        self._pending: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._saves = 0.0
        self.saving: Callable[[], dict[str, float]] = dict
        self.epochs: Optional[int] = None
        self.steps: Optional[int] = None
        self.samples = 0
        self._measured: dict[str, float] = {}

    def measure(self) -> None:
        """Before the training: how fast its host copies to its GPU."""
        if self._path is not None:
            self._measured = copy_rate()

    def log(self, position: Position, metrics: dict[str, Any]) -> None:
        if self._path is None:
            return
        samples = self.samples or None
        counted = {"epochs": self.epochs, "step": position.batch, "steps": self.steps, "samples": samples}
        place = {"epoch": position.epoch + 1, **counted}
        values = {name: _number_or_copy(value) for name, value in metrics.items()}
        earlier = self._pending[-1] if self._pending else None
        if earlier is not None and earlier[0] == place and not earlier[1].keys() & values.keys():
            earlier[1].update(values)
        else:
            self._pending.append((place, values))
        if time.monotonic() - self._last >= 1 or len(self._pending) >= _MAX_PENDING:
            self.flush()

    def flush(self) -> None:
        saving = self.saving()
        saves = saving.get("saves", 0.0)
        if self._path is None or (not self._pending and saves == self._saves):
            return
        lines: list[dict[str, Any]] = [{**_numbers(metrics), **place} for place, metrics in self._pending] or [{}]
        if saves != self._saves:
            lines[-1].update(saving)
        lines[0].update(self._measured)
        texts = [json.dumps({name: value for name, value in line.items() if value is not None}) for line in lines]
        # No line is worth a training.
        with contextlib.suppress(OSError), open(self._path, "a", encoding="utf-8") as file:
            file.write("\n".join(texts) + "\n")
        self._pending, self._saves, self._measured = [], saves, {}
        self._last = time.monotonic()


class Means:
    """Of metrics over an epoch. A GPU's stay there."""

    def __init__(self, sums: Optional[dict[str, Any]] = None) -> None:
        self.sums: dict[str, Any] = {name: (total, int(count)) for name, (total, count) in (sums or {}).items()}

    def add(self, metrics: dict[str, Any]) -> dict[str, Any]:
        for name, value in metrics.items():
            total, count = self.sums.get(name, (0, 0))
            self.sums[name] = total + (value.detach() if hasattr(value, "detach") else value), count + 1
        return {name: total / count for name, (total, count) in self.sums.items()}

    def plain(self, names: Optional[Iterable[str]] = None) -> dict[str, Any]:
        chosen = self.sums if names is None else {name: self.sums[name] for name in names}
        return {name: (float(total), count) for name, (total, count) in chosen.items()}


def averaged(each: list[dict[str, Any]]) -> dict[str, Any]:
    """The sums of several processes as those of one, which has seen as many batches."""
    first = each[0]
    return {name: (sum(one[name][0] for one in each) / len(each), count) for name, (_, count) in first.items()}


_MAX_PENDING = 1000
_COPIED_BYTES = 16 << 20


def copy_rate() -> dict[str, float]:
    """Of pinned memory, to the GPU that the training already uses: some milliseconds. Without one, nothing."""
    torch = get_torch()
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return {}
    # A GPU without that much memory left is not asked.
    with contextlib.suppress(RuntimeError):
        host = torch.empty(_COPIED_BYTES, dtype=torch.uint8, pin_memory=True)
        device = torch.empty(_COPIED_BYTES, dtype=torch.uint8, device="cuda")
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        # The first copy sets things up.
        device.copy_(host, non_blocking=True)
        begin.record()
        device.copy_(host, non_blocking=True)
        end.record()
        end.synchronize()
        return {"copyBytesPerSecond": round(_COPIED_BYTES / begin.elapsed_time(end) * 1000)}
    return {}


def _number_or_copy(value: Any) -> Any:
    """Of a tensor that only waiting for its GPU could read now, a copy: the training may go on changing it."""
    with contextlib.suppress(TypeError, ValueError, RuntimeError, AttributeError):
        if hasattr(value, "detach"):
            # PyTorch warns of a number that would lose its gradient.
            value = value.detach()
            if value.device.type != "cpu" and value.numel() == 1:
                return value.clone()
        return float(value)
    return None


def _numbers(metrics: dict[str, Any]) -> dict[str, float]:
    numbers = {}
    for name, value in metrics.items():
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            numbers[name] = float(value)
    return numbers


def metrics_of_training(metrics: Any) -> dict[str, Any]:
    """Metrics without a `loss` that is the validation's."""
    return {name: value for name, value in dict(metrics).items() if name != "loss" or "eval_loss" not in metrics}
