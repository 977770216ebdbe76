"""One HTTP/1.1 request to a kubelet or an extension server, on a connection of its own: head out, head in, then a body
or the bare stream.

No HTTP client library stands in between, because after an upgrade nothing but bytes must pass, and because nothing here
needs more than a head and a body.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import httptools

from apimachinery import errors

DIAL_SECONDS = 10.0
# The head must come soon; a body or a stream may last
HEAD_SECONDS = 30.0
_HEAD_BYTES = 64 * 1024
CHUNK_BYTES = 64 * 1024


class Target(NamedTuple):
    """Where to connect, and what to ask for."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    method: str
    path: str  # with its query
    server_name: str = ""  # whom the certificate must name, where that is not the host


@dataclass(slots=True)
class Head:
    """The start of a response."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    raw: bytes = b""


class Backend:
    """An answered request. The body follows in `reader`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.head = Head()
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._complete = False

    # --- what httptools calls

    def on_header(self, name: bytes, value: bytes) -> None:
        self.head.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)

    def on_message_complete(self) -> None:
        self._complete = True

    # --- what we call

    async def read_head(self) -> None:
        raw = await self.reader.readuntil(b"\r\n\r\n")
        self.head.raw = raw
        with contextlib.suppress(httptools.HttpParserUpgrade):
            self._parser.feed_data(raw)
        self.head.status = self._parser.get_status_code()

    async def body(self) -> AsyncIterator[bytes]:
        """The decoded body, piece by piece."""
        while True:
            for part in self._parts:
                yield part
            self._parts = []
            if self._complete:
                return
            data = await self.reader.read(CHUNK_BYTES)
            if not data:
                return
            self._parser.feed_data(data)

    async def text(self, limit: int = 4096) -> str:
        """The start of the body, for an error message."""
        parts, size = [], 0
        async for part in self.body():
            parts.append(part)
            size += len(part)
            if size >= limit:
                break
        return b"".join(parts)[:limit].decode("utf-8", "replace").strip()

    def abort(self) -> None:
        """Ends the body at once, whoever waits for it."""
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError, ssl.SSLError):  # the other side was faster
            await self.writer.wait_closed()


async def ask(target: Target, headers: Iterable[tuple[bytes, bytes]], body: bytes = b"") -> Backend:
    """Connects, sends the request, reads the head of the answer. Raises InternalError when that cannot be done."""
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            reader, writer = await asyncio.open_connection(
                target.host,
                target.port,
                ssl=target.tls,
                server_hostname=target.server_name or None,
                limit=_HEAD_BYTES,
            )
    except (OSError, TimeoutError) as error:
        raise errors.InternalError(f"error dialing backend: {_reason(error)} ({target.host}:{target.port})") from error
    backend = Backend(reader, writer)
    try:
        writer.write(_request_head(target, headers, len(body)) + body)
        async with asyncio.timeout(HEAD_SECONDS):
            await backend.read_head()
    except (
        OSError,
        TimeoutError,
        asyncio.IncompleteReadError,
        asyncio.LimitOverrunError,
        httptools.HttpParserError,
    ) as error:
        await backend.close()
        raise errors.InternalError(f"error reading from backend: {_reason(error)}") from error
    except BaseException:
        writer.close()
        raise
    return backend


def _request_head(target: Target, headers: Iterable[tuple[bytes, bytes]], length: int) -> bytes:
    lines = [f"{target.method} {target.path} HTTP/1.1\r\nHost: {_host(target)}\r\n".encode()]
    lines += [b"%b: %b\r\n" % header for header in headers]
    if length:
        lines.append(b"Content-Length: %d\r\n" % length)
    return b"".join([*lines, b"\r\n"])


def _host(target: Target) -> str:
    return f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "i/o timeout"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
