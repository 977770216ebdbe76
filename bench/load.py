"""A load generator that costs little: raw HTTP/1.1 over TLS on keep-alive connections, one request in flight on each.

A general HTTP client costs more CPU a request than the server under test; on two shared cores it would measure itself.
It understands `Content-Length` and chunked bodies, which is all the apiserver sends. A status of 400 or more is an
error and ends the run: a benchmark of refusals is worth nothing.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Result:
    """What one run saw. Latencies are seconds, one a request."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    bytes_read: int = 0

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """The latency in milliseconds that `share` (0 … 1) of the requests did not exceed."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Connection:
    """One keep-alive connection to `host:port`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, token: str) -> None:
        self._reader = reader
        self._writer = writer
        self._head = f"Host: {host}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n".encode()

    @classmethod
    async def open(cls, host: str, port: int, token: str, context: ssl.SSLContext) -> Connection:
        reader, writer = await asyncio.open_connection(host, port, ssl=context, limit=1 << 22)
        return cls(reader, writer, f"{host}:{port}", token)

    async def request(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        """The response's body. Raises RuntimeError for a status of 400 or more."""
        head = b"%b %b HTTP/1.1\r\n%b" % (method.encode(), path.encode(), self._head)
        if body:
            head += b"Content-Type: %b\r\nContent-Length: %d\r\n" % (content_type.encode(), len(body))
        self._writer.write(head + b"\r\n" + body)
        response_head = await self._reader.readuntil(b"\r\n\r\n")
        status = int(response_head[9:12])
        content = await self._body(response_head.lower())
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {content[:300]!r}")
        return content

    async def _body(self, head: bytes) -> bytes:
        at = head.find(b"content-length:")
        if at >= 0:
            return await self._reader.readexactly(int(head[at + 15 : head.index(b"\r\n", at)]))
        parts = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return b"".join(parts)

    def close(self) -> None:
        self._writer.close()


Request = tuple[str, str, bytes, str]
"""Method, path, body, content type."""


async def run(
    connections: list[Connection], make: Callable[[int], Request], *, seconds: float, most: int = 1_000_000
) -> Result:
    """Sends `make(0)`, `make(1)`, … over all connections for `seconds`, or until `most` requests were sent."""
    counter = 0
    started = time.perf_counter()
    deadline = started + seconds
    result = Result(0.0)

    async def drive(connection: Connection) -> None:
        nonlocal counter
        while time.perf_counter() < deadline and counter < most:
            number, counter = counter, counter + 1
            method, path, body, content_type = make(number)
            before = time.perf_counter()
            content = await connection.request(method, path, body, content_type)
            result.latencies.append(time.perf_counter() - before)
            result.bytes_read += len(content)

    async with asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(drive(connection))
    result.seconds = time.perf_counter() - started
    return result
