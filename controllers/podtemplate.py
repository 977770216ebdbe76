"""Pod templates: the pods made from them, their hash, and when two are the same.

The hash is FNV-1a of canonical JSON, spelled in upstream's safe alphabet. Its value differs from upstream's, which
hashes a Go value's dump; nothing depends on the value: a ReplicaSet is found again by comparing templates, so either
implementation continues the other's rollout.
"""

from __future__ import annotations

import json
from typing import Any

from apimachinery import objects, quantity
from apimachinery.objects import Object

POD_TEMPLATE_HASH = "pod-template-hash"
_SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words; no 0, 1, 3, which look like letters
_NAME_LENGTH_MAX = 253
_EMPTY_IS_ABSENT = frozenset({"labels", "annotations", "nodeSelector", "limits", "requests"})


def pod_for(owner: Object, template: Object) -> Object:
    """A pod of `template` for `owner`, its controller; the apiserver completes its name."""
    metadata = template.get("metadata") or {}
    pod_metadata: Object = {
        "generateName": generate_name(objects.name_of(owner)),
        "namespace": objects.namespace_of(owner),
        "labels": dict(metadata.get("labels") or {}),
        "ownerReferences": [objects.controller_reference(owner)],
    }
    for field in ("annotations", "finalizers"):
        if metadata.get(field):
            pod_metadata[field] = metadata[field]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": template["spec"]}


def generate_name(owner_name: str) -> str:
    """The `generateName` of what an owner makes; without the dash where that would be too long for a name."""
    return f"{owner_name}-" if len(owner_name) + 1 <= _NAME_LENGTH_MAX else owner_name


def template_hash(template: Object, collision_count: int | None) -> str:
    """A short name for the template; another one for each collision count."""
    text = json.dumps(_comparable(template), sort_keys=True, separators=(",", ":"))
    if collision_count is not None:
        text += f"#{collision_count}"
    return "".join(_SAFE_ALPHABET[int(digit) % len(_SAFE_ALPHABET)] for digit in str(_fnv1a_32(text.encode())))


def same_template(one: Object, other: Object) -> bool:
    """Whether both make the same pods; the hash label, absent fields and the spelling of quantities do not count."""
    return bool(_comparable(one) == _comparable(other))


def with_label(template: Object, key: str, value: str) -> Object:
    """A copy of `template` whose pods carry one more label."""
    metadata = template.get("metadata") or {}
    return {**template, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), key: value}}}


def _comparable(template: Object) -> Any:
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {k: v for k, v in (metadata.get("labels") or {}).items() if k != POD_TEMPLATE_HASH}
    return _without_absent({"metadata": metadata, "spec": template.get("spec") or {}})


def _without_absent(value: Any, field: str = "") -> Any:
    if isinstance(value, list):
        return [_without_absent(item) for item in value]
    if not isinstance(value, dict):
        return value
    if field in ("limits", "requests"):
        return {name: _canonical(amount) for name, amount in value.items()}
    return {
        name: _without_absent(item, name)
        for name, item in value.items()
        if item is not None and item != [] and not (item == {} and name in _EMPTY_IS_ABSENT)
    }


def _canonical(amount: Any) -> Any:
    return quantity.canonical(amount) if quantity.is_valid(amount) else amount


def _fnv1a_32(data: bytes) -> int:
    result = 0x811C9DC5
    for byte in data:
        result = ((result ^ byte) * 0x01000193) & 0xFFFFFFFF
    return result
