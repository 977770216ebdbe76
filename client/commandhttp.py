"""A small HTTP/1.1 transport for the command line, behind httpx's interface.

Why: httpx's own transport brings httpcore, h11 and anyio, which take longer to import than `minictl get` takes to run.
Guarantees: one exchange at a time on a connection; a connection is used again only after a body was read to its end;
foreign exceptions become httpx's; no socket is open after `aclose`, whoever still holds a stream.
Does no HTTP/2, proxies, redirects or compression: nobody here asks for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpx

# Head and chunk-size lines; the largest legal head is far smaller
LINE_MAX = 1 << 20
BLOCK = 1 << 16
# An aborted socket is gone after a few turns of the loop: longer means that the loop itself is stuck
CLOSE_SECONDS = 1.0
_NO_BODY = frozenset({204, 304})


class CommandTransport(httpx.AsyncBaseTransport):
    """Connections to one server, kept while the command runs."""

    def __init__(
        self,
        context: ssl.SSLContext | None,
        socket_options: list[tuple[int, int, int]],
        exchange_seconds: float | None = None,
    ) -> None:
        """`exchange_seconds`: no exchange takes longer, from its connection to the end of its body."""
        self._context = context
        self._options = socket_options
        self._seconds = exchange_seconds
        self._idle: list[_Connection] = []
        self._opened: list[_Connection] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        timeout = request.extensions.get("timeout") or {}
        end = None if self._seconds is None else asyncio.get_running_loop().time() + self._seconds
        connection = self._idle.pop() if self._idle else await self._connect(request, timeout.get("connect"), end)
        try:
            async with asyncio.timeout_at(end), asyncio.timeout(timeout.get("read")):
                await connection.send(request)
                status, headers = await connection.head()
        except TimeoutError as error:
            connection.close()
            raise httpx.ReadTimeout("the server did not answer in time") from error
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            connection.close()
            raise httpx.RemoteProtocolError(str(error) or "the server closed the connection") from error
        except asyncio.CancelledError:
            connection.close()
            raise
        has_body = status not in _NO_BODY and request.method != "HEAD"
        body = _Body(connection, dict(headers), has_body, timeout.get("read"), end, self._idle)
        return httpx.Response(status, headers=headers, stream=body)

    async def aclose(self) -> None:
        opened, self._opened = self._opened, []
        self._idle.clear()
        for connection in opened:
            connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for connection in opened:
                    await connection.wait_closed()

    async def _connect(self, request: httpx.Request, timeout_seconds: float | None, end: float | None) -> _Connection:
        url = request.url
        options: dict[str, Any] = {}
        if url.scheme == "https":
            options = {"ssl": self._context, "server_hostname": request.extensions.get("sni_hostname") or url.host}
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            async with asyncio.timeout_at(end), asyncio.timeout(timeout_seconds):
                reader, writer = await asyncio.open_connection(url.host, port, limit=LINE_MAX, **options)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection to {url.host}:{port} in time") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        opened = writer.get_extra_info("socket")
        for level, name, value in self._options:
            opened.setsockopt(level, name, value)
        connection = _Connection(reader, writer)
        self._opened = [known for known in self._opened if not known.is_closing] + [connection]
        return connection


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def send(self, request: httpx.Request) -> None:
        target = request.url.raw_path
        lines = [request.method.encode() + b" " + target + b" HTTP/1.1"]
        lines += [name + b": " + value for name, value in request.headers.raw]
        self._writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + request.content)
        await self._writer.drain()

    async def head(self) -> tuple[int, list[tuple[str, str]]]:
        """Status and headers (names in lower case) of the answer; interim answers are passed over."""
        while True:
            text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
            version, code, *_ = first.split(" ", 2)
            if not version.startswith("HTTP/1."):
                raise ValueError(f"not an HTTP answer: {first[:80]!r}")
            if int(code) >= 200:
                break
        pairs = [line.partition(":") for line in lines]
        return int(code), [(name.lower(), value.strip()) for name, _, value in pairs]

    def close(self) -> None:
        # no farewell of TLS: whoever leaves a stream half read does not wait for the other side's
        self._writer.transport.abort()

    @property
    def is_closing(self) -> bool:
        return self._writer.is_closing()

    async def wait_closed(self) -> None:
        """Until the socket is closed, after `close`."""
        with contextlib.suppress(OSError):  # of what broke it
            await self._writer.wait_closed()


class _Body(httpx.AsyncByteStream):
    """The answer's body; read to its end, it gives the connection back."""

    def __init__(
        self,
        connection: _Connection,
        headers: dict[str, str],
        has_body: bool,
        silence_seconds: float | None,
        end: float | None,
        idle: list[_Connection],
    ) -> None:
        self._connection = connection
        self._headers = headers
        self._silence = silence_seconds
        self._end = end
        self._idle = idle
        self._done = not has_body
        self._keep = headers.get("connection", "").lower() != "close"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._done:
            return
        try:
            async for block in self._blocks():
                yield block
        except TimeoutError as error:
            raise httpx.ReadTimeout("the server fell silent") from error
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise httpx.ReadError(str(error) or "the server closed the connection") from error
        self._done = True

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None  # type: ignore[assignment]  # closed twice is closed
        if connection is None:
            return
        if self._done and self._keep:
            self._idle.append(connection)
        else:
            connection.close()

    async def _blocks(self) -> AsyncIterator[bytes]:
        reader = self._connection.reader
        if "chunked" in self._headers.get("transfer-encoding", "").lower():
            while size := int((await self._within(reader.readuntil(b"\r\n"))).partition(b";")[0], 16):
                yield (await self._within(reader.readexactly(size + 2)))[:-2]
            while await self._within(reader.readuntil(b"\r\n")) != b"\r\n":
                pass  # trailers
        elif "content-length" in self._headers:
            rest = int(self._headers["content-length"])
            while rest:
                block = await self._within(reader.read(min(rest, BLOCK)))
                if not block:
                    raise EOFError("the server closed the connection in the middle of an answer")
                rest -= len(block)
                yield block
        else:
            self._keep = False
            while block := await self._within(reader.read(BLOCK)):
                yield block

    async def _within(self, read: Any) -> bytes:
        async with asyncio.timeout_at(self._end), asyncio.timeout(self._silence):
            data: bytes = await read
            return data
