"""Deployments and ReplicaSets in words: their counts, their template, their conditions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from apimachinery import objects, selectors
from apimachinery.objects import Object
from minictl.describe import containers, layout, pod

TEMPLATE_HASH = "pod-template-hash"


def deployment(
    obj: Object, replica_sets: Sequence[Object], events: Sequence[Object] | None, now: datetime
) -> list[str]:
    """The lines of a Deployment's description. `replica_sets` are those that it controls."""
    spec, status = obj["spec"], obj.get("status") or {}
    strategy = spec.get("strategy") or {}
    lines = layout.head(obj, created=True)
    lines.append(f"Selector:\t{selector(spec['selector'])}")
    lines.append(
        f"Replicas:\t{spec.get('replicas', 1)} desired | {status.get('updatedReplicas') or 0} updated | "
        f"{status.get('replicas') or 0} total | {status.get('availableReplicas') or 0} available | "
        f"{status.get('unavailableReplicas') or 0} unavailable"
    )
    lines.append(f"StrategyType:\t{strategy.get('type') or ''}")
    lines.append(f"MinReadySeconds:\t{spec.get('minReadySeconds') or 0}")
    rolling = strategy.get("rollingUpdate")
    if rolling:
        lines.append(
            f"RollingUpdateStrategy:\t{rolling.get('maxUnavailable')} max unavailable, "
            f"{rolling.get('maxSurge')} max surge"
        )
    lines += template(spec["template"]) + _conditions(status)
    return [*lines, *_sets(obj, replica_sets), *layout.events(events, now)]


def replica_set(obj: Object, pods: Sequence[Object], events: Sequence[Object] | None, now: datetime) -> list[str]:
    """The lines of a ReplicaSet's description. `pods` are those that it controls."""
    spec, status = obj["spec"], obj.get("status") or {}
    lines = [f"Name:\t{objects.name_of(obj)}", f"Namespace:\t{objects.namespace_of(obj)}"]
    lines.append(f"Selector:\t{selector(spec['selector'])}")
    lines += layout.pairs("Labels", objects.labels_of(obj)) + layout.annotation_lines(obj)
    owner = objects.controller_of(obj)
    if owner:
        lines.append(f"Controlled By:\t{owner['kind']}/{owner['name']}")
    lines.append(f"Replicas:\t{status.get('replicas') or 0} current / {spec.get('replicas', 1)} desired")
    counts = dict.fromkeys(("Running", "Pending", "Succeeded", "Failed"), 0)
    for found in pods:
        phase = (found.get("status") or {}).get("phase")
        if phase in counts:
            counts[phase] += 1
    shown = " / ".join(f"{number} {phase if phase != 'Pending' else 'Waiting'}" for phase, number in counts.items())
    lines.append(f"Pods Status:\t{shown}")
    return [*lines, *template(spec["template"]), *_conditions(status), *layout.events(events, now)]


def selector(found: Object) -> str:
    """The requirements by key."""
    requirements = selectors.from_label_selector(found).requirements
    return ",".join(str(requirement) for requirement in sorted(requirements, key=lambda r: r.key)) or "<none>"


def template(found: Object) -> list[str]:
    """A pod template."""
    spec = found["spec"]
    lines = ["Pod Template:"]
    lines += [f"  {line}" for line in layout.pairs("Labels", objects.labels_of(found))]
    if objects.annotations_of(found):
        lines += [f"  {line}" for line in layout.annotation_lines(found)]
    if spec.get("serviceAccountName"):
        lines.append(f"  Service Account:\t{spec['serviceAccountName']}")
    lines += containers.section("Init Containers", spec.get("initContainers") or [], None, 1)
    lines += containers.section("Containers", spec["containers"], None, 1)
    lines += containers.volumes(spec.get("volumes") or [], 1)
    if spec.get("priorityClassName"):
        lines.append(f"  Priority Class Name:\t{spec['priorityClassName']}")
    lines += [f"  {line}" for line in layout.pairs("Node-Selectors", spec.get("nodeSelector"))]
    return [*lines, *(f"  {line}" for line in pod.tolerations(spec.get("tolerations") or []))]


def _conditions(status: Object) -> list[str]:
    conditions = status.get("conditions")
    if not conditions:
        return []
    rows = [f"  {entry['type']} \t{entry['status']}\t{entry.get('reason') or ''}" for entry in conditions]
    return ["Conditions:", "  Type\tStatus\tReason", "  ----\t------\t------", *rows]


def _sets(obj: Object, replica_sets: Sequence[Object]) -> list[str]:
    """The old and the new ReplicaSets: the new one is that of the Deployment's present template."""
    if not replica_sets:
        return []
    wanted = _without_hash(obj["spec"]["template"])
    new = [found for found in replica_sets if _without_hash(found["spec"]["template"]) == wanted][:1]
    old = [found for found in replica_sets if found not in new]
    return [f"OldReplicaSets:\t{_named(old)}", f"NewReplicaSet:\t{_named(new)}"]


def _without_hash(template: Object) -> Object:
    """A template without the label that the controller adds to tell its ReplicaSets apart."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != TEMPLATE_HASH}
    kept = {key: value for key, value in metadata.items() if value is not None}
    return template | {"metadata": kept | {"labels": labels}}


def _named(found: Sequence[Object]) -> str:
    return ", ".join(_sized(one) for one in sorted(found, key=objects.name_of)) or "<none>"


def _sized(found: Object) -> str:
    current = (found.get("status") or {}).get("replicas") or 0
    return f"{objects.name_of(found)} ({current}/{found['spec'].get('replicas', 1)} replicas created)"
