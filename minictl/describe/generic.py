"""Any object in words: its fields as a tree, in the order kubectl gives them (metadata first, then by name)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apimachinery import objects
from apimachinery.objects import Object
from minictl.describe import layout

_SKIPPED = {
    "": frozenset({"apiVersion", "kind"}),
    "metadata": frozenset({"name", "namespace", "labels", "annotations", "managedFields"}),
}
_ABBREVIATIONS = {"Api": "API", "Uid": "UID", "Ip": "IP", "Id": "ID", "Url": "URL", "Cidr": "CIDR"}


def describe(obj: Object, events: Sequence[Object] | None, now: datetime) -> list[str]:
    """The lines of an object's description."""
    lines = [f"Name:\t{objects.name_of(obj)}", f"Namespace:\t{objects.namespace_of(obj)}"]
    lines += layout.pairs("Labels", objects.labels_of(obj)) + layout.annotation_lines(obj)
    lines += [f"API Version:\t{obj.get('apiVersion', '')}", f"Kind:\t{obj.get('kind', '')}"]
    return [*lines, *_tree(obj, 0, ""), *layout.events(events, now)]


def _tree(value: Object, level: int, path: str) -> list[str]:
    lines: list[str] = []
    space = "  " * level
    for name in sorted(value):
        if name in _SKIPPED.get(path, ()):
            continue
        child = value[name]
        if isinstance(child, dict):
            lines.append(f"{space}{title(name)}:")
            lines += _tree(child, level + 1, f"{path}.{name}".lstrip("."))
        elif isinstance(child, list):
            lines.append(f"{space}{title(name)}:")
            lines += _items(child, level + 1)
        else:
            lines.append(f"{space}{title(name)}:\t{_plain(child)}")
    return lines


def _items(items: Sequence[Any], level: int) -> list[str]:
    space = "  " * level
    lines: list[str] = []
    for item in items:
        lines += _tree(item, level, "[]") if isinstance(item, dict) else [f"{space}{_plain(item)}"]
    return lines


def title(name: str) -> str:
    """`creationTimestamp` as `Creation Timestamp`; names that are no identifiers stay."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name):
        return name
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]", name)
    return " ".join(_ABBREVIATIONS.get(word[:1].upper() + word[1:], word[:1].upper() + word[1:]) for word in words)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
