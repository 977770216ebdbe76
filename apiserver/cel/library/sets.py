"""Lists as sets."""

from __future__ import annotations

from typing import Any

from apiserver.cel import values
from apiserver.cel.declarations import Library
from apiserver.cel.library import costs


def _contains(items: list[Any], wanted: list[Any]) -> bool:
    return all(values.contains(items, item) for item in wanted)


def _equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(values.contains(other, item) for item in one)


LIBRARY = Library()
LIBRARY.function("sets.contains(list(A), list(A)) -> bool", _contains, costs.product)
LIBRARY.function("sets.equivalent(list(A), list(A)) -> bool", _equivalent, costs.product)
LIBRARY.function("sets.intersects(list(A), list(A)) -> bool", _intersects, costs.product)
