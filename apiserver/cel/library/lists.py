"""Kubernetes' functions on lists."""

from __future__ import annotations

import itertools
from typing import Any

from apiserver.cel import times, values
from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import costs
from apiserver.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Uint

_SUMMABLE = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_ORDERED = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")


def _sum(items: list[Any], zero: Any) -> Any:
    if isinstance(zero, Duration):
        return times.bounded(sum(item.nanos for item in items))
    total = sum(items)
    if isinstance(zero, float):
        return float(total)
    least, most = (0, UINT_MAX) if isinstance(zero, Uint) else (INT_MIN, INT_MAX)
    if not least <= total <= most:
        raise EvaluationError("integer overflow")
    return type(zero)(total)


def _is_sorted(items: list[Any]) -> bool:
    return all(one <= other for one, other in itertools.pairwise(items))


def _least(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("min called on empty list")
    return min(items)


def _greatest(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("max called on empty list")
    return max(items)


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if values.equal(item, wanted)), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index in reversed(range(len(items))) if values.equal(items[index], wanted)), -1)


LIBRARY = Library()
for item, zero in _SUMMABLE.items():
    LIBRARY.method(f"sum(list({item})) -> {item}", lambda items, zero=zero: _sum(items, zero), costs.of_list)
for item in _ORDERED:
    LIBRARY.method(f"isSorted(list({item})) -> bool", _is_sorted, costs.of_list)
    LIBRARY.method(f"min(list({item})) -> {item}", _least, costs.of_list)
    LIBRARY.method(f"max(list({item})) -> {item}", _greatest, costs.of_list)
LIBRARY.method("indexOf(list(A), A) -> int", _index_of, costs.of_list)
LIBRARY.method("lastIndexOf(list(A), A) -> int", _last_index_of, costs.of_list)
