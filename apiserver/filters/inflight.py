"""Bounds how many requests are worked on at a time, reads and writes apart; more are told to come again (429).

Long-running requests (watches, exec, logs) do not count. Each worker takes its share of the server's limits.
"""

from __future__ import annotations

from apimachinery import errors
from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring

_READS = frozenset({"get", "list", "watch", "head"})


class InFlight:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        config = wiring.config
        self._limits = {
            "readOnly": _share(config.max_requests_inflight, config.workers),
            "mutating": _share(config.max_mutating_requests_inflight, config.workers),
        }
        self._running = wiring.metrics.inflight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        info = requests.of(scope).info
        if info.long_running:
            await self._app(scope, receive, send)
            return
        kind = "readOnly" if info.verb in _READS else "mutating"
        limit = self._limits[kind]
        if limit and self._running[kind] >= limit:
            raise errors.TooManyRequests("too many requests, please try again later", retry_after_seconds=1)
        self._running[kind] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running[kind] -= 1


def _share(limit: int, workers: int) -> int:
    """A worker's part of the server's limit, rounded up; 0 means no limit."""
    return -(-limit // workers)
