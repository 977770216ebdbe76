"""Gives every request that does not last a deadline: `--request-timeout`, or less if the client says `?timeout=`."""

from __future__ import annotations

import asyncio

from apimachinery import errors
from apiserver import config
from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring

_READS = frozenset({"get", "list", "head"})
# As upstream says it, of reads and of writes
_READ_LATE = "Timeout: request did not complete within the allotted timeout"
_WRITE_LATE = "Timeout: request did not complete within requested timeout - context deadline exceeded"


class Deadline:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        self._limit_seconds = wiring.config.request_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        if request.info.long_running:
            await self._app(scope, receive, send)
            return
        deadline = asyncio.timeout(self._seconds(request))
        try:
            async with deadline:
                await self._app(scope, receive, send)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise errors.Timeout(_READ_LATE if request.info.verb in _READS else _WRITE_LATE) from None

    def _seconds(self, request: requests.Request) -> float:
        asked = request.option("timeout") if request.query else ""
        if not asked:
            return self._limit_seconds
        seconds = _duration(asked)
        return min(seconds, self._limit_seconds) if seconds > 0 else self._limit_seconds


def _duration(text: str) -> float:
    """What Go takes for a duration. Raises BadRequest."""
    problem = f'invalid duration "{text}"'
    try:
        seconds = config.seconds(text)
    except ValueError:
        seconds = -1.0
    if seconds > 0 and text[-1].isdigit():
        seconds, problem = -1.0, f'missing unit in duration "{text}"'
    if seconds < 0:
        raise errors.BadRequest(f"invalid timeout specified in the request URL - time: {problem}")
    return seconds
