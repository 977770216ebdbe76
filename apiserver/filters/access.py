"""Measures every request and writes the access log: at `-v=4` each one, always those that took long (A1)."""

from __future__ import annotations

import logging

from apiserver import request as requests
from apiserver.asgi import App, Message, Receive, Scope, Send
from apiserver.filters.chain import Wiring

_log = logging.getLogger("apiserver.access")

# As upstream, which traces requests over half a second
_SLOW_SECONDS = 0.5


class AccessLog:
    """Notes the status that the response begins with, then counts and logs the request."""

    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        self._metrics = wiring.metrics
        self._clock = wiring.clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        started = self._clock.monotonic()

        async def note(message: Message) -> None:
            if not request.status and message["type"] == "http.response.start":
                request.status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            self._finish(request, self._clock.monotonic() - started)

    def _finish(self, request: requests.Request, seconds: float) -> None:
        self._metrics.observe(request, seconds)
        slow = seconds > _SLOW_SECONDS and not request.info.long_running
        if slow or _log.isEnabledFor(logging.DEBUG):
            _log.log(
                logging.INFO if slow else logging.DEBUG,
                "A1 %s %s %s %.1f ms user=%r agent=%r id=%s",
                request.method,
                request.info.path,
                request.status,
                seconds * 1000,
                request.user.name,
                request.header(b"user-agent"),
                request.id,
            )
