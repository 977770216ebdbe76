"""Bounds how many requests are worked on at a time, reads and writes apart; more are told to come again (429).

Long-running requests (watches, exec, logs) do not count, and the cluster's masters are never turned away, as upstream:
who is to mend an overloaded server must get in. The limits hold for all workers together.
"""

from __future__ import annotations

from apimachinery import errors
from apiserver import inflight
from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring

_READS = frozenset({"get", "list", "watch", "head"})
_PRIVILEGED = "system:masters"
_RETRY_SECONDS = 1


class InFlight:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        config = wiring.config
        self._limits = (config.max_requests_inflight, config.max_mutating_requests_inflight)  # 0: no limit
        self._running = wiring.running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        if request.info.long_running:
            await self._app(scope, receive, send)
            return
        kind = inflight.READ_ONLY if request.info.verb in _READS else inflight.MUTATING
        limit = self._limits[kind]
        if limit and self._running.total(kind) >= limit and _PRIVILEGED not in request.user.groups:
            raise errors.TooManyRequests(
                "Too many requests, please try again later.", retry_after_seconds=_RETRY_SECONDS
            )
        self._running.add(kind, 1)
        try:
            await self._app(scope, receive, send)
        finally:
            self._running.add(kind, -1)
