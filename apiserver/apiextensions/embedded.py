"""Objects within an object: each needs an apiVersion, a kind, and metadata as any object has it."""

from __future__ import annotations

from typing import Any

from apimachinery import names
from apimachinery.errors import Cause
from apiserver.apiextensions.structural import Structural
from apiserver.registry.validation import causes, metadata


def problems(value: Any, node: Structural, path: str = "") -> list[Cause]:
    """What is wrong with the embedded objects below a node."""
    found: list[Cause] = []
    if not node.holds_embedded:
        return found
    if type(value) is dict:
        for name in sorted(value):
            field = node.field(name)
            if field is not None:
                found += _below(value[name], field, f"{path}.{name}" if path else name)
    elif type(value) is list and node.items is not None:
        for index, item in enumerate(value):
            found += _below(item, node.items, f"{path}[{index}]")
    return found


def _below(value: Any, node: Structural, path: str) -> list[Cause]:
    own = _resource(value, path) if node.embedded and type(value) is dict else []
    return own + problems(value, node, path)


def _resource(value: dict[str, Any], path: str) -> list[Cause]:
    found = []
    if not value.get("apiVersion"):
        found.append(causes.required(f"{path}.apiVersion", "must not be empty"))
    if not value.get("kind"):
        found.append(causes.required(f"{path}.kind", "must not be empty"))
    elif isinstance(value["kind"], str) and names.dns_1035_label(value["kind"].lower()):
        why = ",".join(names.dns_1035_label(value["kind"].lower()))
        text = f"may have mixed case, but should otherwise match: {why}"
        found.append(causes.invalid(f"{path}.kind", value["kind"], text))
    meta = value.get("metadata") or {}
    if "labels" in meta:
        found += metadata.label_map(meta["labels"], f"{path}.metadata.labels")
    if "annotations" in meta:
        found += metadata.annotation_map(meta["annotations"], f"{path}.metadata.annotations")
    return found
