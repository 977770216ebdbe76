"""Outermost filter: parses the request (A3) and gives it its id and trace context (A1, B1)."""

from __future__ import annotations

import random
import re

from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring

# W3C trace context: version, trace id, parent id, flags
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
# Our own member of the list that travels with it
_RECORD = "armillary=record"
# A client may name its request; anything odd or long is replaced
_AUDIT_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


class RequestInfo:
    """Puts a `Request` into the scope; what comes further in can rely on it."""

    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.attach(scope)
        given = request.header(b"audit-id")
        request.id = given if given and _AUDIT_ID.fullmatch(given) else new_id()
        traceparent = request.headers.get(b"traceparent", b"")
        if traceparent and _TRACEPARENT.fullmatch(traceparent):
            request.traceparent = traceparent.decode()
            request.records_trace = _asks_for_record(request.header(b"tracestate"))
        await self._app(scope, receive, send)


def _asks_for_record(tracestate: str) -> bool:
    """Whether objects that this request creates are to carry its trace context; off unless asked for."""
    return _RECORD in (member.strip() for member in tracestate.split(","))


def new_id() -> str:
    """A random UUID. It names a request and guards nothing, so it need not come from the system's entropy."""
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
