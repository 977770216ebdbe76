"""The ReplicaSet controller: makes and deletes pods until their number is right (step C3).

Guarantees: never acts on a cache that does not show its last round of writes yet (`expectations`); a failing creation
stops a round early (`slowstart`); status is written also after a failure, which is then raised for the queue to retry.
"""

from __future__ import annotations

import logging

from apimachinery import gvr, objects, pods, selectors
from apimachinery.objects import Key, Object
from client import controller, tracing
from controllers import indexes, ownership, podtemplate, slowstart, writes
from controllers.context import Context
from controllers.expectations import Expectations
from controllers.freshness import Freshness
from controllers.podcontrol import PodControl
from controllers.replicaset import plan as planning

NAME = "replicaset-controller"
log = logging.getLogger(__name__)


class ReplicaSetController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._events = context.recorder(NAME)
        self._queue = context.queue(NAME)
        self._expectations = Expectations(context.clock)
        self._control = PodControl(context.client, self._events, self._expectations)
        self._freshness = Freshness(context.clock)
        self._replicasets = context.informers.informer(gvr.REPLICA_SETS, indexers=indexes.BY_CONTROLLER)
        self._pods = context.informers.informer(gvr.PODS, indexers=indexes.PODS)
        self._replicasets.add_handler(
            on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new), on_delete=self._replicaset_deleted
        )
        self._pods.add_handler(on_add=self._pod_seen, on_update=self._pod_updated, on_delete=self._pod_gone)

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C3").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        replicaset = self._replicasets.store.get(key)
        if replicaset is None or self._freshness.is_behind(replicaset):
            return controller.Done()
        tracing.current.set(objects.annotations_of(replicaset).get(tracing.ANNOTATION, ""))
        observed = self._expectations.met(objects.uid_of(replicaset))
        active = await self._claim_pods(replicaset)
        plan, failure = planning.Plan(), None
        if observed and not objects.is_deleting(replicaset):
            plan = planning.plan_replicas(replicaset, active, self._related_pods(replicaset), self._clock.now())
            failure = await self._apply(replicaset, plan)
        await self._write_status(replicaset, active, failure)
        if failure is not None:
            raise failure
        wait = planning.next_available_seconds(replicaset, active, self._clock.now())
        return controller.Done() if wait is None else controller.RequeueAfter(wait)

    async def _claim_pods(self, replicaset: Object) -> list[Object]:
        selector = selectors.from_label_selector(replicaset["spec"].get("selector"))
        store = self._pods.store
        candidates = [
            *store.by_index(indexes.CONTROLLER, objects.uid_of(replicaset)),
            *store.by_index(indexes.CONTROLLER, indexes.orphans(objects.namespace_of(replicaset))),
        ]
        claims = ownership.claim(replicaset, selector, filter(pods.is_active, candidates))
        return await ownership.apply(self._client, replicaset, gvr.REPLICA_SETS, claims, gvr.PODS)

    def _related_pods(self, replicaset: Object) -> list[Object]:
        """The pods of all ReplicaSets of one Deployment: they are spread over nodes together."""
        owner = objects.controller_of(replicaset)
        siblings = [replicaset]
        if owner is not None:
            siblings = self._replicasets.store.by_index(indexes.CONTROLLER, str(owner.get("uid")))
        return [
            pod
            for sibling in siblings
            for pod in self._pods.store.by_index(indexes.CONTROLLER, objects.uid_of(sibling))
        ]

    async def _apply(self, replicaset: Object, plan: planning.Plan) -> BaseException | None:
        if plan == planning.Plan():
            return None
        log.info("%s: %s", objects.key_of(replicaset), plan, extra={"step": "C3"})
        self._expectations.open(objects.uid_of(replicaset))
        if plan.create:
            return await slowstart.run(
                plan.create,
                lambda _: self._control.create(
                    replicaset, podtemplate.pod_for(replicaset, replicaset["spec"]["template"])
                ),
            )
        return await slowstart.every(
            len(plan.delete), lambda number: self._control.delete(replicaset, plan.delete[number])
        )

    async def _write_status(self, replicaset: Object, active: list[Object], failure: BaseException | None) -> None:
        owned = self._pods.store.by_index(indexes.CONTROLLER, objects.uid_of(replicaset))
        terminating = sum(objects.is_deleting(pod) and not pods.is_terminal(pod) for pod in owned)
        text = None if failure is None else str(failure)
        status = planning.status_of(replicaset, active, terminating, text, self._clock.now())
        self._freshness.wrote(await writes.status(self._client, gvr.REPLICA_SETS, replicaset, status))

    def _enqueue(self, replicaset: Object) -> None:
        self._queue.add(objects.key_of(replicaset))

    def _replicaset_deleted(self, replicaset: Object) -> None:
        self._expectations.forget(objects.uid_of(replicaset))
        self._freshness.forget(objects.uid_of(replicaset))
        self._enqueue(replicaset)

    def _pod_seen(self, pod: Object) -> None:
        owner = objects.controller_of(pod)
        if owner is None:
            self._enqueue_adopters(pod)
            return
        observe = self._expectations.observe_gone if objects.is_deleting(pod) else self._expectations.observe_present
        observe(str(owner.get("uid")), objects.uid_of(pod))
        self._enqueue_owner(pod, owner)

    def _pod_updated(self, old: Object, new: Object) -> None:
        former = objects.controller_of(old)
        if former is not None and former != objects.controller_of(new):
            self._enqueue_owner(old, former)
        self._pod_seen(new)

    def _pod_gone(self, pod: Object) -> None:
        owner = objects.controller_of(pod)
        if owner is not None:
            self._expectations.observe_gone(str(owner.get("uid")), objects.uid_of(pod))
            self._enqueue_owner(pod, owner)

    def _enqueue_owner(self, pod: Object, owner: Object) -> None:
        if owner.get("kind") == "ReplicaSet":
            self._queue.add(Key(objects.namespace_of(pod), str(owner["name"])))

    def _enqueue_adopters(self, pod: Object) -> None:
        if objects.is_deleting(pod):
            return
        for replicaset in self._replicasets.store.list(objects.namespace_of(pod)):
            selector = selectors.from_label_selector(replicaset["spec"].get("selector"))
            if selector.matches(objects.labels_of(pod)):
                self._enqueue(replicaset)
