"""Deployments, ReplicaSets, DaemonSets, StatefulSets, ReplicationControllers, Jobs, CronJobs and autoscalers."""

from __future__ import annotations

import zoneinfo
from typing import Any

from apimachinery import selectors
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, cron, pods, scalars

STATEFUL_SET_UPDATABLE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_JOB_NAME_MAX = 63 - 11  # a CronJob's Jobs get a suffix of 11 characters


def deployment(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    found = _selected_template(spec, "deployment")
    found += _counts(spec, "replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    found += _rollout(spec.get("strategy") or {}, "spec.strategy", ("Recreate", "RollingUpdate"))
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    if deadline is not None and deadline <= ready:
        found.append(causes.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return found


def replica_set(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    return _selected_template(spec, "deployment") + _counts(spec, "replicas", "minReadySeconds")


def daemon_set(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    found = _selected_template(spec, "daemonset") + _counts(spec, "minReadySeconds", "revisionHistoryLimit")
    return found + _rollout(spec.get("updateStrategy") or {}, "spec.updateStrategy", ("OnDelete", "RollingUpdate"))


def stateful_set(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    found = scalars.one_of(spec.get("podManagementPolicy"), ("OrderedReady", "Parallel"), "spec.podManagementPolicy")
    update = spec.get("updateStrategy") or {}
    found += scalars.one_of(update.get("type"), ("OnDelete", "RollingUpdate"), "spec.updateStrategy.type")
    partition = (update.get("rollingUpdate") or {}).get("partition")
    found += scalars.not_negative(partition, "spec.updateStrategy.rollingUpdate.partition")
    found += _counts(spec, "replicas", "minReadySeconds", "revisionHistoryLimit")
    return found + _selected_template(spec, "statefulset")


def replication_controller(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    found = _counts(spec, "replicas", "minReadySeconds")
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        found.append(causes.required("spec.selector"))
    if template is None:
        return [*found, causes.required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not selectors.from_set(selector).matches(labels):
        why = "`selector` does not match template `labels`"
        found.append(causes.invalid("spec.template.metadata.labels", labels, why))
    return found + _template(template, "ReplicationController")


def _selected_template(spec: Object, kind: str) -> list[Cause]:
    """A selector that selects something, the template's own labels among it, and the template."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    found: list[Cause] = []
    if selector is None:
        found.append(causes.required("spec.selector"))
    else:
        problems = scalars.label_selector(selector, "spec.selector")
        found += problems
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            found.append(causes.invalid("spec.selector", selector, f"empty selector is invalid for {kind}"))
        elif not problems:
            labels = (template.get("metadata") or {}).get("labels") or {}
            if not selectors.from_label_selector(selector).matches(labels):
                why = "`selector` does not match template `labels`"
                found.append(causes.invalid("spec.template.metadata.labels", labels, why))
    return found + _template(template, {"daemonset": "DaemonSet", "statefulset": "StatefulSet"}.get(kind, "ReplicaSet"))


def _template(template: Object, kind: str) -> list[Cause]:
    """A template whose pods are kept running."""
    found = pods.template(template, "spec.template")
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy")
    if policy and policy != "Always":
        found.append(causes.unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        found.append(causes.forbidden("spec.template.spec.activeDeadlineSeconds", why))
    return found


def _counts(spec: Object, *fields: str) -> list[Cause]:
    found: list[Cause] = []
    for field in fields:
        found += scalars.not_negative(spec.get(field), f"spec.{field}")
    return found


def _rollout(strategy: Object, field: str, kinds: tuple[str, ...]) -> list[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in kinds:
        return [causes.unsupported(f"{field}.type", kind, kinds)] if kind else [causes.required(f"{field}.type")]
    if kind != "RollingUpdate":
        if rolling is not None and kind == "Recreate":
            why = "may not be specified when strategy `type` is 'Recreate'"
            return [causes.forbidden(f"{field}.rollingUpdate", why)]
        return []
    if rolling is None:
        return [causes.required(f"{field}.rollingUpdate", "this should be defaulted and never be nil")]
    found: list[Cause] = []
    for name in ("maxUnavailable", "maxSurge"):
        found += scalars.count_or_percent(rolling.get(name, 0), f"{field}.rollingUpdate.{name}")
    unavailable = rolling.get("maxUnavailable")
    if scalars.is_zero(unavailable) and scalars.is_zero(rolling.get("maxSurge")):
        why = "may not be 0 when `maxSurge` is 0"
        found.append(causes.invalid(f"{field}.rollingUpdate.maxUnavailable", unavailable, why))
    if scalars.percent(unavailable) > 100:
        field = f"{field}.rollingUpdate.maxUnavailable"
        found.append(causes.invalid(field, unavailable, "must not be greater than 100%"))
    return found


def stateful_set_update(new: Object, old: Object) -> list[Cause]:
    free = {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
    after = {key: value for key, value in new["spec"].items() if key not in free}
    before = {key: value for key, value in old["spec"].items() if key not in free}
    return [] if after == before else [causes.forbidden("spec", STATEFUL_SET_UPDATABLE)]


# --- batch


def job(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    found = _job_spec(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        found.append(causes.required("spec.selector"))
    else:
        problems = scalars.label_selector(selector, "spec.selector")
        found += problems
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        if not problems and not selectors.from_label_selector(selector).matches(labels):
            why = "`selector` does not match template `labels`"
            found.append(causes.invalid("spec.template.metadata.labels", labels, why))
    return found


def _job_spec(spec: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        found += scalars.not_negative(spec.get(name), f"{field}.{name}")
    mode = spec.get("completionMode")
    if mode and mode not in ("Indexed", "NonIndexed"):
        found.append(causes.unsupported(f"{field}.completionMode", mode, ("Indexed", "NonIndexed")))
    if mode == "Indexed" and spec.get("completions") is None:
        why = f"when completion mode is {mode}"
        found.append(causes.required(f"{field}.completions", why))
    template = spec.get("template") or {}
    policy = (template.get("spec") or {}).get("restartPolicy")
    found += pods.template(template, f"{field}.template")
    here = f"{field}.template.spec.restartPolicy"
    if policy == "Always":
        found.append(causes.required(here, 'valid values: "OnFailure", "Never"'))
    return found


def job_update(new: Object, old: Object) -> list[Cause]:
    after, before = new["spec"], old["spec"]
    found: list[Cause] = []
    indexed = after.get("completionMode") == "Indexed"
    if after.get("completions") != before.get("completions"):
        if not indexed:
            found.append(causes.immutable("spec.completions", after.get("completions")))
        elif after.get("completions") != after.get("parallelism"):
            why = "can only be modified in tandem with spec.parallelism"
            found.append(causes.invalid("spec.completions", after.get("completions"), why))
    for field in (
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ):
        if after.get(field) != before.get(field):
            found.append(causes.immutable(f"spec.{field}", after.get(field)))
    suspended = before.get("suspend") and not (old.get("status") or {}).get("startTime")
    if not suspended and after.get("template") != before.get("template"):
        found.append(causes.immutable("spec.template", after.get("template")))
    return found


def cron_job(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    found: list[Cause] = []
    name = obj["metadata"].get("name") or ""
    if len(name) > _JOB_NAME_MAX:
        found.append(causes.invalid("metadata.name", name, f"must be no more than {_JOB_NAME_MAX} characters"))
    schedule = spec.get("schedule") or ""
    if not schedule:
        found.append(causes.required("spec.schedule"))
    else:
        problem = cron.problem_of(schedule)
        found += [causes.invalid("spec.schedule", schedule, problem)] if problem else []
    found += _time_zone(spec.get("timeZone"), "spec.timeZone")
    for field in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        found += scalars.not_negative(spec.get(field), f"spec.{field}")
    policies = ("Allow", "Forbid", "Replace")
    found += scalars.one_of(spec.get("concurrencyPolicy"), policies, "spec.concurrencyPolicy")
    return found + _job_spec((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")


def _time_zone(zone: str | None, field: str) -> list[Cause]:
    if zone is None:
        return []
    if not zone:
        return [causes.invalid(field, zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        return [
            causes.invalid(
                field, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
            )
        ]
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return [causes.invalid(field, zone, f"unknown time zone {zone}")]
    return []


# --- autoscaling


def autoscaler(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    found: list[Cause] = []
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < 1:
        found.append(causes.invalid("spec.minReplicas", low, "must be greater than or equal to 1"))
    if high < 1:
        found.append(causes.invalid("spec.maxReplicas", high, "must be greater than 0"))
    if low is not None and high < low:
        found.append(causes.invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    target: dict[str, Any] = spec.get("scaleTargetRef") or {}
    found += [causes.required(f"spec.scaleTargetRef.{name}") for name in ("kind", "name") if not target.get(name)]
    return found
