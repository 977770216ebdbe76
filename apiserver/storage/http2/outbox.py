"""What a connection sends: frames of one turn of the loop together, bodies as far as the peer's windows reach.

Bodies that wait for the connection's window go in order of arrival; one that waits for its own stream's window holds
up no other.
Source: RFC 9113, sections 5.2 and 6.9
"""

from __future__ import annotations

import asyncio

from apiserver.storage.http2 import errors, frames


class Body:
    """The sending side of a stream."""

    __slots__ = ("complete", "id", "unsent", "window")

    def __init__(self) -> None:
        self.id = 0
        self.window = 0  # what the peer lets this stream send
        self.unsent = bytearray()  # waits for a window
        self.complete = False  # nothing will be added to `unsent`

    @property
    def open(self) -> bool:
        """Whether the peer still waits for our end of the stream."""
        return not self.complete or bool(self.unsent)


class Outbox:
    """`max_frame_size` is the peer's, `initial_window` what it lets a new stream send."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames: list[bytes] = []
        self._blocked: dict[Body, None] = {}  # in order of arrival
        self._window = frames.DEFAULT_WINDOW_SIZE
        self.initial_window = frames.DEFAULT_WINDOW_SIZE
        self.max_frame_size = frames.DEFAULT_MAX_FRAME_SIZE

    def attach(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def write(self, frame: bytes) -> None:
        """Sends at the end of the loop's turn: one system call, one TLS record for all that came up in it.

        The transport's own back-pressure needs no care: what can pile up is bounded by the peer's windows.
        """
        if not self._frames:
            self._loop.call_soon(self.flush)
        self._frames.append(frame)

    def flush(self) -> None:
        if self._frames and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._frames))
        self._frames.clear()

    def send(self, body: Body, data: bytes, *, end: bool) -> None:
        """Adds to a body; what no window admits yet waits."""
        size = len(data)
        body.complete = end
        fits = size <= self.max_frame_size and size <= self._window and size <= body.window
        if not body.unsent and (fits or not size):
            self._send(body, data, end)
        else:
            body.unsent += data
            self._blocked[body] = None
            self.resume()

    def resume(self) -> None:
        """Sends of what waits as much as the windows admit now."""
        for body in list(self._blocked):
            while body.unsent:
                size = min(len(body.unsent), self.max_frame_size, self._window, body.window)
                if size <= 0:
                    break
                data = bytes(body.unsent[:size])
                del body.unsent[:size]
                self._send(body, data, body.complete and not body.unsent)
            if not body.unsent:
                del self._blocked[body]

    def drop(self, body: Body) -> None:
        """Forgets what waits of a body."""
        self._blocked.pop(body, None)

    def grow(self, body: Body | None, increment: int) -> None:
        """The peer widens the window of a body; None: of the connection."""
        if body is None:
            self._window = _grown(self._window, increment)
        else:
            body.window = _grown(body.window, increment)

    def _send(self, body: Body, data: bytes, end: bool) -> None:
        self._window -= len(data)
        body.window -= len(data)
        self.write(frames.head(frames.DATA, frames.END_STREAM if end else 0, body.id, len(data)) + data)


def _grown(window: int, increment: int) -> int:
    if increment == 0:
        raise errors.ProtocolError(frames.PROTOCOL_ERROR, "a window update of nothing")
    if window + increment > frames.MAX_WINDOW_SIZE:
        raise errors.ProtocolError(frames.FLOW_CONTROL_ERROR, "a window beyond its limit")
    return window + increment
