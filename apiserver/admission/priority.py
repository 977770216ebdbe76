"""Priority: a pod's `priorityClassName` becomes the number that the scheduler compares; else the default class's.

There is one default at most: whoever marks another is refused.
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
"""

from __future__ import annotations

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.plugins import Parts
from apiserver.storage.store import Store

_CLASSES = "/registry/priorityclasses/"
# The two classes that every cluster has, also while their objects are being made
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPTS = "PreemptLowerPriority"


class Priority:
    name = "Priority"

    def __init__(self, store: Store) -> None:
        self._store = store

    def handles(self, operation: str) -> bool:
        return operation in ("CREATE", "UPDATE")

    async def mutate(self, review: Review) -> Object | None:
        row = review.call.resource
        match (row.group, row.resource, review.call.subresource):
            case ("", "pods", "") if review.obj is not None and review.operation == "CREATE":
                self._set_priority(review, review.obj)
            case ("scheduling.k8s.io", "priorityclasses", "") if review.obj is not None:
                self._check_default(review, review.obj)
        return review.obj

    def _set_priority(self, review: Review, pod: Object) -> None:
        spec = pod["spec"]
        name, value, policy = self._resolve(review, spec.get("priorityClassName") or "")
        given = spec.get("priority")
        if given is not None and given != value:
            raise errors.forbidden(
                "",
                "pods",
                review.name,
                f"the integer value of priority ({given}) must not be provided in pod spec; priority admission "
                f"controller computed {value} from the given PriorityClass name",
            )
        spec["priority"] = value
        if name:
            spec["priorityClassName"] = name
        spec.setdefault("preemptionPolicy", policy)

    def _check_default(self, review: Review, priority_class: Object) -> None:
        default = self._default() if priority_class.get("globalDefault") else None
        if default is None or default["metadata"]["name"] == priority_class["metadata"].get("name"):
            return
        why = f"PriorityClass {default['metadata']['name']} is already marked as default. Only one default can exist"
        raise errors.forbidden("scheduling.k8s.io", "priorityclasses", review.name, why)

    def _resolve(self, review: Review, name: str) -> tuple[str, int, str]:
        """The class's name, value and preemption policy."""
        if not name:
            default = self._default()
            return ("", 0, _PREEMPTS) if default is None else _read(default)
        stored = self._store.cached(_CLASSES + name)
        if stored is not None:
            return _read(stored.object)
        if name in SYSTEM_CLASSES:
            return name, SYSTEM_CLASSES[name], _PREEMPTS
        raise errors.forbidden("", "pods", review.name, f"no PriorityClass with name {name} was found")

    def _default(self) -> Object | None:
        """The global default; of several, which only a race can make, the lowest."""
        classes = [stored.object for stored in self._store.cached_list(_CLASSES)]
        defaults = [found for found in classes if found.get("globalDefault")]
        return min(defaults, key=lambda found: int(found.get("value") or 0), default=None)


def make(parts: Parts) -> Priority:
    return Priority(parts.store)


def _read(priority_class: Object) -> tuple[str, int, str]:
    name, value = priority_class["metadata"]["name"], int(priority_class.get("value") or 0)
    return name, value, priority_class.get("preemptionPolicy") or _PREEMPTS
