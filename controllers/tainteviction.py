"""Evicts pods from nodes with NoExecute taints, when their tolerations have run out (step C5).

A pod that tolerates a taint for so many seconds is deleted so long after the taint was added (or after the pod was
made, if that was later); one that does not tolerate it, at once; one that tolerates it without limit, never.
Level-based: the time is computed from the objects, so a restart of this process neither shortens nor prolongs it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from apimachinery import clock, errors, gvr, objects, pods
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done, RequeueAfter
from controllers import indexes
from controllers.context import Context

NAME = "taint-eviction-controller"
log = logging.getLogger(__name__)


class TaintEvictionController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._events = context.recorder(NAME)
        self._queue = context.queue(NAME)
        self._condemned: set[str] = set()  # uids of pods whose time runs, to tell when it is taken back
        self._nodes = context.informers.informer(gvr.NODES)
        self._pods = context.informers.informer(gvr.PODS, indexers=indexes.PODS)
        self._nodes.add_handler(on_add=self._enqueue_pods_of, on_update=self._node_updated)
        self._pods.add_handler(
            on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new), on_delete=self._pod_gone
        )

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C5").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        pod = self._pods.store.get(key)
        if pod is None or objects.is_deleting(pod):
            return Done()
        node = self._nodes.store.get(Key("", pod["spec"].get("nodeName") or ""))
        now = self._clock.now()
        due = None if node is None else eviction_time(pod, no_execute_taints(node), now)
        uid = objects.uid_of(pod)
        if due is None:
            if uid in self._condemned:
                self._condemned.discard(uid)
                self._events.event(pod, "Normal", "TaintManagerEviction", f"Cancelling deletion of Pod {key}")
            return Done()
        self._condemned.add(uid)
        if due > now:
            return RequeueAfter((due - now).total_seconds())
        await self._evict(pod)
        return Done()

    async def _evict(self, pod: Object) -> None:
        key, uid = objects.key_of(pod), objects.uid_of(pod)
        log.info("%s: evicted from %s", key, pod["spec"].get("nodeName"), extra={"step": "C5"})
        self._events.event(pod, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {key}")
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": clock.rfc3339(self._clock.now()),
        }
        body = {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}
        try:
            await self._client.patch(
                gvr.PODS, key.name, body, key.namespace, patch_type="strategic", subresource="status"
            )
            await self._client.delete(gvr.PODS, key.name, key.namespace, uid=uid)
        except (errors.NotFound, errors.Conflict):
            return  # gone, or another pod of that name

    def _enqueue(self, pod: Object) -> None:
        node = self._nodes.store.get(Key("", pod["spec"].get("nodeName") or ""))
        condemned = objects.uid_of(pod) in self._condemned
        if condemned or (node is not None and no_execute_taints(node)):
            self._queue.add(objects.key_of(pod))

    def _enqueue_pods_of(self, node: Object) -> None:
        for pod in self._pods.store.by_index(indexes.NODE, objects.name_of(node)):
            self._enqueue(pod)

    def _node_updated(self, old: Object, new: Object) -> None:
        if no_execute_taints(old) != no_execute_taints(new):
            self._enqueue_pods_of(new)

    def _pod_gone(self, pod: Object) -> None:
        self._condemned.discard(objects.uid_of(pod))


def no_execute_taints(node: Object) -> list[Object]:
    return [taint for taint in (node.get("spec") or {}).get("taints") or [] if taint.get("effect") == "NoExecute"]


def eviction_time(pod: Object, taints: Iterable[Object], now: datetime) -> datetime | None:
    """When the pod has to go because of these NoExecute taints; None: never."""
    times = [time for taint in taints if (time := _time_for(pod, taint, now)) is not None]
    return min(times, default=None)


def _time_for(pod: Object, taint: Object, now: datetime) -> datetime | None:
    matching = [t for t in pod["spec"].get("tolerations") or [] if pods.tolerates(t, taint)]
    if not matching:
        return now
    limits = [max(0, int(t["tolerationSeconds"])) for t in matching if t.get("tolerationSeconds") is not None]
    if not limits:
        return None
    start = _moment(taint.get("timeAdded")) or now
    made = _moment(pod["metadata"].get("creationTimestamp")) or start
    return max(start, made) + timedelta(seconds=min(limits))


def _moment(text: str | None) -> datetime | None:
    return clock.parse_rfc3339(text) if text else None
