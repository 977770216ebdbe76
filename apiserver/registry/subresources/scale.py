"""`/scale`: the replicas of a workload as an autoscaling/v1 Scale, read and written without knowing its kind."""

from __future__ import annotations

from apimachinery import errors, selectors
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.registry.call import Admission, Call
from apiserver.registry.validation import causes
from apiserver.storage import types
from apiserver.storage.types import Stored

SCALE = GVK("autoscaling", "v1", "Scale")
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def view(workload: Object) -> Object:
    """The Scale of a workload."""
    metadata, spec, status = workload["metadata"], workload.get("spec") or {}, workload.get("status") or {}
    scale: Object = {
        "apiVersion": SCALE.api_version,
        "kind": SCALE.kind,
        "metadata": {field: metadata[field] for field in _KEPT if field in metadata},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": {"replicas": status.get("replicas") or 0},
    }
    selector = _selector(spec.get("selector"))
    if selector:
        scale["status"]["selector"] = selector
    return scale


def fold(workload: Object, scale: Object) -> Object:
    """The workload with the Scale's replicas and preconditions; neither argument is changed."""
    spec = (workload.get("spec") or {}) | {"replicas": (scale.get("spec") or {}).get("replicas") or 0}
    metadata = dict(workload["metadata"])
    if (scale.get("metadata") or {}).get("resourceVersion"):
        metadata["resourceVersion"] = scale["metadata"]["resourceVersion"]
    return workload | {"metadata": metadata, "spec": spec}


def configuration(kind: GVK, scale: Object) -> Object:
    """What a Scale that is applied says of its workload."""
    metadata = {name: scale["metadata"][name] for name in _KEPT if name in scale["metadata"]}
    config: Object = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    return fold(config, scale) if "replicas" in (scale.get("spec") or {}) else config


class ScaleGate:
    """Admission of a scale sees Scales; what it changes of one goes into the workload."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    async def mutate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> Object | None:
        assert obj is not None
        shown = view(obj)
        mutated = await self._admission.mutate(call, operation, shown, view(old) if old else None)
        return obj if mutated is shown or mutated is None else fold(obj, mutated)

    async def validate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> None:
        await self._admission.validate(call, operation, view(obj) if obj else None, view(old) if old else None)


def stored_view(stored: Stored) -> Stored:
    return Stored(stored.key, types.encode(view(stored.object)), stored.revision)


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
