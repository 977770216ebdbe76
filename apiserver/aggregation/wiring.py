"""The parts of aggregation put together for one worker, and the tasks that keep them up to date."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from apimachinery.clock import Clock
from apiserver.aggregation.availability import Prober
from apiserver.aggregation.catalog import Catalog
from apiserver.aggregation.controller import Controller
from apiserver.aggregation.documents import Documents
from apiserver.aggregation.frontproxy import FrontProxy
from apiserver.aggregation.remotes import PREFIX, Remotes, is_available
from apiserver.aggregation.services import Services
from apiserver.config import Config
from apiserver.registry.registry import Registry
from apiserver.scheme.scheme import Scheme
from apiserver.storage import types
from apiserver.storage.store import Store

_log = logging.getLogger("apiserver.aggregation")

_RESTART_SECONDS = 1.0
_FIRST = f"{PREFIX}v1."  # the APIService of the core group


class Aggregation:
    def __init__(self, config: Config, scheme: Scheme, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._services = Services(store, random.SystemRandom(), by_endpoints=config.enable_aggregator_routing)
        self.remotes = Remotes()
        self.front_proxy = FrontProxy(config, self._services)
        self.documents = Documents(self.remotes, self.front_proxy)
        self.catalog = Catalog(scheme, self.remotes, self.documents)
        self._registered = False

    def follow(self, store: Store) -> None:
        self.remotes.follow(store)
        self._registered = store.cached(_FIRST) is not None
        store.subscribe(_FIRST, store.revision, self._on_first)

    async def run(self, registry: Registry, *, controls: bool) -> None:
        """Until cancelled; with `controls` this worker also writes the APIServices."""
        tasks = [self._keep(self.documents.run)]
        if controls:
            prober = Prober(self.front_proxy)
            controller = Controller(registry, self._store, self.remotes, self._services, prober, self._clock)
            tasks.append(self._keep(controller.run))
        await asyncio.gather(*tasks)

    async def registered(self) -> str:
        """Whether what is served here has ever had its APIServices (a health check): who deletes them later, may."""
        return "" if self._registered else "missing APIService: [v1.]"

    def _on_first(self, event: types.Event) -> None:
        self._registered = True

    def unavailable(self) -> dict[str, bool]:
        """Every APIService, and whether it is out of order."""
        found = (stored.object for stored in self._store.cached_list(PREFIX))
        return {obj["metadata"]["name"]: not is_available(obj) for obj in found}

    async def _keep(self, run: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await run()
            except Exception:  # noqa: BLE001  # the outermost place: what others send must not end the worker
                _log.exception("aggregation stumbled; starting again")
            await self._clock.sleep(_RESTART_SECONDS)
