"""Kubernetes' published definitions: loaded once, compiled kind by kind when first asked for.

The file is what the build packed (`apimachinery/_schemas`). The packing's traits are undone on the way in:
`[T, null]` means an optional T, references have a prefix of their own, Quantity and IntOrString have lost their type,
and apiVersion and kind are one-element enums. Descriptions take most of the space and are needed only for OpenAPI, so
they are dropped here and read again by `definitions()`.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from importlib import resources
from typing import Any

import orjson

from apimachinery import schema
from apimachinery.gvr import GVK
from apimachinery.schema import Field, Node, Struct

VERSION = "v1.37.0"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_REF = "#/$defs/"

_SPECIAL: dict[str, Node] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": schema.QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": schema.INT_OR_STRING,
    META + "Time": schema.TIME,
    META + "MicroTime": schema.MICRO_TIME,
    META + "FieldsV1": schema.ANYTHING,
    META + "Patch": schema.ANYTHING,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": schema.ANYTHING,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": schema.ANYTHING,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": schema.ANYTHING,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": schema.ANYTHING,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": schema.ANYTHING,
}

_KEY_DEFAULTS: dict[str, dict[str, Any]] = {
    "ContainerPort": {"protocol": "TCP"},
    "ServicePort": {"protocol": "TCP"},
    "LocalObjectReference": {"name": ""},
    "ObjectReference": {"name": ""},
}
"""List-map keys that an item may leave out; upstream's own schemas carry them as field defaults."""

_INLINE_ENDINGS = ("Spec", "Status", "Strategy", "Meta")
_INLINE = frozenset({"ContainerState", "DaemonEndpoint", "EventSource", "NodeDaemonEndpoints", "NodeSystemInfo"}) | {
    "ResourceRequirements",
    "VolumeResourceRequirements",
}
"""Types that others hold by value, besides those with the endings."""


class Schemas:
    """All known definitions, by name and by kind. Not changed after loading, but for what `add` brings."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._packed: dict[str, bytes] = {}
        self._names: dict[GVK, str] = {}
        self._nodes: dict[str, Node] = dict(_SPECIAL)
        self._added: dict[GVK, Callable[[], Node]] = {}
        for name, definition in definitions.items():
            _drop_descriptions(definition)
            self._packed[name] = orjson.dumps(definition)
            for entry in definition.get("x-kubernetes-group-version-kind", ()):
                self._names.setdefault(GVK(entry["group"], entry["version"], entry["kind"]), name)

    @classmethod
    def load(cls) -> Schemas:
        """The definitions that the package was built with."""
        return cls(_read())

    def of(self, gvk: GVK) -> Node | None:
        """The type of a kind, compiled at first use."""
        added = self._added.get(gvk)
        if added is not None:
            return added()
        name = self._names.get(gvk)
        return self.named(name) if name else None

    def name_of(self, gvk: GVK) -> str | None:
        """The definition's name, as `io.k8s.api.apps.v1.Deployment`."""
        return self._names.get(gvk)

    def add(self, gvk: GVK, node: Callable[[], Node]) -> None:
        """The type of a custom resource, compiled when it is asked for; replaces what was there."""
        self._added[gvk] = node

    def remove(self, gvk: GVK) -> None:
        self._added.pop(gvk, None)

    def named(self, name: str) -> Node:
        """A definition by its name. Raises KeyError."""
        node = self._nodes.get(name)
        return node if node is not None else self._compile(name)

    def definitions(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Upstream-shaped OpenAPI v2 definitions with descriptions, read afresh: all, or `names` and what they use."""
        packed = _read()
        if names is None:
            return {name: _upstream_shape(name, definition) for name, definition in packed.items()}
        wanted: dict[str, Any] = {}
        queue = [name for name in names if name in packed]
        while queue:
            name = queue.pop()
            if name not in wanted:
                wanted[name] = _upstream_shape(name, packed[name])
                queue += _references(wanted[name])
        return dict(sorted(wanted.items()))

    def _compile(self, name: str) -> Node:
        definition = orjson.loads(self._packed[name])
        struct = Struct(name.rpartition(".")[2], ".".join(name.split(".")[-2:]))
        self._nodes[name] = struct  # before its fields: some definitions hold themselves
        struct.atomic = definition.get("x-kubernetes-map-type") == "atomic"
        struct.required = frozenset(definition.get("required", ()))
        for field, described in definition.get("properties", {}).items():
            struct.fields[field] = self._field(described, inline=field in struct.required or _is_inline(described))
        return struct

    def _field(self, described: dict[str, Any], *, inline: bool) -> Field:
        strategies = tuple(filter(None, described.get("x-kubernetes-patch-strategy", "").split(",")))
        return Field(
            self._node(described),
            strategies,
            described.get("x-kubernetes-patch-merge-key", ""),
            described.get("x-kubernetes-map-type") == "atomic",
            inline,
        )

    def _node(self, described: dict[str, Any]) -> Node:
        reference = described.get("$ref")
        if reference:
            return self.named(reference.removeprefix(_REF))
        kind, form = _type_of(described), described.get("format", "")
        match kind:
            case "string":
                return schema.BYTES if form == "byte" else schema.STRING
            case "boolean":
                return schema.BOOLEAN
            case "integer":
                return schema.INT32 if form == "int32" else schema.INT64
            case "number":
                return schema.NUMBER
            case "array":
                item = self._node(described["items"])
                keys = tuple(described.get("x-kubernetes-list-map-keys", ()))
                defaults = _KEY_DEFAULTS.get(item.name) if isinstance(item, Struct) else None
                return schema.List(item, described.get("x-kubernetes-list-type", "atomic"), keys, defaults)
            case "object" if "additionalProperties" in described:
                atomic = described.get("x-kubernetes-map-type") == "atomic"
                return schema.Map(self._node(described["additionalProperties"]), atomic=atomic)
        return schema.ANYTHING


def _is_inline(described: dict[str, Any]) -> bool:
    """Whether Go holds a field's struct by value; the definitions do not say it, but the types' names do."""
    name = described.get("$ref", "").rpartition(".")[2]
    return name.endswith(_INLINE_ENDINGS) or name in _INLINE


def _read() -> dict[str, Any]:
    packed = resources.files("apimachinery").joinpath("_schemas", f"{VERSION}.json.gz").read_bytes()
    document: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    definitions: dict[str, Any] = document["$defs"]
    return definitions


def _type_of(described: dict[str, Any]) -> str:
    kind = described.get("type", "")
    return str(kind[0] if isinstance(kind, list) else kind)


def _drop_descriptions(described: dict[str, Any]) -> None:
    described.pop("description", None)
    for field in described.get("properties", {}).values():
        _drop_descriptions(field)
    for inner in ("items", "additionalProperties"):
        if isinstance(described.get(inner), dict):
            _drop_descriptions(described[inner])


def _upstream_shape(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """A definition with the packing's traits undone, in place."""
    node = _SPECIAL.get(name)
    if node is schema.QUANTITY or node is schema.INT_OR_STRING:
        definition.pop("oneOf", None)
        definition["type"] = "string"
        if node is schema.INT_OR_STRING:
            definition["format"] = "int-or-string"
        return definition
    _undo(definition)
    for field in ("apiVersion", "kind"):
        definition.get("properties", {}).get(field, {}).pop("enum", None)
    return definition


def _undo(described: dict[str, Any]) -> None:
    if "type" in described:
        described["type"] = _type_of(described)
    if "$ref" in described:
        described["$ref"] = "#/definitions/" + described["$ref"].removeprefix(_REF)
    for field in described.get("properties", {}).values():
        _undo(field)
    for inner in ("items", "additionalProperties"):
        if isinstance(described.get(inner), dict):
            _undo(described[inner])


def _references(described: Any) -> list[str]:
    found: list[str] = []
    if isinstance(described, dict):
        reference = described.get("$ref")
        if isinstance(reference, str):
            found.append(reference.rpartition("/")[2])
        for value in described.values():
            found += _references(value)
    return found
