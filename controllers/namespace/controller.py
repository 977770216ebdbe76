"""The namespace controller: deletes all content of a namespace that is being deleted, then its finalizer (step C5).

Pods go first, and all else only when they are gone, so that nothing a pod relies on (its NetworkPolicy, its Secrets)
is taken from it while it ends. Guarantees: the namespace stays until every collection was seen empty, those of custom
resources included; a group whose discovery fails keeps it.
"""

from __future__ import annotations

import asyncio
import logging

from apimachinery import errors, gvr, objects
from apimachinery.gvr import GVR
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done, RequeueAfter
from controllers import discovery, writes
from controllers.context import Context
from controllers.discovery import ApiResource
from controllers.namespace import plan as planning
from controllers.namespace.plan import Contents

NAME = "namespace-controller"
FINALIZER = "kubernetes"
_CONCURRENT_COLLECTIONS = 8  # requests under way for one namespace
log = logging.getLogger(__name__)


class NamespaceController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._queue = context.queue(NAME)
        self._namespaces = context.informers.informer(gvr.NAMESPACES)
        self._namespaces.add_handler(on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new))

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C5").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        namespace = self._namespaces.store.get(key)
        if namespace is None or not objects.is_deleting(namespace):
            return Done()
        if FINALIZER not in planning.finalizers_of(namespace):
            return Done()  # others hold it still
        contents = await self._empty(key.name)
        if contents.empty:
            log.info("%s is empty and goes", key.name, extra={"step": "C5"})
            await self._finalize(namespace)
            return Done()
        await self._write_conditions(namespace, contents)
        return RequeueAfter(contents.look_again_seconds)

    async def _empty(self, name: str) -> Contents:
        """Deletes what there is, pods before all else, and counts what stays."""
        found = await discovery.discover(self._client)
        contents = Contents(discovery_failures=dict(found.failures))
        deletable = [r for r in found.resources if r.namespaced and {"delete", "list"} <= r.verbs]
        pods = [resource for resource in deletable if resource.gvr == gvr.PODS]
        await self._delete_all(name, pods, contents)
        if not contents.remaining:
            await self._delete_all(name, [r for r in deletable if r.gvr != gvr.PODS], contents)
        return contents

    async def _delete_all(self, name: str, resources: list[ApiResource], contents: Contents) -> None:
        turns = asyncio.Semaphore(_CONCURRENT_COLLECTIONS)

        async def delete(resource: ApiResource) -> None:
            async with turns:
                await self._delete_collection(name, resource, contents)

        await asyncio.gather(*(delete(resource) for resource in resources))

    async def _delete_collection(self, name: str, resource: ApiResource, contents: Contents) -> None:
        """Failures are counted, not raised: one broken collection must not keep the others."""
        try:
            items = await self._list(name, resource.gvr)
            if items:
                await self._delete_items(name, resource, items)
                items = await self._list(name, resource.gvr)
            contents.count(resource.gvr, items)
        except (errors.NotFound, errors.MethodNotAllowed):
            return  # the collection itself went meanwhile
        except errors.APIError as error:
            contents.deletion_failures.append(f"{resource.gvr}: {error}")

    async def _delete_items(self, name: str, resource: ApiResource, items: list[Object]) -> None:
        if "deletecollection" in resource.verbs:
            await self._client.delete_collection(resource.gvr, name, propagation_policy="Background")
            return
        for item in items:
            try:
                await self._client.delete(resource.gvr, objects.name_of(item), name, propagation_policy="Background")
            except errors.NotFound:
                continue

    async def _list(self, name: str, collection: GVR) -> list[Object]:
        listed = await self._client.list(collection, name, metadata_only=True)
        return list(listed.get("items") or [])

    async def _write_conditions(self, namespace: Object, contents: Contents) -> None:
        conditions = planning.conditions(namespace, contents, self._clock.now())
        status = {**(namespace.get("status") or {}), "conditions": conditions}
        await writes.status(self._client, gvr.NAMESPACES, namespace, status)

    async def _finalize(self, namespace: Object) -> None:
        try:
            await self._client.update(
                gvr.NAMESPACES, planning.without_finalizer(namespace, FINALIZER), subresource="finalize"
            )
        except errors.NotFound:
            return

    def _enqueue(self, namespace: Object) -> None:
        if objects.is_deleting(namespace):
            self._queue.add(objects.key_of(namespace))
