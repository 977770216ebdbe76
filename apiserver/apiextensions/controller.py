"""Keeps the status of CustomResourceDefinitions, and removes the objects of those that are being deleted.

One worker of a server runs it; several servers may, since each write is made on what was read.
Guarantees: a definition without conflicts is established as soon as its event is seen; names that become free are
given to who waits for them; a deleted definition goes when the last of its objects has gone, not before.
"""

from __future__ import annotations

import asyncio
import copy
import logging

from apimachinery import errors
from apimachinery.clock import Clock, rfc3339
from apimachinery.objects import Object
from apiserver.apiextensions import conditions, naming, rows
from apiserver.apiextensions.conversion import Converter
from apiserver.apiextensions.following import PREFIX
from apiserver.registry.call import LOOPBACK, Call
from apiserver.registry.options import ListOptions
from apiserver.registry.registry import Registry
from apiserver.registry.strategies.definitions import FINALIZER
from apiserver.storage import types
from apiserver.storage.store import Store

_log = logging.getLogger("apiserver.apiextensions")

_RETRY_SECONDS = 0.5
_GROUP, _RESOURCE = "apiextensions.k8s.io", "customresourcedefinitions"


class Controller:
    def __init__(self, registry: Registry, store: Store, clock: Clock, converter: Converter) -> None:
        self._registry = registry
        self._store = store
        self._clock = clock
        self._converter = converter
        self._dirty: set[str] = set()
        self._woken = asyncio.Event()
        row = registry.scheme.find(_GROUP, "v1", _RESOURCE)
        assert row is not None, "a built-in row"
        self._row = row

    async def run(self) -> None:
        """Until cancelled."""
        subscription = self._store.subscribe(PREFIX, self._store.revision, self._on_event)
        self._mark_all()
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                await self._work()
        finally:
            subscription.close()

    def _on_event(self, event: types.Event) -> None:
        if event.deleted:  # its names are free
            self._mark_all()
        else:
            self._mark(_name_of(event.stored.key))

    def _mark_all(self) -> None:
        for stored in self._store.cached_list(PREFIX):
            self._mark(_name_of(stored.key))

    def _mark(self, name: str) -> None:
        self._dirty.add(name)
        self._woken.set()

    async def _work(self) -> None:
        """Definition after definition, in order of their names: who comes first gets the names."""
        while self._dirty:
            name = min(self._dirty)
            self._dirty.discard(name)
            try:
                again = await self._sync(name)
            except errors.APIError as error:
                _log.warning("custom resource definition %s: %s", name, error)
                again = True
            if again:
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._mark, name)

    async def _sync(self, name: str) -> bool:
        """Whether there is more to do later."""
        stored = self._store.cached(PREFIX + name)
        if stored is None:
            return False
        definition = stored.object
        if definition["metadata"].get("deletionTimestamp"):
            return FINALIZER in (definition["metadata"].get("finalizers") or ()) and await self._remove(definition)
        others = [item.object for item in self._store.cached_list(PREFIX)]
        wanted = naming.accepted(definition, others, rfc3339(self._clock.now()))
        if wanted["status"] != definition.get("status"):
            return not await self._write_status(wanted)
        return False

    async def _write_status(self, definition: Object) -> bool:
        """False when somebody else has changed it; its event brings us back all the same."""
        call = Call(LOOPBACK, self._row, "update", name=definition["metadata"]["name"], subresource="status")
        try:
            await self._registry.update(call, definition)
        except (errors.Conflict, errors.NotFound):
            return False
        return True

    async def _remove(self, definition: Object) -> bool:
        """One round of removing a definition's objects."""
        now = rfc3339(self._clock.now())
        wanted = copy.deepcopy(definition)
        if conditions.is_true(definition, conditions.ESTABLISHED) and await self._count(definition):
            message = "CustomResource deletion is in progress"
            conditions.put(wanted, now, conditions.TERMINATING, "True", "InstanceDeletionInProgress", message)
            if wanted["status"] != definition["status"]:
                await self._write_status(wanted)
                return True
            await self._delete_objects(definition)
            if await self._count(definition):
                return True
        message = "removed all instances"
        conditions.put(wanted, now, conditions.TERMINATING, "False", "InstanceDeletionCompleted", message)
        metadata = wanted["metadata"]
        metadata["finalizers"] = [item for item in metadata["finalizers"] if item != FINALIZER]
        newest = await self._store.get(PREFIX + metadata["name"])
        metadata["resourceVersion"] = str(newest.revision) if newest is not None else ""
        try:
            await self._registry.update(Call(LOOPBACK, self._row, "update", name=metadata["name"]), wanted)
        except errors.NotFound:
            return False
        except errors.Conflict:
            return True
        return False

    async def _count(self, definition: Object) -> int:
        """Whether there are objects left: 0 or 1."""
        row = rows.stored(definition, self._registry.scheme.schemas, self._converter)
        if rows.is_built_in(row):
            return 0
        return len((await self._store.list(row.range(), limit=1)).items)

    async def _delete_objects(self, definition: Object) -> None:
        row = rows.stored(definition, self._registry.scheme.schemas, self._converter)
        listed = await self._store.list(row.range())
        namespaces = {item.object["metadata"].get("namespace") or "" for item in listed.items}
        for namespace in sorted(namespaces):
            call = Call(LOOPBACK, row, "deletecollection", namespace=namespace)
            await self._registry.delete_collection(call, {}, ListOptions())


def _name_of(key: str) -> str:
    return key.removeprefix(PREFIX)
