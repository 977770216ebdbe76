"""The definitions that OpenAPI documents show: those of built-in kinds, and those of custom resources.

A custom resource's schema is what its CustomResourceDefinition says, completed with what every object has. Version 2 of
OpenAPI knows less than structural schemas say; what it cannot say is left out there, as upstream does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apimachinery import schemas
from apimachinery.gvr import GVK
from apiserver.scheme.resources import Resource

Definition = dict[str, Any]
PREFIX = "#/definitions/"
_META = {
    "DeleteOptions": schemas.META + "DeleteOptions",
    "Status": schemas.META + "Status",
    "Patch": schemas.META + "Patch",
    "APIVersions": schemas.META + "APIVersions",
    "APIGroupList": schemas.META + "APIGroupList",
    "APIGroup": schemas.META + "APIGroup",
    "APIResourceList": schemas.META + "APIResourceList",
    "version.Info": "io.k8s.apimachinery.pkg.version.Info",
}
_NOT_IN_V2 = ("allOf", "oneOf", "anyOf", "not", "nullable")
_INNER = ("items", "properties", "additionalProperties")
_API_VERSION = "APIVersion defines the versioned schema of this representation of an object."
_KIND = "Kind is a string value representing the REST resource this object represents."


class Definitions:
    """What `rows` need, by name. Made for one document."""

    def __init__(
        self, rows: Iterable[Resource], known: schemas.Schemas, published: Callable[[GVK], Definition | None]
    ) -> None:
        self._known = known
        self._published: dict[GVK, Definition] = {}
        self._custom: dict[str, Definition] = {}
        self._names: dict[GVK, str] = {}
        for row in rows:
            schema = published(row.gvk)
            if schema is not None:
                self._published[row.gvk] = schema
                self._add(row, schema)

    def is_custom(self, row: Resource) -> bool:
        return row.gvk in self._published

    def name_of(self, kind: GVK | str) -> str | None:
        """The definition's name; None for text and for kinds that have none."""
        if isinstance(kind, str):
            return _META.get(kind)
        return self._names.get(kind) or self._known.name_of(kind)

    def using(self, names: Iterable[str]) -> dict[str, Definition]:
        """The named definitions and all that they refer to, in order of their names."""
        wanted = set(names)
        custom = {name: self._custom[name] for name in sorted(wanted & set(self._custom))}
        needed = wanted - set(custom)
        if custom:
            needed |= {schemas.META + "ObjectMeta", schemas.META + "ListMeta"}
            custom |= {name: self._custom[name] for name in self._custom if name.removesuffix("List") in custom}
        return dict(sorted((self._known.definitions(needed) | custom).items()))

    def _add(self, row: Resource, schema: Definition) -> None:
        base = ".".join([*reversed(row.group.split(".")), row.version])
        name, list_name = f"{base}.{row.kind}", f"{base}.{row.list_kind}"
        list_kind = GVK(row.group, row.version, row.list_kind)
        self._names |= {row.gvk: name, list_kind: list_name}
        self._custom |= {name: _object(row.gvk, schema), list_name: _list(list_kind, row, name)}


def _object(kind: GVK, schema: Definition) -> Definition:
    properties = {
        **schema.get("properties", {}),
        "apiVersion": {"type": "string", "description": _API_VERSION},
        "kind": {"type": "string", "description": _KIND},
        "metadata": {"$ref": f"{PREFIX}{schemas.META}ObjectMeta", "description": "Standard object's metadata."},
    }
    # All of it unknown: then there are no fields worth naming
    if not schema.get("properties") and schema.get("x-kubernetes-preserve-unknown-fields"):
        return {"type": "object", **schema, "x-kubernetes-group-version-kind": [_named(kind)]}
    return {**schema, "properties": properties, "x-kubernetes-group-version-kind": [_named(kind)]}


def _list(kind: GVK, row: Resource, item: str) -> Definition:
    return {
        "description": f"{kind.kind} is a list of {row.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": _API_VERSION},
            "items": {
                "description": f"List of {row.resource}.",
                "type": "array",
                "items": {"$ref": PREFIX + item},
            },
            "kind": {"type": "string", "description": _KIND},
            "metadata": {"$ref": f"{PREFIX}{schemas.META}ListMeta", "description": "Standard list metadata."},
        },
        "x-kubernetes-group-version-kind": [_named(kind)],
    }


def _named(kind: GVK) -> dict[str, str]:
    return {"group": kind.group, "kind": kind.kind, "version": kind.version}


def references(described: Any) -> list[str]:
    """The names of all definitions that are referred to."""
    if isinstance(described, list):
        return [name for item in described for name in references(item)]
    if not isinstance(described, dict):
        return []
    found = [name for value in described.values() for name in references(value)]
    reference = described.get("$ref")
    return [*found, reference.removeprefix(PREFIX)] if isinstance(reference, str) else found


def for_v2(schema: Any) -> Any:
    """A custom resource's schema without what version 2 does not have.

    What may be null, or may have unknown fields, loses its type there: old kubectls would refuse such values.
    """
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in _NOT_IN_V2}
    if schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields"):
        untyped = (*_INNER, "type") if schema.get("nullable") else _INNER
        return {key: value for key, value in kept.items() if key not in untyped}
    if schema.get("x-kubernetes-int-or-string"):
        kept.pop("type", None)
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = for_v2(kept[key])
    if "properties" in kept:
        kept["properties"] = {name: for_v2(field) for name, field in kept["properties"].items()}
    return kept


def for_v3(definition: Any) -> Any:
    """References to where version 3 keeps definitions, in `allOf` where something stands beside them."""
    if isinstance(definition, list):
        return [for_v3(item) for item in definition]
    if not isinstance(definition, dict):
        return definition
    changed = {key: for_v3(value) for key, value in definition.items()}
    reference = changed.get("$ref")
    if isinstance(reference, str):
        changed["$ref"] = reference.replace(PREFIX, "#/components/schemas/", 1)
        if len(changed) > 1:
            changed["allOf"] = [{"$ref": changed.pop("$ref")}]
    if changed.get("format") == "int-or-string":
        changed.pop("type", None)
        changed["oneOf"] = [{"type": "integer"}, {"type": "string"}]
    return changed
