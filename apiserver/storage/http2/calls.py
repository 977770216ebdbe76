"""gRPC on an HTTP/2 stream: a call with one answer (`UnaryCall`), or with many (`StreamingCall`).

A message is five bytes (compressed or not, length) and a body; the outcome is in the last header block, the trailers.
Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""

from __future__ import annotations

import asyncio
from collections import deque
from urllib.parse import unquote

from apiserver.storage.http2 import connection, errors, headers

_PREFIX_SIZE = 5
# etcd's answers are bounded by what is asked for: a page of objects, or one batch of events
_MAX_MESSAGE = 2**30

# What a proxy in between, or a server that does not speak gRPC, answers with
_CODE_OF_HTTP_STATUS = {
    "400": errors.INTERNAL,
    "401": errors.UNAUTHENTICATED,
    "403": errors.PERMISSION_DENIED,
    "404": errors.UNIMPLEMENTED,
    "429": errors.UNAVAILABLE,
    "502": errors.UNAVAILABLE,
    "503": errors.UNAVAILABLE,
    "504": errors.UNAVAILABLE,
}


def frame(message: bytes) -> bytes:
    """A message, uncompressed, with its prefix."""
    return b"\0" + len(message).to_bytes(4) + message


class MessageBuffer:
    """Cuts a body that may arrive in any pieces into messages."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        self._data += data
        messages = []
        start, end = 0, len(self._data)
        while start + _PREFIX_SIZE <= end:
            length = int.from_bytes(self._data[start + 1 : start + _PREFIX_SIZE])
            if self._data[start]:
                raise errors.RpcError(errors.INTERNAL, "a compressed message, which was not asked for")
            if length > _MAX_MESSAGE:
                raise errors.RpcError(errors.RESOURCE_EXHAUSTED, f"a message of {length} bytes")
            stop = start + _PREFIX_SIZE + length
            if stop > end:
                break
            messages.append(bytes(self._data[start + _PREFIX_SIZE : stop]))
            start = stop
        del self._data[:start]
        return messages

    def __len__(self) -> int:
        return len(self._data)


def outcome(fields: headers.Fields) -> errors.RpcError | None:
    """What the peer says of a call that it ended, by the fields of its header blocks; None: it went well."""
    status = fields.get("grpc-status")
    if status == "0":
        return None
    if status is not None and status.isdecimal():
        return errors.RpcError(int(status), unquote(fields.get("grpc-message", "")))
    http_status = fields.get(":status", "none")
    code = _CODE_OF_HTTP_STATUS.get(http_status, errors.UNKNOWN)
    return errors.RpcError(code, f"an answer without gRPC status (HTTP status {http_status})")


class UnaryCall(connection.Stream):
    """One request, one answer: await `answer`."""

    __slots__ = ("_fields", "_parts", "answer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.answer: asyncio.Future[bytes] = loop.create_future()
        self._fields: headers.Fields = {}
        self._parts: list[bytes] = []

    def headers(self, fields: headers.Fields) -> None:
        self._fields = {**self._fields, **fields} if self._fields else fields

    def data(self, payload: bytes) -> bool:
        self._parts.append(payload)
        return True

    def closed(self, error: errors.CallError | None) -> None:
        if self.answer.done():
            return  # whoever waited has gone
        error = error or outcome(self._fields)
        if error is not None:
            self.answer.set_exception(error)
            return
        body = b"".join(self._parts)
        if body[:1] != b"\0" or int.from_bytes(body[1:_PREFIX_SIZE]) != len(body) - _PREFIX_SIZE:
            self.answer.set_exception(errors.RpcError(errors.INTERNAL, "an answer that is not one whole message"))
        else:
            self.answer.set_result(body[_PREFIX_SIZE:])


class StreamingCall(connection.Stream):
    """One stream of answers: `async with`, then `receive` until it raises. One reader only.

    What arrives before it is received is kept, up to the stream's window: a reader that stops holds back its peer.
    """

    __slots__ = ("_arrived", "_buffer", "_connection", "_error", "_fields", "_loop", "_over", "_waiter")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._connection: connection.Connection | None = None
        self._buffer = MessageBuffer()
        self._fields: headers.Fields = {}
        self._arrived: deque[bytes] = deque()
        self._over = False
        self._error: errors.CallError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def bind(self, owner: connection.Connection) -> None:
        """Says which connection carries the stream, so that it can be ended from here."""
        self._connection = owner

    async def receive(self) -> bytes:
        """The next message. Raises the call's error, or Interrupted where the peer ended the stream in peace."""
        while not self._arrived:
            if self._over:
                raise self._error or errors.Interrupted("the peer ended the stream")
            self._waiter = self._loop.create_future()
            await self._waiter
        message = self._arrived.popleft()
        if self._connection is not None:
            self._connection.consumed(self, len(message) + _PREFIX_SIZE)
        return message

    def cancel(self) -> None:
        if self._connection is not None and not self._over:
            self._connection.cancel(self)

    def headers(self, fields: headers.Fields) -> None:
        self._fields = {**self._fields, **fields}

    def data(self, payload: bytes) -> bool:
        try:
            self._arrived.extend(self._buffer.feed(payload))
        except errors.RpcError as error:
            self.cancel()
            self.closed(error)
            return True
        if self._arrived:
            self._wake()
        return False

    def closed(self, error: errors.CallError | None) -> None:
        self._over = True
        self._error = error or outcome(self._fields)
        self._wake()

    def going_away(self) -> bool:
        return True  # a stream without an end would keep the old connection for ever

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
