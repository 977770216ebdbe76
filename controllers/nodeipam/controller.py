"""The node IPAM controller: writes `spec.podCIDR` of nodes that have none, from --cluster-cidr (step C5).

Taken is what any node of the cache has, and what was given out and is not in the cache yet; so a restart forgets
nothing, and a range is free again as soon as its node is gone. One worker: two nodes are never served at once.
Off without --allocate-node-cidrs.
"""

from __future__ import annotations

import logging

from apimachinery import errors, gvr, objects
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done, RequeueAfter
from controllers.context import Context
from controllers.nodeipam.ranges import Exhausted, Ranges

NAME = "node-ipam-controller"
RETRY_EXHAUSTED_SECONDS = 30.0
_IPV6_MASK_SIZE = 64  # upstream's default of --node-cidr-mask-size-ipv6
log = logging.getLogger(__name__)


class NodeIPAMController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._events = context.recorder("cidrAllocator")
        self._queue = context.queue(NAME)
        self._given: dict[str, list[str]] = {}  # node uid → ranges, until the cache shows them
        options = context.options
        cidrs = options.cluster_cidr if options.allocate_node_cidrs else ()
        self._ranges = [Ranges(cidr, _IPV6_MASK_SIZE if ":" in cidr else options.node_cidr_mask_size) for cidr in cidrs]
        self._nodes = context.informers.informer(gvr.NODES)
        self._nodes.add_handler(
            on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new), on_delete=self._node_gone
        )

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C5", workers=1).run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        node = self._nodes.store.get(key)
        if node is None or not self._ranges:
            return Done()
        uid = objects.uid_of(node)
        if pod_cidrs(node):
            self._given.pop(uid, None)
            return Done()
        try:
            cidrs = self._given.get(uid) or [ranges.free(self._taken()) for ranges in self._ranges]
        except Exhausted as error:
            message = f"Node {key.name} status is now: CIDRNotAvailable"
            self._events.event(node, "Normal", "CIDRNotAvailable", message)
            log.warning("%s: %s", key.name, error, extra={"step": "C5"})
            return RequeueAfter(RETRY_EXHAUSTED_SECONDS)
        self._given[uid] = cidrs
        await self._write(node, cidrs)
        return Done()

    def _taken(self) -> list[str]:
        shown = [cidr for node in self._nodes.store.list() for cidr in pod_cidrs(node)]
        return shown + [cidr for cidrs in self._given.values() for cidr in cidrs]

    async def _write(self, node: Object, cidrs: list[str]) -> None:
        body = {"metadata": {"uid": objects.uid_of(node)}, "spec": {"podCIDR": cidrs[0], "podCIDRs": cidrs}}
        try:
            await self._client.patch(gvr.NODES, objects.name_of(node), body)
            log.info("%s: pods get %s", objects.name_of(node), ", ".join(cidrs), extra={"step": "C5"})
        except (errors.NotFound, errors.Invalid, errors.Conflict) as error:
            # the node is gone, is another, or has a range already, which the cache will show
            self._given.pop(objects.uid_of(node), None)
            log.info("%s: %s", objects.name_of(node), error, extra={"step": "C5"})

    def _enqueue(self, node: Object) -> None:
        self._queue.add(objects.key_of(node))

    def _node_gone(self, node: Object) -> None:
        self._given.pop(objects.uid_of(node), None)


def pod_cidrs(node: Object) -> list[str]:
    spec = node.get("spec") or {}
    return spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
