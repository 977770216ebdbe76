"""L10, L12: keep the node's network in step with the Node objects.

Guarantees: nothing privileged is touched unless `--cni-conf-dir` was given. Until the node has a podCIDR and the
runtime has taken up the conflist, `problem` says so and pods without host network wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.gvr import NODES
from apimachinery.objects import Object
from client.informer import Informer
from client.rest import Client
from kubelet import errors
from kubelet.cri import Runtime
from kubelet.network import cni, routes

log = logging.getLogger(__name__)
CHECK_SECONDS = 10.0
SETTLE_SECONDS = 0.1  # between looks while the runtime takes up a new conflist
RETRY_SECONDS = 5.0


class Network:
    def __init__(
        self,
        client: Client,
        runtime: Runtime,
        clock: Clock,
        node_name: str,
        *,
        conf_dir: Path | None,
        data_dir: Path,
        cluster_cidr: str,
        on_change: Callable[[], None],
    ) -> None:
        mine = None if conf_dir else f"metadata.name={node_name}"  # without routes the others do not matter
        self.nodes = Informer(client, NODES, field_selector=mine, clock=clock)
        self.problem = "not looked yet"
        self._runtime = runtime
        self._clock = clock
        self._node_name = node_name
        self._conf_dir = conf_dir
        self._data_dir = data_dir
        self._cluster_cidr = cluster_cidr
        self._on_change = on_change
        self._news = asyncio.Event()
        self._masqueraded = ""
        self._told = ""
        self.looked = asyncio.Event()  # `problem` is what the runtime says

    @property
    def node(self) -> Object | None:
        return self.nodes.store.get(objects.Key("", self._node_name))

    async def run(self) -> None:
        """Until cancelled."""
        self.nodes.add_handler(lambda _: self._news.set(), self._on_node, self._on_node_gone)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.nodes.run(), name="nodes")
            if self._conf_dir is not None:
                await asyncio.to_thread(_forward)
            while True:
                self._news.clear()
                pause = await self._sync()
                self.looked.set()
                try:
                    async with asyncio.timeout(pause):
                        await self._news.wait()
                except TimeoutError:
                    continue

    def _on_node(self, old: Object, new: Object) -> None:
        """Heartbeats change nodes all the time; only addresses and CIDRs matter here."""
        if _network_of(old) != _network_of(new):
            self._news.set()

    def _on_node_gone(self, node: Object) -> None:
        self._news.set()
        if objects.name_of(node) == self._node_name:
            self._on_change()  # the heartbeat registers it again

    def poke(self) -> None:
        """The runtime has come back, or could not make a sandbox: look whether it still has a network."""
        self._news.set()

    async def _sync(self) -> float:
        """One round; returns how long it holds."""
        try:
            await self._look(wait_for_it=False)
            if self.problem:
                self._told = ""  # a runtime that was restarted may have forgotten the range
            if await self._configure():
                await self._look(wait_for_it=True)
        except errors.RuntimeUnavailable:
            return 1.0  # says nothing about the network: the relist tells of the outage
        except (errors.NodeError, OSError) as error:
            self._set_problem(str(error))
            return RETRY_SECONDS
        return CHECK_SECONDS if not self.problem else 1.0

    async def _configure(self) -> bool:
        """Tell the runtime; then conflist, routes, masquerade. Returns whether the runtime has something to take up."""
        cidr = ((self.node or {}).get("spec") or {}).get("podCIDR")
        if not cidr:
            return False
        told = bool(self._told != cidr)
        if told:
            await self._runtime.set_pod_cidr(cidr)
            self._told = cidr
        if self._conf_dir is None:
            return told
        config = cni.conflist(f"armillary-{self._node_name}", cidr, self._data_dir)
        wrote = await asyncio.to_thread(cni.write, self._conf_dir, config)
        if wrote:
            log.info("pods get addresses out of %s", cidr, extra={"step": "L10"})
        await routes.Routes().sync(self.nodes.store.list(), self._node_name)
        if self._cluster_cidr and self._masqueraded != cidr:
            await routes.masquerade(cidr, self._cluster_cidr)
            self._masqueraded = cidr
        return wrote

    async def _look(self, *, wait_for_it: bool) -> None:
        """What the runtime says of its network; a new conflist is taken up within a moment."""
        for _ in range(20 if wait_for_it else 1):
            state = await self._runtime.state()
            if state.network_ready:
                break
            await self._clock.sleep(SETTLE_SECONDS)
        self._set_problem("" if state.network_ready else state.message)

    def _set_problem(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self._on_change()


def _network_of(node: Object) -> tuple[object, ...]:
    return ((node.get("spec") or {}).get("podCIDR"), routes.internal_address(node))


def _forward() -> None:
    try:
        routes.enable_forwarding()
    except OSError as error:
        log.warning("forwarding could not be switched on: %s", error, extra={"step": "L12"})
