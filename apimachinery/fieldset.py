"""Sets of field paths in the form that `managedFields` stores them (FieldsV1): who owns what of an object.

A set is a tree of dicts, worked on as it is stored, so that most entries of an object are never converted. A key names
one step: `f:NAME` a field, `k:{…}` a list item by its keys, `v:…` a list item by its value. A path is a member when its
dict is empty, or holds `.` beside what is below it. Steps are sorted, so that equal sets are equal bytes.
All functions are pure; results may share parts with their arguments, which nobody may change.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

FieldSet = dict[str, Any]

HERE = "."
MEMBER: FieldSet = {}
"""What stands below a step whose path is a member and has none below it. As a whole set, {} is the empty one."""


class FieldSetError(ValueError):
    """What is stored is no FieldsV1; the message says which part."""


def check(stored: Any) -> FieldSet:
    """`stored`, which a client may have written, as a set. Raises FieldSetError."""
    if not isinstance(stored, dict):
        raise FieldSetError("not an object")
    return _checked(stored)


def _checked(stored: dict[str, Any]) -> FieldSet:
    for key, below in stored.items():
        if not isinstance(below, dict):
            raise FieldSetError(f"{key} holds no object")
        if key == HERE:
            continue
        if not key.startswith("f:"):
            _check_step(key)
        if below:
            _checked(below)
    return stored


def _check_step(key: str) -> None:
    kind, _, rest = key.partition(":")
    try:
        value = orjson.loads(rest)
    except orjson.JSONDecodeError as error:
        raise FieldSetError(f"{key} names no step of a path") from error
    if kind not in ("i", "k", "v") or (kind == "k" and not isinstance(value, dict)):
        raise FieldSetError(f"{key} names no step of a path")


def is_member(below: FieldSet | None) -> bool:
    """Whether a path is in the set, by what stands at its last step."""
    return below is not None and (not below or HERE in below)


def with_member(below: FieldSet) -> FieldSet:
    """What stands at a step once its path is a member too."""
    return below if not below or HERE in below else {HERE: MEMBER} | below


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one or not other or one is other:
        return one or other
    result = dict(one)
    for key, below in other.items():
        mine = one.get(key)
        if mine is None:
            result[key] = below
        elif mine is not below and key != HERE:
            both = union(mine, below)
            result[key] = both if mine and below else with_member(both)
    return _sorted(result) if len(result) > len(one) else result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """The members of `one` that are not in `other`."""
    if not other:
        return one
    result: FieldSet = {}
    for key, below in one.items():
        theirs = other.get(key)
        if theirs is None:
            result[key] = below
        elif key != HERE:
            left = _below_without(below, theirs)
            if left is not None:
                result[key] = left
    return result


def _below_without(below: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not below:
        return None if is_member(theirs) else MEMBER
    left = difference(below, theirs)
    if not theirs:  # only the path itself is theirs
        left = {key: value for key, value in below.items() if key != HERE}
    if not left:
        return None
    return MEMBER if len(left) == 1 and HERE in left else left


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for key, below in one.items():
        theirs = other.get(key)
        if theirs is None or key == HERE:  # whether the path itself is in both, its caller says
            continue
        if below is theirs:
            result[key] = below
        else:
            both = intersection(below, theirs)
            if is_member(below) and is_member(theirs):
                result[key] = with_member(both)
            elif both:
                result[key] = both
    return result


def _sorted(fields: FieldSet) -> FieldSet:
    return {key: fields[key] for key in sorted(fields)}


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
            yield prefix
            continue
        path = prefix + step_text(key)
        if not below:
            yield path
        yield from paths(below, path)


def step_text(key: str) -> str:
    kind, _, rest = key.partition(":")
    match kind:
        case "f":
            return f".{rest}"
        case "k":
            keys = orjson.loads(rest)
            return "[" + ",".join(f"{name}={orjson.dumps(value).decode()}" for name, value in keys.items()) + "]"
        case "i":
            return f"[{rest}]"
    return f"[={rest}]"
