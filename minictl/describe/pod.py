"""A pod in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from apimachinery import ages, objects, pods
from apimachinery.objects import Object
from minictl.describe import containers, layout


def describe(pod: Object, events: Sequence[Object] | None, now: datetime) -> list[str]:
    """The lines of a pod's description."""
    spec, status = pod["spec"], pod.get("status") or {}
    lines = [f"Name:\t{objects.name_of(pod)}", f"Namespace:\t{objects.namespace_of(pod)}"]
    if spec.get("priority") is not None:
        lines.append(f"Priority:\t{spec['priority']}")
    if spec.get("priorityClassName"):
        lines.append(f"Priority Class Name:\t{spec['priorityClassName']}")
    if spec.get("runtimeClassName"):
        lines.append(f"Runtime Class Name:\t{spec['runtimeClassName']}")
    if spec.get("serviceAccountName"):
        lines.append(f"Service Account:\t{spec['serviceAccountName']}")
    lines.append(f"Node:\t{_node(spec, status)}")
    if status.get("startTime"):
        lines.append(f"Start Time:\t{layout.when(status['startTime'])}")
    lines += layout.pairs("Labels", objects.labels_of(pod)) + layout.annotation_lines(pod)
    lines += _status(pod, now)
    lines += _addresses(status)
    owner = objects.controller_of(pod)
    if owner:
        lines.append(f"Controlled By:\t{owner['kind']}/{owner['name']}")
    lines += containers.section(
        "Init Containers", spec.get("initContainers") or [], status.get("initContainerStatuses") or [], 0
    )
    lines += containers.section("Containers", spec["containers"], status.get("containerStatuses") or [], 0)
    lines += _gates(spec, status) + _conditions(status)
    lines += containers.volumes(spec.get("volumes") or [], 0)
    lines.append(f"QoS Class:\t{status.get('qosClass') or pods.qos_class(pod)}")
    lines += layout.pairs("Node-Selectors", spec.get("nodeSelector")) + tolerations(spec.get("tolerations") or [])
    return [*lines, *layout.events(events, now)]


def _node(spec: Object, status: Object) -> str:
    if not spec.get("nodeName"):
        return "<none>"
    return f"{spec['nodeName']}/{status.get('hostIP') or ''}"


def _status(pod: Object, now: datetime) -> list[str]:
    status = pod.get("status") or {}
    if objects.is_deleting(pod):
        since = ages.since(pod["metadata"]["deletionTimestamp"], now)
        lines = [f"Status:\tTerminating (lasts {since})"]
        lines.append(f"Termination Grace Period:\t{pod['metadata'].get('deletionGracePeriodSeconds') or 0}s")
    else:
        lines = [f"Status:\t{status.get('phase') or ''}"]
    lines += [f"{name.title()}:\t{status[name]}" for name in ("reason", "message") if status.get(name)]
    return lines


def _addresses(status: Object) -> list[str]:
    lines = [f"IP:\t{status.get('podIP') or ''}"]
    addresses = [entry["ip"] for entry in status.get("podIPs") or []]
    if not addresses:
        return [*lines, "IPs:\t<none>"]
    return [*lines, "IPs:", *(f"  IP:\t{address}" for address in addresses)]


def _gates(spec: Object, status: Object) -> list[str]:
    gates = spec.get("readinessGates")
    if not gates:
        return []
    known = {entry["type"]: entry["status"] for entry in status.get("conditions") or []}
    rows = [f"  {gate['conditionType']} \t{known.get(gate['conditionType'], '<none>')} " for gate in gates]
    return ["Readiness Gates:", "  Type\tStatus", *rows]


def _conditions(status: Object) -> list[str]:
    conditions = status.get("conditions")
    if not conditions:
        return []
    return ["Conditions:", "  Type\tStatus", *(f"  {entry['type']} \t{entry['status']} " for entry in conditions)]


def tolerations(found: Sequence[Object]) -> list[str]:
    """One a line: `key=value:Effect op=Exists for 300s`."""
    shown = sorted(_toleration(entry) for entry in found) or ["<none>"]
    return [f"Tolerations:\t{shown[0]}", *(f"\t{line}" for line in shown[1:])]


def _toleration(entry: Object) -> str:
    text = str(entry.get("key") or "")
    if entry.get("value"):
        text += f"={entry['value']}"
    if entry.get("effect"):
        text += f":{entry['effect']}"
    if entry.get("operator") == "Exists" and not entry.get("value"):
        text += " op=Exists"
    if entry.get("tolerationSeconds") is not None:
        text += f" for {entry['tolerationSeconds']}s"
    return text.strip() if entry.get("key") or entry.get("effect") else "op=Exists"
