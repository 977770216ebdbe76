"""A custom resource's type as the patches and field owners of the registry know types (`apimachinery.schema`).

Guarantees: `Object.check` prunes and reads metadata as the decoder of custom resources does; wrong types are not its
matter, since validation tells them, field by field.
"""

from __future__ import annotations

from typing import Any

from apimachinery import schema
from apimachinery.schema import Field, List, Map, Node, Struct, Walk
from apiserver.apiextensions import pruning
from apiserver.apiextensions.structural import INT_OR_STRING, MAP_TYPE, Structural

_SCALARS: dict[str, Node] = {
    "string": schema.STRING,
    "integer": schema.INT64,
    "number": schema.NUMBER,
    "boolean": schema.BOOLEAN,
}


class Object(Struct):
    """The root: a whole custom resource."""

    __slots__ = ("_metadata", "_structural")

    def __init__(self, kind: str, structural: Structural, metadata: Node) -> None:
        super().__init__(kind, kind)
        self._structural = structural
        self._metadata = metadata
        _fill(self, structural, metadata)
        self.fields |= _resource_fields(metadata)

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not dict:
            raise walk.mismatch(value, "map[string]interface {}")
        _check_metadata(value, self._metadata, walk)
        pruning.prune(value, self._structural, [], walk.unknown, is_resource=True)
        _check_embedded(value, self._structural, self._metadata, walk)
        return value


def _check_metadata(value: dict[str, Any], node: Node, walk: Walk) -> None:
    metadata = value.get("metadata")
    if metadata is None:
        value.pop("metadata", None)
        return
    walk.path.append("metadata")
    value["metadata"] = node.check(metadata, walk)
    walk.path.pop()


def _check_embedded(value: Any, node: Structural, metadata: Node, walk: Walk) -> None:
    """The metadata of objects within the object."""
    if type(value) is dict:
        for name, child in value.items():
            field = node.field(name)
            if field is None or type(child) not in (dict, list):
                continue
            walk.path.append(name)
            if field.embedded and type(child) is dict:
                _check_metadata(child, metadata, walk)
            _check_embedded(child, field, metadata, walk)
            walk.path.pop()
    elif type(value) is list and node.items is not None:
        for index, item in enumerate(value):
            walk.path.append(index)
            if node.items.embedded and type(item) is dict:
                _check_metadata(item, metadata, walk)
            _check_embedded(item, node.items, metadata, walk)
            walk.path.pop()


def _resource_fields(metadata: Node) -> dict[str, Field]:
    return {"apiVersion": Field(schema.STRING), "kind": Field(schema.STRING), "metadata": Field(metadata)}


def _node(structural: Structural, metadata: Node) -> Node:
    if structural.schema.get(INT_OR_STRING):
        return schema.INT_OR_STRING
    if structural.type == "array" and structural.items is not None:
        keys = structural.keys
        defaults = {
            key: field.default
            for key, field in structural.items.properties.items()
            if key in keys and field.has_default
        }
        return List(_node(structural.items, metadata), structural.list_type, keys, defaults)
    if structural.type == "object":
        return _object(structural, metadata)
    return _SCALARS.get(structural.type, schema.ANYTHING)


def _object(structural: Structural, metadata: Node) -> Node:
    atomic = structural.schema.get(MAP_TYPE) == "atomic"
    if isinstance(structural.additional, Structural) and not structural.properties:
        return Map(_node(structural.additional, metadata), atomic=atomic)
    struct = Struct("", "map[string]interface {}")
    _fill(struct, structural, metadata)
    struct.atomic = atomic
    if structural.embedded:
        struct.fields |= _resource_fields(metadata)
    return struct


def _fill(struct: Struct, structural: Structural, metadata: Node) -> None:
    struct.open = structural.preserve or structural.additional is True
    for name, field in structural.properties.items():
        struct.fields[name] = Field(_node(field, metadata), atomic=field.schema.get(MAP_TYPE) == "atomic")
