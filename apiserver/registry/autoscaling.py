"""autoscaling/v1 on what is stored as v2: one number for CPU, and the rest in annotations, as upstream keeps them.

Pure; both return new objects that share parts with what they were given. What cannot be read in an annotation is left
out, as upstream does. Source: upstream's `pkg/apis/autoscaling/v1/conversion.go` and `annotations.go` beside it
"""

from __future__ import annotations

from typing import Any

import orjson

from apimachinery.objects import Object

V1, V2 = "autoscaling/v1", "autoscaling/v2"
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _CURRENT = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
_CONDITIONS, _BEHAVIOR = f"{_PREFIX}conditions", f"{_PREFIX}behavior"
_ANNOTATIONS = (_METRICS, _CURRENT, _CONDITIONS, _BEHAVIOR)
_DEFAULT_CPU = 80


def to_storage(scaler: Object) -> Object:
    """v1 → v2."""
    metadata, notes = _without_annotations(scaler["metadata"])
    spec, status = dict(scaler.get("spec") or {}), dict(scaler.get("status") or {})
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = _list(notes.get(_METRICS))
    if percent is None and not metrics:
        percent = _DEFAULT_CPU
    if percent is not None:
        metrics = [_cpu({"type": "Utilization", "averageUtilization": percent}, "target"), *metrics]
    spec["metrics"] = metrics
    behavior = _load(notes.get(_BEHAVIOR))
    if isinstance(behavior, dict):
        spec["behavior"] = behavior
    used = status.pop("currentCPUUtilizationPercentage", None)
    current = _list(notes.get(_CURRENT))
    if used is not None:
        current = [_cpu({"averageUtilization": used}, "current"), *current]
    if current:
        status["currentMetrics"] = current
    conditions = _list(notes.get(_CONDITIONS))
    if conditions:
        status["conditions"] = conditions
    return _made(scaler, V2, metadata, spec, status)


def from_storage(scaler: Object) -> Object:
    """v2 → v1."""
    spec, status = dict(scaler.get("spec") or {}), dict(scaler.get("status") or {})
    notes: dict[str, Any] = {}
    percent, others = _split(spec.pop("metrics", None) or [], "target")
    if percent is not None:
        spec["targetCPUUtilizationPercentage"] = percent
    used, current = _split(status.pop("currentMetrics", None) or [], "current")
    if used is not None:
        status["currentCPUUtilizationPercentage"] = used
    found = {
        _METRICS: others,
        _CURRENT: current,
        _CONDITIONS: status.pop("conditions", None),
        _BEHAVIOR: spec.pop("behavior", None),
    }
    notes = {name: orjson.dumps(value).decode() for name, value in found.items() if value}
    metadata = scaler["metadata"]
    if notes:
        metadata = metadata | {"annotations": (metadata.get("annotations") or {}) | notes}
    return _made(scaler, V1, metadata, spec, status)


def stored_field(field: str) -> str:
    """Only the metadata can be selected by."""
    return field


def _made(scaler: Object, version: str, metadata: Object, spec: Object, status: Object) -> Object:
    made = scaler | {"apiVersion": version, "metadata": metadata, "spec": spec}
    return made | {"status": status} if "status" in scaler or status else made


def _without_annotations(metadata: Object) -> tuple[Object, dict[str, str]]:
    """The metadata without the annotations that stand for fields, and these."""
    all_notes = metadata.get("annotations") or {}
    notes = {name: all_notes[name] for name in _ANNOTATIONS if name in all_notes}
    if not notes:
        return metadata, {}
    kept = {name: text for name, text in all_notes.items() if name not in notes}
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return rest | ({"annotations": kept} if kept else {}), notes


def _cpu(value: Object, field: str) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", field: value}}


def _split(metrics: list[Object], field: str) -> tuple[int | None, list[Object]]:
    """The first one that is a share of CPU, which v1 has a field for, and the others."""
    for index, metric in enumerate(metrics):
        resource = metric.get("resource") or {}
        share = (resource.get(field) or {}).get("averageUtilization")
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and share is not None:
            return share, metrics[:index] + metrics[index + 1 :]
    return None, metrics


def _list(text: str | None) -> list[Object]:
    found = _load(text)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _load(text: str | None) -> Any:
    try:
        return orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None
