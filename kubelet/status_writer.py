"""L3: tell the API server how pods fare: asynchronously, the latest word only, one write at a time for a pod.

Guarantees: a status that equals the last one written is not written; a failed write is repeated until it succeeds, is
overtaken by a newer status, or the pod is gone; a write never reaches another pod of the same name (uid precondition).
What others own in the status is left alone: the patch names only what has changed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from apimachinery import errors as api_errors
from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.gvr import PODS
from apimachinery.objects import Object
from client.rest import Client, ConnectionFailed
from kubelet.metrics import Metrics

log = logging.getLogger(__name__)
RETRY_SECONDS = 1.0
PARALLEL_WRITES = 16  # one node must not crowd out the others when it restarts
_REPLACED_LISTS = ("podIPs", "hostIPs")  # merged by key otherwise: an old address would stay
# What the kubelet may have written and now leaves out
_OWN = ("reason", "message", "podIP", "podIPs", "hostIP", "hostIPs", "containerStatuses", "initContainerStatuses")


class StatusWriter:
    """`run` owns the writes; until it runs they wait."""

    def __init__(self, client: Client, clock: Clock, metrics: Metrics) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._pending: dict[str, tuple[Object, dict[str, Any]]] = {}
        self._sent: dict[str, dict[str, Any]] = {}
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(PARALLEL_WRITES)

    def put(self, pod: Object, status: dict[str, Any]) -> None:
        """Write `status` soon, unless it is what the API server has."""
        uid = objects.uid_of(pod)
        if uid not in self._pending and self._sent.get(uid) == status:
            return
        self._pending[uid] = (pod, status)
        if uid not in self._busy:
            task = self._busy[uid] = asyncio.create_task(self._drain(uid), name=f"status of {objects.key_of(pod)}")
            task.add_done_callback(lambda _: self._busy.pop(uid, None))

    async def settle(self, uid: str) -> None:
        """Until what was put for this pod is written, or the pod is gone."""
        while uid in self._busy:
            await asyncio.wait([self._busy[uid]])

    def forget(self, uid: str) -> None:
        self._pending.pop(uid, None)
        self._sent.pop(uid, None)

    async def close(self) -> None:
        tasks = list(self._busy.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain(self, uid: str) -> None:
        while uid in self._pending:
            pod, status = self._pending.pop(uid)
            begun = self._clock.monotonic()
            try:
                async with self._slots:
                    await self._write(pod, status)
            except api_errors.NotFound:
                return  # the pod is gone; its worker hears of it from the watch
            except (ConnectionFailed, api_errors.APIError) as error:
                log.warning("%s: status not written: %s", objects.key_of(pod), error, extra={"step": "L3"})
                self._pending.setdefault(uid, (pod, status))
                await self._clock.sleep(RETRY_SECONDS)
            else:
                self._metrics.status_update.observe(self._clock.monotonic() - begun)

    async def _write(self, pod: Object, status: dict[str, Any]) -> None:
        uid = objects.uid_of(pod)
        patch = patch_of(self._sent.get(uid) or pod.get("status") or {}, status)
        if patch:
            body = {"metadata": {"uid": uid}, "status": patch}
            name, namespace = objects.name_of(pod), objects.namespace_of(pod)
            await self._client.patch(PODS, name, body, namespace, patch_type="strategic", subresource="status")
            log.info("%s: %s", objects.key_of(pod), _summary(status), extra={"step": "L3"})
        self._sent[uid] = status


def patch_of(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A strategic merge patch from one status to the other; {} when nothing of ours differs."""
    patch: dict[str, Any] = {}
    for key, value in new.items():
        if old.get(key) == value:
            continue
        if key == "conditions":
            known = {entry["type"]: entry for entry in old.get("conditions") or []}
            changed = [entry for entry in value if known.get(entry["type"]) != entry]
            if changed:
                patch[key] = [_with_nulls(known.get(entry["type"]) or {}, entry) for entry in changed]
        else:
            patch[key] = [*value, {"$patch": "replace"}] if key in _REPLACED_LISTS else value
    patch |= {key: None for key in _OWN if key in old and key not in new}
    return patch


def _with_nulls(old: Object, new: Object) -> Object:
    """A condition is merged field by field: what it no longer has must be said."""
    return {key: None for key in ("reason", "message") if key in old and key not in new} | new


def _summary(status: dict[str, Any]) -> str:
    states = []
    for entry in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        kind, detail = next(iter(entry["state"].items()))
        said = detail.get("reason") or kind
        states.append(f"{entry['name']}={said}{' ready' if entry['ready'] else ''}")
    return f"{status.get('phase')} {status.get('podIP', '-')} {', '.join(states)}"
