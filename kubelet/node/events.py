"""What is said about the node itself, in upstream's words: it starts, conditions turn, it was rebooted, cordoned. Pure.

A condition that was not known before counts as turned when it is good: people look for NodeReady when a node has come.
"""

from __future__ import annotations

from typing import NamedTuple

from apimachinery.objects import Object


class NodeEvent(NamedTuple):
    kind: str  # Normal or Warning
    reason: str
    message: str


STARTING = NodeEvent("Normal", "Starting", "Starting kubelet.")
# By condition, in upstream's order: the reasons for "True" and for "False"
_REASONS = {
    "MemoryPressure": ("NodeHasInsufficientMemory", "NodeHasSufficientMemory"),
    "DiskPressure": ("NodeHasDiskPressure", "NodeHasNoDiskPressure"),
    "PIDPressure": ("NodeHasInsufficientPID", "NodeHasSufficientPID"),
    "Ready": ("NodeReady", "NodeNotReady"),
}


def reference(name: str) -> Object:
    """The node as its kubelet's events name it: upstream puts the name where the uid belongs, and tools rely on it."""
    return {"apiVersion": "", "kind": "Node", "metadata": {"name": name, "uid": name}}


def of_status(name: str, old: Object, new: Object) -> list[NodeEvent]:
    """What a change of the node's status says."""
    before, after = _conditions(old), _conditions(new)
    found = []
    for condition, (when_true, when_false) in _REASONS.items():
        now = after.get(condition)
        is_news = now != before.get(condition) and (condition in before or condition != "Ready" or now == "True")
        if is_news and now in ("True", "False"):
            found.append(_status_is(name, when_true if now == "True" else when_false))
    boot = (new.get("nodeInfo") or {}).get("bootID")
    if (old.get("nodeInfo") or {}).get("bootID") not in ("", None, boot):
        found.append(NodeEvent("Warning", "Rebooted", f"Node {name} has been rebooted, boot id: {boot}"))
    return found


def of_cordon(name: str, was: bool, node: Object) -> list[NodeEvent]:
    """What a change of `spec.unschedulable` says; `was` is what was seen last."""
    if is_cordoned(node) == was:
        return []
    return [_status_is(name, "NodeNotSchedulable" if is_cordoned(node) else "NodeSchedulable")]


def is_cordoned(node: Object) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def _status_is(name: str, reason: str) -> NodeEvent:
    return NodeEvent("Normal", reason, f"Node {name} status is now: {reason}")


def _conditions(status: Object) -> dict[str, str]:
    return {entry["type"]: entry["status"] for entry in status.get("conditions") or []}
