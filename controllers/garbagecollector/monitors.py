"""A cache of the metadata of every collection, custom resources included, kept current by discovery."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from apimachinery import errors
from apimachinery.clock import Clock
from apimachinery.gvr import GVR
from apimachinery.objects import Object
from client import rest
from client.informer import Informer
from client.rest import Client
from controllers import discovery
from controllers.discovery import ApiResource, Discovered

DISCOVERY_SECONDS = 30.0  # upstream's period
GATHER_SECONDS = 0.2  # definitions come in swarms, and are established a moment later
UNKNOWN_SECONDS = 3.0  # until an object is looked at again whose kind, or whose owner's, no server had
RETRY_SECONDS = 1.0  # until the first answer
SYNC_SECONDS = 30.0  # how long to wait for caches: one collection that cannot be listed must not stop all others
_NEEDED_VERBS = frozenset({"delete", "list", "watch"})
_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})  # many, short-lived, and owned by nobody
log = logging.getLogger(__name__)

Observe = Callable[[Object, str, str], None]


class Monitors:
    """`observe(object, api_version, kind)` and `forget(object)` are told of every change of every collection."""

    def __init__(self, client: Client, clock: Clock, observe: Observe, forget: Callable[[Object], None]) -> None:
        self._client = client
        self._clock = clock
        self._observe = observe
        self._forget = forget
        self._tasks: dict[GVR, asyncio.Task[None]] = {}
        self._informers: dict[GVR, Informer] = {}
        self.discovered = Discovered((), {})
        self.synced = asyncio.Event()
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._refresh(group)
                if not self.synced.is_set() and self._informers:
                    await self._wait_synced()
                    self.synced.set()
                await self._pause(DISCOVERY_SECONDS if self.synced.is_set() else RETRY_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """Until it is time again, or a definition has changed what there is to discover."""
        waits = [asyncio.ensure_future(self._clock.sleep(seconds)), asyncio.ensure_future(self._woken.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if self._woken.is_set():
                await self._clock.sleep(GATHER_SECONDS)
        finally:
            for wait in waits:
                wait.cancel()
        self._woken.clear()

    def resource(self, api_version: str, kind: str) -> ApiResource | None:
        """The collection of an owner reference's apiVersion and kind; None while no server has it."""
        return self.discovered.kinds.get((api_version, kind))

    async def _refresh(self, group: asyncio.TaskGroup) -> None:
        try:
            found = await discovery.discover(self._client)
        except (errors.APIError, rest.ConnectionFailed) as error:
            log.warning("discovery: %s; keeping what is known", error, extra={"step": "C4"})
            return
        self.discovered = found
        wanted = {resource.gvr: resource for resource in found.resources if is_collectable(resource)}
        for gvr in self._tasks.keys() - wanted.keys():
            if gvr.api_version not in found.failures:  # a group that did not answer is not gone
                self._stop(gvr)
        for gvr in wanted.keys() - self._tasks.keys():
            self._start(group, wanted[gvr])

    def _start(self, group: asyncio.TaskGroup, resource: ApiResource) -> None:
        api_version, kind = resource.gvr.api_version, resource.kind
        informer = Informer(self._client, resource.gvr, metadata_only=True, clock=self._clock)
        informer.add_handler(
            on_add=lambda obj: self._observe(obj, api_version, kind),
            on_update=lambda old, new: self._observe(new, api_version, kind),
            on_delete=self._forget,
        )
        if kind == "CustomResourceDefinition":
            informer.add_handler(on_add=self._wake, on_update=lambda old, new: self._wake(new), on_delete=self._wake)
        self._informers[resource.gvr] = informer
        self._tasks[resource.gvr] = group.create_task(informer.run(), name=f"metadata of {resource.gvr}")

    def _wake(self, definition: Object) -> None:
        self._woken.set()

    def _stop(self, gvr: GVR) -> None:
        self._tasks.pop(gvr).cancel()
        for obj in self._informers.pop(gvr).store.list():
            self._forget(obj)

    async def _wait_synced(self) -> None:
        try:
            async with asyncio.timeout(SYNC_SECONDS):
                await asyncio.gather(*(informer.wait_synced() for informer in self._informers.values()))
        except TimeoutError:
            missing = [str(gvr) for gvr, informer in self._informers.items() if not informer.has_synced]
            log.warning("starting without %s", ", ".join(missing), extra={"step": "C4"})


def is_collectable(resource: ApiResource) -> bool:
    """Whether its objects can be watched and deleted, and may be owned."""
    return resource.verbs >= _NEEDED_VERBS and (resource.gvr.group, resource.gvr.resource) not in _IGNORED
