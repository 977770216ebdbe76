"""A structural schema as a tree that is compiled once a definition and walked at every request.

Only what pruning, defaulting and list types need is here; values are checked by `validation`, which compiles the rest.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

from __future__ import annotations

from typing import Any, TypeGuard

Schema = dict[str, Any]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE, LIST_MAP_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
VALIDATIONS = "x-kubernetes-validations"

RESOURCE_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
"""What every object has besides what its schema says: the root, and embedded resources."""


class Structural:
    """One node of the schema. `additional` describes the values of free keys: True allows any, None no such keys."""

    __slots__ = (
        "additional",
        "default",
        "embedded",
        "has_default",
        "holds_embedded",
        "holds_unique",
        "items",
        "keys",
        "list_type",
        "nullable",
        "preserve",
        "properties",
        "schema",
        "type",
    )

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.type: str = schema.get("type") or ""
        self.nullable = bool(schema.get("nullable"))
        self.preserve = bool(schema.get(PRESERVE))
        self.embedded = bool(schema.get(EMBEDDED))
        self.has_default = schema.get("default") is not None
        self.default: Any = schema.get("default")
        self.list_type: str = schema.get(LIST_TYPE) or "atomic"
        self.keys: tuple[str, ...] = tuple(schema.get(LIST_MAP_KEYS) or ())
        self.properties = {name: Structural(field) for name, field in (schema.get("properties") or {}).items()}
        additional = schema.get("additionalProperties")
        self.additional: Structural | bool | None = (
            Structural(additional) if isinstance(additional, dict) else True if additional else None
        )
        items = schema.get("items")
        self.items = Structural(items) if isinstance(items, dict) else None
        below = [node for node in (*self.properties.values(), self.additional, self.items) if _is_node(node)]
        self.holds_embedded: bool = any(node.embedded or node.holds_embedded for node in below)
        self.holds_unique: bool = self.list_type != "atomic" or any(node.holds_unique for node in below)

    def field(self, name: str) -> Structural | None:
        """The type of a field; None where the schema does not describe it."""
        found = self.properties.get(name)
        if found is not None:
            return found
        return self.additional if isinstance(self.additional, Structural) else None


def _is_node(found: Structural | bool | None) -> TypeGuard[Structural]:
    return isinstance(found, Structural)
