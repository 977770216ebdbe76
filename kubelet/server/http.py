"""A small HTTPS server of our own, because exec, attach and port-forward must be handed over as raw bytes.

SPDY and WebSocket connections are spliced to the runtime's streaming server: the request's head is sent on with
another path, then bytes are copied both ways until either side ends. No ASGI server gives the connection away like
that. Serves HTTP/1.1 with keep-alive; requests with bodies are bounded; an answer of unknown length is sent in chunks
and stops when the client has gone. Client certificates are asked for, and given to the handler as (user, groups).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

log = logging.getLogger(__name__)
HEAD_MAX_BYTES = 64 * 1024
BODY_MAX_BYTES = 1024 * 1024
IDLE_SECONDS = 90.0  # longer than the API server's keep-alive, so that it closes first
CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Peer:
    """Who the client certificate names; no certificate: no user."""

    user: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str  # decoded
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]  # lower-case names
    head: bytes  # as received, with the empty line
    body: bytes
    peer: Peer

    def first(self, name: str, default: str = "") -> str:
        return (self.query.get(name) or [default])[0]


@dataclass(frozen=True, slots=True)
class Response:
    """`body` as bytes, or in pieces of unknown number."""

    status: int = 200
    body: bytes | AsyncIterator[bytes] = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Splice:
    """Hand the connection over to the server of this URL."""

    url: str


Handler = Callable[[Request], Awaitable[Response | Splice]]


class BadRequest(ValueError):
    """What came is no request that is served here."""


class Server:
    def __init__(self, handler: Handler, context: ssl.SSLContext) -> None:
        self._handler = handler
        self._context = context
        self.port = 0

    async def run(self, host: str, port: int) -> None:
        """Until cancelled; open connections are cut then."""
        server = await asyncio.start_server(self._serve, host or None, port, ssl=self._context, limit=HEAD_MAX_BYTES)
        self.port = server.sockets[0].getsockname()[1]
        log.info("serving on port %d", self.port)
        async with server:
            await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: the place where its errors end."""
        try:
            peer = peer_of(writer.get_extra_info("peercert"))
            while await self._exchange(reader, writer, peer):
                continue
        except (OSError, asyncio.IncompleteReadError, TimeoutError, ssl.SSLError):
            pass  # the client has gone
        except (BadRequest, asyncio.LimitOverrunError) as error:
            writer.write(_head(400, {"Connection": "close", "Content-Length": "0"}))
            log.debug("bad request: %s", error)
        except Exception:  # a bug in one request must not end the server
            log.exception("a request failed")
        finally:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> bool:
        """One request and its answer. Returns whether another may follow."""
        async with asyncio.timeout(IDLE_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
            request = await _parse(head, reader, peer)
        answer = await self._handler(request)
        if isinstance(answer, Splice):
            await splice(answer.url, request, reader, writer)
            return False
        keep = request.headers.get("connection", "").lower() != "close" and isinstance(answer.body, bytes)
        await _respond(writer, reader, request, answer, keep=keep)
        return keep


async def _parse(head: bytes, reader: asyncio.StreamReader, peer: Peer) -> Request:
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    if len(parts) != 3:
        raise BadRequest(lines[0])
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise BadRequest("bodies in chunks are not served")
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > BODY_MAX_BYTES:
        raise BadRequest(f"content-length {length}")
    body = await reader.readexactly(int(length)) if int(length) else b""
    target = urlsplit(parts[1])
    query = parse_qs(target.query, keep_blank_values=True)
    return Request(parts[0], unquote(target.path), query, headers, head, body, peer)


async def _respond(
    writer: asyncio.StreamWriter, reader: asyncio.StreamReader, request: Request, answer: Response, *, keep: bool
) -> None:
    headers = {"Content-Type": answer.content_type, **answer.headers, "Connection": "keep-alive" if keep else "close"}
    if isinstance(answer.body, bytes):
        headers["Content-Length"] = str(len(answer.body))
        writer.write(_head(answer.status, headers) + (b"" if request.method == "HEAD" else answer.body))
        await writer.drain()
        return
    headers["Transfer-Encoding"] = "chunked"
    writer.write(_head(answer.status, headers))
    await _until_gone(_send_chunks(writer, answer.body), reader)


async def _send_chunks(writer: asyncio.StreamWriter, pieces: AsyncIterator[bytes]) -> None:
    await writer.drain()
    async for piece in pieces:
        if piece:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _until_gone(work: Awaitable[None], reader: asyncio.StreamReader) -> None:
    """Do `work`, but no longer than the client listens: a quiet log would be followed for ever."""
    sending = asyncio.ensure_future(work)
    gone = asyncio.create_task(_read_out(reader))
    try:
        await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
    finally:
        for task in (sending, gone):
            task.cancel()
        await asyncio.gather(sending, gone, return_exceptions=True)


async def _read_out(reader: asyncio.StreamReader) -> None:
    while await reader.read(CHUNK_BYTES):
        continue


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def splice(url: str, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send the request's head to `url`, then copy bytes until one side ends."""
    target = urlsplit(url)
    there_reader, there_writer = await asyncio.open_connection(target.hostname, target.port, limit=CHUNK_BYTES)
    try:
        path = target.path + (f"?{target.query}" if target.query else "")
        there_writer.write(_redirected(request, path) + request.body)
        await there_writer.drain()
        ways = {
            asyncio.create_task(_copy(reader, there_writer)),
            asyncio.create_task(_copy(there_reader, writer)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
    finally:
        there_writer.close()


def _redirected(request: Request, path: str) -> bytes:
    """The head with the streaming server's path. Credentials stay here."""
    rest = request.head.split(b"\r\n", 1)[1]
    lines = [line for line in rest.split(b"\r\n") if not line.lower().startswith(b"authorization:")]
    return f"{request.method} {path} HTTP/1.1\r\n".encode() + b"\r\n".join(lines)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK_BYTES):
        target.write(data)
        await target.drain()


def peer_of(certificate: Mapping[str, object] | None) -> Peer:
    """Common name and organisations, from what `ssl` makes of a verified certificate."""
    if not certificate:
        return Peer()
    subject = certificate.get("subject") or ()
    names = [pair for part in subject for pair in part]  # type: ignore[attr-defined]  # nested tuples, by ssl's contract
    user = next((value for key, value in names if key == "commonName"), "")
    return Peer(user, tuple(value for key, value in names if key == "organizationName"))
