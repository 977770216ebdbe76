"""SPDY/3.1 as exec and attach use it: the way to end a command's input where the server's WebSockets are of version 4.

One stream a channel, each opened by a SYN_STREAM that names it in the header `streamType`; FIN on the stdin stream ends
the input. `Frames` is pure: bytes in, frames out. There is no flow control: neither Kubernetes nor containerd have it.
Source: https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from client import rest
from minictl import channels
from minictl.failures import Refused

DATA, SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 0, 1, 2, 3, 6, 7
FIN = 0x01
PROTOCOL = "v4.channel.k8s.io"
HEAD_MAX = 1 << 16
FRAME_MAX = 1 << 24  # what the length field can say
_STREAMS = {channels.ERROR: "error", channels.STDIN: "stdin", channels.STDOUT: "stdout", channels.STDERR: "stderr"}
_STREAMS |= {channels.RESIZE: "resize"}

_WORDS = (
    "options", "head", "post", "put", "delete", "trace", "accept", "accept-charset", "accept-encoding",
    "accept-language", "accept-ranges", "age", "allow", "authorization", "cache-control", "connection",
    "content-base", "content-encoding", "content-language", "content-length", "content-location", "content-md5",
    "content-range", "content-type", "date", "etag", "expect", "expires", "from", "host", "if-match",
    "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "last-modified", "location",
    "max-forwards", "pragma", "proxy-authenticate", "proxy-authorization", "range", "referer", "retry-after",
    "server", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via", "warning",
    "www-authenticate", "method", "get", "status",
)  # fmt: skip
_PHRASES = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
    "charset=iso-8859-1,utf-,*,enq=0."
)
# What both sides' header compression starts from, as the protocol has it; checked by its Adler-32 in the tests
DICTIONARY = b"".join(len(word).to_bytes(4, "big") + word.encode() for word in (*_WORDS, *_PHRASES)) + _TEXT.encode()


class Frame(NamedTuple):
    """One frame; `kind` is 0 for data, `stream` 0 where a control frame has none."""

    kind: int
    flags: int
    stream: int
    body: bytes


class Frames:
    """The two directions of one connection."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._compress = zlib.compressobj(zdict=DICTIONARY)  # its state runs through the whole connection

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """A SYN_STREAM."""
        pairs = [len(headers).to_bytes(4, "big")]
        for name, value in headers.items():
            pairs += [part for text in (name.lower(), value) for part in (len(text).to_bytes(4, "big"), text.encode())]
        block = self._compress.compress(b"".join(pairs)) + self._compress.flush(zlib.Z_SYNC_FLUSH)
        return _control(SYN_STREAM, stream.to_bytes(4, "big") + bytes(6) + block)

    @staticmethod
    def data(stream: int, data: bytes, *, fin: bool = False) -> bytes:
        return stream.to_bytes(4, "big") + bytes([FIN if fin else 0]) + len(data).to_bytes(3, "big") + data

    @staticmethod
    def pong(frame: Frame) -> bytes:
        """The answer to a PING: the same again."""
        return _control(PING, frame.body)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes."""
        self._buffer += data
        while len(self._buffer) >= 8:
            size = int.from_bytes(self._buffer[5:8], "big")
            if len(self._buffer) < 8 + size:
                return
            head, body = bytes(self._buffer[:8]), bytes(self._buffer[8 : 8 + size])
            del self._buffer[: 8 + size]
            first = int.from_bytes(head[:4], "big")
            if first >> 31:
                kind = first & 0xFFFF
                has_stream = kind in (SYN_STREAM, SYN_REPLY, RST_STREAM)
                stream = int.from_bytes(body[:4], "big") & 0x7FFFFFFF if has_stream else 0
                yield Frame(kind, head[4], stream, body)
            else:
                yield Frame(DATA, head[4], first, body)


def _control(kind: int, body: bytes, flags: int = 0) -> bytes:
    return (0x8003 << 16 | kind).to_bytes(4, "big") + bytes([flags]) + len(body).to_bytes(3, "big") + body


class Session:
    """One exec session; the same interface as `channels.Channels`."""

    can_close_stdin = True

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, open_channels: Sequence[int]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = Frames()
        # the client's streams have odd numbers
        self._streams = {channel: 2 * index + 1 for index, channel in enumerate(open_channels)}

    async def start(self) -> None:
        """Open a stream for each channel."""
        for channel, stream in self._streams.items():
            self._writer.write(self._frames.open(stream, {"streamtype": _STREAMS[channel]}))
        await self._writer.drain()

    async def send(self, channel: int, data: bytes) -> None:
        for start in range(0, len(data), channels.CHUNK):
            self._writer.write(Frames.data(self._streams[channel], data[start : start + channels.CHUNK]))
            await self._writer.drain()

    async def close_stdin(self) -> None:
        self._writer.write(Frames.data(self._streams[channels.STDIN], b"", fin=True))
        await self._writer.drain()

    async def resize(self, width: int, height: int) -> None:
        await self.send(channels.RESIZE, json.dumps({"Width": width, "Height": height}).encode())

    async def receive(self, write: Callable[[int, bytes], None]) -> int:
        """Hand output to `write(channel, data)` until the end; the command's exit code. Raises Refused."""
        open_streams = {stream: channel for channel, stream in self._streams.items()}
        awaited = {self._streams[c] for c in (channels.ERROR, channels.STDOUT, channels.STDERR) if c in self._streams}
        status = b""
        while awaited and (data := await self._read()):
            for frame in self._frames.feed(data):
                if frame.kind == PING:
                    self._writer.write(Frames.pong(frame))
                elif frame.kind == GOAWAY:
                    awaited.clear()
                elif frame.kind == RST_STREAM:
                    awaited.discard(frame.stream)
                elif frame.kind == DATA:
                    channel = open_streams.get(frame.stream)
                    if channel == channels.ERROR:
                        status += frame.body
                    elif channel is not None and frame.body:
                        write(channel, frame.body)
                    if frame.flags & FIN:
                        awaited.discard(frame.stream)
        if not status and awaited:
            raise Refused("error sending request: the connection ended before the command did")
        # servers may leave the error stream empty when all went well
        return channels.exit_code(status) if status else 0

    async def _read(self) -> bytes:
        try:
            return await self._reader.read(FRAME_MAX)
        except OSError:
            return b""  # a connection that broke has ended


@contextlib.asynccontextmanager
async def connect(client: rest.Client, path: str, params: list[tuple[str, str]]) -> AsyncIterator[Session]:
    """Open a session. Raises what the server refuses with, and ConnectionFailed."""
    base, headers, tls = await client.connection()
    url = urlsplit(base)
    options: dict[str, Any] = {}
    if url.scheme == "https":
        options = {"ssl": tls, "server_hostname": client.config.tls_server_name or url.hostname}
    try:
        async with asyncio.timeout(channels.CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(
                url.hostname, url.port or (443 if options else 80), limit=HEAD_MAX, **options
            )
            try:
                await _upgrade(reader, writer, url.netloc, f"{path}?{urlencode(params, quote_via=quote)}", headers)
            except BaseException:
                writer.transport.abort()
                raise
    except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
        raise rest.ConnectionFailed(client.config.server, error) from error
    try:
        session = Session(reader, writer, _wanted(dict(params)))
        await session.start()
        yield session
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)  # sockets are closed by the loop's next turn


def _wanted(params: Mapping[str, str]) -> list[int]:
    """The channels of a session, in the order in which servers expect their streams."""
    named = {"stdin": channels.STDIN, "stdout": channels.STDOUT, "stderr": channels.STDERR, "tty": channels.RESIZE}
    return [channels.ERROR, *(channel for name, channel in named.items() if name in params)]


async def _upgrade(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, target: str, headers: Mapping[str, str]
) -> None:
    # containerd serves nothing that an Accept of JSON would let through
    kept = {name: value for name, value in headers.items() if name not in ("accept", "accept-encoding")}
    kept |= {"host": host, "connection": "Upgrade", "upgrade": "SPDY/3.1", "x-stream-protocol-version": PROTOCOL}
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in kept.items()), "content-length: 0"]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status = int(head.split(" ", 2)[1])
    if status == 101:
        return
    body = await _refusal_body(reader, head)
    raise channels.refusal(status, body)


async def _refusal_body(reader: asyncio.StreamReader, head: str) -> bytes:
    """A short answer's body: what is announced, or what came when the connection ends."""
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return await reader.readexactly(min(int(value), HEAD_MAX))
    return await reader.read(HEAD_MAX)
