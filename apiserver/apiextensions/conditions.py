"""The conditions of a CustomResourceDefinition: reading them, and setting one without telling what is told already."""

from __future__ import annotations

from apimachinery.objects import Object

ESTABLISHED, NAMES_ACCEPTED, TERMINATING = "Established", "NamesAccepted", "Terminating"
APPROVED, NON_STRUCTURAL = "KubernetesAPIApproved", "NonStructuralSchema"


def find(definition: Object, kind: str) -> Object | None:
    listed = (definition.get("status") or {}).get("conditions") or ()
    return next((item for item in listed if item.get("type") == kind), None)


def is_true(definition: Object, kind: str) -> bool:
    found = find(definition, kind)
    return found is not None and found.get("status") == "True"


def put(definition: Object, now: str, kind: str, status: str, reason: str, message: str) -> None:
    """Sets one condition, in place; its time moves only when its status does."""
    listed = definition.setdefault("status", {}).setdefault("conditions", [])
    wanted = {"type": kind, "status": status, "reason": reason, "message": message}
    for index, item in enumerate(listed):
        if item.get("type") == kind:
            since = item.get("lastTransitionTime") if item.get("status") == status else now
            listed[index] = {**wanted, "lastTransitionTime": since or now}
            return
    listed.append({**wanted, "lastTransitionTime": now})
