"""Lists that are sets or maps: no value, and no combination of keys, may be there twice."""

from __future__ import annotations

from typing import Any

import orjson

from apimachinery.errors import Cause
from apiserver.apiextensions.structural import Structural
from apiserver.registry.validation import causes


def duplicates(value: Any, node: Structural, path: str = "") -> list[Cause]:
    """What stands twice, here and below."""
    found: list[Cause] = []
    if not node.holds_unique:
        return found
    if type(value) is dict:
        for name in sorted(value):
            field = node.field(name)
            if field is not None:
                found += duplicates(value[name], field, f"{path}.{name}" if path else name)
    elif type(value) is list and node.items is not None:
        if node.list_type != "atomic":
            found += _repeated(value, node, path)
        if node.items.holds_unique:
            for index, item in enumerate(value):
                found += duplicates(item, node.items, f"{path}[{index}]")
    return found


def _repeated(items: list[Any], node: Structural, path: str) -> list[Cause]:
    seen: set[bytes] = set()
    found = []
    for index, item in enumerate(items):
        identity = _keys(item, node) if node.list_type == "map" else item
        key = orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)
        if key in seen:
            found.append(causes.duplicate(f"{path}[{index}]", identity))
        seen.add(key)
    return found


def _keys(item: Any, node: Structural) -> Any:
    """What tells an item of a map list apart; keys that are missing do not count."""
    if not isinstance(item, dict):
        return item
    return {key: item[key] for key in sorted(node.keys) if key in item}
