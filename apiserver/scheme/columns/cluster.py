"""Nodes, namespaces, events, configuration, leases, certificates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apimachinery import ages, objects
from apimachinery.objects import Object
from apiserver.scheme.columns.shared import AGE, NAME, NONE, WIDE, Cell, count, join, text
from apiserver.scheme.resources import Column

_ROLE_PREFIX, _ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"
_UNKNOWN = "<unknown>"

NAMESPACE = (NAME, text("Status", "status.phase"), AGE)
CONFIG_MAP = (
    NAME,
    Column("Data", lambda obj, now: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), "integer"),
    AGE,
)
SECRET = (NAME, text("Type", "type"), Column("Data", count("data"), "integer"), AGE)
SERVICE_ACCOUNT = (NAME, Column("Secrets", count("secrets"), "integer"), AGE)
LEASE = (NAME, text("Holder", "spec.holderIdentity"), AGE)
RUNTIME_CLASS = (NAME, text("Handler", "handler"), AGE)


# --- nodes


def _node_status(node: Object, now: datetime) -> str:
    ready = objects.condition(node, "Ready")
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return join(words)


def _roles(node: Object, now: datetime) -> str:
    labels = objects.labels_of(node)
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    if labels.get(_ROLE):
        roles.add(labels[_ROLE])
    return join(sorted(filter(None, roles)), NONE)


def _address(kind: str) -> Cell:
    def read(node: Object, now: datetime) -> str:
        addresses = (node.get("status") or {}).get("addresses") or ()
        return next((item["address"] for item in addresses if item.get("type") == kind), NONE)

    return read


NODE = (
    NAME,
    Column("Status", _node_status),
    Column("Roles", _roles),
    AGE,
    text("Version", "status.nodeInfo.kubeletVersion"),
    Column("Internal-IP", _address("InternalIP"), priority=WIDE),
    Column("External-IP", _address("ExternalIP"), priority=WIDE),
    text("OS-Image", "status.nodeInfo.osImage", _UNKNOWN, WIDE),
    text("Kernel-Version", "status.nodeInfo.kernelVersion", _UNKNOWN, WIDE),
    text("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", _UNKNOWN, WIDE),
)


# --- events


def _first_seen(event: Object, now: datetime) -> str:
    return ages.since(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Object, now: datetime) -> str:
    series = event.get("series")
    if series is not None:
        return ages.since(series.get("lastObservedTime"), now)
    last = event.get("lastTimestamp")
    return ages.since(last, now) if last else _first_seen(event, now)


def _count(event: Object, now: datetime) -> int:
    series = event.get("series")
    return int((series.get("count") if series else event.get("count")) or 1)


def _object(event: Object, now: datetime) -> str:
    about = event.get("involvedObject") or {}
    kind, name = (about.get("kind") or "").lower(), about.get("name")
    return f"{kind}/{name}" if name else kind


def _source(event: Object, now: datetime) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    host = source.get("host") or ("" if source.get("component") else event.get("reportingInstance") or "")
    return ", ".join(filter(None, (component, host)))


EVENT = (
    Column("Last Seen", _last_seen),
    text("Type", "type"),
    text("Reason", "reason"),
    Column("Object", _object),
    text("Subobject", "involvedObject.fieldPath", priority=WIDE),
    Column("Source", _source, priority=WIDE),
    Column("Message", lambda event, now: (event.get("message") or "").strip()),
    Column("First Seen", _first_seen, priority=WIDE),
    Column("Count", _count, "integer", priority=WIDE),
    Column(NAME.name, NAME.cell, format="name", description=NAME.description, priority=WIDE),
)


def _as_core(event: Object) -> Object:
    """An events.k8s.io event with the names that the cells read."""
    return {
        "metadata": event["metadata"],
        "type": event.get("type"),
        "reason": event.get("reason"),
        "series": event.get("series"),
        "eventTime": event.get("eventTime"),
        "message": event.get("note"),
        "involvedObject": event.get("regarding"),
        "source": event.get("deprecatedSource"),
        "reportingComponent": event.get("reportingController"),
        "reportingInstance": event.get("reportingInstance"),
        "firstTimestamp": event.get("deprecatedFirstTimestamp"),
        "lastTimestamp": event.get("deprecatedLastTimestamp"),
        "count": event.get("deprecatedCount"),
    }


def _on_core(cell: Any) -> Cell:
    return lambda event, now: cell(_as_core(event), now)


EVENT_V1 = tuple(
    Column(item.name, _on_core(item.cell), item.type, item.format, item.description, item.priority) for item in EVENT
)


# --- certificates


def _condition(request: Object, now: datetime) -> str:
    status = request.get("status") or {}
    conditions = status.get("conditions") or ()
    kinds = [item["type"] for item in conditions]
    words = [kind for kind in ("Approved", "Denied") if kind in kinds] or ["Pending"]
    if "Failed" in kinds:
        words.append("Failed")
    if status.get("certificate"):
        words.append("Issued")
    return join(words)


def _requested_duration(request: Object, now: datetime) -> str:
    seconds = (request.get("spec") or {}).get("expirationSeconds")
    return ages.human(seconds) if seconds is not None else NONE


SIGNING_REQUEST = (
    NAME,
    AGE,
    text("SignerName", "spec.signerName", NONE),
    text("Requestor", "spec.username"),
    Column("RequestedDuration", _requested_duration),
    Column("Condition", _condition),
)

TRUST_BUNDLE = (NAME, text("SignerName", "spec.signerName"), AGE)


def _certificate_state(request: Object, now: datetime) -> str:
    conditions = (request.get("status") or {}).get("conditions") or ()
    decided = [item["type"] for item in conditions if item.get("type") in ("Issued", "Denied", "Failed")]
    return decided[0] if decided else "Pending"


POD_CERTIFICATE = (
    NAME,
    text("PodName", "spec.podName"),
    text("ServiceAccountName", "spec.serviceAccountName"),
    text("NodeName", "spec.nodeName"),
    text("SignerName", "spec.signerName"),
    Column("State", _certificate_state),
    AGE,
)
