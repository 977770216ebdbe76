"""The server's end of a connection, in memory: takes what the client writes, answers with frames."""

from __future__ import annotations

import asyncio
from typing import cast

from apiserver.storage.http2 import calls, connection, frames, headers

HEAD = headers.request_block("http", "peer", "/S/M")
OK_HEAD = b"\x88"  # :status 200
OK_TRAILERS = b"\x10\x0bgrpc-status\x010"


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.closing = False
        self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True


class Peer:
    """A client connection and the other side of it."""

    def __init__(self, settings: list[tuple[int, int]] | None = None) -> None:
        self.lost: list[connection.Connection] = []
        self.transport = Transport()
        self.client = connection.Connection(self.lost.append)
        self.client.connection_made(self.transport)
        self._parser = frames.FrameParser(max_frame_size=2**24 - 1)
        self._preface_seen = False
        self.give(frames.build_settings(settings or []))

    def give(self, *data: bytes) -> None:
        """Lets the client receive."""
        self.client.data_received(b"".join(data))

    async def taken(self) -> list[frames.Frame]:
        """The frames that the client has sent since the last call."""
        await asyncio.sleep(0)  # it sends at the end of the loop's turn
        data = bytes(self.transport.written)
        self.transport.written.clear()
        if not self._preface_seen:
            assert data.startswith(frames.PREFACE)
            data = data[len(frames.PREFACE) :]
            self._preface_seen = True
        return self._parser.feed(data)

    async def bodies(self) -> dict[int, bytes]:
        """The body bytes sent since the last call, by stream."""
        result: dict[int, bytes] = {}
        for frame in await self.taken():
            if frame.kind == frames.DATA:
                result[frame.stream_id] = result.get(frame.stream_id, b"") + frame.payload
        return result

    def call(self, message: bytes = b"ask", *, deadline: float | None = None) -> calls.UnaryCall:
        call = calls.UnaryCall(asyncio.get_running_loop())
        if deadline is not None:
            call.deadline = deadline
        self.client.open(HEAD, call, calls.frame(message), end=True)
        return call

    def stream(self) -> calls.StreamingCall:
        call = calls.StreamingCall(asyncio.get_running_loop())
        call.bind(self.client)
        self.client.open(HEAD, call, calls.frame(b"ask"), end=False)
        return call

    def answer(self, stream_id: int, message: bytes) -> None:
        """A whole good answer."""
        self.give(
            frames.build(frames.HEADERS, frames.END_HEADERS, stream_id, OK_HEAD),
            *(
                frames.build(frames.DATA, 0, stream_id, body)
                for body in _cut(calls.frame(message), frames.DEFAULT_MAX_FRAME_SIZE)
            ),
            frames.build(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream_id, OK_TRAILERS),
        )


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[index : index + size] for index in range(0, len(data), size)]


def kinds(sent: list[frames.Frame]) -> list[int]:
    return [frame.kind for frame in sent]


def error_of(call: calls.UnaryCall) -> BaseException:
    assert call.answer.done()
    return cast("BaseException", call.answer.exception())
