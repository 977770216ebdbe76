"""Deletes Jobs that finished more than `ttlSecondsAfterFinished` ago, with their pods (step C5)."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from apimachinery import clock, errors, gvr, objects
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done, RequeueAfter
from controllers.context import Context

NAME = "ttl-after-finished-controller"
log = logging.getLogger(__name__)


class TTLAfterFinishedController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._queue = context.queue(NAME)
        self._jobs = context.informers.informer(gvr.JOBS)
        self._jobs.add_handler(on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new))

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C5").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        cached = self._jobs.store.get(key)
        if cached is None or expires_at(cached) is None:
            return Done()
        try:
            # read again: the time to live may have been raised since, and a deletion cannot be taken back
            job = await self._client.get(gvr.JOBS, key.name, key.namespace)
        except errors.NotFound:
            return Done()
        due, now = expires_at(job), self._clock.now()
        if due is None or objects.is_deleting(job):
            return Done()
        if due > now:
            return RequeueAfter((due - now).total_seconds())
        log.info("%s: finished and expired", key, extra={"step": "C5"})
        await self._delete(job)
        return Done()

    async def _delete(self, job: Object) -> None:
        try:
            await self._client.delete(
                gvr.JOBS,
                objects.name_of(job),
                objects.namespace_of(job),
                propagation_policy="Foreground",
                uid=objects.uid_of(job),
                resource_version=objects.resource_version_of(job),
            )
        except errors.NotFound:
            return

    def _enqueue(self, job: Object) -> None:
        if expires_at(job) is not None:
            self._queue.add(objects.key_of(job))


def expires_at(job: Object) -> datetime | None:
    """When the Job may go; None while it runs, and for one without a time to live."""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None:
        return None
    for kind in ("Complete", "Failed"):
        found = objects.condition(job, kind)
        if found is not None and found.get("status") == "True":
            return clock.parse_rfc3339(found["lastTransitionTime"]) + timedelta(seconds=int(ttl))
    return None
