"""What the scheduler writes (S4): the binding, the `PodScheduled` condition, and events. Nothing here decides."""

from __future__ import annotations

import logging

from apimachinery import clock as clocks
from apimachinery import errors, gvr, objects
from apimachinery.clock import Clock
from apimachinery.objects import Object
from client.events import EventRecorder
from client.rest import Client, ConnectionFailed
from scheduler.podinfo import PodInfo

log = logging.getLogger(__name__)

# Whatever a write can fail with, short of a mistake of ours.
WriteError = (errors.APIError, ConnectionFailed)


class Writer:
    def __init__(self, client: Client, recorder: EventRecorder, clock: Clock) -> None:
        self._client = client
        self._recorder = recorder
        self._clock = clock

    async def bind(self, pod: PodInfo, node: str) -> None:
        """Gives the pod its node. Raises one of WriteError: then the pod has none (or another scheduler's)."""
        namespace, name = pod.key
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._client.create(gvr.PODS, binding, namespace, name=name, subresource="binding")
        message = f"Successfully assigned {pod.key} to {node}"
        self._recorder.event(_named(pod.obj), "Normal", "Scheduled", message)

    async def report_failure(self, pod: PodInfo, reason: str, message: str, *, nominated: str = "") -> None:
        """Says on the pod, and in an event, why it has no node, and on which one room is made for it.

        A failure to say so is logged: it is only a report.
        """
        self._recorder.event(_named(pod.obj), "Warning", "FailedScheduling", message)
        patch = failure_patch(pod.obj, reason, message, clocks.rfc3339(self._clock.now()), nominated)
        if patch is not None:
            await self._patch_status(pod, patch)

    async def evict(self, victim: PodInfo, by: PodInfo, node: str) -> None:
        """Says on the victim why it goes, then deletes it with its own grace period. Gone already is fine."""
        stamp = clocks.rfc3339(self._clock.now())
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{by.scheduler_name}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": stamp,
        }
        await self._patch_status(victim, {"status": {"conditions": [condition]}})
        namespace, name = victim.key
        try:
            await self._client.delete(gvr.PODS, name, namespace, uid=victim.uid)
        except errors.NotFound:
            return
        except WriteError as error:
            log.warning("%s: could not be preempted: %s", victim.key, error, extra={"step": "S5"})
            return
        log.info("%s: preempted by %s on %s", victim.key, by.key, node, extra={"step": "S5"})
        self._recorder.event(_named(victim.obj), "Normal", "Preempted", f"Preempted by pod {by.uid} on node {node}")

    async def _patch_status(self, pod: PodInfo, patch: Object) -> None:
        namespace, name = pod.key
        try:
            await self._client.patch(gvr.PODS, name, patch, namespace, patch_type="strategic", subresource="status")
        except errors.NotFound:
            return  # deleted meanwhile
        except WriteError as error:
            log.warning("%s: its condition could not be written: %s", pod.key, error, extra={"step": "S4"})


def failure_patch(pod: Object, reason: str, message: str, now: str, nominated: str = "") -> Object | None:
    """The patch that sets `PodScheduled=False`, and the nominated node; None when the pod says the same already."""
    old = objects.condition(pod, "PodScheduled") or {}
    new = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    nominates = bool(nominated) and nominated != (pod.get("status") or {}).get("nominatedNodeName")
    if not nominates and all(old.get(key) == value for key, value in new.items()):
        return None
    since = old.get("lastTransitionTime") if old.get("status") == "False" else None
    status: Object = {"conditions": [new | {"lastTransitionTime": since or now, "lastProbeTime": None}]}
    if nominates:
        status["nominatedNodeName"] = nominated
    return {"status": status}


def _named(pod: Object) -> Object:
    """Objects out of lists lack their kind; events need it."""
    return {"apiVersion": "v1", "kind": "Pod", **pod}
