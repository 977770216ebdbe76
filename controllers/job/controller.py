"""The Job controller: watches Jobs and their pods, and carries out what the plan says (step C5).

Order of writes: status first (with the uids of pods that ended), then finalizers, then pods to make or delete; the
next reconcile counts what was released. Does not adopt: a Job's selector names its own uid. Not implemented:
backoffLimitPerIndex, successPolicy, managedBy other than this controller.
"""

from __future__ import annotations

import asyncio
import logging

from apimachinery import errors, gvr, objects
from apimachinery.objects import Key, Object
from client import controller, tracing
from client.controller import Done, RequeueAfter
from controllers import indexes, slowstart, writes
from controllers.context import Context
from controllers.expectations import Expectations
from controllers.freshness import Freshness
from controllers.job import members
from controllers.job import plan as planning
from controllers.podcontrol import PodControl

NAME = "job-controller"
MANAGED_BY = "kubernetes.io/job-controller"
log = logging.getLogger(__name__)


class JobController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._events = context.recorder(NAME)
        self._queue = context.queue(NAME)
        self._orphans = context.queue(f"{NAME}-orphans")
        self._expectations = Expectations(context.clock)
        self._control = PodControl(context.client, self._events, self._expectations)
        self._freshness = Freshness(context.clock)
        self._jobs = context.informers.informer(gvr.JOBS)
        self._pods = context.informers.informer(gvr.PODS, indexers=indexes.PODS)
        self._jobs.add_handler(
            on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new), on_delete=self._job_deleted
        )
        self._pods.add_handler(
            on_add=self._pod_seen, on_update=lambda old, new: self._pod_seen(new), on_delete=self._pod_gone
        )

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._context.loop(NAME, self._queue, self.reconcile, step="C5").run())
            orphans = self._context.loop(f"{NAME}-orphans", self._orphans, self.release_orphan, step="C5")
            group.create_task(orphans.run())

    async def reconcile(self, key: Key) -> controller.Outcome:
        job = self._jobs.store.get(key)
        if job is None or job["spec"].get("managedBy") not in (None, MANAGED_BY) or self._freshness.is_behind(job):
            return Done()
        tracing.current.set(objects.annotations_of(job).get(tracing.ANNOTATION, ""))
        uid = objects.uid_of(job)
        owned = self._pods.store.by_index(indexes.CONTROLLER, uid)
        if planning.is_finished(job):
            await self._release([pod for pod in owned if members.is_tracked(pod)])
            return Done()
        observed = self._expectations.met(uid)
        may_create = observed and not objects.is_deleting(job)
        plan = planning.plan_job(job, owned, self._clock.now(), may_create=may_create)
        self._freshness.wrote(await writes.status(self._client, gvr.JOBS, job, plan.status))
        if plan.event is not None:
            self._events.event(job, *plan.event)
        await self._release(plan.release)
        failure = await self._change_pods(job, plan, observed)
        if failure is not None:
            raise failure
        return Done() if plan.look_again_seconds is None else RequeueAfter(plan.look_again_seconds)

    async def _change_pods(self, job: Object, plan: planning.Plan, observed: bool) -> BaseException | None:
        if not observed or not (plan.create or plan.delete):
            return None
        log.info("%s: %s", objects.key_of(job), plan, extra={"step": "C5"})
        self._expectations.open(objects.uid_of(job))
        failure = await slowstart.every(len(plan.delete), lambda number: self._control.delete(job, plan.delete[number]))
        if failure is not None:
            return failure
        return await slowstart.run(
            len(plan.create), lambda number: self._control.create(job, members.new_pod(job, plan.create[number]))
        )

    # the finalizer

    async def release_orphan(self, key: Key) -> controller.Outcome:
        """Lets go of a pod whose Job is gone: nobody counts it any more. `key` names the pod."""
        pod = self._pods.store.get(key)
        if pod is not None and members.is_tracked(pod) and not await self._has_job(pod):
            await self._release([pod])
        return Done()

    async def _has_job(self, pod: Object) -> bool:
        owner = objects.controller_of(pod)
        if owner is None:
            return False
        if owner["kind"] != "Job":
            return True  # another controller's business
        key = Key(objects.namespace_of(pod), str(owner["name"]))
        job = self._jobs.store.get(key)
        if job is None:
            try:
                job = await self._client.get(gvr.JOBS, key.name, key.namespace)
            except errors.NotFound:
                return False
        return objects.uid_of(job) == str(owner["uid"])

    async def _release(self, pods: tuple[Object, ...] | list[Object]) -> None:
        failure = await slowstart.every(len(pods), lambda number: self._remove_finalizer(pods[number]))
        if failure is not None:
            raise failure

    async def _remove_finalizer(self, pod: Object) -> None:
        """A strategic patch of that one entry: others may add and remove theirs meanwhile."""
        metadata = {
            "uid": objects.uid_of(pod),
            "$deleteFromPrimitiveList/finalizers": [members.TRACKING_FINALIZER],
        }
        name, namespace = objects.name_of(pod), objects.namespace_of(pod)
        try:
            await self._client.patch(gvr.PODS, name, {"metadata": metadata}, namespace, patch_type="strategic")
        except errors.NotFound:
            return

    # handlers

    def _enqueue(self, job: Object) -> None:
        self._queue.add(objects.key_of(job))

    def _job_deleted(self, job: Object) -> None:
        uid = objects.uid_of(job)
        self._expectations.forget(uid)
        self._freshness.forget(uid)
        for pod in self._pods.store.by_index(indexes.CONTROLLER, uid):
            self._orphans.add(objects.key_of(pod))

    def _pod_seen(self, pod: Object) -> None:
        owner = objects.controller_of(pod)
        if members.is_tracked(pod) and (owner is None or self._jobs.store.get(_owner_key(pod, owner)) is None):
            self._orphans.add(objects.key_of(pod))
        if owner is None:
            return
        observe = self._expectations.observe_gone if objects.is_deleting(pod) else self._expectations.observe_present
        observe(str(owner.get("uid")), objects.uid_of(pod))
        if owner["kind"] == "Job":
            self._queue.add(_owner_key(pod, owner))

    def _pod_gone(self, pod: Object) -> None:
        owner = objects.controller_of(pod)
        if owner is not None and owner["kind"] == "Job":
            self._expectations.observe_gone(str(owner.get("uid")), objects.uid_of(pod))
            self._queue.add(_owner_key(pod, owner))


def _owner_key(pod: Object, owner: Object) -> Key:
    return Key(objects.namespace_of(pod), str(owner["name"]))
