"""Outermost filter: parses the request (A3) and gives it its id and trace context (A1, B1)."""

from __future__ import annotations

import re
import uuid

from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring

# W3C trace context: version, trace id, parent id, flags
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
# A client may name its request; anything odd or long is replaced
_AUDIT_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


class RequestInfo:
    """Puts a `Request` into the scope; what comes further in can rely on it."""

    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.attach(scope)
        given = request.header(b"audit-id")
        request.id = given if _AUDIT_ID.fullmatch(given) else str(uuid.uuid4())
        traceparent = request.headers.get(b"traceparent", b"")
        if traceparent and _TRACEPARENT.fullmatch(traceparent):
            request.traceparent = traceparent.decode()
        await self._app(scope, receive, send)
