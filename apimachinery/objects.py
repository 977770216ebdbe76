"""Objects are plain JSON: what a field of an object's metadata means, and how to read it without surprises.

Guarantees: reading helpers never change their argument and never raise on an object that has `metadata`.
Does not validate: an object that came through the apiserver has been validated there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Object = dict[str, Any]
"""One API object as JSON: `apiVersion`, `kind`, `metadata`, and the kind's own fields."""


class Key(NamedTuple):
    """The name of an object within its resource; what queues carry. `namespace` is "" for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(obj: Object) -> Key:
    """The key of `obj` within its resource."""
    metadata = obj["metadata"]
    return Key(metadata.get("namespace") or "", metadata["name"])


def name_of(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def namespace_of(obj: Object) -> str:
    return obj["metadata"].get("namespace") or ""


def uid_of(obj: Object) -> str:
    return obj["metadata"].get("uid") or ""


def resource_version_of(obj: Object) -> str:
    return obj["metadata"].get("resourceVersion") or ""


def labels_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def is_deleting(obj: Object) -> bool:
    """Whether deletion was asked for; the object stays until its finalizers and grace period have passed."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def owner_references_of(obj: Object) -> list[Object]:
    return obj["metadata"].get("ownerReferences") or []


def controller_of(obj: Object) -> Object | None:
    """The one owner reference with `controller: true`, if there is one."""
    return next((ref for ref in owner_references_of(obj) if ref.get("controller")), None)


def controller_reference(owner: Object) -> Object:
    """The reference a controller writes into what it creates for `owner`; it blocks the owner's foreground deletion."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def condition(obj: Object, kind: str) -> Object | None:
    """The entry of `status.conditions` with `type` equal to `kind`."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return next((entry for entry in conditions if entry.get("type") == kind), None)


def is_condition_true(obj: Object, kind: str) -> bool:
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"


def set_condition(conditions: list[Object], new: Object) -> list[Object]:
    """`conditions` with `new` in the place of its type; `lastTransitionTime` moves only when `status` does.

    Returns a new list; order of the other entries is kept.
    """
    result: list[Object] = []
    placed = False
    for entry in conditions:
        if entry.get("type") != new["type"]:
            result.append(entry)
            continue
        merged = dict(new)
        if entry.get("status") == new.get("status") and entry.get("lastTransitionTime"):
            merged["lastTransitionTime"] = entry["lastTransitionTime"]
        result.append(merged)
        placed = True
    if not placed:
        result.append(dict(new))
    return result


def copied(obj: Object) -> Object:
    """A copy whose metadata, spec and status are its own at the first level; deeper parts are shared."""
    return {key: dict(value) if isinstance(value, dict) else value for key, value in obj.items()}


def walk(obj: Object, path: str) -> Iterator[Any]:
    """All values at a dotted `path`, going through lists: `walk(pod, "spec.containers.image")`."""
    head, _, rest = path.partition(".")
    value = obj.get(head)
    if value is None:
        return
    values = value if isinstance(value, list) else [value]
    if not rest:
        yield from values
        return
    for item in values:
        if isinstance(item, dict):
            yield from walk(item, rest)
