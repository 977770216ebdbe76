"""The HTTP/1.1 connection: uvicorn's httptools protocol, which also shows who is at the other end.

Why a subclass: ASGI has no place for a client's certificate (A4), for writing prepared chunks straight to the transport
(watches, A10) or for handing the socket over after an upgrade (exec, attach, port-forward). `Connection`, which every
request finds in its scope's state, gives all three.
Guarantees: a connection that was taken over is never touched by uvicorn again.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from apiserver.registry.call import User

# As Go's server, which upstream uses
MAX_HEAD_BYTES = 1024 * 1024
HEAD_SECONDS = 32.0
# `_ssl.ENCODING_DER`
_DER = 2
# A client that does not read does not answer TLS's goodbye either; a stopping server need not wait for it
GOODBYE_SECONDS = 1.0


class Connection:
    """The transport of one client, and its certificate if it showed one (TLS has verified it by then)."""

    def __init__(
        self,
        transport: asyncio.Transport,
        drain: Callable[[], Awaitable[None]],
        take_over: Callable[[asyncio.BaseProtocol], bytes],
    ) -> None:
        self.transport = transport
        self._drain = drain
        self._take_over = take_over
        self.subject: dict[str, list[str]] = {}
        self.fingerprint = ""
        self.expires_at: float | None = None
        self._root: str | None = None
        self.user: User | None = None  # whom the certificate names, once it was read (A4)
        self._on_end: Callable[[], None] | None = None
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        certificate: dict[str, Any] | None = tls.getpeercert() if tls is not None else None
        if tls is not None and certificate:
            for parts in certificate.get("subject", ()):
                for name, value in parts:
                    self.subject.setdefault(name, []).append(value)
            self.fingerprint = hashlib.sha256(tls.getpeercert(binary_form=True) or b"").hexdigest()
            self.expires_at = ssl.cert_time_to_seconds(certificate["notAfter"])

    @property
    def certified(self) -> bool:
        """Whether there is a client certificate that is still in date."""
        return self.expires_at is not None and time.time() < self.expires_at

    @property
    def root(self) -> str:
        """The fingerprint of the authority that the certificate's verified chain ends in; "" without a certificate."""
        if self._root is None:
            self._root = _root_of(self.transport.get_extra_info("ssl_object"))
        return self._root

    @property
    def lost(self) -> bool:
        return self.transport.is_closing()

    def on_end(self, callback: Callable[[], None] | None) -> None:
        """Whom to tell, once, when the client has gone or the server is stopping; None: nobody any more."""
        self._on_end = callback
        if callback is not None and self.lost:
            callback()

    def end(self) -> None:
        if self._on_end is not None:
            self._on_end()

    async def drained(self) -> None:
        """Waits until the client has taken most of what was written to it."""
        await self._drain()

    def take_over(self, protocol: asyncio.BaseProtocol) -> bytes:
        """Gives the transport to `protocol` for good; returns the bytes that came after the request's head."""
        return self._take_over(protocol)


def _root_of(tls: ssl.SSLObject | None) -> str:
    if tls is None or not tls.getpeercert(binary_form=True):
        return ""
    if sys.version_info >= (3, 13):
        chain = tls.get_verified_chain()
    else:  # there, but not yet public
        inner = tls._sslobj  # type: ignore[attr-defined]  # typeshed hides it
        chain = [certificate.public_bytes(_DER) for certificate in inner.get_verified_chain() or ()]
    return hashlib.sha256(chain[-1]).hexdigest() if chain else ""


class Corked:
    """A transport that holds back what is written first, a response's head, and sends it with what follows, its body.

    A write costs an encryption and a system call, which together are a good part of a small request.
    """

    __slots__ = ("_head", "_transport", "close", "is_closing")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None
        self.close = transport.close
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        if self._head is None:
            self._head = data
        elif self._head:
            head, self._head = self._head, b""
            self._transport.write(b"".join((head, data)))
        else:
            self._transport.write(data)


class Protocol(HttpToolsProtocol):
    """Adds `connection` to each request's state and leaves upgrades to the handler of the request.

    Bounds what a client may send, and how slowly, before its request is known.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        self.connection = Connection(transport, self._drained, self._hand_over)
        self.app_state = {**self.app_state, "connection": self.connection}
        self._after_upgrade = bytearray()
        self._upgraded = False
        self._in_head = True
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        if self._upgraded:
            self._after_upgrade += data
            return
        self._unset_keepalive_if_required()
        self._feed(data)
        if self._in_head and self.parser is not None and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse_head()
            elif self._head_timer is None:
                self._watch_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._forget_head()
        super().on_headers_complete()
        # Only where the first write is the head, and a second one is sure to follow
        if not self.expect_100_continue and self.scope["method"] != "HEAD":
            self.cycle.transport = Corked(self.transport)  # type: ignore[assignment]  # all that a cycle asks of one

    def _refuse_head(self) -> None:
        """Go's server says it so; there is no request yet that could be answered with a Status."""
        text = b"431 Request Header Fields Too Large"
        headers = b"Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
        self.transport.write(b"HTTP/1.1 %b\r\n%b%b" % (text, headers, text))
        self.transport.close()

    def _watch_head(self) -> None:
        """A client that dawdles with its request's head, or never sends one, is let go."""
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # Whatever follows the head belongs to the upgraded protocol: kept until the handler takes the transport
            self._upgraded = True
            self._after_upgrade += data[upgrade.args[0] :]
            # The parser is done with this connection: if nobody takes it over it ends with the response
            self.cycle.keep_alive = False
            self.flow.pause_reading()
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)
        self.connection.end()

    def shutdown(self) -> None:
        super().shutdown()
        self.connection.end()
        self.loop.call_later(GOODBYE_SECONDS, self._abandon)

    def _abandon(self) -> None:
        """Drops the connection once no answer is under way on it."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
        else:
            self.loop.call_later(GOODBYE_SECONDS, self._abandon)

    def _should_upgrade(self) -> bool:
        return False

    async def _drained(self) -> None:
        if self.flow.write_paused:
            await self.flow.drain()

    def _hand_over(self, protocol: asyncio.BaseProtocol) -> bytes:
        self.connections.discard(self)
        cycle = self.cycle
        cycle.response_started = cycle.response_complete = True
        cycle.keep_alive = False
        self.transport.set_protocol(protocol)
        self.flow.resume_reading()
        return bytes(self._after_upgrade)
