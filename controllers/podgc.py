"""Deletes pods that nobody else will: of nodes that are gone, never scheduled and deleted, finished in excess (C5).

A look every 20 s, not a queue: what matters here is what does *not* happen any more. Guarantees: a node counts as gone
only after it was missing from the cache for `QUARANTINE_SECONDS`, and the apiserver says so too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from apimachinery import clock, errors, gvr, objects, pods
from apimachinery.objects import Key, Object
from client import rest
from controllers.context import Context

NAME = "pod-garbage-collector-controller"
PERIOD_SECONDS = 20.0
QUARANTINE_SECONDS = 40.0  # upstream's: a node may be registering again
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
log = logging.getLogger(__name__)


class PodGarbageCollector:
    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._threshold = context.options.terminated_pod_gc_threshold
        self._nodes = context.informers.informer(gvr.NODES)
        self._pods = context.informers.informer(gvr.PODS)
        self._missing_since: dict[str, float] = {}

    async def run(self) -> None:
        while True:
            await self._clock.sleep(PERIOD_SECONDS)
            try:
                await self.look()
            except (errors.APIError, rest.ConnectionFailed) as error:
                log.warning("pod garbage collection: %s", error, extra={"step": "C5"})

    async def look(self) -> None:
        """One pass."""
        every = self._pods.store.list()
        for pod in excess_terminated(every, self._threshold):
            await self._delete(pod, "PodGC: too many finished pods are kept")
        for pod in terminating_unscheduled(every):
            await self._delete(pod, "PodGC: the pod was never scheduled")
        for pod in terminating_out_of_service(every, self._nodes.store.list()):
            await self._fail_and_delete(pod, "PodGC: node is out-of-service")
        for name in await self._gone_nodes(every):
            for pod in every:
                if pod["spec"].get("nodeName") == name:
                    await self._fail_and_delete(pod, "PodGC: node no longer exists")

    async def _gone_nodes(self, every: Iterable[Object]) -> list[str]:
        """Nodes that pods name and that do not exist, verified."""
        now = self._clock.monotonic()
        named = {pod["spec"]["nodeName"] for pod in every if pod["spec"].get("nodeName")}
        missing = {name for name in named if self._nodes.store.get(Key("", name)) is None}
        self._missing_since = {name: self._missing_since.get(name, now) for name in missing}
        due = [name for name in missing if now - self._missing_since[name] >= QUARANTINE_SECONDS]
        return [name for name in sorted(due) if await self._is_gone(name)]

    async def _is_gone(self, name: str) -> bool:
        try:
            await self._client.get(gvr.NODES, name)
        except errors.NotFound:
            return True
        return False

    async def _fail_and_delete(self, pod: Object, message: str) -> None:
        """Says why, then deletes: owners that count failures (Jobs) must see one."""
        if not pods.is_terminal(pod):
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByPodGC",
                "message": message,
                "lastTransitionTime": clock.rfc3339(self._clock.now()),
            }
            body = {"metadata": {"uid": objects.uid_of(pod)}, "status": {"phase": "Failed", "conditions": [condition]}}
            try:
                await self._client.patch(
                    gvr.PODS,
                    objects.name_of(pod),
                    body,
                    objects.namespace_of(pod),
                    patch_type="strategic",
                    subresource="status",
                )
            except errors.NotFound:
                return
        await self._delete(pod, message)

    async def _delete(self, pod: Object, why: str) -> None:
        log.info("%s is deleted: %s", objects.key_of(pod), why, extra={"step": "C5"})
        name, namespace = objects.name_of(pod), objects.namespace_of(pod)
        try:
            await self._client.delete(gvr.PODS, name, namespace, grace_period_seconds=0, uid=objects.uid_of(pod))
        except (errors.NotFound, errors.Conflict):
            return


def excess_terminated(every: Iterable[Object], threshold: int) -> list[Object]:
    """The finished pods beyond `threshold`: evicted ones first, then the oldest. None when it is not positive."""
    finished = [pod for pod in every if pods.is_terminal(pod)]
    if threshold <= 0 or len(finished) <= threshold:
        return []
    return sorted(finished, key=_age_order)[: len(finished) - threshold]


def terminating_unscheduled(every: Iterable[Object]) -> list[Object]:
    """Pods being deleted that no kubelet has, so that none will confirm their end."""
    return [pod for pod in every if objects.is_deleting(pod) and not pod["spec"].get("nodeName")]


def terminating_out_of_service(every: Iterable[Object], nodes: Iterable[Object]) -> list[Object]:
    """Pods being deleted on nodes that a person declared dead by the out-of-service taint."""
    dead = {objects.name_of(node) for node in nodes if _is_out_of_service(node)}
    return [pod for pod in every if objects.is_deleting(pod) and pod["spec"].get("nodeName") in dead]


def _is_out_of_service(node: Object) -> bool:
    taints = (node.get("spec") or {}).get("taints") or []
    return not objects.is_condition_true(node, "Ready") and any(taint["key"] == OUT_OF_SERVICE for taint in taints)


def _age_order(pod: Object) -> tuple[bool, str, str]:
    evicted = (pod.get("status") or {}).get("reason") == "Evicted"
    return (not evicted, pod["metadata"].get("creationTimestamp") or "", objects.name_of(pod))
