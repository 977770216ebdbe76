"""`pods/eviction`: a deletion that asks the pod's disruption budget first (429 when it has nothing left to give).

The budget is charged by a compare-and-put on its status before the pod is deleted, so that two evictions can never
spend the same disruption. Wording and order of the checks are upstream's (`registry/core/pod/storage/eviction.go`).
"""

from __future__ import annotations

from typing import Any

from apimachinery import clock, errors, objects, pods, selectors
from apimachinery.clock import Clock
from apimachinery.objects import Object
from apiserver.registry.answers import success
from apiserver.registry.call import Call
from apiserver.registry.deleting import Deleter
from apiserver.registry.writing import OPEN, Writer
from apiserver.scheme.scheme import Scheme
from apiserver.storage.store import Store
from apiserver.storage.types import Stored

VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
DISRUPTED_PODS_MAX = 2000  # upstream's bound on pods whose deletion a budget still waits to see
BUSY_SECONDS = 10


class Evictions:
    def __init__(self, scheme: Scheme, store: Store, writer: Writer, deleter: Deleter, clock: Clock) -> None:
        self._scheme = scheme
        self._store = store
        self._writer = writer
        self._deleter = deleter
        self._clock = clock

    async def create(self, call: Call, eviction: Object) -> Stored:
        """Deletes the pod if its budget allows. Raises TooManyRequests when not (yet)."""
        _check_name(call, eviction)
        await self._writer.admit(call, "CREATE", eviction, None)
        stored = await self._store.get(call.resource.key(call.namespace, call.name))
        if stored is None:
            raise errors.not_found("", "pods", call.name)
        pod = stored.object
        options: dict[str, Any] = dict(eviction.get("deleteOptions") or {})
        call.dry_run = call.dry_run or bool(options.get("dryRun"))
        if not _is_free(pod):
            await self._charge(call, pod)
            await self._mark(call)
            # what was charged for is this pod, not a new one of its name
            options["preconditions"] = {"uid": objects.uid_of(pod)} | (options.get("preconditions") or {})
        await self._deleter.delete(_deletion(call), options)
        return success()

    async def _charge(self, call: Call, pod: Object) -> None:
        budgets = self._budgets_of(pod)
        if len(budgets) > 1:
            raise errors.InternalError(SEVERAL)
        if not budgets or _may_go_unready(pod, budgets[0].object):
            return
        row = self._scheme.find("policy", "v1", "poddisruptionbudgets")
        assert row is not None
        charge = Call(call.user, row, "update", call.namespace, objects.name_of(budgets[0].object), "status")
        charge.dry_run = call.dry_run
        now = clock.rfc3339(self._clock.now())

        async def spend(current: Object) -> Object:
            return spent(current, objects.name_of(pod), now)

        await self._writer.rewrite(charge, spend, gate=OPEN)

    async def _mark(self, call: Call) -> None:
        """Tells by a condition that the pod goes by an eviction."""
        status = Call(call.user, call.resource, "update", call.namespace, call.name, "status", dry_run=call.dry_run)
        target = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastTransitionTime": clock.rfc3339(self._clock.now()),
        }

        async def condition(current: Object) -> Object:
            pod = objects.copied(current)
            pod["status"]["conditions"] = objects.set_condition(pod["status"].get("conditions") or [], target)
            return pod

        await self._writer.rewrite(status, condition, gate=OPEN, tracks=False)

    def _budgets_of(self, pod: Object) -> list[Stored]:
        row = self._scheme.find("policy", "v1", "poddisruptionbudgets")
        assert row is not None
        found = []
        for stored in self._store.cached_list(row.range(objects.namespace_of(pod))):
            selector = selectors.from_label_selector((stored.object.get("spec") or {}).get("selector"))
            if selector.matches(objects.labels_of(pod)):
                found.append(stored)
        return found


def spent(budget: Object, pod_name: str, now: str) -> Object:
    """The budget with one disruption less. Raises TooManyRequests, Forbidden."""
    metadata, status = budget["metadata"], dict(budget.get("status") or {})
    name = metadata["name"]
    if (status.get("observedGeneration") or 0) < (metadata.get("generation") or 0):
        cause = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(cause, BUSY_SECONDS)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise errors.forbidden("policy", "poddisruptionbudgets", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > DISRUPTED_PODS_MAX:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise errors.forbidden("policy", "poddisruptionbudgets", name, why)
    if allowed == 0:
        desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
        raise _too_many(f"The disruption budget {name} needs {desired} healthy pods and has {current} currently", None)
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = (status.get("disruptedPods") or {}) | {pod_name: now}
    return budget | {"metadata": dict(metadata), "status": status}


def _too_many(cause: str, retry_after_seconds: int | None) -> errors.TooManyRequests:
    causes = [errors.Cause("DisruptionBudget", cause, "")]
    return errors.TooManyRequests(VIOLATES, causes=causes, retry_after_seconds=retry_after_seconds)


def _is_free(pod: Object) -> bool:
    """Pods that give no availability need no budget."""
    return pods.phase_of(pod) in (*pods.TERMINAL, "Pending") or objects.is_deleting(pod)


def _may_go_unready(pod: Object, budget: Object) -> bool:
    """Whether an unready pod may go without spending, by the budget's `unhealthyPodEvictionPolicy`."""
    if pods.is_ready(pod):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired


def _check_name(call: Call, eviction: Object) -> None:
    name = (eviction.get("metadata") or {}).get("name")
    if name and name != call.name:
        raise errors.BadRequest("name in URL does not match name in Eviction object")


def _deletion(call: Call) -> Call:
    return Call(call.user, call.resource, "delete", call.namespace, call.name, dry_run=call.dry_run)
