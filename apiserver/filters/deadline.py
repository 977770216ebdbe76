"""Gives every request that does not last a deadline: `--request-timeout`, or less if the client says `?timeout=`."""

from __future__ import annotations

import asyncio

from apimachinery import errors
from apiserver import config
from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring


class Deadline:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        self._limit_seconds = wiring.config.request_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        if request.info.long_running:
            await self._app(scope, receive, send)
            return
        seconds = self._seconds(request)
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                await self._app(scope, receive, send)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise errors.Timeout(
                f"Timeout: request did not complete within the allotted timeout ({seconds:g}s)"
            ) from None

    def _seconds(self, request: requests.Request) -> float:
        asked = request.option("timeout") if request.query else ""
        if not asked:
            return self._limit_seconds
        try:
            seconds = config.seconds(asked)
        except ValueError:
            raise errors.BadRequest(
                f'invalid timeout specified in the request URL - invalid duration "{asked}"'
            ) from None
        return min(seconds, self._limit_seconds) if seconds > 0 else self._limit_seconds
