"""The disruption controller: keeps the status that the eviction API and the scheduler's preemption ask (step C5).

Guarantees: a status is written only on the version it was computed from, so that no disruption that an eviction has
just spent is given back (the 409 has it computed again); when the scale of the pods cannot be told, nothing is allowed.
Does not decide who may be evicted: `unhealthyPodEvictionPolicy` is read by the eviction API.
"""

from __future__ import annotations

from apimachinery import errors, gvr, objects, selectors
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done, RequeueAfter
from controllers import indexes, writes
from controllers.context import Context
from controllers.disruption import plan as planning
from controllers.disruption.scales import Scales, Unscalable
from controllers.freshness import Freshness

NAME = "disruption-controller"
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status of the PDB cannot "
    'be calculated correctly. To account for these pods set ".spec.minAvailable" to an integer value.'
)


class DisruptionController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._events = context.recorder(NAME)
        self._queue = context.queue(NAME)
        self._freshness = Freshness(context.clock)
        self._scales = Scales(context)
        self._budgets = context.informers.informer(gvr.POD_DISRUPTION_BUDGETS)
        self._pods = context.informers.informer(gvr.PODS, indexers=indexes.PODS)
        self._budgets.add_handler(
            on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new), on_delete=self._forget
        )
        self._pods.add_handler(on_add=self._pod_seen, on_update=self._pod_updated, on_delete=self._pod_seen)

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C5").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        budget = self._budgets.store.get(key)
        if budget is None or self._freshness.is_behind(budget):
            return Done()
        members = self._members(budget)
        try:
            expected = await self._expectation(budget, members)
        except Unscalable as problem:
            await self._fail(budget, str(problem))
            return Done()  # until a pod or the budget changes
        except errors.APIError as problem:
            await self._fail(budget, str(problem))
            raise
        return await self._update(budget, members, expected)

    async def _expectation(self, budget: Object, members: list[Object]) -> planning.Expectation:
        scale = 0
        if planning.needs_scale(budget):
            owned, unmanaged = planning.owners(members)
            scale = await self._scales.total(owned.values())
            if unmanaged:
                self._events.event(budget, "Warning", "UnmanagedPods", _UNMANAGED)
        return planning.expectation(budget, len(members), scale)

    async def _update(
        self, budget: Object, members: list[Object], expected: planning.Expectation
    ) -> controller.Outcome:
        now = self._clock.now()
        disrupted = planning.disrupted(budget, members, now)
        if not members:
            self._events.event(budget, "Normal", "NoPods", "No matching pods found")
        await self._write(budget, planning.status_of(budget, members, expected, disrupted.pending, now))
        key = objects.key_of(budget)
        for pod in disrupted.stayed:
            text = f"Pod was expected by PDB {key.namespace}/{key.name} to be deleted but it wasn't"
            self._events.event(pod, "Warning", "NotDeleted", text)
        return Done() if disrupted.recheck_seconds is None else RequeueAfter(disrupted.recheck_seconds)

    async def _fail(self, budget: Object, reason: str) -> None:
        text = f"Failed to calculate the number of expected pods: {reason}"
        self._events.event(budget, "Warning", "CalculateExpectedPodCountFailed", text)
        await self._write(budget, planning.failed_status(budget, reason, self._clock.now()))

    async def _write(self, budget: Object, status: Object) -> None:
        self._freshness.wrote(await writes.status(self._client, gvr.POD_DISRUPTION_BUDGETS, budget, status))

    def _members(self, budget: Object) -> list[Object]:
        selector = _selector(budget)
        pods = self._pods.store.list(objects.namespace_of(budget))
        return [pod for pod in pods if selector.matches(objects.labels_of(pod))]

    def _enqueue(self, budget: Object) -> None:
        self._queue.add(objects.key_of(budget))

    def _forget(self, budget: Object) -> None:
        self._freshness.forget(objects.uid_of(budget))

    def _pod_seen(self, pod: Object) -> None:
        for budget in self._budgets.store.list(objects.namespace_of(pod)):
            if _selector(budget).matches(objects.labels_of(pod)):
                self._enqueue(budget)

    def _pod_updated(self, old: Object, new: Object) -> None:
        if objects.labels_of(old) != objects.labels_of(new):
            self._pod_seen(old)
        self._pod_seen(new)


def _selector(budget: Object) -> selectors.Selector:
    return selectors.from_label_selector((budget.get("spec") or {}).get("selector"))
