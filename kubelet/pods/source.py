"""L1: which pods belong on this node, and the worker of each.

Pods come from one watch on `spec.nodeName=ME` and, where a folder is given, from manifests in it (`pods/static.py`).
A worker is started when a pod appears and ended when it is gone from the API and from the node. Pods that only the
runtime knows (deleted while the kubelet was away) get a worker that ends them, once the API has been heard.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.gvr import PODS
from apimachinery.objects import Object
from client.informer import Informer
from client.rest import Client
from kubelet.cleanup import Cleanup
from kubelet.pods import identity
from kubelet.pods.static import StaticPods
from kubelet.pods.worker import Parts, PodWorker
from kubelet.relist import Relist

log = logging.getLogger(__name__)
SWEEP_SECONDS = 20.0  # upstream's resync: orphans in the runtime and on disk
UNKNOWN_GRACE_SECONDS = 30


class PodSource:
    def __init__(self, client: Client, node_name: str, clock: Clock, manifests: Path | None) -> None:
        self._clock = clock
        self._static = (
            StaticPods(manifests, node_name, client, clock, self.mirror_of, self._on_pod, self._on_gone)
            if manifests is not None
            else None
        )
        self.informer = Informer(client, PODS, field_selector=f"spec.nodeName={node_name}", clock=clock)
        self.workers: dict[str, PodWorker] = {}
        self._parts: Parts | None = None
        self._group: asyncio.TaskGroup | None = None

    def connect(self, parts: Parts) -> None:
        """Given after everything else is built: workers need what needs `wake`."""
        self._parts = parts

    def wake(self, uid: str) -> None:
        """Something about the pod has changed on the node."""
        worker = self.workers.get(uid)
        if worker is not None:
            worker.poke()

    def pods(self) -> list[Object]:
        """Every pod this node is responsible for, as last heard."""
        return [worker.pod for worker in self.workers.values()]

    def active_pods(self) -> list[Object]:
        """Those that hold resources."""
        return [worker.pod for worker in self.workers.values() if worker.holds_resources]

    def find(self, namespace: str, name: str) -> Object | None:
        found = self.informer.store.get(objects.Key(namespace, name))
        worker = self.workers.get(identity.runtime_uid(found)) if found is not None else None
        return worker.pod if worker is not None else found

    def mirror_of(self, uid: str) -> Object | None:
        """The mirror pod of a static pod, as the API has it."""
        return next((pod for pod in self._mirrors() if identity.runtime_uid(pod) == uid), None)

    def _mirrors(self) -> list[Object]:
        return [pod for pod in self.informer.store.list() if identity.is_mirror(pod)]

    async def run(self, relist: Relist, cleanup: Cleanup) -> None:
        """Until cancelled; workers are cancelled too, what they run goes on running."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            self.informer.add_handler(self._on_pod, lambda _, new: self._on_pod(new), self._on_gone)
            group.create_task(self.informer.run(), name="pods")
            if self._static is not None:
                await self._static.look()  # before orphans are sought: the runtime may hold pods of manifests
                group.create_task(self._static.run(self._mirrors), name="static pods")
            await self.informer.wait_synced()
            log.info("%d pods are bound to this node", len(self.informer.store), extra={"step": "L1"})
            while True:
                if not relist.problem:
                    self._end_orphans(relist)
                    await cleanup.orphans(self.workers.keys() | relist.last.pods.keys())
                await self._clock.sleep(SWEEP_SECONDS)

    def _on_pod(self, pod: Object) -> None:
        uid = objects.uid_of(pod)
        self._needed().writer.seen(pod)
        if identity.is_mirror(pod):
            self.wake(identity.runtime_uid(pod))  # it only shows a static pod, which has the worker
            return
        worker = self.workers.get(uid)
        if worker is not None:
            worker.update(pod)
        else:
            self._start(PodWorker(pod, self._needed()))

    def _on_gone(self, pod: Object) -> None:
        worker = self.workers.get(objects.uid_of(pod))
        if worker is not None:
            worker.vanish()

    def _start(self, worker: PodWorker) -> None:
        assert self._group is not None, "pods are told only while the source runs"
        self.workers[worker.uid] = worker
        task = self._group.create_task(worker.run(), name=f"pod {objects.key_of(worker.pod)}")
        task.add_done_callback(lambda _: self.workers.pop(worker.uid, None))

    def _end_orphans(self, relist: Relist) -> None:
        for uid in relist.last.pods.keys() - self.workers.keys():
            pod = identity.pod_from_labels(relist.last.labels[uid], UNKNOWN_GRACE_SECONDS)
            log.info("%s: not in the API: ending it", objects.key_of(pod), extra={"step": "L1"})
            worker = PodWorker(pod, self._needed())
            worker.vanish()
            self._start(worker)

    def _needed(self) -> Parts:
        assert self._parts is not None, "connect comes before run"
        return self._parts
