"""Requests for a group-version of an extension server (A1), passed on to it in the user's name.

They come here after authentication and authorization, as all do. What the other server answers is passed on as it
comes: lists, watches, and after an upgrade the bare stream.
"""

from __future__ import annotations

import ssl

from apimachinery import errors
from apiserver import request as requests
from apiserver import responses
from apiserver.aggregation import frontproxy
from apiserver.aggregation.frontproxy import FrontProxy
from apiserver.aggregation.remotes import Remote, Remotes
from apiserver.aggregation.services import Unresolved
from apiserver.asgi import Receive, Scope, Send
from apiserver.backend import Target, ask
from apiserver.handlers import bodies
from apiserver.handlers.connect import relay
from apiserver.request import Request, RequestInfo

_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Aggregator:
    """The first of the server chain: takes what an APIService leads elsewhere."""

    def __init__(self, remotes: Remotes, front_proxy: FrontProxy) -> None:
        self._remotes = remotes
        self._front_proxy = front_proxy

    def serves(self, info: RequestInfo) -> Remote | None:
        """Whom the request is for, when it is not for us."""
        if not self._remotes:
            return None
        if info.is_resource:
            return self._remotes.find(info.group, info.version)
        match info.path.strip("/").split("/"):
            case ["apis", group, version]:
                return self._remotes.find(group, version)
            case ["openapi", "v3", "apis", group, version]:
                return self._remotes.find(group, version)
        return None

    async def handle(self, remote: Remote, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        try:
            if not remote.available:
                raise Unresolved("not available")
            target = self._front_proxy.target(remote, request.method, _path(scope))
        except Unresolved:
            await responses.send_text(request, send, 503, "service unavailable\n")
            return
        except (ValueError, ssl.SSLError) as error:
            await responses.send_text(request, send, 500, f"{error}\n")
            return
        try:
            await self._pass(request, target, receive, send)
        except errors.InternalError as error:  # nothing came back
            await responses.send_text(request, send, 503, f"{error}\n")

    async def _pass(self, request: Request, target: Target, receive: Receive, send: Send) -> None:
        headers = [*self._front_proxy.passed(relay.passed_headers(request)), *frontproxy.identity(request.user)]
        headers += _forwarded(request)
        if request.headers.get(b"upgrade"):
            await relay.upgrade(request, await ask(target, headers), send)
            return
        body = await bodies.read(request, receive) if request.method in _WITH_BODY else b""
        headers = [header for header in headers if header[0] != b"connection"]
        backend = await ask(target, [*headers, (b"Connection", b"close")], body)
        try:
            await relay.answer(request, backend, send)
        finally:
            await backend.close()


def _path(scope: Scope) -> str:
    """The path and query as the client wrote them."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return (path + (b"?" + query if query else b"")).decode("latin-1")


def _forwarded(request: Request) -> list[tuple[bytes, bytes]]:
    client = request.scope.get("client")
    headers = [(b"X-Forwarded-Uri", request.info.path.encode()), (b"X-Forwarded-Proto", b"https")]
    if request.headers.get(b"host"):
        headers.append((b"X-Forwarded-Host", request.headers[b"host"]))
    if client:
        before = request.headers.get(b"x-forwarded-for")
        headers.append((b"X-Forwarded-For", (before + b", " if before else b"") + str(client[0]).encode()))
    return headers
