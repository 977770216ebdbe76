"""One shared, current copy of a collection, and handlers that are told of its changes (step C1).

Guarantees: handlers are called after the store has changed, in the order of changes, never two at once; a handler added
late is told of everything that is there; after a relist only real differences are told (the same resourceVersion is no
change, what has vanished is a deletion). Handlers must be quick and synchronous: put a key into a queue and return.
A handler that raises is logged and the change counts as told: one object must not stop a process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.gvr import GVR
from apimachinery.objects import Object
from client.reflector import Reflector
from client.rest import Client
from client.store import Indexer, Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Handler:
    """What to call; None: not interested."""

    on_add: Callable[[Object], object] | None = None
    on_update: Callable[[Object, Object], object] | None = None  # old, new
    on_delete: Callable[[Object], object] | None = None


class Informer:
    """A reflector with a store, and those who want to know. Implements `reflector.Sink`."""

    def __init__(
        self,
        client: Client,
        gvr: GVR,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        indexers: Mapping[str, Indexer] | None = None,
        streaming: bool = False,
        metadata_only: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.gvr = gvr
        self.store = Store(indexers)
        self._handlers: list[Handler] = []
        self._synced = asyncio.Event()
        self._reflector = Reflector(
            client,
            gvr,
            self,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            streaming=streaming,
            metadata_only=metadata_only,
            clock=clock,
        )

    def add_handler(
        self,
        on_add: Callable[[Object], object] | None = None,
        on_update: Callable[[Object, Object], object] | None = None,
        on_delete: Callable[[Object], object] | None = None,
    ) -> None:
        """Tell of every change from now on, and of what is there already as additions."""
        handler = Handler(on_add, on_update, on_delete)
        self._handlers.append(handler)
        for obj in self.store.list():
            self._call(handler.on_add, obj)

    async def run(self) -> None:
        """Until cancelled."""
        await self._reflector.run()

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Until the first whole list is in the store and its additions are told."""
        await self._synced.wait()

    def replace(self, items: Sequence[Object]) -> None:
        gone = self.store.keys()
        for obj in items:
            gone.discard(objects.key_of(obj))
            self.apply(obj)
        for key in gone:
            old = self.store.get(key)
            if old is not None:
                self.delete(old)
        self._synced.set()

    def apply(self, obj: Object) -> None:
        old = self.store.put(obj)
        if old is None:
            for handler in self._handlers:
                self._call(handler.on_add, obj)
        elif objects.uid_of(old) != objects.uid_of(obj):
            # deleted and made again while we were not looking: not the same object
            for handler in self._handlers:
                self._call(handler.on_delete, old)
                self._call(handler.on_add, obj)
        elif objects.resource_version_of(old) != objects.resource_version_of(obj):
            for handler in self._handlers:
                self._call(handler.on_update, old, obj)

    def delete(self, obj: Object) -> None:
        if self.store.remove(objects.key_of(obj)) is None:
            return
        for handler in self._handlers:
            self._call(handler.on_delete, obj)

    def _call(self, function: Callable[..., object] | None, *args: Object) -> None:
        if function is None:
            return
        try:
            function(*args)
        except Exception:  # the one place that guards the stream of events against handlers
            log.exception("a handler of %s failed on %s", self.gvr, objects.key_of(args[-1]), extra={"step": "C1"})


class InformerFactory:
    """One informer a collection and selection, however many ask for it."""

    def __init__(self, client: Client, *, streaming: bool = False, clock: Clock | None = None) -> None:
        self._client = client
        self._streaming = streaming
        self._clock = clock
        self._informers: dict[tuple[GVR, str | None, str | None, str | None], Informer] = {}
        self._group: asyncio.TaskGroup | None = None

    def informer(
        self,
        gvr: GVR,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        indexers: Mapping[str, Indexer] | None = None,
    ) -> Informer:
        """The shared informer, with `indexers` added to those it has. Started at once if the factory runs."""
        key = (gvr, namespace, label_selector, field_selector)
        informer = self._informers.get(key)
        if informer is None:
            informer = self._informers[key] = Informer(
                self._client,
                gvr,
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                streaming=self._streaming,
                clock=self._clock,
            )
            if self._group is not None:
                self._group.create_task(informer.run(), name=f"informer {gvr}")
        for name, indexer in (indexers or {}).items():
            informer.store.add_index(name, indexer)
        return informer

    async def run(self) -> None:
        """All informers, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for informer in self._informers.values():
                group.create_task(informer.run(), name=f"informer {informer.gvr}")
            await asyncio.Event().wait()  # also with no informer yet: later ones join the group

    async def wait_synced(self) -> None:
        """Until every informer asked for so far has its first whole list."""
        for informer in list(self._informers.values()):
            await informer.wait_synced()
