"""The parts of custom resources put together for one worker, and the task that keeps definitions' status."""

from __future__ import annotations

import logging
from typing import Any

import orjson

from apimachinery.clock import Clock
from apimachinery.objects import Object
from apiserver.admission.webhooks import calling
from apiserver.apiextensions.controller import Controller
from apiserver.apiextensions.following import Follower
from apiserver.apiextensions.webhooks import PostFailed, Webhooks
from apiserver.registry.registry import Registry
from apiserver.scheme.scheme import Scheme
from apiserver.storage.store import Store

_log = logging.getLogger("apiserver.apiextensions")

_RESTART_SECONDS = 1.0


class Extensions:
    def __init__(self, scheme: Scheme, store: Store, clock: Clock, caller: calling.Caller) -> None:
        self._store = store
        self._clock = clock
        self._caller = caller
        self._converter = Webhooks(self._post)
        self._follower = Follower(scheme, self._converter)

    def follow(self, store: Store) -> None:
        self._follower.follow(store)

    async def run(self, registry: Registry) -> None:
        """Until cancelled; one worker runs it."""
        while True:
            try:
                await Controller(registry, self._store, self._clock, self._converter).run()
            except Exception:  # noqa: BLE001  # the outermost place: what users define must not end the worker
                _log.exception("custom resource definitions stumbled; starting again")
            await self._clock.sleep(_RESTART_SECONDS)

    async def _post(self, config: Object, body: Object, timeout_seconds: int) -> Any:
        try:
            return orjson.loads(await self._caller.post(config, body, timeout_seconds))
        except (calling.CallFailed, orjson.JSONDecodeError) as error:
            raise PostFailed(str(error)) from error
