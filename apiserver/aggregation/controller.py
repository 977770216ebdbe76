"""Keeps the APIServices: makes those of what is served here, and says in each whether it works (A1).

One worker of a server runs it; several servers may, since what they write is the same.
Guarantees: a change of an APIService, of its Service or of its endpoints is seen at once, a server that dies without
one within `_RECHECK_SECONDS`; nothing is written that says what is said already.
"""

from __future__ import annotations

import asyncio
import logging

from apimachinery import codec, errors
from apimachinery.clock import Clock, rfc3339
from apimachinery.objects import Object
from apiserver.aggregation import availability, registration, remotes
from apiserver.aggregation.availability import Prober, Verdict
from apiserver.aggregation.registration import Served
from apiserver.aggregation.remotes import Remotes
from apiserver.aggregation.services import Services
from apiserver.registry.call import LOOPBACK, Call
from apiserver.registry.registry import Registry
from apiserver.storage import types
from apiserver.storage.store import Store

_log = logging.getLogger("apiserver.aggregation")

# As upstream's resync
_RECHECK_SECONDS = 30.0
# Changes that come together are looked at together
_GATHER_SECONDS = 0.05
# How soon a group-version of a new custom resource has its APIService
_TABLE_SECONDS = 0.5
_FOLLOWED = (remotes.PREFIX, "/registry/services/specs/", "/registry/endpointslices/")


class Controller:
    def __init__(
        self,
        registry: Registry,
        store: Store,
        followed: Remotes,
        services: Services,
        prober: Prober,
        clock: Clock,
    ) -> None:
        self._remotes = followed
        self._registry = registry
        self._store = store
        self._services = services
        self._prober = prober
        self._clock = clock
        self._woken = asyncio.Event()
        self._woken.set()  # at the start everything is looked at
        self._generation = -1
        row = registry.scheme.find(registration.GROUP, "v1", "apiservices")
        assert row is not None, "a built-in row"
        self._row = row
        self.registered = False

    async def run(self) -> None:
        for prefix in _FOLLOWED:
            self._store.subscribe(prefix, self._store.revision, self._on_event)
        rechecked = self._clock.monotonic()
        while True:
            await self._register()
            if self._woken.is_set() or self._clock.monotonic() - rechecked >= _RECHECK_SECONDS:
                self._woken.clear()
                rechecked = self._clock.monotonic()
                await self._check_all()
            try:
                async with asyncio.timeout(_TABLE_SECONDS):
                    await self._woken.wait()
                    await asyncio.sleep(_GATHER_SECONDS)
            except TimeoutError:
                continue

    def _on_event(self, event: types.Event) -> None:
        key = event.stored.key
        if key.startswith(remotes.PREFIX) or self._is_led_to(key):
            self._woken.set()

    def _is_led_to(self, key: str) -> bool:
        """Whether a Service or slice may be one that an APIService names; most are not."""
        namespace = key.split("/")[-2]
        return any(remote.service.namespace == namespace for remote in self._remotes)

    async def _register(self) -> None:
        generation = self._registry.scheme.generation
        if generation == self._generation:
            return
        existing = [stored.object for stored in self._store.cached_list(remotes.PREFIX)]
        plan = registration.plan(self._served(), existing, starting=not self.registered)
        writes = [*(self._create(obj) for obj in plan.create), *(self._delete(name) for name in plan.delete)]
        done = await asyncio.gather(*writes)
        if all(done):
            self._generation = generation
            self.registered = True

    def _served(self) -> list[Served]:
        scheme = self._registry.scheme
        return [
            Served(group, version, all(scheme.published(row.gvk) is not None for row in rows))
            for group, versions in scheme.groups().items()
            for version, rows in versions.items()
        ]

    async def _create(self, obj: Object) -> bool:
        call = Call(LOOPBACK, self._row, "create")
        try:
            await self._registry.create(call, self._registry.decode(call, codec.encode(obj)))
        except errors.AlreadyExists:
            return True
        except errors.APIError as error:
            _log.warning("cannot register %s: %s", obj["metadata"]["name"], error)
            return False
        return True

    async def _delete(self, name: str) -> bool:
        try:
            await self._registry.delete(Call(LOOPBACK, self._row, "delete", name=name), {})
        except errors.NotFound:
            return True
        except errors.APIError as error:
            _log.warning("cannot take back %s: %s", name, error)
            return False
        return True

    async def _check_all(self) -> None:
        stored = self._store.cached_list(remotes.PREFIX)
        await asyncio.gather(*(self._check(item.object) for item in stored))

    async def _check(self, obj: Object) -> None:
        verdict = await self._verdict(obj)
        conditions = (obj.get("status") or {}).get("conditions") or []
        previous = next((item for item in conditions if item.get("type") == remotes.AVAILABLE), None)
        wanted = availability.condition(verdict, previous, rfc3339(self._clock.now()))
        if wanted == previous:
            return
        name = obj["metadata"]["name"]
        _log.info("A1 APIService %s: %s (%s) %s", name, verdict.status, verdict.reason, verdict.message)
        others = [item for item in conditions if item is not previous]
        changed = obj | {"status": {**(obj.get("status") or {}), "conditions": [*others, wanted]}}
        try:
            await self._registry.update(Call(LOOPBACK, self._row, "update", name=name, subresource="status"), changed)
        except (errors.Conflict, errors.NotFound):
            _log.debug("APIService %s has changed meanwhile; its event brings us back", name)
        except errors.APIError as error:
            _log.warning("cannot write the status of APIService %s: %s", name, error)
            self._woken.set()

    async def _verdict(self, obj: Object) -> Verdict:
        remote = remotes.of(obj)
        if remote is None:
            return availability.LOCAL
        service = self._services.find(remote.service)
        problem = availability.of_service(remote, service, self._services.slices(remote.service))
        return problem or await self._prober.ask(remote)
