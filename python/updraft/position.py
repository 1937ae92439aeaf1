"""Where a training is."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

CHECKPOINT_FORMAT = 2
"""With 1, one seed was shared by all generators that a sample draws from."""


@dataclass(frozen=True)
class Position:
    """What comes next: a batch of a loop of an epoch, all counted from 0."""

    epoch: int = 0
    batch: int = 0
    loop: int = 0

    def __str__(self) -> str:
        return f"epoch {self.epoch + 1} after batch {self.batch}" + (f" of loop {self.loop + 1}" if self.loop else "")

    @classmethod
    def of(cls, state: dict[str, Any]) -> Position:
        places = [operator.index(place) for place in state["position"]]
        if min(places) < 0:
            raise ValueError("a position before the first one")
        return cls(*places)
