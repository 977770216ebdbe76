"""The garbage collector: deletes objects whose owners are all gone (step C4).

Background: an owner goes, its dependents follow. Foreground: an owner with the finalizer `foregroundDeletion` waits
until every dependent that blocks it is gone. Orphan: an owner with the finalizer `orphan` waits until its dependents
no longer name it. All three are the graph's `Work`, taken from one queue.

Guarantees: nothing is deleted on the word of a cache: the object and each of its owners are read from the apiserver
first, by name and uid, and the deletion holds only for the very object and version that was read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

from apimachinery import errors, objects
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done, RequeueAfter
from controllers.context import Context
from controllers.discovery import ApiResource
from controllers.garbagecollector import graph as graphs
from controllers.garbagecollector import plan as planning
from controllers.garbagecollector.graph import Identity, Node, Work
from controllers.garbagecollector.monitors import UNKNOWN_SECONDS, Monitors
from controllers.garbagecollector.plan import Owner

NAME = "garbage-collector-controller"
ABSENT_OWNERS_MAX = 500  # upstream's: a uid never comes back, so it need not be asked for twice
log = logging.getLogger(__name__)


class GarbageCollector:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._events = context.recorder(NAME)
        self._queue = context.queue(NAME)
        self._graph = graphs.Graph()
        self._absent: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._monitors = Monitors(context.client, context.clock, self._observe, self._forget)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._monitors.run(), name="monitors")
            await self._monitors.synced.wait()
            await self._context.loop(NAME, self._queue, self.reconcile, step="C4").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        """`key` is a `Work`: action and uid."""
        work = Work(*key)
        node = self._graph.get(work.uid)
        if node is None:
            return Done()
        resource = self._monitors.resource(node.identity.api_version, node.identity.kind)
        if resource is None:
            return RequeueAfter(UNKNOWN_SECONDS)  # a kind that no server has (yet): its objects cannot be judged
        if resource.namespaced and not node.identity.namespace:
            return Done()  # a cluster-scoped object named a namespaced owner: reported where that object is judged
        if work.action == "orphan":
            return await self._orphan(node, resource)
        return await self._attempt(node, resource)

    # may it go?

    async def _attempt(self, node: Node, resource: ApiResource) -> controller.Outcome:
        if node.being_deleted and not node.deleting_dependents:
            return Done()
        item = await self._read(resource, node.identity)
        if item is None:
            self._enqueue(self._graph.forget(node.identity.uid))
            return Done()
        if node.virtual:
            return Done()  # it exists after all: its own collection will show it
        if node.deleting_dependents:
            return await self._finish_foreground(node, item, resource)
        owners = await self._owners(item)
        if owners is None:
            return RequeueAfter(UNKNOWN_SECONDS)
        dependents = self._graph.dependents(node)
        action = planning.plan_item(
            item,
            owners,
            has_dependents=bool(dependents),
            dependents_wait=any(dependent.deleting_dependents for dependent in dependents),
        )
        await self._act(node, item, resource, action)
        return Done()

    async def _act(self, node: Node, item: Object, resource: ApiResource, action: planning.Action) -> None:
        match action:
            case planning.Keep():
                return
            case planning.Detach(owner_uids):
                log.info("%s: detached from owners that are gone", node.identity, extra={"step": "C4"})
                await self._write_references(item, resource, without=owner_uids)
            case planning.Delete(policy, unblock):
                if unblock:
                    item = await self._write_references(item, resource, unblock=True)
                log.info("%s: deleted (%s)", node.identity, policy, extra={"step": "C4"})
                await self._delete(item, resource, policy)

    async def _owners(self, item: Object) -> dict[str, Owner] | None:
        """How each owner fares; None when one is of a kind that no server has."""
        namespace = objects.namespace_of(item)
        result: dict[str, Owner] = {}
        for reference in objects.owner_references_of(item):
            resource = self._monitors.resource(reference["apiVersion"], reference["kind"])
            if resource is None:
                return None
            if resource.namespaced and not namespace:
                self._report_invalid_owner(item, reference)
                return {}
            identity = Identity(
                reference["apiVersion"], reference["kind"], namespace, reference["name"], reference["uid"]
            )
            owner = await self._read(resource, identity)
            result[identity.uid] = planning.owner_fares(owner, identity.uid)
        return result

    def _report_invalid_owner(self, item: Object, reference: Object) -> None:
        message = (
            f"ownerRef [{reference['apiVersion']}/{reference['kind']}, namespace: , name: {reference['name']}, "
            f'uid: {reference["uid"]}] does not exist in namespace ""'
        )
        self._events.event(item, "Warning", "OwnerRefInvalidNamespace", message)

    # the owners that wait

    async def _finish_foreground(self, node: Node, item: Object, resource: ApiResource) -> controller.Outcome:
        blocking = [d for d in self._graph.dependents(node) if d.blocks(node.identity.uid)]
        if not blocking:
            await self._remove_finalizer(item, resource, graphs.FOREGROUND_FINALIZER)
            return Done()
        waiting = [d for d in blocking if not d.deleting_dependents]
        self._enqueue([Work("attempt", dependent.identity.uid) for dependent in waiting])
        return Done()

    async def _orphan(self, node: Node, resource: ApiResource) -> controller.Outcome:
        item = await self._read(resource, node.identity)
        if item is None or graphs.ORPHAN_FINALIZER not in graphs.finalizers_of(item):
            return Done()
        dependents = self._graph.dependents(node)
        log.info("%s: %d dependents are released", node.identity, len(dependents), extra={"step": "C4"})
        await asyncio.gather(*(self._release(dependent, node.identity.uid) for dependent in dependents))
        await self._remove_finalizer(item, resource, graphs.ORPHAN_FINALIZER)
        return Done()

    async def _release(self, dependent: Node, owner_uid: str) -> None:
        resource = self._monitors.resource(dependent.identity.api_version, dependent.identity.kind)
        item = None if resource is None else await self._read(resource, dependent.identity)
        if resource is not None and item is not None:
            await self._write_references(item, resource, without=frozenset([owner_uid]))

    # reads and writes

    async def _read(self, resource: ApiResource, identity: Identity) -> Object | None:
        """The object as it is now; None when it is gone, or when another one has its name."""
        namespace = identity.namespace if resource.namespaced else ""
        if (identity.uid, namespace) in self._absent:
            return None
        try:
            found = await self._client.get(resource.gvr, identity.name, namespace or None, metadata_only=True)
        except errors.NotFound:
            found = None
        if found is not None and objects.uid_of(found) == identity.uid:
            return {**found, "apiVersion": identity.api_version, "kind": identity.kind}
        self._absent[(identity.uid, namespace)] = None
        if len(self._absent) > ABSENT_OWNERS_MAX:
            self._absent.popitem(last=False)
        return None

    async def _write_references(
        self, item: Object, resource: ApiResource, *, without: frozenset[str] = frozenset(), unblock: bool = False
    ) -> Object:
        references = [ref for ref in objects.owner_references_of(item) if ref["uid"] not in without]
        if unblock:
            references = [{**ref, "blockOwnerDeletion": False} for ref in references]
        return await self._patch(item, resource, {"ownerReferences": references})

    async def _remove_finalizer(self, item: Object, resource: ApiResource, finalizer: str) -> None:
        rest = [name for name in graphs.finalizers_of(item) if name != finalizer]
        if len(rest) < len(graphs.finalizers_of(item)):
            await self._patch(item, resource, {"finalizers": rest})

    async def _patch(self, item: Object, resource: ApiResource, metadata: Object) -> Object:
        """A merge patch, which custom resources take too, for this very version; a lost race is retried."""
        guard = {"uid": objects.uid_of(item), "resourceVersion": objects.resource_version_of(item)}
        name, namespace = objects.name_of(item), objects.namespace_of(item)
        try:
            return await self._client.patch(resource.gvr, name, {"metadata": {**guard, **metadata}}, namespace or None)
        except errors.NotFound:
            return item

    async def _delete(self, item: Object, resource: ApiResource, policy: str) -> None:
        try:
            await self._client.delete(
                resource.gvr,
                objects.name_of(item),
                objects.namespace_of(item) or None,
                propagation_policy=policy,
                uid=objects.uid_of(item),
                resource_version=objects.resource_version_of(item),
            )
        except errors.NotFound:
            return

    # what the monitors tell

    def _observe(self, obj: Object, api_version: str, kind: str) -> None:
        self._enqueue(self._graph.observe(obj, api_version, kind))

    def _forget(self, obj: Object) -> None:
        self._enqueue(self._graph.forget(objects.uid_of(obj)))

    def _enqueue(self, work: list[Work]) -> None:
        for item in work:
            self._queue.add(Key(*item))
