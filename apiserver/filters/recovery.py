"""The one place that turns errors into responses.

An `APIError` becomes its Status. Anything else is a bug: it is logged with its trace, and the client gets a Status of
code 500 that names the request and nothing of the inside. A response that has begun is never overwritten: the
connection is closed instead, so that the client sees a broken stream and not a complete one.
"""

from __future__ import annotations

import logging

from apimachinery import errors
from apiserver import request as requests
from apiserver import responses
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring

_log = logging.getLogger("apiserver.recovery")


class Recovery:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        try:
            await self._app(scope, receive, send)
        except errors.APIError as error:
            await self._answer(request, send, error)
        except Exception:  # noqa: BLE001 - the outermost place: no trace may reach a client
            _log.exception("%s %s (id %s) failed", request.method, request.info.path, request.id)
            await self._answer(
                request,
                send,
                errors.InternalError(f"Internal error occurred: see the server's log, request {request.id}"),
            )

    async def _answer(self, request: requests.Request, send: Send, error: errors.APIError) -> None:
        if not request.status:
            await responses.send_error(request, send, error)
        elif request.connection is not None:
            request.connection.transport.close()
