"""Who owns which field, when a user turns from applying here to applying on the server. Pure.

What `minictl apply` wrote the server keeps as the fields of an *update* by minictl. An *apply* by the same name is
another owner to it: every changed field would be a conflict, and a field taken out of the manifest would stay. So the
first is made the second.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#upgrading-from-client-side-apply
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apimachinery.objects import Object


def upgraded(entries: Sequence[Object], manager: str, api_version: str) -> list[Object] | None:
    """`metadata.managedFields` with the manager's updates as part of what it applied; None: it has made none.

    Fields are those of a version of the object: entries of another stay as they are, as do those of subresources.
    """
    own = [entry for entry in entries if _is_of(entry, manager, api_version)]
    updates = [entry for entry in own if entry.get("operation") == "Update"]
    if not updates:
        return None
    fields: dict[str, Any] = {}
    for entry in own:
        fields = union(fields, entry.get("fieldsV1") or {})
    applied = {**updates[-1], "operation": "Apply", "fieldsV1": fields}
    return [applied, *(entry for entry in entries if entry not in own)]


def union(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """The fields of both trees."""
    return left | {name: union(left.get(name) or {}, below) for name, below in right.items()}


def _is_of(entry: Object, manager: str, api_version: str) -> bool:
    return (entry.get("manager"), entry.get("apiVersion"), entry.get("subresource") or "") == (manager, api_version, "")
