"""Where one evaluation keeps its variables and counts its cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.cel.issues import CostExceeded


class Frame:
    """`values` are the variables by their place. `cost` may be added to directly for a constant number of units; what
    grows with the data goes through `spend`, and loops do, so that no evaluation runs on much after its limit."""

    __slots__ = ("cost", "exhausted", "limit", "values")

    def __init__(self, values: list[Any], limit: int) -> None:
        self.values = values
        self.cost = 0
        self.limit = limit
        self.exhausted = False

    def spend(self, units: int) -> None:
        self.cost += units
        if self.cost > self.limit:
            self.exhausted = True
            raise CostExceeded


Run = Callable[[Frame], Any]
