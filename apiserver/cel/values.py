"""Values. JSON's are Python's own; here is what JSON has not, what equals what, and the order of values.

Guarantees: True never equals 1; int, uint and double compare by value; NaN equals nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apiserver.cel.issues import EvaluationError

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
NANOS = 1_000_000_000


class Uint(int):
    """An unsigned integer."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    nanos: int  # since 1970


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing; `NONE` is the one that is."""

    present: bool
    value: Any = None


NONE = Optional(False)


def some(value: Any) -> Optional:
    return Optional(True, value)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What `type(x)` gives."""

    name: str


class SetList(list[Any]):
    """A list of `x-kubernetes-list-type: set`: its order means nothing, and `+` adds what is missing."""


class MapList(list[Any]):
    """A list of `x-kubernetes-list-type: map`: items are told by their keys, and `+` replaces those of the same."""

    keys: tuple[str, ...]

    def key(self, item: Any) -> tuple[Any, ...]:
        return tuple(item.get(key) for key in self.keys) if isinstance(item, dict) else ()


_NUMBERS = frozenset({int, float, Uint})
_LISTS = frozenset({list, SetList, MapList})


def equal(one: Any, other: Any) -> bool:
    kind, other_kind = type(one), type(other)
    if kind is dict and other_kind is dict:
        return len(one) == len(other) and all(key in other and equal(value, other[key]) for key, value in one.items())
    if kind in _LISTS and other_kind in _LISTS:
        return len(one) == len(other) and _equal_lists(one, other)
    if kind is Optional and other_kind is Optional:
        return one.present == other.present and equal(one.value, other.value)
    if kind is other_kind or (kind in _NUMBERS and other_kind in _NUMBERS):
        return bool(one == other)
    return False


def _equal_lists(one: Any, other: Any) -> bool:
    if type(one) is SetList and type(other) is SetList:
        return all(contains(other, item) for item in one)
    if type(one) is MapList and type(other) is MapList:
        by_key = {other.key(item): item for item in other}
        return all(one.key(item) in by_key and equal(item, by_key[one.key(item)]) for item in one)
    return all(map(equal, one, other))


def contains(items: list[Any], wanted: Any) -> bool:
    return any(equal(item, wanted) for item in items)


def size(value: Any) -> int:
    """What upstream counts as the size of a value when it counts the cost of working on it."""
    kind = type(value)
    return len(value) if kind in _SIZED else value.bytes_size if hasattr(value, "bytes_size") else 1


_SIZED = frozenset({str, bytes, list, dict, SetList, MapList})

_NAMES = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    SetList: "list",
    MapList: "list",
    dict: "map",
    type(None): "null_type",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Optional: "optional_type",
    TypeValue: "type",
}


def type_name(value: Any) -> str:
    return _NAMES.get(type(value)) or str(getattr(value, "cel_type", type(value).__name__))


def json(value: Any) -> Any:
    """The value as JSON has it. Raises EvaluationError for what JSON cannot hold."""
    kind = type(value)
    if kind is Uint:
        return int(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [json(item) for item in value]
    if kind is dict:
        return {str(key): json(item) for key, item in value.items()}
    if value is None or kind in (bool, int, float, str):
        return value
    raise EvaluationError(f"unsupported type {type_name(value)} in a patch")


_TESTS: dict[str, frozenset[type]] = {
    "bool": frozenset({bool}),
    "int": frozenset({int}),
    "uint": frozenset({Uint}),
    "double": frozenset({float}),
    "string": frozenset({str}),
    "bytes": frozenset({bytes}),
    "duration": frozenset({Duration}),
    "timestamp": frozenset({Timestamp}),
    "null": frozenset({type(None)}),
    "list": _LISTS,
    "map": frozenset({dict}),
    "object": frozenset({dict}),
    "optional": frozenset({Optional}),
    "type": frozenset({TypeValue}),
}


def fits(kind: str, name: str) -> Callable[[Any], bool]:
    """A test of whether a value is of a type, by its outermost kind."""
    if kind in _TESTS:
        kinds = _TESTS[kind]
        return lambda value: type(value) in kinds
    if kind == "opaque":
        return lambda value: getattr(value, "cel_type", "") == name
    return lambda value: True
