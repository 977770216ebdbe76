"""Strategic merge patch: a merge that knows, from a kind's schema, which lists merge by which key.

Directives: `$patch: replace|delete|merge` in objects and list items, `$retainKeys`, `$setElementOrder/FIELD`,
`$deleteFromPrimitiveList/FIELD`. What kubectl's apply sends, and what upstream's server does with it.
Source: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apimachinery.patch import PatchError
from apimachinery.schema import ANYTHING, Field, List, Map, Node, Struct

_ORDER, _DELETE = "$setElementOrder/", "$deleteFromPrimitiveList/"
_ANY_FIELD = Field(ANYTHING)


def merge(document: dict[str, Any], patch: dict[str, Any], node: Node) -> dict[str, Any]:
    """`document` patched; parts may be shared with both arguments. Raises PatchError."""
    patch = dict(patch)
    match patch.pop("$patch", "merge"):
        case "replace":
            return {key: value for key, value in patch.items() if value is not None}
        case "delete":
            return {}
        case "merge":
            pass
        case other:
            raise PatchError(f"Unknown patch type: {other!r}")
    result = _retained(document, patch)
    for key, value in patch.items():
        if key.startswith(_ORDER):
            name = key.removeprefix(_ORDER)
            if name not in patch and name in result:
                result[name] = _ordered(result[name], result[name], value, _field(node, name).merge_key)
        elif key.startswith(_DELETE):
            name = key.removeprefix(_DELETE)
            if name in result:
                result[name] = [item for item in result[name] if item not in value]
        elif value is None:
            result.pop(key, None)
        else:
            merged = _value(
                result.get(key), value, _field(node, key), patch.get(_ORDER + key), patch.get(_DELETE + key)
            )
            result[key] = merged
    return result


def _retained(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A copy of the document, with only those keys that `$retainKeys` names, if the patch has it."""
    keep = patch.pop("$retainKeys", None)
    if keep is None:
        return dict(document)
    if not isinstance(keep, list):
        raise PatchError("invalid patch format of retainKeys")
    missing = [key for key in patch if not key.startswith("$") and patch[key] is not None and key not in keep]
    if missing:
        raise PatchError("invalid patch format of retainKeys: the list must hold all fields of the patch")
    return {key: value for key, value in document.items() if key in keep}


def _value(current: Any, value: Any, field: Field, order: Any, removed: Any) -> Any:
    if isinstance(value, dict):
        return merge(current if isinstance(current, dict) else {}, value, field.node)
    if not isinstance(value, list):
        return value
    if "merge" not in field.strategies:
        return _plain_items(value)
    current = current if isinstance(current, list) else []
    if field.merge_key:
        merged = _merge_objects(current, value, field)
    else:
        merged = _merge_primitives(current, value, removed or [])
    return merged if order is None else _ordered(merged, current, order, field.merge_key)


def _plain_items(items: list[Any]) -> list[Any]:
    """A list that replaces another: a lone `$patch: replace` in it says only that."""
    return [
        item for item in items if not (isinstance(item, dict) and item.get("$patch") == "replace" and len(item) == 1)
    ]


def _merge_primitives(current: list[Any], value: list[Any], removed: list[Any]) -> list[Any]:
    kept = [item for item in current if item not in removed]
    return kept + [item for index, item in enumerate(value) if item not in kept and item not in value[:index]]


def _merge_objects(current: list[Any], value: list[Any], field: Field) -> list[Any]:
    key = field.merge_key
    node = field.node.item if isinstance(field.node, List) else ANYTHING
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in value):
        return _plain_items(value)
    result = list(current)
    for item in value:
        if not isinstance(item, dict):
            raise PatchError(f"invalid patch: items of a list merged by {key} are objects")
        if key not in item:
            raise PatchError(f"map: {item} does not contain declared merge key: {key}")
        at = next((i for i, old in enumerate(result) if isinstance(old, dict) and old.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            result = [old for old in result if not (isinstance(old, dict) and old.get(key) == item[key])]
        elif at is None:
            result.append(merge({}, item, node))
        else:
            result[at] = merge(result[at], item, node)
    return result


def _ordered(items: list[Any], server: list[Any], order: Any, key: str) -> list[Any]:
    """`items` in the asked order; those that only the server knows stay before what they stood before."""
    if not isinstance(order, list):
        raise PatchError("invalid patch format of setElementOrder list")

    def identity(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    return interleaved(items, [identity(item) for item in order], [identity(item) for item in server], identity)


def interleaved(items: list[Any], wanted: list[Any], places: list[Any], identity: Callable[[Any], Any]) -> list[Any]:
    """`items`, those of `wanted` in its order, every other one before what it stood before at `places`."""
    asked = sorted((item for item in items if identity(item) in wanted), key=lambda item: wanted.index(identity(item)))
    result: list[Any] = []
    for item in (item for item in items if identity(item) not in wanted):
        while asked and not _stands_before(identity(item), identity(asked[0]), places):
            result.append(asked.pop(0))
        result.append(item)
    return result + asked


def _stands_before(one: Any, other: Any, places: list[Any]) -> bool:
    return one in places and other in places and places.index(one) < places.index(other)


def _field(node: Node, name: str) -> Field:
    if isinstance(node, Struct):
        return node.fields.get(name) or _ANY_FIELD
    if isinstance(node, Map):
        return Field(node.value)
    return _ANY_FIELD
