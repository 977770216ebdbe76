"""Defaults of what runs pods: apps/v1, batch/v1, autoscaling/v2 and ReplicationControllers.

Source: upstream's `pkg/apis/{apps,batch,autoscaling}/*/defaults.go`.
"""

from __future__ import annotations

from apimachinery.objects import Object
from apiserver.scheme.defaults import pods

HISTORY_LIMIT = 10
BACKOFF_LIMIT = 6
_UNLIMITED = 2**31 - 1


def deployment(obj: Object) -> None:
    spec = _workload(obj)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", HISTORY_LIMIT)
    spec.setdefault("progressDeadlineSeconds", 600)


def replica_set(obj: Object) -> None:
    _workload(obj)


def daemon_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    pods.template(spec.setdefault("template", {}))
    update = spec.setdefault("updateStrategy", {})
    if not update.get("type"):
        update["type"] = "RollingUpdate"
    if update["type"] == "RollingUpdate":
        rolling = update.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", HISTORY_LIMIT)


def stateful_set(obj: Object) -> None:
    spec = _workload(obj)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    update = spec.setdefault("updateStrategy", {})
    if not update.get("type"):
        update["type"] = "RollingUpdate"
    if update["type"] == "RollingUpdate":
        update.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("revisionHistoryLimit", HISTORY_LIMIT)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def replication_controller(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    template = spec.get("template")
    labels = ((template or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)
    if template is not None:
        pods.template(template)
    spec.setdefault("replicas", 1)


def job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    spec.setdefault("backoffLimit", _UNLIMITED if per_index else BACKOFF_LIMIT)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    pods.template(spec.setdefault("template", {}))


def cron_job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    job_spec = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
    pods.template(job_spec.setdefault("template", {}))


def pod_template(obj: Object) -> None:
    pods.template(obj.setdefault("template", {}))


def autoscaler(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        _scaling_rules(behavior.setdefault("scaleUp", {}), [_policy("Pods", 4), _policy("Percent", 100)], window=0)
        _scaling_rules(behavior.setdefault("scaleDown", {}), [_policy("Percent", 100)], window=None)


def autoscaler_v1(obj: Object) -> None:
    """Its default metric comes with the conversion, which sees the annotations."""
    obj.setdefault("spec", {}).setdefault("minReplicas", 1)


def _workload(obj: Object) -> Object:
    spec: Object = obj.setdefault("spec", {})
    pods.template(spec.setdefault("template", {}))
    spec.setdefault("replicas", 1)
    return spec


def _policy(kind: str, value: int) -> Object:
    return {"type": kind, "value": value, "periodSeconds": 15}


def _scaling_rules(rules: Object, policies: list[Object], window: int | None) -> None:
    if window is not None:
        rules.setdefault("stabilizationWindowSeconds", window)
    rules.setdefault("selectPolicy", "Max")
    if not rules.get("policies"):
        rules["policies"] = policies
