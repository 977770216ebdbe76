"""One HTTP/2 connection of a client: many streams, their windows, and the connection's own frames.

Guarantees: what a stream sends respects the peer's windows and frame size; every stream is told its end exactly once
(`Stream.closed`), by the peer's last frame, a reset, its deadline, GOAWAY or the loss of the connection; a stream
that ends early is reset, so none is left behind at the peer.

Nothing here awaits: a `Stream` is called back from the transport's own callbacks.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import cast

from apiserver.storage.http2 import errors, frames, headers, outbox

# What we let the peer send ahead. Memory is bounded by what callers ask for, not by these: answers are consumed as
# they arrive, and a slow reader of a long stream (`Stream.consumed`) holds back at most one stream's window.
STREAM_WINDOW = 16 * 2**20
CONNECTION_WINDOW = 2**30
# Windows are given back in large steps: a small one costs a frame
_WINDOW_STEP = 4 * 2**20

_MAX_STREAM_ID = 2**31 - 1
_MAX_HEADER_BLOCK = 64 * 1024  # a gRPC peer sends some hundred bytes

# A peer that has said nothing for so long is asked; etcd refuses clients that ask more often than every 5 s
KEEPALIVE_SECONDS = 10.0
KEEPALIVE_TIMEOUT_SECONDS = 5.0


class Stream(outbox.Body):
    """One request and what comes back. Subclasses say what to do with it."""

    __slots__ = ("deadline", "received")

    def __init__(self) -> None:
        super().__init__()
        self.deadline = math.inf  # of the loop's clock
        self.received = 0  # bytes not yet given back to the peer's window

    def headers(self, fields: headers.Fields) -> None:
        """A header block arrived: the head of the answer, or its trailers."""

    def data(self, payload: bytes) -> bool:
        """A part of the answer's body arrived. Returns whether it counts as consumed."""
        return True

    def closed(self, error: errors.CallError | None) -> None:
        """The stream is over; None: the peer ended it. Called exactly once, and nothing after it."""

    def going_away(self) -> bool:
        """The peer wants to close the connection. Returns whether this stream ends now rather than when it is done."""
        return False


class Connection(asyncio.Protocol):
    """The client's end. `lost` is called once, when no new stream can be opened here any more."""

    def __init__(self, lost: Callable[[Connection], None], *, keepalive_seconds: float = KEEPALIVE_SECONDS) -> None:
        self._loop = asyncio.get_running_loop()
        self._lost = lost
        self._keepalive_seconds = keepalive_seconds
        self._transport: asyncio.Transport | None = None
        self._parser = frames.FrameParser()
        self._decoder = headers.BlockDecoder()
        self._streams: dict[int, Stream] = {}
        self._next_id = 1
        self._outbox = outbox.Outbox()
        self._received = 0
        self._peer_streams = math.inf
        self._partial: tuple[frames.Frame, bytearray] | None = None  # HEADERS whose CONTINUATION is to come
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._keepalive_timer: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._settled = self._loop.create_future()
        self._vacancies: list[asyncio.Future[None]] = []
        self.usable = False

    # --- what the channel asks of it

    async def ready(self) -> None:
        """Returns when the peer has shown that it speaks HTTP/2. Raises NotSent when it is lost before."""
        await self._settled

    @property
    def full(self) -> bool:
        return len(self._streams) >= self._peer_streams

    @property
    def stream_count(self) -> int:
        return len(self._streams)

    async def vacancy(self) -> None:
        """Returns when a stream has ended, or the connection has."""
        waiter = self._loop.create_future()
        self._vacancies.append(waiter)
        await waiter

    def open(self, block: bytes, stream: Stream, body: bytes, *, end: bool) -> None:
        """Sends a request: its header block and (the beginning of) its body."""
        if not self.usable:
            raise errors.NotSent("the connection is closing")
        stream.id = self._next_id
        stream.window = self._outbox.initial_window
        self._next_id += 2
        self._streams[stream.id] = stream
        self._outbox.write(frames.head(frames.HEADERS, frames.END_HEADERS, stream.id, len(block)) + block)
        self.send(stream, body, end=end)
        self._watch_deadline(stream.deadline)
        if self._next_id > _MAX_STREAM_ID:
            self.retire()

    def send(self, stream: Stream, body: bytes, *, end: bool) -> None:
        """Sends more of a request's body; what no window admits yet waits."""
        self._outbox.send(stream, body, end=end)

    def cancel(self, stream: Stream) -> None:
        """Ends a stream from our side, without telling it."""
        if stream.id in self._streams:
            self._outbox.write(frames.build_rst_stream(stream.id, frames.CANCEL))
            self._forget(stream)

    def consumed(self, stream: Stream, size: int) -> None:
        """Gives `size` bytes of a stream's window back to the peer."""
        stream.received += size
        if stream.received >= _WINDOW_STEP and stream.id in self._streams:
            self._outbox.write(frames.build_window_update(stream.id, stream.received))
            stream.received = 0

    def retire(self) -> None:
        """Opens no new streams; those that are open go on, and the connection ends with the last of them."""
        if self.usable:
            self.usable = False
            self._wake_vacancies()
            self._lost(self)
            self._close_if_done()

    def close(self) -> None:
        """Ends the connection now; open streams are told."""
        if self._transport is not None and not self._transport.is_closing():
            self._outbox.write(frames.build_goaway(frames.NO_ERROR))
            self._outbox.flush()
            self._transport.close()
        self._end(errors.Interrupted("the connection was closed"))

    # --- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._outbox.attach(self._transport)
        settings = [
            (frames.HEADER_TABLE_SIZE, 0),
            (frames.ENABLE_PUSH, 0),
            (frames.INITIAL_WINDOW_SIZE, STREAM_WINDOW),
        ]
        self._outbox.write(frames.PREFACE + frames.build_settings(settings))
        self._outbox.write(frames.build_window_update(0, CONNECTION_WINDOW - frames.DEFAULT_WINDOW_SIZE))
        self._heard_at = self._loop.time()
        self._keepalive_timer = self._loop.call_later(self._keepalive_seconds, self._keep_alive)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        try:
            for frame in self._parser.feed(data):
                self._receive(frame)
        except errors.ProtocolError as error:
            self._outbox.write(frames.build_goaway(error.code))
            self._abort(f"the peer broke the protocol: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(errors.Interrupted(f"the connection was lost: {exc or 'closed by the peer'}"))

    # --- frames that arrive

    def _receive(self, frame: frames.Frame) -> None:
        if self._partial is not None and frame.kind != frames.CONTINUATION:
            raise errors.ProtocolError(frames.PROTOCOL_ERROR, "a header block was interrupted")
        match frame.kind:
            case frames.DATA:
                self._receive_data(frame)
            case frames.HEADERS:
                self._receive_headers(frame, frames.content(frame))
            case frames.CONTINUATION:
                self._receive_continuation(frame)
            case frames.WINDOW_UPDATE:
                self._receive_window_update(frame)
            case frames.PING:
                self._receive_ping(frame)
            case frames.SETTINGS:
                self._receive_settings(frame)
            case frames.RST_STREAM:
                self._receive_rst_stream(frame)
            case frames.GOAWAY:
                self._receive_goaway(frames.parse_goaway(frame))
            case frames.PUSH_PROMISE:
                raise errors.ProtocolError(frames.PROTOCOL_ERROR, "a push that was not allowed")
        # PRIORITY and kinds that are not known are ignored, as the RFC asks

    def _receive_data(self, frame: frames.Frame) -> None:
        size = len(frame.payload)  # padding counts
        self._received += size
        if self._received >= _WINDOW_STEP:
            self._outbox.write(frames.build_window_update(0, self._received))
            self._received = 0
        stream = self._stream_of(frame)
        if stream is None:
            return
        payload = frames.content(frame) if frame.flags & frames.PADDED else frame.payload
        consumed = size if stream.data(payload) else size - len(payload)
        if consumed:
            self.consumed(stream, consumed)
        if frame.flags & frames.END_STREAM:
            self._finish(stream)

    def _receive_headers(self, frame: frames.Frame, block: bytes) -> None:
        if not frame.flags & frames.END_HEADERS:
            self._partial = (frame, bytearray(block))
            return
        stream = self._stream_of(frame)
        if stream is None:
            return  # the peer keeps no header table, so a block may go undecoded
        stream.headers(self._decoder.decode(block))
        if frame.flags & frames.END_STREAM:
            self._finish(stream)

    def _receive_continuation(self, frame: frames.Frame) -> None:
        if self._partial is None or self._partial[0].stream_id != frame.stream_id:
            raise errors.ProtocolError(frames.PROTOCOL_ERROR, "a continuation of nothing")
        first, block = self._partial
        block += frame.payload
        if len(block) > _MAX_HEADER_BLOCK:
            raise errors.ProtocolError(frames.ENHANCE_YOUR_CALM, "a header block without end")
        if frame.flags & frames.END_HEADERS:
            self._partial = None
            self._receive_headers(first._replace(flags=first.flags | frames.END_HEADERS), bytes(block))

    def _receive_window_update(self, frame: frames.Frame) -> None:
        increment = frames.parse_number(frame) & frames.MAX_WINDOW_SIZE
        stream = self._streams.get(frame.stream_id)
        if stream is not None or frame.stream_id == 0:
            self._outbox.grow(stream, increment)
        self._outbox.resume()

    def _receive_ping(self, frame: frames.Frame) -> None:
        if len(frame.payload) != 8:
            raise errors.ProtocolError(frames.FRAME_SIZE_ERROR, "a PING of a broken length")
        if not frame.flags & frames.ACK:
            self._outbox.write(frames.build(frames.PING, frames.ACK, 0, frame.payload))

    def _receive_settings(self, frame: frames.Frame) -> None:
        if frame.flags & frames.ACK:
            return
        for name, value in frames.parse_settings(frame):
            if name == frames.INITIAL_WINDOW_SIZE:
                self._resize_windows(value)
            elif name == frames.MAX_FRAME_SIZE:
                self._outbox.max_frame_size = value
            elif name == frames.MAX_CONCURRENT_STREAMS:
                self._peer_streams = value
        self._outbox.write(frames.build(frames.SETTINGS, frames.ACK, 0))
        self._outbox.resume()
        self._wake_vacancies()
        if not self._settled.done():
            self.usable = True
            self._settled.set_result(None)

    def _resize_windows(self, size: int) -> None:
        if size > frames.MAX_WINDOW_SIZE:
            raise errors.ProtocolError(frames.FLOW_CONTROL_ERROR, f"an initial window of {size}")
        change = size - self._outbox.initial_window
        self._outbox.initial_window = size
        for stream in self._streams.values():
            stream.window += change  # may become negative; then it waits for more

    def _receive_rst_stream(self, frame: frames.Frame) -> None:
        code = frames.parse_number(frame)
        stream = self._stream_of(frame)
        if stream is None:
            return
        self._forget(stream)
        if code == frames.REFUSED_STREAM:
            stream.closed(errors.NotSent("the peer refused the stream"))
        else:
            stream.closed(errors.Interrupted(f"the peer reset the stream (code {code})"))

    def _receive_goaway(self, goaway: frames.GoAway) -> None:
        self.retire()
        reason = f"the peer is going away (code {goaway.code}{', ' if goaway.reason else ''}{goaway.reason})"
        for stream in list(self._streams.values()):
            if stream.id > goaway.last_stream_id:
                self._forget(stream)
                stream.closed(errors.NotSent(reason))
            elif stream.going_away():
                self.cancel(stream)
                stream.closed(errors.Interrupted(reason))
        self._close_if_done()

    def _stream_of(self, frame: frames.Frame) -> Stream | None:
        """The frame's stream; None when it is one that has ended."""
        stream = self._streams.get(frame.stream_id)
        if stream is None and (frame.stream_id >= self._next_id or frame.stream_id % 2 == 0):
            raise errors.ProtocolError(frames.PROTOCOL_ERROR, f"a frame for stream {frame.stream_id}, never opened")
        return stream

    # --- ends

    def _forget(self, stream: Stream) -> None:
        del self._streams[stream.id]
        self._outbox.drop(stream)
        self._wake_vacancies()
        self._close_if_done()

    def _finish(self, stream: Stream) -> None:
        """The peer ended the stream. If our side is still open, it is reset, so that the peer forgets it too."""
        if self._streams.get(stream.id) is not stream:
            return  # it ended itself over what it was given
        if stream.open:
            self._outbox.write(frames.build_rst_stream(stream.id, frames.CANCEL))
        self._forget(stream)
        stream.closed(None)

    def _close_if_done(self) -> None:
        if not self.usable and self._settled.done() and not self._streams and self._transport is not None:
            self._outbox.flush()
            self._transport.close()

    def _abort(self, reason: str) -> None:
        self._outbox.flush()
        if self._transport is not None:
            self._transport.abort()
        self._end(errors.Interrupted(reason))

    def _end(self, error: errors.Interrupted) -> None:
        for timer in (self._deadline_timer, self._keepalive_timer):
            if timer is not None:
                timer.cancel()
        if not self._settled.done():
            self._settled.set_exception(errors.NotSent(str(error)))
        self.retire()
        streams = list(self._streams.values())
        self._streams.clear()
        for stream in streams:
            self._outbox.drop(stream)
            stream.closed(error)

    def _wake_vacancies(self) -> None:
        waiters, self._vacancies = self._vacancies, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    # --- time

    def _watch_deadline(self, deadline: float) -> None:
        """One timer serves all streams: it runs for the nearest deadline at the time it was set."""
        timer = self._deadline_timer
        if deadline == math.inf or (timer is not None and timer.when() <= deadline):
            return
        if timer is not None:
            timer.cancel()
        self._deadline_timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._deadline_timer = None
        now = self._loop.time()
        for stream in [stream for stream in self._streams.values() if stream.deadline <= now]:
            self.cancel(stream)
            stream.closed(errors.DeadlineExceeded("no answer in time"))
        self._watch_deadline(min((stream.deadline for stream in self._streams.values()), default=math.inf))

    def _keep_alive(self) -> None:
        silence = self._loop.time() - self._heard_at
        if silence >= self._keepalive_seconds + KEEPALIVE_TIMEOUT_SECONDS:
            self._abort("the peer does not answer pings")
            return
        delay = self._keepalive_seconds - silence
        if delay <= 0:
            self._outbox.write(frames.build(frames.PING, 0, 0, bytes(8)))
            delay = KEEPALIVE_TIMEOUT_SECONDS
        self._keepalive_timer = self._loop.call_later(delay, self._keep_alive)
