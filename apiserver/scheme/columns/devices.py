"""Dynamic resource allocation, and what the server keeps of itself: flow control, storage versions."""

from __future__ import annotations

from datetime import datetime

from apimachinery import objects
from apimachinery.objects import Object
from apiserver.scheme.columns.shared import AGE, NAME, number, text
from apiserver.scheme.resources import Column

_NONE = "<none>"


def _claim_state(claim: Object, now: datetime) -> str:
    status = claim.get("status") or {}
    if status.get("allocation") is None:
        return "pending"
    states = ["allocated"]
    if claim["metadata"].get("deletionTimestamp"):
        states.append("deleted")
    if status.get("reservedFor"):
        states.append("reserved")
    return ",".join(states)


def _slice_node(slice_: Object, now: datetime) -> str:
    spec = slice_.get("spec") or {}
    if spec.get("allNodes"):
        return "<all>"
    return str(spec.get("nodeName") or (_NONE if spec.get("nodeSelector") is None else "<selected>"))


CLAIM = (NAME, Column("State", _claim_state), AGE)
SLICE = (
    NAME,
    Column("Node", _slice_node),
    text("Driver", "spec.driver"),
    text("Pool", "spec.pool.name"),
    AGE,
)


def _distinguisher(schema: Object, now: datetime) -> str:
    return str(((schema.get("spec") or {}).get("distinguisherMethod") or {}).get("type") or _NONE)


def _dangling(schema: Object, now: datetime) -> str:
    condition = objects.condition(schema, "Dangling")
    return str(condition.get("status")) if condition else "?"


FLOW_SCHEMA = (
    NAME,
    text("PriorityLevel", "spec.priorityLevelConfiguration.name"),
    number("MatchingPrecedence", "spec.matchingPrecedence"),
    Column("DistinguisherMethod", _distinguisher),
    AGE,
    Column("MissingPL", _dangling),
)

PRIORITY_LEVEL = (
    NAME,
    text("Type", "spec.type"),
    text("NominalConcurrencyShares", "spec.limited.nominalConcurrencyShares", _NONE),
    text("Queues", "spec.limited.limitResponse.queuing.queues", _NONE),
    text("HandSize", "spec.limited.limitResponse.queuing.handSize", _NONE),
    text("QueueLengthLimit", "spec.limited.limitResponse.queuing.queueLengthLimit", _NONE),
    AGE,
)


def _migrated(migration: Object, now: datetime) -> str:
    resource = (migration.get("spec") or {}).get("resource") or {}
    name, group = resource.get("resource") or "", resource.get("group") or ""
    return f"{name}.{group}" if group else str(name)


MIGRATION = (NAME, Column("Resource", _migrated))
