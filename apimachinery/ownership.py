"""Objects by the schema's list and map types: which fields a value has, what changed, merging, removing.

The pure core of server-side apply: granular objects are walked field by field, lists of type map item by item (told
apart by their keys), lists of type set value by value; whatever is atomic is one field. What no schema describes is
granular by its objects' fields, its lists being atomic.
`changes` runs at every write, so it looks into nothing that is equal on both sides.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from apimachinery import fieldset
from apimachinery.fieldset import HERE, MEMBER, FieldSet
from apimachinery.schema import ANYTHING, Field, List, Map, Node, Struct

_FREE = Map(ANYTHING)
_FREE.value = _FREE  # what is not described: granular as deep as it goes
_NO_FIELD = Field(_FREE)

_FLAT_MAX = 16  # fields of an object whose set is kept for the next one like it

Identity = Callable[[Any], str]


class Changes(NamedTuple):
    """What differs between two values: what was added or has another value, and what is gone."""

    changed: FieldSet
    removed: FieldSet


def fields_of(value: Any, node: Node) -> FieldSet:
    """The fields that a configuration sets: its leaves, and the items of its lists. What holds fields is not owned."""
    result: FieldSet = {}
    if type(value) is dict:
        is_map = isinstance(node, Map)
        for name in sorted(value):
            child, child_node = value[name], _field_node(node, name)
            if not _is_walked(child, child_node):
                result["f:" + name] = MEMBER
                continue
            below = fields_of(child, child_node)
            if is_map or child == {}:  # an entry of a free-form map is owned as such
                result["f:" + name] = fieldset.with_member(below)
            elif below:
                result["f:" + name] = below
    elif type(value) is list and isinstance(node, List):
        step_of = identity(node)
        for item in value:
            below = fields_of(item, node.item) if _is_walked(item, node.item) else MEMBER
            result[step_of(item)] = fieldset.with_member(below)
        return dict(sorted(result.items()))
    return result


def everything(value: Any, node: Node) -> FieldSet:
    """What stands at the step of a value that is new or gone: itself and all that is in it."""
    if not value or not _is_walked(value, node):
        return MEMBER
    if type(value) is list:
        assert isinstance(node, List)
        step_of, item_node = identity(node), node.item
        below = {step_of(item): everything(item, item_node) for item in value}
        return {HERE: MEMBER, **dict(sorted(below.items()))}
    for child in value.values():  # nearly always an object of scalars
        if type(child) is dict or type(child) is list:
            break
    else:
        return _flat(tuple(value)) if len(value) <= _FLAT_MAX else {HERE: MEMBER, **_leaves(value)}
    result = {HERE: MEMBER}
    for name in sorted(value):
        child = value[name]
        kind = type(child)
        result["f:" + name] = everything(child, _field_node(node, name)) if kind is dict or kind is list else MEMBER
    return result


def _leaves(names: Iterable[str]) -> FieldSet:
    return {"f:" + name: MEMBER for name in sorted(names)}


@lru_cache(maxsize=4096)
def _flat(names: tuple[str, ...]) -> FieldSet:
    """The set of an object that holds scalars only. The same few shapes make up most of all objects."""
    return {HERE: MEMBER, **_leaves(names)}


def changes(old: Any, new: Any, node: Node) -> Changes:
    """What differs, the two values themselves being there in any case."""
    if type(new) is dict:
        return _object_changes(old, new, node)
    assert isinstance(node, List)
    step_of = identity(node)
    before, after = {step_of(item): item for item in old}, {step_of(item): item for item in new}
    changed: FieldSet = {}
    removed: FieldSet = {}
    for step, item in after.items():
        if step not in before:
            changed[step] = everything(item, node.item)
        elif before[step] != item:
            _note(step, before[step], item, node.item, changed, removed)
    for step, item in before.items():
        if step not in after:
            removed[step] = everything(item, node.item)
    return Changes(dict(sorted(changed.items())), dict(sorted(removed.items())))


def _object_changes(old: dict[str, Any], new: dict[str, Any], node: Node) -> Changes:
    changed: FieldSet = {}
    removed: FieldSet = {}
    fields = node.fields if isinstance(node, Struct) else {}
    for name in sorted(new):
        value = new[name]
        if name in old:
            before = old[name]
            if before != value:
                _note("f:" + name, before, value, _field_node(node, name), changed, removed)
        elif (field := fields.get(name)) is not None and field.inline and _is_walked(value, field.node):
            _note("f:" + name, type(value)(), value, field.node, changed, removed)
        else:
            changed["f:" + name] = everything(value, _field_node(node, name))
    for name in sorted(old):
        if name not in new:
            value = old[name]
            if (field := fields.get(name)) is not None and field.inline and _is_walked(value, field.node):
                _note("f:" + name, value, type(value)(), field.node, changed, removed)
            else:
                removed["f:" + name] = everything(value, _field_node(node, name))
    return Changes(changed, removed)


def _note(step: str, before: Any, after: Any, node: Node, changed: FieldSet, removed: FieldSet) -> None:
    """Adds what differs below a step that both sides have."""
    if type(before) is not type(after) or not _is_walked(after, node):
        changed[step] = MEMBER
        return
    below = changes(before, after, node)
    if below.changed:
        changed[step] = below.changed
    if below.removed:
        removed[step] = below.removed


def merged(live: Any, config: Any, node: Node) -> Any:
    """`live` with every field that `config` sets."""
    if not _is_walked(config, node) or type(live) is not type(config):
        return config
    if type(config) is list:
        assert isinstance(node, List)
        return _merged_items(live, config, node)
    result = dict(live)
    for name, value in config.items():
        result[name] = merged(live[name], value, _field_node(node, name)) if name in live else value
    return result


def _merged_items(live: list[Any], config: list[Any], node: List) -> list[Any]:
    """The items of both. The config's keep its order; those of the live list alone keep their places among them."""
    step_of = identity(node)
    before = [(step_of(item), item) for item in live]
    wanted = {step_of(item): item for item in config}
    known = dict(before)
    queue = deque(wanted)
    shared = deque(key for key in wanted if key in known)
    result: list[Any] = []

    def take() -> None:
        key = queue.popleft()
        result.append(merged(known[key], wanted[key], node.item) if key in known else wanted[key])
        if shared and shared[0] == key:
            shared.popleft()

    for key, item in before:
        if key not in wanted:
            result.append(item)
        while shared and shared[0] == key:  # all that the config has before it comes first
            take()
    while queue:
        take()
    return result


def without(value: Any, fields: FieldSet, kept: FieldSet, node: Node) -> Any:
    """`value` without the members of `fields`, but for those of `kept`.

    A described field in which either set has members counts as one itself. What is removed goes with all that is in
    it; what loses its last part goes too.
    """
    if type(value) is dict:
        return _fields_without(value, fields, kept, node)
    assert isinstance(node, List)
    step_of = identity(node)
    left: list[Any] = []
    for item in value:
        step = step_of(item)
        below, owned = fields.get(step), kept.get(step)
        if below is None:
            left.append(item)
        elif not fieldset.is_member(below) or fieldset.is_member(owned):
            left.append(_with_keys(_part_without(item, below, owned, node.item), item, node))
    return left


def _with_keys(left: Any, item: Any, node: List) -> Any:
    """What tells an item apart stays as long as the item does."""
    if type(item) is not dict:
        return left
    return {key: item[key] for key in node.keys if key in item} | left


def _fields_without(value: dict[str, Any], fields: FieldSet, kept: FieldSet, node: Node) -> dict[str, Any]:
    described = node.fields if isinstance(node, Struct) else {}
    left: dict[str, Any] = {}
    for name, child in value.items():
        step = "f:" + name
        below, owned = fields.get(step), kept.get(step)
        if below is None:
            left[name] = child
            continue
        is_gone, is_kept = fieldset.is_member(below), fieldset.is_member(owned)
        if name in described:
            is_gone, is_kept = True, owned is not None
        if is_gone and not is_kept:
            continue
        part = _part_without(child, below, owned, _field_node(node, name))
        if part or not child or type(child) not in (dict, list):
            left[name] = part
    return left


def _part_without(child: Any, below: FieldSet, owned: FieldSet | None, node: Node) -> Any:
    return without(child, below, owned or {}, node) if below and _is_walked(child, node) else child


def _is_walked(value: Any, node: Node) -> bool:
    """Whether the parts of a value are owned apart."""
    kind = type(value)
    if kind is dict:
        return isinstance(node, Struct | Map) and not node.atomic
    return kind is list and isinstance(node, List) and node.list_type != "atomic"


def _field_node(node: Node, name: str) -> Node:
    if isinstance(node, Struct):
        field = node.fields.get(name, _NO_FIELD)
        return ANYTHING if field.atomic else field.node
    return node.value if isinstance(node, Map) else _FREE


@lru_cache(maxsize=4096)
def identity(node: List) -> Identity:
    """How the items of a list are told apart: the step of each."""
    if node.list_type == "set":
        return fieldset.item_by_value
    keys = {key: node.key_defaults.get(key) for key in node.keys}
    if len(keys) == 1:
        [(key, default)] = keys.items()
        return _by_one_key(key, default)

    def by_keys(item: Any) -> str:
        given = item if isinstance(item, dict) else {}
        values = {key: given.get(key, default) for key, default in keys.items()}
        return fieldset.item_by_keys({key: value for key, value in values.items() if value is not None})

    return by_keys


_needs_no_escape = re.compile(r"[A-Za-z0-9_./:-]*").fullmatch


def _by_one_key(key: str, default: str | None) -> Identity:
    head = fieldset.item_by_keys({key: 0}).removesuffix("0}")
    quoted = head + '"'
    missing = fieldset.item_by_keys({} if default is None else {key: default})

    def by_key(item: Any) -> str:
        value = item.get(key) if type(item) is dict else None
        if type(value) is str and _needs_no_escape(value):
            return quoted + value + '"}'
        return missing if value is None else head + orjson.dumps(value).decode() + "}"

    return by_key
