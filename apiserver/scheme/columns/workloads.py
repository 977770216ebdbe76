"""Deployments, ReplicaSets, DaemonSets, StatefulSets, Jobs, CronJobs, autoscalers."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from apimachinery import ages, clock, objects
from apimachinery.objects import Object
from apiserver.scheme.columns.shared import (
    AGE,
    NAME,
    NONE,
    WIDE,
    count,
    join,
    label_map,
    number,
    template_columns,
    text,
)
from apiserver.scheme.resources import Column

_TEMPLATE = ("spec", "template", "spec")
_JOB_STATES = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")


def _spec(obj: Object) -> Object:
    return obj.get("spec") or {}


def _status(obj: Object) -> Object:
    return obj.get("status") or {}


def _ready_of_wanted(obj: Object, now: datetime) -> str:
    return f"{_status(obj).get('readyReplicas') or 0}/{_spec(obj).get('replicas') or 0}"


def _node_selector(obj: Object, now: datetime) -> str:
    return label_map(((_spec(obj).get("template") or {}).get("spec") or {}).get("nodeSelector"))


DEPLOYMENT = (
    NAME,
    Column("Ready", _ready_of_wanted, description="Ready pods out of those wanted."),
    number("Up-to-date", "status.updatedReplicas"),
    number("Available", "status.availableReplicas"),
    AGE,
    *template_columns(*_TEMPLATE),
)

REPLICA_SET = (
    NAME,
    number("Desired", "spec.replicas"),
    number("Current", "status.replicas"),
    number("Ready", "status.readyReplicas"),
    AGE,
    *template_columns(*_TEMPLATE),
)

REPLICATION_CONTROLLER = (
    *REPLICA_SET[:5],
    *template_columns(*_TEMPLATE, selector=False),
    Column("Selector", lambda obj, now: label_map(_spec(obj).get("selector")), priority=WIDE),
)

DAEMON_SET = (
    NAME,
    number("Desired", "status.desiredNumberScheduled"),
    number("Current", "status.currentNumberScheduled"),
    number("Ready", "status.numberReady"),
    number("Up-to-date", "status.updatedNumberScheduled"),
    number("Available", "status.numberAvailable"),
    Column("Node Selector", _node_selector),
    AGE,
    *template_columns(*_TEMPLATE),
)

STATEFUL_SET = (
    NAME,
    Column("Ready", _ready_of_wanted),
    AGE,
    *template_columns(*_TEMPLATE, selector=False),
)


def _controller(obj: Object, now: datetime) -> str:
    owner = objects.controller_of(obj)
    if owner is None:
        return NONE
    group, slash, _ = owner["apiVersion"].partition("/")
    return f"{owner['kind'].lower()}.{group}/{owner['name']}" if slash else f"{owner['kind'].lower()}/{owner['name']}"


CONTROLLER_REVISION = (NAME, Column("Controller", _controller), number("Revision", "revision"), AGE)


def _pod_labels(obj: Object, now: datetime) -> str:
    return label_map(((obj.get("template") or {}).get("metadata") or {}).get("labels"))


POD_TEMPLATE = (
    NAME,
    *(Column(column.name, column.cell) for column in template_columns("template", "spec", selector=False)),
    Column("Pod Labels", _pod_labels),
)


# --- batch


def _job_state(job: Object, now: datetime) -> str:
    for kind in _JOB_STATES[:2]:
        if objects.is_condition_true(job, kind):
            return kind
    if objects.is_deleting(job):
        return "Terminating"
    return next((kind for kind in _JOB_STATES[2:] if objects.is_condition_true(job, kind)), "Running")


def _completions(job: Object, now: datetime) -> str:
    succeeded, wanted = _status(job).get("succeeded") or 0, _spec(job).get("completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = _spec(job).get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Object, now: datetime) -> str:
    started, completed = _status(job).get("startTime"), _status(job).get("completionTime")
    if not started:
        return ""
    end = clock.parse_rfc3339(completed) if completed else now
    return ages.human((end - clock.parse_rfc3339(started)).total_seconds())


JOB = (
    NAME,
    Column("Status", _job_state),
    Column("Completions", _completions),
    Column("Duration", _duration),
    AGE,
    *template_columns(*_TEMPLATE),
)


def _last_schedule(obj: Object, now: datetime) -> str:
    last = _status(obj).get("lastScheduleTime")
    return ages.since(last, now) if last else NONE


def _suspended(obj: Object, now: datetime) -> str:
    suspend = _spec(obj).get("suspend")
    return "<unset>" if suspend is None else str(suspend)


CRON_JOB = (
    NAME,
    text("Schedule", "spec.schedule"),
    text("Timezone", "spec.timeZone", NONE),
    Column("Suspend", _suspended),
    Column("Active", count("status.active"), "integer"),
    Column("Last Schedule", _last_schedule),
    AGE,
    *template_columns("spec", "jobTemplate", "spec", "template", "spec", selector=False),
    Column("Selector", lambda obj, now: NONE, priority=WIDE),
)


# --- autoscaling


def _targets(obj: Object, now: datetime) -> str:
    current = _status(obj).get("currentMetrics") or []
    shown = []
    for index, metric in enumerate(_spec(obj).get("metrics") or ()):
        was = current[index] if index < len(current) else {}
        shown.append(_target(metric, was))
    if len(shown) > 2:
        return f"{join(shown[:2]).replace(',', ', ')} + {len(shown) - 2} more..."
    return ", ".join(shown) or NONE


def _targets_v1(obj: Object, now: datetime) -> str:
    """The same of version 1, which has one number for CPU and the other metrics in annotations."""
    notes = obj["metadata"].get("annotations") or {}
    wanted, used = _spec(obj).get("targetCPUUtilizationPercentage"), _status(obj).get("currentCPUUtilizationPercentage")
    metrics = json.loads(notes.get("autoscaling.alpha.kubernetes.io/metrics") or "[]")
    current = json.loads(notes.get("autoscaling.alpha.kubernetes.io/current-metrics") or "[]")
    if wanted is not None:
        resource: Object = {"name": "cpu", "target": {"averageUtilization": wanted}}
        metrics = [{"type": "Resource", "resource": resource}, *metrics]
        current = [{"resource": {"current": {"averageUtilization": used}}}, *current]
    return _targets({"metadata": {}, "spec": {"metrics": metrics}, "status": {"currentMetrics": current}}, now)


def _target(metric: Object, was: Object) -> str:
    kind = metric.get("type") or ""
    field = kind[:1].lower() + kind[1:]
    wanted: dict[str, Any] = (metric.get(field) or {}).get("target") or {}
    now: dict[str, Any] = (was.get(field) or {}).get("current") or {}
    prefix = f"{(metric.get(field) or {}).get('name')}: " if kind in ("Resource", "ContainerResource") else ""
    if wanted.get("averageUtilization") is not None:
        seen = now.get("averageUtilization")
        return f"{prefix}{'<unknown>' if seen is None else f'{seen}%'}/{wanted['averageUtilization']}%"
    for name, suffix in (("averageValue", " (avg)"), ("value", "")):
        if wanted.get(name) is not None:
            return f"{prefix}{now.get(name) or '<unknown>'}/{wanted[name]}{suffix}"
    return f"{prefix}<unknown>/<auto>"


def _reference(obj: Object, now: datetime) -> str:
    target = _spec(obj).get("scaleTargetRef") or {}
    return f"{target.get('kind')}/{target.get('name')}"


AUTOSCALER = (
    NAME,
    Column("Reference", _reference),
    Column("Targets", _targets),
    Column("MinPods", lambda obj, now: str(_spec(obj).get("minReplicas", "<unset>"))),
    number("MaxPods", "spec.maxReplicas"),
    number("Replicas", "status.currentReplicas"),
    AGE,
)
AUTOSCALER_V1 = tuple(Column("Targets", _targets_v1) if item.name == "Targets" else item for item in AUTOSCALER)
