"""What is left in a namespace, as counted: whether it may go, when to look again, and the conditions that say so.

Reasons and messages are upstream's; `kubectl get namespace -o yaml` is where people look when a namespace will not go.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from apimachinery import clock, objects
from apimachinery.gvr import GVR
from apimachinery.objects import Object

RETRY_SECONDS = 1.0  # between two looks while nothing says how long it takes
_MARGIN_SECONDS = 1.0  # after a pod's grace period its node still has to report


@dataclass(slots=True)
class Contents:
    """What one pass over the namespace found after it had deleted what it could."""

    remaining: Counter[str] = field(default_factory=Counter)  # "pods." → how many
    finalizers: Counter[str] = field(default_factory=Counter)  # finalizer → on how many objects
    discovery_failures: dict[str, str] = field(default_factory=dict)
    deletion_failures: list[str] = field(default_factory=list)
    grace_seconds: float = 0.0  # the longest grace period of what remains

    def count(self, gvr: GVR, items: list[Object]) -> None:
        """Adds the objects that are still there."""
        if items:
            self.remaining[f"{gvr.resource}.{gvr.group}"] += len(items)
        for item in items:
            self.finalizers.update(item["metadata"].get("finalizers") or [])
            grace = item["metadata"].get("deletionGracePeriodSeconds") or 0
            self.grace_seconds = max(self.grace_seconds, float(grace))

    @property
    def empty(self) -> bool:
        """Whether the namespace is known to hold nothing: a group that did not answer may hold something."""
        return not (self.remaining or self.discovery_failures or self.deletion_failures)

    @property
    def look_again_seconds(self) -> float:
        """Half the grace period, as upstream: most pods end long before it does."""
        return self.grace_seconds / 2 + _MARGIN_SECONDS if self.grace_seconds else RETRY_SECONDS


def conditions(namespace: Object, contents: Contents, now: datetime) -> list[Object]:
    """The namespace's conditions with the five of deletion brought up to date."""
    result = list((namespace.get("status") or {}).get("conditions") or [])
    stamp = clock.rfc3339(now)
    for kind, (problem, reason, message) in _findings(contents).items():
        entry = {
            "type": kind,
            "status": "True" if problem else "False",
            "lastTransitionTime": stamp,
            "reason": reason,
            "message": message,
        }
        old = objects.condition(namespace, kind)
        if old is None or {**old, "lastTransitionTime": stamp} != entry:
            result = objects.set_condition(result, entry)
    return result


def _findings(contents: Contents) -> dict[str, tuple[bool, str, str]]:
    """By condition: whether it is a problem, the reason, the message."""
    result = {
        "NamespaceDeletionDiscoveryFailure": (
            False,
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            False,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            False,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (False, "ContentRemoved", "All content successfully removed"),
        "NamespaceFinalizersRemaining": (
            False,
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    }
    if contents.discovery_failures:
        failed = "; ".join(f"{version}: {why}" for version, why in sorted(contents.discovery_failures.items()))
        message = f"Discovery failed for some groups, {len(contents.discovery_failures)} failing: {failed}"
        result["NamespaceDeletionDiscoveryFailure"] = (True, "DiscoveryFailed", message)
    if contents.deletion_failures:
        message = f"Failed to delete all resource types, {len(contents.deletion_failures)} remaining: "
        message += ", ".join(contents.deletion_failures)
        result["NamespaceDeletionContentFailure"] = (True, "ContentDeletionFailed", message)
    if contents.remaining:
        listed = [f"{name} has {count} resource instances" for name, count in sorted(contents.remaining.items())]
        message = f"Some resources are remaining: {', '.join(listed)}"
        result["NamespaceContentRemaining"] = (True, "SomeResourcesRemain", message)
    if contents.finalizers:
        listed = [f"{name} in {count} resource instances" for name, count in sorted(contents.finalizers.items())]
        message = f"Some content in the namespace has finalizers remaining: {', '.join(listed)}"
        result["NamespaceFinalizersRemaining"] = (True, "SomeFinalizersRemain", message)
    return result


def without_finalizer(namespace: Object, finalizer: str) -> Object:
    """The namespace as it is sent to `/finalize`."""
    rest = [name for name in finalizers_of(namespace) if name != finalizer]
    return {**namespace, "spec": {**(namespace.get("spec") or {}), "finalizers": rest}}


def finalizers_of(namespace: Object) -> list[str]:
    return (namespace.get("spec") or {}).get("finalizers") or []
