"""L3: tell the API server how pods fare: asynchronously, the latest word only, one write at a time for a pod.

Guarantees: a status that equals the last one written is not written; a failed write is repeated until it succeeds, is
overtaken by a newer status, or the pod is gone; a write never reaches another pod of the same name (uid precondition).
What others own in the status is left alone: the patch names only what has changed. What others make of the kubelet's
own part is put right again: the node lifecycle controller calls pods of a silent node not ready, and only the kubelet,
heard of again, can say that they are.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
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
# A pod that goes must not stay for ever because of its last word; where the API server is away, nor can it be removed
SETTLE_SECONDS = 30.0
PARALLEL_WRITES = 16  # one node must not crowd out the others when it restarts
_REPLACED_LISTS = ("podIPs", "hostIPs")  # merged by key otherwise: an old address would stay
OWN_CONDITIONS = frozenset({"PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"})
# What the kubelet may have written and now leaves out
_OWN = ("reason", "message", "podIP", "podIPs", "hostIP", "hostIPs", "containerStatuses", "initContainerStatuses")


@dataclass(slots=True)
class _Told:
    """The last word about a pod, and what the API server made of it at `revision`."""

    status: dict[str, Any]
    revision: int
    shown: dict[str, Any]

    def base(self) -> dict[str, Any]:
        """What a patch starts from: the API server's copy, but others' conditions as told, for they are others'."""
        own = [entry for entry in self.shown.get("conditions") or [] if entry["type"] in OWN_CONDITIONS]
        others = [entry for entry in self.status.get("conditions") or [] if entry["type"] not in OWN_CONDITIONS]
        return {**self.shown, "conditions": [*own, *others]}

    def differs(self) -> bool:
        return bool(patch_of(self.base(), self.status))


class StatusWriter:
    """`run` owns the writes; until it runs they wait."""

    def __init__(self, client: Client, clock: Clock, metrics: Metrics) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._pending: dict[str, tuple[Object, dict[str, Any]]] = {}
        self._told: dict[str, _Told] = {}
        self._heard: dict[str, Object] = {}  # by uid, the newest copy that came in while a write was under way
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(PARALLEL_WRITES)

    def put(self, pod: Object, status: dict[str, Any]) -> None:
        """Write `status` soon, unless it is the one written last."""
        uid = objects.uid_of(pod)
        told = self._told.get(uid)
        if uid not in self._pending and told is not None and told.status == status:
            return
        self._pending[uid] = (pod, status)
        self._start(pod)

    def seen(self, pod: Object) -> None:
        """The API server has this copy now. Older ones, those of our own writes among them, are no news."""
        uid = objects.uid_of(pod)
        if uid in self._busy:
            self._heard[uid] = pod
            return
        told, revision = self._told.get(uid), _revision(pod)
        if told is None or revision <= told.revision:
            return
        told.revision, told.shown = revision, pod.get("status") or {}
        if told.differs():
            log.info("%s: others have changed the status", objects.key_of(pod), extra={"step": "L3"})
            self._pending[uid] = (pod, told.status)
            self._start(pod)

    def _start(self, pod: Object) -> None:
        uid = objects.uid_of(pod)
        if uid not in self._busy:
            task = self._busy[uid] = asyncio.create_task(self._drain(uid), name=f"status of {objects.key_of(pod)}")
            task.add_done_callback(lambda _: self._stopped(uid, task))

    def _stopped(self, uid: str, task: asyncio.Task[None]) -> None:
        self._busy.pop(uid, None)
        heard = self._heard.pop(uid, None)
        if heard is not None and not task.cancelled():
            self.seen(heard)

    async def settle(self, uid: str) -> None:
        """Until what was put for this pod is written, the pod is gone, or the API server has refused it long enough."""
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                while uid in self._busy:
                    await asyncio.wait([self._busy[uid]])
        except TimeoutError:
            log.warning("pod %s: its last status could not be written in %.0f s", uid, SETTLE_SECONDS)

    def forget(self, uid: str) -> None:
        self._pending.pop(uid, None)
        self._told.pop(uid, None)

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
        uid, told, answer = objects.uid_of(pod), self._told.get(objects.uid_of(pod)), pod
        patch = patch_of(told.base() if told else pod.get("status") or {}, status)
        if patch:
            body = {"metadata": {"uid": uid}, "status": patch}
            name, namespace = objects.name_of(pod), objects.namespace_of(pod)
            answer = await self._client.patch(PODS, name, body, namespace, patch_type="strategic", subresource="status")
            log.info("%s: %s", objects.key_of(pod), _summary(status), extra={"step": "L3"})
        elif told is not None:
            told.status = status
            return
        self._told[uid] = now = _Told(status, _revision(answer), answer.get("status") or {})
        if patch and now.differs() and now.revision > (told.revision if told else 0):
            self._pending.setdefault(uid, (pod, status))  # others wrote between our look and our write


def _revision(pod: Object) -> int:
    """Revisions of one resource can be compared, and only so can an old copy be told from a new one. 0 without one."""
    return int(objects.resource_version_of(pod) or 0)


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
