"""A node in words: its conditions, what it has, and what its pods ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from apimachinery import ages, objects, pods, quantity
from apimachinery.objects import Object
from minictl.describe import layout

ROLE = "node-role.kubernetes.io/"


def describe(
    node: Object, running: Sequence[Object], lease: Object | None, events: Sequence[Object] | None, now: datetime
) -> list[str]:
    """The lines of a node's description. `running` are the pods bound to it that have not ended."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    lines = [f"Name:\t{objects.name_of(node)}", f"Roles:\t{_roles(node)}"]
    lines += layout.pairs("Labels", objects.labels_of(node)) + layout.annotation_lines(node)
    lines.append(f"CreationTimestamp:\t{layout.when(node['metadata'].get('creationTimestamp'))}")
    lines += _taints(spec.get("taints") or [])
    lines.append(f"Unschedulable:\t{'true' if spec.get('unschedulable') else 'false'}")
    lines += _lease(objects.name_of(node), lease) + _conditions(status.get("conditions") or [])
    lines += ["Addresses:", *(f"  {entry['type']}:\t{entry['address']}" for entry in status.get("addresses") or [])]
    for title in ("Capacity", "Allocatable"):
        amounts = status.get(title.lower()) or {}
        if amounts:
            lines += [f"{title}:", *(f"  {name}:\t{amount}" for name, amount in sorted(amounts.items()))]
    lines += _system(status.get("nodeInfo") or {})
    if spec.get("podCIDR"):
        lines += [f"PodCIDR:\t{spec['podCIDR']}", f"PodCIDRs:\t{','.join(spec.get('podCIDRs') or [spec['podCIDR']])}"]
    if spec.get("providerID"):
        lines.append(f"ProviderID:\t{spec['providerID']}")
    allocatable = status.get("allocatable") or status.get("capacity") or {}
    lines += _pods(running, allocatable, now) + _allocated(running, allocatable)
    return [*lines, *layout.events(events, now)]


def _roles(node: Object) -> str:
    return (
        ",".join(sorted(key.removeprefix(ROLE) for key in objects.labels_of(node) if key.startswith(ROLE))) or "<none>"
    )


def _taints(taints: Sequence[Object]) -> list[str]:
    shown = sorted(
        f"{taint['key']}{'=' + taint['value'] if taint.get('value') else ''}:{taint['effect']}" for taint in taints
    ) or ["<none>"]
    return [f"Taints:\t{shown[0]}", *(f"\t{line}" for line in shown[1:])]


def _lease(name: str, lease: Object | None) -> list[str]:
    if lease is None:
        return [f'Lease:\tFailed to get lease: leases.coordination.k8s.io "{name}" not found']
    spec = lease.get("spec") or {}
    return [
        "Lease:",
        f"  HolderIdentity:\t{spec.get('holderIdentity') or '<unset>'}",
        f"  AcquireTime:\t{layout.when(spec.get('acquireTime'))}",
        f"  RenewTime:\t{layout.when(spec.get('renewTime'))}",
    ]


def _conditions(conditions: Sequence[Object]) -> list[str]:
    if not conditions:
        return []
    rows = [
        "\t".join(
            (
                f"  {entry['type']} ",
                f"{entry['status']} ",
                f"{layout.when(entry.get('lastHeartbeatTime'))} ",
                f"{layout.when(entry.get('lastTransitionTime'))} ",
                f"{entry.get('reason') or ''} ",
                str(entry.get("message") or ""),
            )
        )
        for entry in conditions
    ]
    return [
        "Conditions:",
        "  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage",
        "  ----\t------\t-----------------\t------------------\t------\t-------",
        *rows,
    ]


_SYSTEM = (
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
    ("Kube-Proxy Version", "kubeProxyVersion"),
)


def _system(info: Object) -> list[str]:
    # the last one is deprecated upstream: shown where a node still reports it
    shown = [(title, field) for title, field in _SYSTEM if info.get(field) or field != "kubeProxyVersion"]
    return ["System Info:", *(f"  {title}:\t{info.get(field) or ''}" for title, field in shown)]


def _pods(running: Sequence[Object], allocatable: Object, now: datetime) -> list[str]:
    lines = [f"Non-terminated Pods:\t({len(running)} in total)"]
    lines.append("  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge")
    lines.append("  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---")
    for pod in sorted(running, key=objects.key_of):
        asked, limited = pods.requests(pod), limits(pod)
        cells = [
            f"{_amount(amounts, name)} ({_percent(amounts, name, allocatable)}%)"
            for name in ("cpu", "memory")
            for amounts in (asked, limited)
        ]
        age = ages.since(pod["metadata"].get("creationTimestamp"), now)
        lines.append("\t".join((f"  {objects.namespace_of(pod)}", objects.name_of(pod), "", *cells, age)))
    return lines


def _allocated(running: Sequence[Object], allocatable: Object) -> list[str]:
    asked = _total(pods.requests(pod) for pod in running)
    limited = _total(limits(pod) for pod in running)
    lines = [
        "Allocated resources:",
        "  (Total limits may be over 100 percent, i.e., overcommitted.)",
        "  Resource\tRequests\tLimits",
        "  --------\t--------\t------",
    ]
    names = ["cpu", "memory", "ephemeral-storage"]
    names += sorted(name for name in allocatable if name not in (*names, "pods"))
    for name in names:
        lines.append(
            f"  {name}\t{_amount(asked, name)} ({_percent(asked, name, allocatable)}%)"
            f"\t{_amount(limited, name)} ({_percent(limited, name, allocatable)}%)"
            if name in ("cpu", "memory", "ephemeral-storage")
            else f"  {name}\t{_amount(asked, name)}\t{_amount(limited, name)}"
        )
    return lines


def limits(pod: Object) -> dict[str, Decimal]:
    """The sum of the limits of a pod's app containers."""
    return _total(
        {name: quantity.parse(amount) for name, amount in ((c.get("resources") or {}).get("limits") or {}).items()}
        for c in pod["spec"]["containers"]
    )


def _total(parts: Iterable[dict[str, Decimal]]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, Decimal(0)) + amount
    return total


def _amount(amounts: dict[str, Decimal], name: str) -> str:
    form = "binary" if name == "memory" else "decimal"
    return quantity.render(amounts.get(name, Decimal(0)), form)


def _percent(amounts: dict[str, Decimal], name: str, allocatable: Object) -> int:
    whole = quantity.parse(allocatable[name]) if name in allocatable else Decimal(0)
    return int(amounts.get(name, Decimal(0)) * 100 / whole) if whole else 0
