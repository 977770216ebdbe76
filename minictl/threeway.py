"""The patch that `apply` sends: from what was applied last, what is wanted now, and what the server has. Pure.

Fields that are wanted and differ are set; fields that were applied before and are wanted no more are removed; all
others (defaults, what controllers wrote) are left alone. With a schema, lists merge by their key (strategic merge
patch); without, as for custom resources, a list is one value (JSON merge patch).
Source: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#how-apply-calculates-differences-and-merges-changes
"""

from __future__ import annotations

from typing import Any

from apimachinery.schema import ANYTHING, Field, List, Map, Node, Struct

_ANY = Field(ANYTHING)


def merge_patch(original: dict[str, Any], modified: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """A JSON merge patch; {} when nothing is to be done."""
    return strategic_patch(original, modified, current, ANYTHING)


def strategic_patch(
    original: dict[str, Any], modified: dict[str, Any], current: dict[str, Any], node: Node
) -> dict[str, Any]:
    """A strategic merge patch for an object of type `node`; {} when nothing is to be done."""
    patch: dict[str, Any] = {}
    for name, wanted in modified.items():
        if wanted is None:
            if name in current:
                patch[name] = None
        elif name not in current:
            patch[name] = wanted
        else:
            patch |= _field_patch(name, original.get(name), wanted, current[name], _field(node, name))
    for name in original:
        if modified.get(name) is None and current.get(name) is not None:
            patch[name] = None
    return patch


def _field_patch(name: str, original: Any, wanted: Any, current: Any, field: Field) -> dict[str, Any]:
    """The part of a patch about one field that is wanted and there."""
    if isinstance(wanted, dict) and isinstance(current, dict):
        before = original if isinstance(original, dict) else {}
        inner = strategic_patch(before, wanted, current, field.node)
        if inner and "retainKeys" in field.strategies:
            inner["$retainKeys"] = sorted(wanted)
        return {name: inner} if inner else {}
    if isinstance(wanted, list) and isinstance(current, list) and "merge" in field.strategies:
        items = original if isinstance(original, list) else []
        if field.merge_key:
            return _keyed_list(name, items, wanted, current, field)
        return _plain_list(name, items, wanted, current)
    return {} if wanted == current else {name: wanted}


def _keyed_list(name: str, original: list[Any], wanted: list[Any], current: list[Any], field: Field) -> dict[str, Any]:
    """A list of objects that are told apart by their merge key."""
    key = field.merge_key
    node = field.node.item if isinstance(field.node, List) else ANYTHING
    there = {item.get(key): item for item in current}
    before = {item.get(key): item for item in original}
    items: list[dict[str, Any]] = []
    for item in wanted:
        found = there.get(item.get(key))
        if found is None:
            items.append(item)
            continue
        inner = strategic_patch(before.get(item.get(key)) or {}, item, found, node)
        if inner:
            retained = {"$retainKeys": sorted(item)} if "retainKeys" in field.strategies else {}
            items.append({key: item.get(key)} | retained | inner)
    names = [item.get(key) for item in wanted]
    gone = [item.get(key) for item in original if item.get(key) not in names and item.get(key) in there]
    items += [{"$patch": "delete", key: value} for value in gone]
    reordered = [value for value in there if value in names] != [value for value in names if value in there]
    if not items and not reordered:
        return {}
    order = {f"$setElementOrder/{name}": [{key: value} for value in names]}
    return order | ({name: items} if items else {})


def _plain_list(name: str, original: list[Any], wanted: list[Any], current: list[Any]) -> dict[str, Any]:
    """A list of plain values that is merged as a set (finalizers)."""
    added = [item for item in wanted if item not in current]
    gone = [item for item in original if item not in wanted and item in current]
    patch: dict[str, Any] = {}
    if added or gone:
        patch[f"$setElementOrder/{name}"] = wanted
    if added:
        patch[name] = added
    if gone:
        patch[f"$deleteFromPrimitiveList/{name}"] = gone
    return patch


def _field(node: Node, name: str) -> Field:
    if isinstance(node, Struct):
        return node.fields.get(name) or _ANY
    return Field(node.value) if isinstance(node, Map) else _ANY
