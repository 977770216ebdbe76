"""HTTP/2 frames as bytes: built one by one, parsed from a stream that may be cut anywhere. Pure.

Source: RFC 9113, sections 4 and 6
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from apiserver.storage.http2 import errors

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA = 0
HEADERS = 1
PRIORITY = 2
RST_STREAM = 3
SETTINGS = 4
PUSH_PROMISE = 5
PING = 6
GOAWAY = 7
WINDOW_UPDATE = 8
CONTINUATION = 9

ACK = 0x1  # SETTINGS, PING
END_STREAM = 0x1  # DATA, HEADERS
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20

HEADER_TABLE_SIZE = 1
ENABLE_PUSH = 2
MAX_CONCURRENT_STREAMS = 3
INITIAL_WINDOW_SIZE = 4
MAX_FRAME_SIZE = 5

NO_ERROR = 0
PROTOCOL_ERROR = 1
FLOW_CONTROL_ERROR = 3
FRAME_SIZE_ERROR = 6
REFUSED_STREAM = 7
CANCEL = 8
COMPRESSION_ERROR = 9
ENHANCE_YOUR_CALM = 11

DEFAULT_MAX_FRAME_SIZE = 16_384
DEFAULT_WINDOW_SIZE = 65_535
MAX_WINDOW_SIZE = 2**31 - 1

_HEAD = struct.Struct(">BHBBI")  # length (8 + 16 bits), kind, flags, stream
_HEAD_SIZE = _HEAD.size
_SETTING = struct.Struct(">HI")
_STREAM_MASK = 0x7FFF_FFFF


class Frame(NamedTuple):
    kind: int
    flags: int
    stream_id: int
    payload: bytes


class FrameParser:
    """Cuts what arrives into frames, and keeps the incomplete rest for the next call."""

    def __init__(self, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        self._max_frame_size = max_frame_size
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames completed by `data`. Raises ProtocolError when one is larger than we allow."""
        if self._rest:
            data = self._rest + data
        frames = []
        position, end = 0, len(data)
        while position + _HEAD_SIZE <= end:
            high, low, kind, flags, stream_id = _HEAD.unpack_from(data, position)
            length = high << 16 | low
            if length > self._max_frame_size:
                raise errors.ProtocolError(FRAME_SIZE_ERROR, f"a frame of {length} bytes")
            stop = position + _HEAD_SIZE + length
            if stop > end:
                break
            frames.append(Frame(kind, flags, stream_id & _STREAM_MASK, data[position + _HEAD_SIZE : stop]))
            position = stop
        self._rest = data[position:]
        return frames


def build(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    return head(kind, flags, stream_id, len(payload)) + payload


def head(kind: int, flags: int, stream_id: int, length: int) -> bytes:
    """The nine bytes before a payload of `length`."""
    return _HEAD.pack(length >> 16, length & 0xFFFF, kind, flags, stream_id)


def build_settings(settings: Iterable[tuple[int, int]]) -> bytes:
    return build(SETTINGS, 0, 0, b"".join(_SETTING.pack(*setting) for setting in settings))


def parse_settings(frame: Frame) -> list[tuple[int, int]]:
    if len(frame.payload) % _SETTING.size:
        raise errors.ProtocolError(FRAME_SIZE_ERROR, "SETTINGS of a broken length")
    return list(_SETTING.iter_unpack(frame.payload))


def build_window_update(stream_id: int, increment: int) -> bytes:
    return build(WINDOW_UPDATE, 0, stream_id, increment.to_bytes(4))


def parse_number(frame: Frame) -> int:
    """The 31 or 32 bits that WINDOW_UPDATE and RST_STREAM carry."""
    if len(frame.payload) != 4:
        raise errors.ProtocolError(FRAME_SIZE_ERROR, f"a frame of kind {frame.kind} and {len(frame.payload)} bytes")
    return int.from_bytes(frame.payload)


def build_rst_stream(stream_id: int, code: int) -> bytes:
    return build(RST_STREAM, 0, stream_id, code.to_bytes(4))


def build_goaway(code: int) -> bytes:
    """Ours name stream 0 as the last one seen: a client's peer opens none."""
    return build(GOAWAY, 0, 0, (0).to_bytes(4) + code.to_bytes(4))


class GoAway(NamedTuple):
    last_stream_id: int
    code: int
    reason: str


def parse_goaway(frame: Frame) -> GoAway:
    if len(frame.payload) < 8:
        raise errors.ProtocolError(FRAME_SIZE_ERROR, "a short GOAWAY")
    last, code = struct.unpack_from(">II", frame.payload)
    return GoAway(last & _STREAM_MASK, code, frame.payload[8:].decode("utf-8", "replace"))


def content(frame: Frame) -> bytes:
    """The payload of DATA or HEADERS without padding and priority."""
    start, stop = 0, len(frame.payload)
    if frame.flags & PADDED:
        if not frame.payload:
            raise errors.ProtocolError(FRAME_SIZE_ERROR, "a padded frame without a pad length")
        start, stop = 1, stop - frame.payload[0]
    if frame.kind == HEADERS and frame.flags & WITH_PRIORITY:
        start += 5
    if start > stop:
        raise errors.ProtocolError(PROTOCOL_ERROR, "padding longer than its frame")
    return frame.payload[start:stop]
