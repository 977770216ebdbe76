"""Operators: arithmetic that does not wrap around, comparison, membership, indexing."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from apiserver.cel import times, values
from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import costs
from apiserver.cel.values import INT_MAX, INT_MIN, NONE, UINT_MAX, MapList, Optional, SetList, Uint, some

LIBRARY = Library()


def _int(value: int) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise EvaluationError("integer overflow")
    return value


def _uint(value: int) -> Uint:
    if not 0 <= value <= UINT_MAX:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def _quotient(one: int, other: int) -> int:
    if other == 0:
        raise EvaluationError("division by zero")
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _remainder(one: int, other: int) -> int:
    if other == 0:
        raise EvaluationError("modulus by zero")
    return int(math.copysign(1, one)) * (abs(one) % abs(other))


def _divided(one: float, other: float) -> float:
    try:
        return float(one) / other
    except ZeroDivisionError:
        if one == 0 or one != one:
            return math.nan
        return math.copysign(math.inf, one) * math.copysign(1, other)


def _added(one: list[Any], other: list[Any]) -> list[Any]:
    if type(one) is SetList:
        return SetList([*one, *(item for item in other if not values.contains(one, item))])
    if type(one) is not MapList:
        return [*one, *other]
    by_key = {one.key(item): item for item in one}
    by_key.update((one.key(item), item) for item in other)
    joined = MapList(by_key.values())
    joined.keys = one.keys
    return joined


def _arithmetic() -> None:
    for sign, call in {"+": operator.add, "-": operator.sub, "*": operator.mul}.items():
        LIBRARY.function(f"_{sign}_(int, int) -> int", lambda a, b, call=call: _int(call(a, b)))
        LIBRARY.function(f"_{sign}_(uint, uint) -> uint", lambda a, b, call=call: _uint(call(int(a), int(b))))
        LIBRARY.function(f"_{sign}_(double, double) -> double", lambda a, b, call=call: float(call(float(a), b)))
    LIBRARY.function("_/_(int, int) -> int", lambda a, b: _int(_quotient(a, b)))
    LIBRARY.function("_/_(uint, uint) -> uint", lambda a, b: _uint(_quotient(a, b)))
    LIBRARY.function("_/_(double, double) -> double", _divided)
    LIBRARY.function("_%_(int, int) -> int", _remainder)
    LIBRARY.function("_%_(uint, uint) -> uint", lambda a, b: _uint(_remainder(a, b)))
    LIBRARY.function("-_(int) -> int", lambda a: _int(-a))
    LIBRARY.function("-_(double) -> double", lambda a: -float(a))
    LIBRARY.function("!_(bool) -> bool", operator.not_)


def _addition() -> None:
    LIBRARY.function("_+_(string, string) -> string", operator.add, costs.both)
    LIBRARY.function("_+_(bytes, bytes) -> bytes", operator.add, costs.both)
    # Upstream's lists share what they are made of, and cost one unit; ours are copied, which must not be free
    LIBRARY.function("_+_(list(A), list(A)) -> list(A)", _added, costs.both)
    LIBRARY.function("_+_(duration, duration) -> duration", lambda a, b: times.bounded(a.nanos + b.nanos))
    LIBRARY.function("_+_(timestamp, duration) -> timestamp", lambda a, b: times.within(a.nanos + b.nanos))
    LIBRARY.function("_+_(duration, timestamp) -> timestamp", lambda a, b: times.within(a.nanos + b.nanos))
    LIBRARY.function("_-_(duration, duration) -> duration", lambda a, b: times.bounded(a.nanos - b.nanos))
    LIBRARY.function("_-_(timestamp, timestamp) -> duration", lambda a, b: times.bounded(a.nanos - b.nanos))
    LIBRARY.function("_-_(timestamp, duration) -> timestamp", lambda a, b: times.within(a.nanos - b.nanos))


_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _comparison() -> None:
    numbers = ("int", "uint", "double")
    pairs = [(one, one) for one in ("int", "uint", "double", "string", "bool", "bytes", "timestamp", "duration")]
    pairs += [(one, other) for one in numbers for other in numbers if one != other]
    for sign, call in _ORDERED.items():
        for one, other in pairs:
            cost = costs.smaller if one in ("string", "bytes") else None
            LIBRARY.function(f"_{sign}_({one}, {other}) -> bool", call, cost)
    LIBRARY.function("_==_(A, A) -> bool", values.equal, costs.smaller)
    LIBRARY.function("_!=_(A, A) -> bool", lambda a, b: not values.equal(a, b), costs.smaller)


def _index(value: Any, key: Any) -> Any:
    if type(value) is Optional:
        return _optional_index(value, key)
    if isinstance(value, list):
        position = _position(key)
        if not 0 <= position < len(value):
            raise EvaluationError(f"index out of bounds: {position}")
        return value[position]
    if not isinstance(value, dict):
        raise EvaluationError("no such overload")
    try:
        return value[key]
    except (KeyError, TypeError):
        raise EvaluationError(f"no such key: {key}") from None


def _position(key: Any) -> int:
    if type(key) not in (int, Uint, float) or key != int(key):
        raise EvaluationError(f"unsupported index type '{values.type_name(key)}' in list")
    return int(key)


def _optional_index(value: Any, key: Any) -> Optional:
    if type(value) is Optional:
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, list):
        position = _position(key)
        return some(value[position]) if 0 <= position < len(value) else NONE
    if not isinstance(value, dict):
        raise EvaluationError("no such overload")
    return some(value[key]) if key in value else NONE


def _collections() -> None:
    LIBRARY.function("_[_](list(A), int) -> A", _index)
    LIBRARY.function("_[_](map(A, B), A) -> B", _index)
    LIBRARY.function("_[_](optional_type(list(A)), int) -> optional_type(A)", _index)
    LIBRARY.function("_[_](optional_type(map(A, B)), A) -> optional_type(B)", _index)
    for value, key, result in (("list(A)", "int", "A"), ("map(A, B)", "A", "B")):
        LIBRARY.function(f"_[?_]({value}, {key}) -> optional_type({result})", _optional_index)
        LIBRARY.function(f"_[?_](optional_type({value}), {key}) -> optional_type({result})", _optional_index)
    LIBRARY.function("@in(A, list(A)) -> bool", lambda a, b: values.contains(b, a), costs.elements_of_second)
    LIBRARY.function("@in(A, map(A, B)) -> bool", lambda a, b: a in b)
    for sized in ("string", "bytes", "list(A)", "map(A, B)"):
        LIBRARY.function(f"size({sized}) -> int", len)
        LIBRARY.method(f"size({sized}) -> int", len)


_arithmetic()
_addition()
_comparison()
_collections()
