"""Objects by the schema's list and map types: which fields a value has, what changed, merging, removing.

The pure core of server-side apply: granular objects are walked field by field, lists of type map item by item (told
apart by their keys), lists of type set value by value; whatever is atomic is one field.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from apimachinery import fieldset, schemas, strategic
from apimachinery.fieldset import HERE, MEMBER, FieldSet
from apimachinery.schema import ANYTHING, List, Map, Node, Struct


class Changes(NamedTuple):
    """What differs between two values, as sets of fields."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet


def fields_of(value: Any, node: Node) -> FieldSet:
    """The fields that `value` sets."""
    children = _children(value, node)
    if not children:
        return MEMBER
    result: FieldSet = {}
    for step, (child, child_node) in children.items():
        below = fields_of(child, child_node)
        # an item of a list is owned as such, besides what is in it
        result[step] = below if step.startswith("f:") else below | MEMBER
    return result


def changes(old: Any, new: Any, node: Node) -> Changes:
    if old == new:
        return Changes({}, {}, {})
    before, after = _children(old, node), _children(new, node)
    if before is None or after is None or (not before and not after):
        return Changes({}, MEMBER, {})
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    for step, (child, child_node) in after.items():
        if step not in before:
            added[step] = fields_of(child, child_node) | ({} if step.startswith("f:") else MEMBER)
            continue
        below = changes(before[step][0], child, child_node)
        for whole, part in ((added, below.added), (modified, below.modified), (removed, below.removed)):
            if part:
                whole[step] = part
    for step, (child, child_node) in before.items():
        if step not in after:
            removed[step] = fields_of(child, child_node) | MEMBER
    return Changes(added, modified, removed)


def merged(live: Any, config: Any, node: Node) -> Any:
    """`live` with every field that `config` sets."""
    if isinstance(config, dict) and isinstance(live, dict) and _is_granular(node):
        result = dict(live)
        for name, value in config.items():
            result[name] = merged(live[name], value, _field_node(node, name)) if name in live else value
        return result
    if isinstance(config, list) and isinstance(live, list) and isinstance(node, List) and node.list_type != "atomic":
        return _merged_items(live, config, node)
    return config


def _merged_items(live: list[Any], config: list[Any], node: List) -> list[Any]:
    """The items of both, in the order of the config; those of the live list alone keep their place among them."""
    identity = _identity(node)
    before = {identity(item): item for item in live}
    wanted = {
        key: merged(before[key], item, node.item) if key in before else item
        for key, item in ((identity(item), item) for item in config)
    }
    items = [*wanted.values(), *(item for key, item in before.items() if key not in wanted)]
    return strategic.interleaved(items, list(wanted), list(before), identity)


def without(value: Any, fields: FieldSet, kept: FieldSet, node: Node) -> Any:
    """`value` without the members of `fields`; a part in which `kept` has members stays, as far as it needs to."""
    children = _children(value, node)
    if not children:
        return value
    gone: set[str] = set()
    replaced: dict[str, Any] = {}
    for step, below in fields.items():
        if step == HERE or step not in children:
            continue
        child, child_node = children[step]
        if HERE in below and not kept.get(step):
            gone.add(step)
            continue
        left = without(child, below, kept.get(step) or {}, child_node)
        if left == {} and child != {}:
            gone.add(step)
        else:
            replaced[step] = left
    if isinstance(value, dict):
        return {
            name: replaced.get(fieldset.field(name), item)
            for name, item in value.items()
            if fieldset.field(name) not in gone
        }
    assert isinstance(node, List)
    identity = _identity(node)
    return [_with_keys(replaced.get(identity(item), item), item, node) for item in value if identity(item) not in gone]


def _with_keys(left: Any, item: Any, node: List) -> Any:
    """What tells an item apart stays as long as the item does."""
    if not isinstance(item, dict):
        return left
    return {key: item[key] for key in node.keys if key in item} | left


def _children(value: Any, node: Node) -> dict[str, tuple[Any, Node]] | None:
    """The parts of a value that are owned apart, by their steps; None when it is owned as a whole."""
    if isinstance(value, dict):
        if not _is_granular(node):
            return None
        return {fieldset.field(name): (item, _field_node(node, name)) for name, item in value.items()}
    if isinstance(value, list) and isinstance(node, List) and node.list_type != "atomic":
        identity = _identity(node)
        return {identity(item): (item, node.item) for item in value}
    return None


def _is_granular(node: Node) -> bool:
    return isinstance(node, Struct | Map) and not node.atomic


def _field_node(node: Node, name: str) -> Node:
    if isinstance(node, Map):
        return node.value
    assert isinstance(node, Struct)
    field = node.fields.get(name)
    if field is None:
        return ANYTHING
    return ANYTHING if field.atomic else field.node


def _identity(node: List) -> Callable[[Any], str]:
    """How the items of a list are told apart."""
    if node.list_type == "set":
        return fieldset.item_by_value
    keys = node.keys

    def by_keys(item: Any) -> str:
        given = item if isinstance(item, dict) else {}
        values = {key: given.get(key, schemas.list_key_default(key)) for key in keys}
        return fieldset.item_by_keys({key: value for key, value in values.items() if value is not None})

    return by_keys
