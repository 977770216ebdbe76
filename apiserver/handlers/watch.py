"""Watches (A10): changes framed once and written straight to each client's transport.

An ASGI `send` a watcher and event would cost more than half of the work, so after the response's head chunks go to the
transport itself, and the handler only waits for the end: the client gone, the time over, the registry's word, or the
server stopping.
Guarantees: events reach a client in order and none is left out; a client that does not read is dropped once
`MAX_BUFFERED_BYTES` wait for it, so that no watcher can fill the memory. What was there at the start does not count
towards that bound, but is written only as fast as the client reads.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import Any

import orjson

from apimachinery import errors, protobuf
from apiserver import responses
from apiserver.asgi import Send
from apiserver.handlers.rendering import Renderer
from apiserver.metrics import Metrics
from apiserver.registry.call import Call
from apiserver.registry.options import ListOptions
from apiserver.registry.registry import Registry
from apiserver.registry.watching import WatchEvent
from apiserver.request import Request
from apiserver.server import Connection

# A second of a very busy cluster; a client further behind is served better by listing again
MAX_BUFFERED_BYTES = 4 * 1024 * 1024
# What is handed to the transport at a time while a client catches up
_SLICE_BYTES = 256 * 1024

_END = {"type": "http.response.body", "body": b"", "more_body": False}


class Framer:
    """Turns events into chunks of the HTTP response; the chunk of the newest event is kept for the next watcher."""

    def __init__(self) -> None:
        self._event: WatchEvent | None = None
        self._chunks: dict[tuple[Any, ...], bytes] = {}

    def frame(self, event: WatchEvent, renderer: Renderer, *, first: bool) -> bytes:
        if event != self._event:
            self._event = event
            self._chunks = {}
        key = (renderer.key, first and not renderer.is_plain)
        chunk = self._chunks.get(key)
        if chunk is None:
            body = renderer.event_object(event.stored, with_columns=first)
            chunk = self._chunks[key] = chunk_of(event.type, body, binary=renderer.is_binary)
        return chunk


def chunk_of(kind: str, body: bytes, *, binary: bool = False) -> bytes:
    """One event, of an object in JSON, as a line or as a protobuf message in a chunk of its own."""
    line = (
        protobuf.event(kind, orjson.loads(body)) if binary else b'{"type":"%b","object":%b}\n' % (kind.encode(), body)
    )
    return b"%x\r\n%b\r\n" % (len(line), line)


class Stream:
    """One watcher: chunks in, bytes on the wire."""

    def __init__(self, connection: Connection, framer: Framer, renderer: Renderer, count: list[float]) -> None:
        """`count` is the metrics' cell that every event adds one to."""
        self._connection = connection
        self._count = count
        self._framer = framer
        self._renderer = renderer
        self._first = True
        self._started = False
        # Events are framed when their turn comes, not when they come: a big collection at once would hold up all others
        self._waiting: deque[tuple[WatchEvent | bytes, int]] = deque()
        self._waiting_bytes = 0
        self._initial_bytes = 0
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def deliver(self, event: WatchEvent) -> None:
        """Takes the next event; never waits."""
        self._count[0] += 1
        if not self._started or self._waiting:
            self._hold(event, event.stored.size)
        elif not self._done.done():
            self._send(self._framed(event))

    def write(self, chunk: bytes) -> None:
        """Takes a chunk that is no event of the collection."""
        if not self._started or self._waiting:
            self._hold(chunk, len(chunk))
        elif not self._done.done():
            self._send(chunk)

    def _framed(self, event: WatchEvent) -> bytes:
        chunk = self._framer.frame(event, self._renderer, first=self._first)
        self._first = False
        return chunk

    def _hold(self, item: WatchEvent | bytes, size: int) -> None:
        if self._done.done():
            return
        self._waiting.append((item, size))
        self._waiting_bytes += size
        if self._started and self._waiting_bytes > MAX_BUFFERED_BYTES + self._initial_bytes:
            self._drop()

    def _send(self, chunk: bytes) -> None:
        transport = self._connection.transport
        transport.write(chunk)
        if transport.get_write_buffer_size() > MAX_BUFFERED_BYTES:
            self._drop()

    def fail(self, error: errors.APIError | None) -> None:
        """Ends the stream, with an ERROR event if there is something to say."""
        if error is not None:
            status = orjson.dumps(error.to_status())
            self.write(chunk_of("ERROR", status, binary=self._renderer.is_binary))
        self.end()

    def end(self) -> None:
        if not self._done.done():
            self._done.set_result(None)

    async def run(self, timeout_seconds: float) -> None:
        """Writes what has gathered, then waits for the end."""
        self._started = True
        self._initial_bytes = self._waiting_bytes
        self._connection.on_end(self.end)
        timer = asyncio.get_running_loop().call_later(timeout_seconds, self.end)
        try:
            await self._catch_up()
            await self._done
        finally:
            timer.cancel()
            self._connection.on_end(None)

    async def _catch_up(self) -> None:
        while self._waiting and not self._connection.lost:
            size, parts = 0, []
            while self._waiting and size < _SLICE_BYTES:
                item, held = self._waiting.popleft()
                self._waiting_bytes -= held
                parts.append(item if isinstance(item, bytes) else self._framed(item))
                size += len(parts[-1])
            self._connection.transport.write(b"".join(parts))
            await self._connection.drained()
            await asyncio.sleep(0)  # the others' turn, even if the client keeps up

    def _drop(self) -> None:
        self._connection.transport.abort()
        self.end()


class Watches:
    """Serves every watch of a worker."""

    def __init__(self, registry: Registry, least_seconds: float, metrics: Metrics) -> None:
        self._registry = registry
        self._metrics = metrics
        self._framer = Framer()
        self._least_seconds = least_seconds

    async def serve(self, request: Request, call: Call, options: ListOptions, renderer: Renderer, send: Send) -> None:
        if request.connection is None:
            raise errors.InternalError("Internal error occurred: a watch needs a connection of its own")
        if request.method == "HEAD":  # events would be a body
            await responses.begin_stream(request, send, 200, renderer.stream_type)
            await send(_END)
            return
        row = call.resource
        count = self._metrics.watch_events(row.group, row.version, row.resource)
        stream = Stream(request.connection, self._framer, renderer, count)
        try:
            subscription = await self._registry.watch(call, options, stream.deliver, on_close=stream.fail)
        except (errors.Gone, errors.Timeout) as error:
            # As upstream: the stream begins, and its only event says why it ends
            await responses.begin_stream(request, send, 200, renderer.stream_type)
            stream.fail(error)
            await stream.run(0.0)
            await send(_END)
            return
        try:
            await responses.begin_stream(request, send, 200, renderer.stream_type)
            await stream.run(self._seconds(options))
        finally:
            subscription.close()
        await send(_END)

    def _seconds(self, options: ListOptions) -> float:
        if options.timeout_seconds:
            return float(options.timeout_seconds)
        # Spread, so that watches that began together do not end together
        return self._least_seconds * (1 + random.random())
