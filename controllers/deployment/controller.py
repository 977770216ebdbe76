"""The Deployment controller: watches Deployments, ReplicaSets and pods, and carries out the planned step (step C2)."""

from __future__ import annotations

import logging

from apimachinery import errors, gvr, objects, pods, selectors
from apimachinery.objects import Key, Object
from client import controller, tracing
from controllers import indexes, ownership, podtemplate, writes
from controllers.context import Context
from controllers.deployment import plan as planning
from controllers.deployment import revisions, sizes, status
from controllers.freshness import Freshness

NAME = "deployment-controller"
log = logging.getLogger(__name__)


class DeploymentController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._events = context.recorder(NAME)
        self._queue = context.queue(NAME)
        self._freshness = Freshness(context.clock)
        self._deployments = context.informers.informer(gvr.DEPLOYMENTS)
        self._replicasets = context.informers.informer(gvr.REPLICA_SETS, indexers=indexes.BY_CONTROLLER)
        self._pods = context.informers.informer(gvr.PODS, indexers=indexes.PODS)
        self._deployments.add_handler(
            on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new), on_delete=self._forget
        )
        self._replicasets.add_handler(
            on_add=self._replicaset_changed,
            on_update=self._replicaset_updated,
            on_delete=self._replicaset_deleted,
        )
        self._pods.add_handler(on_delete=self._pod_deleted)

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C2").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        deployment = self._deployments.store.get(key)
        if deployment is None or self._freshness.is_behind(deployment):
            return controller.Done()
        tracing.current.set(objects.annotations_of(deployment).get(tracing.ANNOTATION, ""))
        selector = selectors.from_label_selector(deployment["spec"].get("selector"))
        if not selector:
            return await self._refuse_empty_selector(deployment)
        replicasets = await self._claim_replicasets(deployment, selector)
        if any(self._freshness.is_behind(replicaset) for replicaset in replicasets):
            return controller.Done()
        plan = planning.plan_rollout(
            deployment,
            replicasets,
            old_pods_run=self._old_pods_run(deployment, replicasets),
            now=self._clock.now(),
        )
        return await self._apply(deployment, plan)

    async def _refuse_empty_selector(self, deployment: Object) -> controller.Outcome:
        message = "This deployment is selecting all pods. A non-empty selector is required."
        self._events.event(deployment, "Warning", "SelectingAll", message)
        generation = deployment["metadata"].get("generation")
        seen = {**(deployment.get("status") or {}), "observedGeneration": generation}
        await writes.status(self._client, gvr.DEPLOYMENTS, deployment, seen)
        return controller.Done()

    async def _claim_replicasets(self, deployment: Object, selector: selectors.Selector) -> list[Object]:
        store = self._replicasets.store
        candidates = [
            *store.by_index(indexes.CONTROLLER, objects.uid_of(deployment)),
            *store.by_index(indexes.CONTROLLER, indexes.orphans(objects.namespace_of(deployment))),
        ]
        claims = ownership.claim(deployment, selector, candidates)
        return await ownership.apply(self._client, deployment, gvr.DEPLOYMENTS, claims, gvr.REPLICA_SETS)

    def _old_pods_run(self, deployment: Object, replicasets: list[Object]) -> bool:
        new = revisions.find_new(deployment, replicasets)
        old = [rs for rs in replicasets if rs is not new]
        owned = (pod for rs in old for pod in self._pods.store.by_index(indexes.CONTROLLER, objects.uid_of(rs)))
        return any(not pods.is_terminal(pod) for pod in owned)

    async def _apply(self, deployment: Object, plan: planning.Plan) -> controller.Outcome:
        if plan.create is not None or plan.scaled or plan.deletes:
            log.info("%s: %s", objects.key_of(deployment), plan, extra={"step": "C2"})
        if plan.create is not None and not await self._create(deployment, plan.create):
            return controller.Done()
        for replicaset in plan.updates:
            self._freshness.wrote(await self._client.update(gvr.REPLICA_SETS, replicaset))
        for scaled in plan.scaled:
            self._events.event(deployment, "Normal", "ScalingReplicaSet", str(scaled))
        for replicaset in plan.deletes:
            await self._delete(replicaset)
        if plan.revision is not None:
            deployment = await self._set_revision(deployment, plan.revision)
        self._freshness.wrote(await writes.status(self._client, gvr.DEPLOYMENTS, deployment, plan.status))
        wait = plan.recheck_after_seconds
        return controller.Done() if wait is None else controller.RequeueAfter(wait)

    async def _create(self, deployment: Object, replicaset: Object) -> bool:
        """Whether the ReplicaSet was made. If not, an event will bring the Deployment back here."""
        try:
            await self._client.create(gvr.REPLICA_SETS, replicaset, objects.namespace_of(deployment))
        except errors.AlreadyExists:
            await self._settle_name(deployment, replicaset)
            return False
        except errors.APIError as error:
            if writes.namespace_is_terminating(error):
                return False
            await self._report_failed_creation(deployment, replicaset, error)
            raise
        return True

    async def _settle_name(self, deployment: Object, replicaset: Object) -> None:
        """Our own ReplicaSet that the cache does not show yet, or a stranger: then another hash is needed."""
        name, namespace = objects.name_of(replicaset), objects.namespace_of(deployment)
        present = await self._client.get(gvr.REPLICA_SETS, name, namespace)
        owner = objects.controller_of(present) or {}
        ours = owner.get("uid") == objects.uid_of(deployment)
        if ours and podtemplate.same_template(present["spec"]["template"], replicaset["spec"]["template"]):
            return
        collisions = int((deployment.get("status") or {}).get("collisionCount") or 0) + 1
        log.info(
            "%s: the name %s is taken, collision %d", objects.key_of(deployment), name, collisions, extra={"step": "C2"}
        )
        new_status = {**(deployment.get("status") or {}), "collisionCount": collisions}
        await writes.status(self._client, gvr.DEPLOYMENTS, deployment, new_status)

    async def _report_failed_creation(self, deployment: Object, replicaset: Object, error: errors.APIError) -> None:
        message = f'Failed to create new replica set "{objects.name_of(replicaset)}": {error}'
        self._events.event(deployment, "Warning", "ReplicaSetCreateError", message)
        if status.deadline_seconds(deployment) is None:
            return
        entry = status.condition("Progressing", "False", "ReplicaSetCreateError", message, self._clock.now())
        old = deployment.get("status") or {}
        new_status = {**old, "conditions": status.with_condition(old.get("conditions") or [], entry)}
        await writes.status(self._client, gvr.DEPLOYMENTS, deployment, new_status)

    async def _delete(self, replicaset: Object) -> None:
        name, namespace = objects.name_of(replicaset), objects.namespace_of(replicaset)
        try:
            await self._client.delete(gvr.REPLICA_SETS, name, namespace, uid=objects.uid_of(replicaset))
        except errors.NotFound:
            return

    async def _set_revision(self, deployment: Object, revision: int) -> Object:
        metadata = {
            "uid": objects.uid_of(deployment),
            "resourceVersion": objects.resource_version_of(deployment),
            "annotations": {revisions.REVISION: str(revision)},
        }
        name, namespace = objects.name_of(deployment), objects.namespace_of(deployment)
        return await self._client.patch(gvr.DEPLOYMENTS, name, {"metadata": metadata}, namespace)

    def _forget(self, deployment: Object) -> None:
        self._freshness.forget(objects.uid_of(deployment))

    def _replicaset_deleted(self, replicaset: Object) -> None:
        self._freshness.forget(objects.uid_of(replicaset))
        self._replicaset_changed(replicaset)

    def _enqueue(self, deployment: Object) -> None:
        self._queue.add(objects.key_of(deployment))

    def _replicaset_changed(self, replicaset: Object) -> None:
        owner = objects.controller_of(replicaset)
        if owner is not None:
            self._enqueue_owner(replicaset, owner)
            return
        for deployment in self._deployments.store.list(objects.namespace_of(replicaset)):
            selector = selectors.from_label_selector(deployment["spec"].get("selector"))
            if selector and selector.matches(objects.labels_of(replicaset)):
                self._enqueue(deployment)

    def _replicaset_updated(self, old: Object, new: Object) -> None:
        former = objects.controller_of(old)
        if former is not None and former != objects.controller_of(new):
            self._enqueue_owner(old, former)
        self._replicaset_changed(new)

    def _enqueue_owner(self, replicaset: Object, owner: Object) -> None:
        if owner.get("kind") == "Deployment":
            self._queue.add(Key(objects.namespace_of(replicaset), str(owner["name"])))

    def _pod_deleted(self, pod: Object) -> None:
        """With Recreate, the last old pod's end is what the new ReplicaSet waits for."""
        owner = objects.controller_of(pod)
        if owner is None or owner.get("kind") != "ReplicaSet":
            return
        replicaset = self._replicasets.store.get(Key(objects.namespace_of(pod), str(owner["name"])))
        deployment_reference = objects.controller_of(replicaset) if replicaset is not None else None
        if deployment_reference is None:
            return
        key = Key(objects.namespace_of(pod), str(deployment_reference["name"]))
        deployment = self._deployments.store.get(key)
        if deployment is not None and not sizes.is_rolling(deployment):
            self._queue.add(key)
