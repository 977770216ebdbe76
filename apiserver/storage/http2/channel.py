"""A client of several endpoints that serve the same: it connects, fails over, reconnects, and repeats what is safe.

One connection at a time carries all calls. When it is lost, or its peer answers that it cannot serve (no leader, or
shutting down), the next endpoint is tried at once, and after a round of failures with a growing pause.

Guarantees: a call ends by its deadline. A call is made again only if the peer has surely not acted on the first
(`NotSent`, or a status that `never_acted` tells), or if the caller says that twice does no harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from apiserver.storage import types
from apiserver.storage.http2 import calls, connection, errors, headers

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_SECONDS = 3.0
FIRST_PAUSE_SECONDS = 0.05  # a server that is just starting is found soon
LAST_PAUSE_SECONDS = 1.0


class Endpoint:
    """One address, `http://host:port` or `https://host:port`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an endpoint: {url!r} (want http://HOST:PORT or https://HOST:PORT)")
        self.scheme = parts.scheme
        self.host = parts.hostname
        self.port = parts.port or 2379
        self.authority = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


def client_context(tls: types.TlsFiles | None) -> ssl.SSLContext:
    """TLS as gRPC wants it: the server's certificate checked, ours shown, HTTP/2 by ALPN."""
    context = ssl.create_default_context(cafile=tls.ca if tls else None)
    if tls and tls.cert:
        context.load_cert_chain(tls.cert, tls.key)
    context.set_alpn_protocols(["h2"])
    return context


class Channel:
    """`extra_headers` go with every call; `never_acted` tells statuses after which a call may be made again."""

    def __init__(
        self,
        endpoints: Iterable[str],
        *,
        tls: types.TlsFiles | None = None,
        extra_headers: Iterable[tuple[str, str]] = (),
        never_acted: Callable[[errors.RpcError], bool] = lambda error: False,
    ) -> None:
        self._endpoints = [Endpoint(url) for url in endpoints]
        if not self._endpoints:
            raise ValueError("no endpoints")
        secure = any(endpoint.scheme == "https" for endpoint in self._endpoints)
        self._tls = client_context(tls) if secure else None
        self._extra_headers = tuple(extra_headers)
        self._never_acted = never_acted
        self._next = 0  # index of the endpoint to try next
        self._current: connection.Connection | None = None
        self._blocks: dict[str, bytes] = {}  # of the current connection, by path
        self._connecting: asyncio.Task[None] | None = None
        self._failure = "not connected yet"
        self._closed = False

    @property
    def stream_count(self) -> int:
        """How many calls are under way on the current connection."""
        return self._current.stream_count if self._current else 0

    async def call(self, path: str, request: bytes, *, timeout_seconds: float, repeatable: bool = False) -> bytes:
        """Makes a call and returns its answer. Raises CallError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_seconds
        body = calls.frame(request)
        while True:
            current = self._current
            if current is None or current.full:
                current = await self._available(deadline)
            call = calls.UnaryCall(loop)
            call.deadline = deadline
            try:
                current.open(self._block(path), call, body, end=True)
                return await call.answer
            except asyncio.CancelledError:
                current.cancel(call)
                raise
            except errors.NotSent as error:
                failure: errors.CallError = error
            except errors.Interrupted as error:
                if not repeatable:
                    raise
                failure = error
            except errors.RpcError as error:
                if error.code != errors.UNAVAILABLE or not (repeatable or self._never_acted(error)):
                    raise
                failure = error
                self._fail_over(current)
            if loop.time() + FIRST_PAUSE_SECONDS >= deadline:
                raise failure
            await asyncio.sleep(FIRST_PAUSE_SECONDS)

    async def stream(self, path: str, request: bytes, *, timeout_seconds: float) -> calls.StreamingCall:
        """Opens a stream of answers, whose request side stays open. The timeout is for the opening alone."""
        loop = asyncio.get_running_loop()
        current = await self._available(loop.time() + timeout_seconds)
        call = calls.StreamingCall(loop)
        call.bind(current)
        current.open(self._block(path), call, calls.frame(request), end=False)
        return call

    def fail_over(self) -> None:
        """Leaves the current endpoint, which does not serve: calls under way go on, new ones go to the next."""
        if self._current is not None:
            self._fail_over(self._current)

    async def close(self) -> None:
        """Ends the connection and whatever is under way on it."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        if self._current is not None:
            self._current.close()

    def _block(self, path: str) -> bytes:
        block = self._blocks.get(path)
        if block is None:
            endpoint = self._endpoints[self._next]
            block = headers.request_block(endpoint.scheme, endpoint.authority, path, self._extra_headers)
            self._blocks[path] = block
        return block

    def _fail_over(self, failed: connection.Connection) -> None:
        if failed is self._current and len(self._endpoints) > 1:
            failed.retire()

    def _lost(self, lost: connection.Connection) -> None:
        if lost is self._current:
            self._current = None
            self._next = (self._next + 1) % len(self._endpoints)

    # --- connecting

    async def _available(self, deadline: float) -> connection.Connection:
        """A connection with room for a stream. Raises NotSent when there is none in time."""
        try:
            async with asyncio.timeout_at(deadline):
                while self._current is None or self._current.full:
                    if self._current is not None:
                        await self._current.vacancy()
                    else:
                        await self._connected()
                return self._current
        except TimeoutError:
            raise errors.NotSent(f"no connection in time: {self._failure}") from None

    async def _connected(self) -> None:
        """Waits for the one task that connects, started by whoever needs it first."""
        if self._closed:
            raise errors.NotSent("the channel is closed")
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(self._connect())
        # wait, not await: one caller's cancellation must not end what the others wait for
        await asyncio.wait([self._connecting])
        if not self._connecting.cancelled():
            self._connecting.result()

    async def _connect(self) -> None:
        """Tries one endpoint after the other until one answers."""
        pause = FIRST_PAUSE_SECONDS
        failures = 0
        while True:
            endpoint = self._endpoints[self._next]
            try:
                self._current = await self._open(endpoint)
            except (OSError, ssl.SSLError, TimeoutError, errors.NotSent) as error:
                failures += 1
                self._failure = f"{endpoint}: {error or type(error).__name__}"
                log.info("A9 etcd: cannot connect to %s", self._failure)
                self._next = (self._next + 1) % len(self._endpoints)
                if failures % len(self._endpoints) == 0:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, LAST_PAUSE_SECONDS)
            else:
                self._blocks = {}
                return

    async def _open(self, endpoint: Endpoint) -> connection.Connection:
        loop = asyncio.get_running_loop()
        tls = self._tls if endpoint.scheme == "https" else None
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            transport, opened = await loop.create_connection(
                lambda: connection.Connection(self._lost), endpoint.host, endpoint.port, ssl=tls
            )
            with contextlib.ExitStack() as undo:
                undo.callback(transport.abort)
                chosen = transport.get_extra_info("ssl_object")
                if chosen is not None and chosen.selected_alpn_protocol() != "h2":
                    raise errors.NotSent("the peer does not offer HTTP/2 (ALPN)")
                await opened.ready()
                if not opened.usable:
                    raise errors.NotSent("the peer closed at once")
                undo.pop_all()
        return opened
