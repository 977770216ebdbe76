"""Drops what a structural schema does not know, and says what that was."""

from __future__ import annotations

from typing import Any

from apimachinery import schema
from apiserver.apiextensions.structural import RESOURCE_FIELDS, Structural

Path = list[str | int]


def prune(value: Any, node: Structural, path: Path, unknown: list[str], *, is_resource: bool = False) -> None:
    """In place. `unknown` receives the paths of what went; `is_resource`: the value is an object of its own."""
    if type(value) is dict:
        _prune_object(value, node, path, unknown, is_resource or node.embedded)
    elif type(value) is list and node.items is not None:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                prune(item, node.items, [*path, index], unknown)


def _prune_object(value: dict[str, Any], node: Structural, path: Path, unknown: list[str], is_resource: bool) -> None:
    keeps = node.preserve or node.additional is True
    drop: list[str] = []
    for name, child in value.items():
        if is_resource and name in RESOURCE_FIELDS:
            continue
        described = node.field(name)
        if described is None:
            if not keeps:
                drop.append(name)
        elif type(child) is dict or type(child) is list:
            prune(child, described, [*path, name], unknown)
    for name in drop:
        unknown.append(schema.render_path([*path, name]))
        del value[name]
