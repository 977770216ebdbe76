"""One TLS connection to the apiserver, and so to one of its workers: HTTP/1.1 by hand.

A client library would open another connection when one breaks, and repeat what it thinks safe; a history must know
which connection said what, and that nothing was sent twice.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import orjson

TOKEN = "admin-token"
_numbers = itertools.count(1)
_BROKEN = (OSError, EOFError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError)


class Broken(Exception):
    """The connection is no more, or never was; `sent` says whether the request may have got through."""

    def __init__(self, cause: BaseException, *, sent: bool) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.sent = sent


class Answer(NamedTuple):
    code: int
    body: dict[str, Any]


class Connection:
    """Use `open`; one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.number = number
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int, context: ssl.SSLContext, *, timeout_seconds: float = 10.0) -> Connection:
        try:
            async with asyncio.timeout(timeout_seconds):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=1 << 22)
        except (*_BROKEN, TimeoutError) as error:
            raise Broken(error, sent=False) from error
        return cls(reader, writer, next(_numbers))

    def close(self) -> None:
        self._writer.transport.abort()

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        timeout_seconds: float,
    ) -> Answer:
        """Raises Broken, also when the time is up."""
        try:
            async with asyncio.timeout(timeout_seconds):
                code, head = await self._exchange(method, path, body, content_type)
                return Answer(code, orjson.loads(await self._content(head)))
        except (*_BROKEN, TimeoutError) as error:
            raise Broken(error, sent=True) from error

    async def lines(self, path: str) -> AsyncIterator[Answer]:
        """A watch: an answer for each line, with the status of the whole. Ends with the stream. Raises Broken."""
        try:
            code, head = await self._exchange("GET", path, None, "")
            if b"chunked" not in head:
                yield Answer(code, orjson.loads(await self._content(head)))
                return
            while chunk := await self._chunk():
                for line in chunk.splitlines():
                    yield Answer(code, orjson.loads(line))
        except _BROKEN as error:
            raise Broken(error, sent=True) from error

    async def _exchange(self, method: str, path: str, body: Any, content_type: str) -> tuple[int, bytes]:
        content = b"" if body is None else orjson.dumps(body)
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        if content:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n"
        self._writer.write(head.encode() + b"\r\n" + content)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        return int(answer[9:12]), answer

    async def _content(self, head: bytes) -> bytes:
        at = head.find(b"content-length:")
        if at >= 0:
            return await self._reader.readexactly(int(head[at + 15 : head.index(b"\r\n", at)]))
        parts = []
        while chunk := await self._chunk():
            parts.append(chunk)
        return b"".join(parts)

    async def _chunk(self) -> bytes:
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        return (await self._reader.readexactly(size + 2))[:size]
