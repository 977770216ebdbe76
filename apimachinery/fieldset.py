"""Sets of field paths, as `managedFields` stores them (FieldsV1): who owns what of an object.

A set is a tree of dicts. A key names one step: `f:NAME` a field, `k:{…}` a list item by its keys, `v:…` a list item by
its value; the key `.` says that the path up to here is itself a member. All functions are pure; results may share
parts with their arguments.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

FieldSet = dict[str, Any]

HERE = "."
MEMBER: FieldSet = {HERE: None}
"""The set of one path: the one it stands at. Shared, never changed."""


class FieldSetError(ValueError):
    """What is stored is no FieldsV1; the message says which part."""


def from_json(stored: dict[str, Any]) -> FieldSet:
    """From FieldsV1, where a member without members below is `{}`. Raises FieldSetError."""
    result: FieldSet = {}
    for key, below in stored.items():
        if not isinstance(below, dict):
            raise FieldSetError(f"{key} holds no object")
        if key == HERE:
            result[HERE] = None
        else:
            _check_step(key)
            result[key] = from_json(below) if below else MEMBER
    return result


def _check_step(key: str) -> None:
    kind, _, rest = key.partition(":")
    if kind == "f":
        return
    try:
        value = orjson.loads(rest)
    except orjson.JSONDecodeError as error:
        raise FieldSetError(f"{key} names no step of a path") from error
    if kind not in ("i", "k", "v") or (kind == "k" and not isinstance(value, dict)):
        raise FieldSetError(f"{key} names no step of a path")


def to_json(fields: FieldSet) -> dict[str, Any]:
    return {key: {} if key == HERE or below == MEMBER else to_json(below) for key, below in sorted(fields.items())}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one or not other:
        return one or other
    result = dict(one)
    for key, below in other.items():
        result[key] = None if key == HERE else union(one.get(key) or {}, below)
    return result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """The members of `one` that are not in `other`."""
    result: FieldSet = {}
    for key, below in one.items():
        if key == HERE:
            if HERE not in other:
                result[HERE] = None
        else:
            left = difference(below, other.get(key) or {})
            if left:
                result[key] = left
    return result


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for key, below in one.items():
        if key not in other:
            continue
        if key == HERE:
            result[HERE] = None
        else:
            both = intersection(below, other[key])
            if both:
                result[key] = both
    return result


def field(name: str) -> str:
    return f"f:{name}"


def item_by_keys(keys: dict[str, Any]) -> str:
    return "k:" + orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode()


def item_by_value(value: Any) -> str:
    return "v:" + orjson.dumps(value).decode()


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """The members as text: `.spec.containers[name="nginx"].image`."""
    for key, below in fields.items():
        if key == HERE:
            if prefix:
                yield prefix
        else:
            yield from paths(below, prefix + _step(key))


def _step(key: str) -> str:
    kind, _, rest = key.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        keys = orjson.loads(rest)
        return "[" + ",".join(f"{name}={orjson.dumps(value).decode()}" for name, value in keys.items()) + "]"
    return f"[={rest}]"
