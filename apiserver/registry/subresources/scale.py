"""`/scale`: the replicas of a workload as an autoscaling/v1 Scale, read and written without knowing its kind."""

from __future__ import annotations

from typing import Any, NamedTuple

from apimachinery import errors, selectors
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.registry.call import Admission, Call
from apiserver.registry.validation import causes
from apiserver.scheme.resources import Resource
from apiserver.storage import types
from apiserver.storage.types import Stored

SCALE = GVK("autoscaling", "v1", "Scale")
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class Paths(NamedTuple):
    """Where a kind keeps what a Scale shows. The selector of a custom resource is text already."""

    spec_replicas: tuple[str, ...] = ("spec", "replicas")
    status_replicas: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")
    is_custom: bool = False


_BUILT_IN = Paths()


def paths(resource: Resource) -> Paths:
    if resource.custom is None or resource.custom.scale is None:
        return _BUILT_IN
    said = resource.custom.scale
    return Paths(
        _split(said["specReplicasPath"]),
        _split(said["statusReplicasPath"]),
        _split(said.get("labelSelectorPath") or ""),
        is_custom=True,
    )


def _split(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split(".") if part)


def view(workload: Object, where: Paths = _BUILT_IN) -> Object:
    """The Scale of a workload. Raises InternalError for a custom resource that says no replicas."""
    metadata = workload["metadata"]
    replicas = _at(workload, where.spec_replicas)
    if where.is_custom and type(replicas) is not int:
        path = "." + ".".join(where.spec_replicas)
        raise errors.InternalError(f'Internal error occurred: the spec replicas field "{path}" does not exist')
    scale: Object = {
        "apiVersion": SCALE.api_version,
        "kind": SCALE.kind,
        "metadata": {field: metadata[field] for field in _KEPT if field in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": _at(workload, where.status_replicas) or 0},
    }
    selector = _at(workload, where.selector) if where.selector else None
    text = selector if isinstance(selector, str) else _selector(selector)
    if text:
        scale["status"]["selector"] = text
    return scale


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def fold(workload: Object, scale: Object, where: Paths = _BUILT_IN) -> Object:
    """The workload with the Scale's replicas and preconditions; neither argument is changed."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    metadata = dict(workload["metadata"])
    if (scale.get("metadata") or {}).get("resourceVersion"):
        metadata["resourceVersion"] = scale["metadata"]["resourceVersion"]
    changed: Object = _with(workload, where.spec_replicas, replicas)
    return changed | {"metadata": metadata}


def _with(obj: Any, path: tuple[str, ...], value: Any) -> Any:
    """A copy with the value at the path; parts that it does not touch are shared."""
    if not path:
        return value
    fields = obj if isinstance(obj, dict) else {}
    return fields | {path[0]: _with(fields.get(path[0]), path[1:], value)}


def configuration(resource: Resource, scale: Object) -> Object:
    """What a Scale that is applied says of its workload."""
    metadata = {name: scale["metadata"][name] for name in _KEPT if name in scale["metadata"]}
    kind = resource.gvk
    config: Object = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    return fold(config, scale, paths(resource)) if "replicas" in (scale.get("spec") or {}) else config


class ScaleGate:
    """Admission of a scale sees Scales; what it changes of one goes into the workload."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    async def mutate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> Object | None:
        assert obj is not None
        where = paths(call.resource)
        shown = view(obj, where)
        mutated = await self._admission.mutate(call, operation, shown, view(old, where) if old else None)
        return obj if mutated is shown or mutated is None else fold(obj, mutated, where)

    async def validate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> None:
        where = paths(call.resource)
        shown, before = view(obj, where) if obj else None, view(old, where) if old else None
        await self._admission.validate(call, operation, shown, before)


def stored_view(resource: Resource, stored: Stored) -> Stored:
    return Stored(stored.key, types.encode(view(stored.object, paths(resource))), stored.revision)


def check(call: Call, scale: Object) -> None:
    """Raises BadRequest and Invalid."""
    metadata = scale.get("metadata") or {}
    if metadata.get("name") and metadata["name"] != call.name:
        raise errors.BadRequest(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({call.name})"
        )
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        found = [causes.invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
        raise errors.invalid(SCALE.group, SCALE.kind, call.name, found)


def _selector(selector: Object | None) -> str:
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        parsed = selectors.from_label_selector(selector)
    else:
        parsed = selectors.from_set(selector)
    return ",".join(sorted(str(requirement) for requirement in parsed.requirements))
