"""Register the Node, keep its status true, renew its lease.

The lease (kube-node-lease/NAME, every 10 s, valid 40 s) is the sign of life; the status is written when something in
it has changed, and every 5 minutes. A change of readiness is written at once (`poke`).
Guarantees: registers again when the Node was deleted; an API server that is away is waited for; none of this ever
stops the kubelet.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from apimachinery import clock as clocks
from apimachinery import errors as api_errors
from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.gvr import LEASES, NODES
from apimachinery.objects import Object
from client.rest import Client, ConnectionFailed
from kubelet.node import events, status
from kubelet.node.events import NodeEvent

log = logging.getLogger(__name__)
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
PERIOD_SECONDS = 10.0
REPORT_SECONDS = 300.0
RETRY_SECONDS = 1.0


class Heartbeat:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        facts: Callable[[], status.Facts],
        health: Callable[[], Awaitable[status.Health]],
        images: Callable[[], Awaitable[Sequence[Any]]],
        tell: Callable[[NodeEvent], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._facts = facts
        self._health = health
        self._images = images
        self._tell = tell
        self._cordoned = False  # as seen last; a node that starts cordoned says so
        self._news = asyncio.Event()
        self._reported = float("-inf")
        self.node: Object | None = None  # as the API has it
        self.registered = asyncio.Event()

    def poke(self) -> None:
        """The node's health has changed: tell now."""
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep(self._tell_status), name="node status")
            group.create_task(self._keep(self._renew_lease, on_news=False), name="node lease")

    async def _keep(self, act: Callable[[], Awaitable[None]], *, on_news: bool = True) -> None:
        """`act` every ten seconds, and when there is news; a failure is tried again soon."""
        failures = 0
        while True:
            if on_news:
                self._news.clear()
            try:
                await act()
                failures, pause = 0, PERIOD_SECONDS
            except (api_errors.APIError, ConnectionFailed) as error:
                pause = min(RETRY_SECONDS * 2**failures, PERIOD_SECONDS)
                failures = min(failures + 1, 10)
                log.warning("node %s: %s; again in %.0f s", self._facts().name, error, pause)
            if not on_news:
                await self._clock.sleep(pause)
                continue
            try:
                async with asyncio.timeout(pause):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _tell_status(self) -> None:
        facts, now = self._facts(), self._clock.now()
        node = await self._registered_node(facts)
        self._say(events.of_cordon(facts.name, self._cordoned, node))
        self._cordoned = events.is_cordoned(node)
        fresh = status.node_status(facts, await self._health(), await self._images(), node, now)
        due = self._clock.monotonic() - self._reported >= REPORT_SECONDS
        if due or not status.is_same(node.get("status") or {}, fresh):
            # No resourceVersion: the node is the only owner of these fields, and a lost update would be told again
            body = {"metadata": {"uid": objects.uid_of(node)}, "status": fresh}
            self.node = await self._client.patch(NODES, facts.name, body, patch_type="strategic", subresource="status")
            self._reported = self._clock.monotonic()
            self._say(events.of_status(facts.name, node.get("status") or {}, fresh))
            ready = next(c for c in fresh["conditions"] if c["type"] == "Ready")
            log.info("node %s: Ready=%s %s", facts.name, ready["status"], ready["message"])
        self.registered.set()

    def _say(self, found: list[NodeEvent]) -> None:
        for event in found:
            self._tell(event)

    async def _registered_node(self, facts: status.Facts) -> Object:
        """The Node in the API, made if it is not there."""
        try:
            node = await self._client.get(NODES, facts.name)
        except api_errors.NotFound:
            log.info("node %s: registering", facts.name)
            try:
                node = await self._client.create(NODES, status.registration(facts))
            except api_errors.AlreadyExists:
                node = await self._client.get(NODES, facts.name)
        missing = {
            k: v
            for k, v in status.registration(facts)["metadata"]["labels"].items()
            if objects.labels_of(node).get(k) != v
        }
        if missing:
            node = await self._client.patch(NODES, facts.name, {"metadata": {"labels": missing}})
        self.node = node
        return node

    async def _renew_lease(self) -> None:
        await self.registered.wait()
        name, now = self._facts().name, clocks.rfc3339_micro(self._clock.now())
        renewal = {"spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}}
        try:
            await self._client.patch(LEASES, name, renewal, LEASE_NAMESPACE)
        except api_errors.NotFound:
            await self._client.create(LEASES, self._new_lease(name, renewal["spec"]), LEASE_NAMESPACE)

    def _new_lease(self, name: str, spec: Object) -> Object:
        metadata: Object = {"name": name, "namespace": LEASE_NAMESPACE}
        if self.node is not None:  # goes with its node
            owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": objects.uid_of(self.node)}
            metadata["ownerReferences"] = [owner]
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
