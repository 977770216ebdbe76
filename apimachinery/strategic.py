"""Strategic merge patch: a merge that knows, from a kind's schema, which lists merge by which key.

Directives: `$patch: replace|delete|merge` in objects and list items, `$retainKeys`, `$setElementOrder/FIELD`,
`$deleteFromPrimitiveList/FIELD`. What kubectl's apply sends, and what upstream's server does with it.
Source: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
"""

from __future__ import annotations

from collections import deque
from typing import Any

import orjson

from apimachinery import gotext
from apimachinery.patch import PatchError
from apimachinery.schema import ANYTHING, Field, List, Map, Node, Struct

_ORDER, _DELETE = "$setElementOrder/", "$deleteFromPrimitiveList/"
_ANY_FIELD = Field(ANYTHING)

Mark = tuple[str, Any]


def merge(document: dict[str, Any], patch: dict[str, Any], node: Node) -> dict[str, Any]:
    """`document` patched; parts may be shared with both arguments. Raises PatchError."""
    patch = dict(patch)
    match patch.pop("$patch", "merge"):
        case "replace":
            return {key: value for key, value in patch.items() if value is not None}
        case "delete":
            return {}
        case "merge":  # what is done without a directive
            pass
        case other:
            raise PatchError(f"unknown patch type: {gotext.text(other)} in map: {gotext.text(patch)}")
    result = _retained(document, patch)
    for key, value in patch.items():
        if key.startswith(_ORDER):
            name = key.removeprefix(_ORDER)
            if name not in patch and name in result:
                result[name] = _ordered(result[name], result[name], value, _field(node, name).merge_key)
        elif key.startswith(_DELETE):
            name = key.removeprefix(_DELETE)
            if not isinstance(value, list):
                raise PatchError("invalid patch format of primitive list")
            if name not in patch and isinstance(result.get(name), list):
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
        raise PatchError("invalid patch format of retainKeys")
    return {key: value for key, value in document.items() if key in keep}


def _value(current: Any, value: Any, field: Field, order: Any, removed: Any) -> Any:
    if isinstance(value, dict):
        if "replace" in field.strategies:
            return merge({}, value, field.node)
        return merge(current if isinstance(current, dict) else {}, value, field.node)
    if not isinstance(value, list):
        return value
    if "merge" not in field.strategies:
        return _plain_items(value)
    current = current if isinstance(current, list) else []
    if order is not None:
        _check_order(value, order, field.merge_key)
    if field.merge_key:
        merged, place = _merge_objects(current, value, field)
    else:
        merged, place = _merge_primitives(current, value, removed or []), value
    # as upstream: the order asked for, else the patch's own, before the one that was there
    return _ordered(merged, current, place if order is None else order, field.merge_key)


def _check_order(value: list[Any], order: Any, key: str) -> None:
    """Raises PatchError unless the items of the patch stand in the order list, in its order."""
    if not isinstance(order, list):
        raise PatchError("invalid patch format of setElementOrder list")
    wanted = [item for item in value if not (isinstance(item, dict) and "$patch" in item)]
    places = iter(order)
    for item in wanted:
        mine = _identity(item, key)
        if not any(_identity(other, key) == mine for other in places):
            listed = f"{gotext.text(value)}\n doesn't match $setElementOrder list:\n{gotext.text(order)}\n"
            raise PatchError(f"The order in patch list:\n{listed}")


def _plain_items(items: list[Any]) -> list[Any]:
    """A list that replaces another: a lone `$patch: replace` in it says only that."""
    return [
        item for item in items if not (isinstance(item, dict) and item.get("$patch") == "replace" and len(item) == 1)
    ]


def _merge_primitives(current: list[Any], value: list[Any], removed: list[Any]) -> list[Any]:
    gone = {_identity(item, "") for item in removed}
    both = {_identity(item, ""): item for item in [*current, *value]}
    return [item for mark, item in both.items() if mark not in gone]


def _merge_objects(current: list[Any], value: list[Any], field: Field) -> tuple[list[Any], list[Any]]:
    """The items of both, and those of the patch that say how they are ordered."""
    key = field.merge_key
    node = field.node.item if isinstance(field.node, List) else ANYTHING
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in value):
        return _plain_items(value), []
    result: list[Any] = list(current)
    places = {_identity(item, key): at for at, item in reversed(list(enumerate(current)))}
    deleted: set[Mark] = set()
    for item in value:
        if not isinstance(item, dict):
            raise PatchError(f"list element types are not identical: {gotext.text(value)}")
        if key not in item:
            raise PatchError(f"map: {gotext.text(item)} does not contain declared merge key: {key}")
        mark = _identity(item, key)
        if item.get("$patch") == "delete":
            deleted.add(mark)
        elif mark in places:
            result[places[mark]] = merge(result[places[mark]], item, node)
        else:
            places[mark] = len(result)
            result.append(merge({}, item, node))
    kept = [item for item in result if _identity(item, key) not in deleted]
    return kept, [item for item in value if item.get("$patch") != "delete"]


def _ordered(items: list[Any], server: list[Any], order: Any, key: str) -> list[Any]:
    """`items` in the asked order; those that only the server knows stay before what they stood before."""
    if not isinstance(order, list):
        raise PatchError("invalid patch format of setElementOrder list")
    wanted = _places(order, key)
    known = _places(server, key)
    asked = deque(
        sorted((item for item in items if _identity(item, key) in wanted), key=lambda i: wanted[_identity(i, key)])
    )
    result: list[Any] = []
    for item in items:
        place = known.get(_identity(item, key), -1)
        if _identity(item, key) in wanted:
            continue
        while asked and not 0 <= place < known.get(_identity(asked[0], key), -1):
            result.append(asked.popleft())
        result.append(item)
    return [*result, *asked]


def _places(items: list[Any], key: str) -> dict[Mark, int]:
    """Where each item first stands."""
    return {_identity(item, key): at for at, item in reversed(list(enumerate(items)))}


def _identity(item: Any, key: str) -> Mark:
    """What tells an item apart: the value of its merge key, or itself."""
    value = item.get(key) if key and isinstance(item, dict) else item
    return (type(value).__name__, orjson.dumps(value) if isinstance(value, dict | list) else value)


def _field(node: Node, name: str) -> Field:
    if isinstance(node, Struct):
        return node.fields.get(name) or _ANY_FIELD
    if isinstance(node, Map):
        return Field(node.value)
    return _ANY_FIELD
