"""How often a training saves."""

import math
import os
import time
from typing import Optional

_USUAL_LIFE = 2 * 3600.0
"""Seconds that an attempt lasts before it is interrupted, where neither this training nor its pool is known."""
_WAIT_SHARE = 0.01
"""Largest share of its time that the training waits for its checkpoints."""


class Interval:
    """When to save (Young, Daly): the square root of twice the cost of a save times the time between interruptions."""

    def __init__(self, every: Optional[float]) -> None:
        self._every = every
        self._cost = 0.0
        self._writing = 0.0
        self._began = 0.0
        self._last = 0.0
        self._saves = 0
        self._waiting = 0.0
        self.earlier: list[float] = []
        """Seconds that each earlier attempt lasted, as far as its last checkpoint knows."""

    def start(self, now: float) -> None:
        self._began = self._last = now

    def is_due(self, now: float) -> bool:
        return now - self._last >= self.seconds(now)

    def can_afford(self, now: float) -> bool:
        """Whether a checkpoint beside the others would still cost little."""
        return now - self._last >= max(self._cost / _WAIT_SHARE, 2 * self._writing)

    def seconds(self, now: float) -> float:
        if self._every is not None:
            return self._every
        # The first one soon, to learn what a checkpoint costs.
        if self._cost == 0:
            return 5.0
        # What earlier runs on this pool have seen.
        usual = float(os.environ.get("UPDRAFT_MEAN_LIFE") or _USUAL_LIFE)
        seen = usual + sum(self.earlier) + (now - self._began)
        life = seen / (1 + len(self.earlier))
        return max(math.sqrt(2 * self._cost * life), self._cost / _WAIT_SHARE, 2 * self._writing)

    def waited(self, began: float, now: float) -> None:
        self._cost = max(now - began, 1e-4)
        self._last = now
        self._saves += 1
        self._waiting += now - began

    def figures(self) -> dict[str, float]:
        """Checkpoints so far, seconds that the training waited for them, and the time from one to the next."""
        if self._saves == 0:
            return {}
        every = self.seconds(time.monotonic())
        return {"saves": self._saves, "saveSeconds": round(self._waiting, 4), "saveEvery": round(every, 1)}

    def written(self, seconds: float) -> None:
        self._writing = seconds

    def lives(self) -> list[float]:
        return [*self.earlier, time.monotonic() - self._began]
