"""The node lifecycle controller: looks at every node each --node-monitor-period (step C5).

A node silent for --node-monitor-grace-period becomes Unknown, its pods not ready; taints follow its conditions at
once, those that evict at --node-eviction-rate. Who is evicted, and when, is the taint eviction controller's matter.
"""

from __future__ import annotations

import asyncio
import logging

from apimachinery import clock, errors, gvr, objects, pods
from apimachinery.objects import Key, Object
from client import controller, rest
from client.controller import Done
from controllers import indexes
from controllers.context import Context
from controllers.nodelifecycle import health, taints
from controllers.nodelifecycle.health import Heartbeats

NAME = "node-lifecycle-controller"
LEASE_NAMESPACE = "kube-node-lease"
log = logging.getLogger(__name__)


class NodeLifecycleController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._options = context.options
        self._events = context.recorder("node-controller")
        self._queue = context.queue(NAME)
        self._heartbeats = Heartbeats()
        self._ready: dict[str, str] = {}  # node → Ready's status at the last look
        self._all_down = False
        self._evicting: set[str] = set()  # nodes whose turn for NoExecute has come
        self._last_turn = -float("inf")
        self._nodes = context.informers.informer(gvr.NODES)
        self._leases = context.informers.informer(gvr.LEASES, namespace=LEASE_NAMESPACE)
        self._pods = context.informers.informer(gvr.PODS, indexers=indexes.PODS)
        self._nodes.add_handler(
            on_add=self._node_added, on_update=lambda old, new: self._enqueue(new), on_delete=self._node_gone
        )

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_over(), name="node monitor")
            group.create_task(self._context.loop(NAME, self._queue, self.reconcile, step="C5").run())

    async def reconcile(self, key: Key) -> controller.Outcome:
        """Taints of one node follow its conditions."""
        node = self._nodes.store.get(key)
        if node is None:
            return Done()
        evict = key.name in self._evicting or (taints.evicts(taints.taints_of(node)) and not self._all_down)
        wanted = taints.wanted(node, evict=evict, now=self._clock.now())
        if wanted != taints.taints_of(node):
            log.info("%s: taints %s", key, _listed(wanted), extra={"step": "C5"})
            guard = {"resourceVersion": objects.resource_version_of(node), "uid": objects.uid_of(node)}
            await self._client.patch(gvr.NODES, key.name, {"metadata": guard, "spec": {"taints": wanted}})
        return Done()

    async def _watch_over(self) -> None:
        while True:
            try:
                await self.look()
            except (errors.APIError, rest.ConnectionFailed) as error:
                log.warning("node monitor: %s", error, extra={"step": "C5"})
            await self._clock.sleep(self._options.node_monitor_period)

    async def look(self) -> None:
        """One pass over all nodes."""
        nodes = self._nodes.store.list()
        for node in nodes:
            await self._judge(node)
        self._take_turns(nodes)

    async def _judge(self, node: Object) -> None:
        name = objects.name_of(node)
        lease = self._leases.store.get(Key(LEASE_NAMESPACE, name))
        silence = self._heartbeats.silence_seconds(node, lease, self._clock.monotonic())
        never_reported = not health.ready_status(node)
        grace = self._options.node_startup_grace_period if never_reported else self._options.node_monitor_grace_period
        status = health.ready_status(node)
        if silence > grace:
            conditions = health.conditions_of_silent(node, self._clock.now())
            if conditions:
                log.warning("%s has been silent for %.0f s", name, silence, extra={"step": "C5"})
                await self._write_conditions(node, conditions)
            status = "Unknown"
        before = self._ready.get(name)
        self._ready[name] = status
        if status in ("False", "Unknown") and before == "True":
            self._events.event(node, "Normal", "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        if status == "Unknown" or (status == "False" and before == "True"):
            await self._mark_pods_not_ready(name)

    async def _write_conditions(self, node: Object, conditions: list[Object]) -> None:
        guard = {"resourceVersion": objects.resource_version_of(node), "uid": objects.uid_of(node)}
        body = {"metadata": guard, "status": {"conditions": conditions}}
        try:
            await self._client.patch(
                gvr.NODES, objects.name_of(node), body, patch_type="strategic", subresource="status"
            )
        except (errors.NotFound, errors.Conflict) as error:
            log.info("%s: %s; looking again", objects.name_of(node), error, extra={"step": "C5"})

    async def _mark_pods_not_ready(self, node_name: str) -> None:
        """Services must not send anybody to a node that does not answer."""
        for pod in self._pods.store.by_index(indexes.NODE, node_name):
            if not pods.is_ready(pod):
                continue
            ready = {"type": "Ready", "status": "False", "lastTransitionTime": clock.rfc3339(self._clock.now())}
            body = {"metadata": {"uid": objects.uid_of(pod)}, "status": {"conditions": [ready]}}
            try:
                await self._client.patch(
                    gvr.PODS,
                    objects.name_of(pod),
                    body,
                    objects.namespace_of(pod),
                    patch_type="strategic",
                    subresource="status",
                )
            except (errors.NotFound, errors.Conflict):
                continue
            self._events.event(pod, "Warning", "NodeNotReady", "Node is not ready")

    def _take_turns(self, nodes: list[Object]) -> None:
        """Decides which nodes may be given NoExecute now."""
        states = [self._ready.get(objects.name_of(node), "") for node in nodes]
        state = taints.disruption(
            states.count("True"),
            len(states) - states.count("True"),
            rate=self._options.node_eviction_rate,
            secondary_rate=self._options.secondary_node_eviction_rate,
            threshold=self._options.unhealthy_zone_threshold,
            large_size=self._options.large_cluster_size_threshold,
        )
        if self._all_down and not state.all_down:
            self._heartbeats.restart(self._clock.monotonic())
        self._all_down = state.all_down
        if state.all_down:
            self._evicting.clear()
        down = {
            objects.name_of(node) for node in nodes if self._ready.get(objects.name_of(node)) in ("False", "Unknown")
        }
        self._evicting &= down
        for name in sorted(down - self._evicting):
            if not self._turn_has_come(state.nodes_per_second):
                break
            self._evicting.add(name)
        for node in nodes:
            self._enqueue(node)

    def _turn_has_come(self, nodes_per_second: float) -> bool:
        now = self._clock.monotonic()
        if nodes_per_second <= 0 or now - self._last_turn < 1 / nodes_per_second:
            return False
        self._last_turn = now
        return True

    def _node_added(self, node: Object) -> None:
        name = objects.name_of(node)
        message = f"Node {name} event: Registered Node {name} in Controller"
        self._events.event(node, "Normal", "RegisteredNode", message)
        self._enqueue(node)

    def _enqueue(self, node: Object) -> None:
        self._queue.add(objects.key_of(node))

    def _node_gone(self, node: Object) -> None:
        name = objects.name_of(node)
        self._events.event(node, "Normal", "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")
        self._heartbeats.forget(name)
        self._ready.pop(name, None)
        self._evicting.discard(name)


def _listed(wanted: list[Object]) -> str:
    return ", ".join(f"{taint['key']}:{taint['effect']}" for taint in wanted) or "none"
