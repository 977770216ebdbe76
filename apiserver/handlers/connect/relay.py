"""Passing a backend's answer on to the client: as a response, or as the bare stream after an upgrade."""

from __future__ import annotations

from apiserver.asgi import Send
from apiserver.backend import Backend
from apiserver.handlers.connect import splice
from apiserver.request import Request

# Headers that belong to one connection or to us; all others are passed on
_OWN_HEADERS = frozenset({b"host", b"authorization", b"content-length", b"transfer-encoding", b"expect"})
_HOP_HEADERS = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"date"})


def passed_headers(request: Request) -> list[tuple[bytes, bytes]]:
    return [header for header in request.scope["headers"] if header[0] not in _OWN_HEADERS]


async def upgrade(request: Request, backend: Backend, send: Send) -> None:
    """Splices when the backend agreed to the upgrade; else its answer goes to the client as it is."""
    if backend.head.status == 101:
        assert request.connection is not None, "every request that came over a socket has its connection"
        await splice.splice(request.connection, backend)
        return
    try:
        await answer(request, backend, send)
    finally:
        await backend.close()


async def answer(request: Request, backend: Backend, send: Send) -> None:
    """The backend's answer: status, headers, body."""
    headers = [header for header in backend.head.headers if header[0] not in _HOP_HEADERS]
    await send({"type": "http.response.start", "status": backend.head.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    await body(request, backend, send)


async def body(request: Request, backend: Backend, send: Send) -> None:
    """The backend's body, piece by piece as it comes. A client that goes away ends it, though nothing comes."""
    if request.connection is not None:
        request.connection.on_end(backend.abort)
    try:
        async for part in backend.body():
            await send({"type": "http.response.body", "body": part, "more_body": True})
    finally:
        if request.connection is not None:
            request.connection.on_end(None)
    await send({"type": "http.response.body", "body": b"", "more_body": False})
