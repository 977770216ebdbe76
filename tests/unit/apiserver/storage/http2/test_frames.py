"""Frames survive the wire however it cuts them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.storage.http2 import errors, frames

FRAME = st.builds(
    frames.Frame,
    kind=st.integers(0, 20),
    flags=st.integers(0, 255),
    stream_id=st.integers(0, 2**31 - 1),
    payload=st.binary(max_size=70),
)


@given(st.lists(FRAME, max_size=8), st.data())
def test_frames_come_out_whole_wherever_the_stream_is_cut(sent: list[frames.Frame], data: st.DataObject) -> None:
    wire = b"".join(frames.build(*frame) for frame in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=10)))
    parser = frames.FrameParser()
    received = []
    for start, stop in itertools.pairwise([0, *cuts, len(wire)]):
        received += parser.feed(wire[start:stop])
    assert received == sent


def test_a_frame_arrives_byte_by_byte() -> None:
    wire = frames.build(frames.DATA, frames.END_STREAM, 7, b"x" * 300)
    parser = frames.FrameParser()
    received = [frame for byte in wire for frame in parser.feed(bytes([byte]))]
    assert received == [frames.Frame(frames.DATA, frames.END_STREAM, 7, b"x" * 300)]


def test_a_frame_larger_than_allowed_is_refused_before_it_has_arrived() -> None:
    head = frames.head(frames.DATA, 0, 1, frames.DEFAULT_MAX_FRAME_SIZE + 1)
    with pytest.raises(errors.ProtocolError) as caught:
        frames.FrameParser().feed(head)
    assert caught.value.code == frames.FRAME_SIZE_ERROR


def test_the_reserved_bit_of_a_stream_id_is_ignored() -> None:
    wire = bytearray(frames.build(frames.PING, 0, 5, bytes(8)))
    wire[5] |= 0x80
    assert frames.FrameParser().feed(bytes(wire))[0].stream_id == 5


@given(st.binary(max_size=50), st.integers(0, 255))
def test_padding_is_taken_off(body: bytes, padding: int) -> None:
    payload = bytes([padding]) + body + bytes(padding)
    assert frames.content(frames.Frame(frames.DATA, frames.PADDED, 1, payload)) == body


@pytest.mark.parametrize("payload", [b"", b"\x05abc"])
def test_padding_longer_than_its_frame_is_refused(payload: bytes) -> None:
    with pytest.raises(errors.ProtocolError):
        frames.content(frames.Frame(frames.DATA, frames.PADDED, 1, payload))


def test_the_priority_of_headers_is_taken_off() -> None:
    flags = frames.PADDED | frames.WITH_PRIORITY
    payload = b"\x02" + b"prior" + b"block" + b"\0\0"
    assert frames.content(frames.Frame(frames.HEADERS, flags, 1, payload)) == b"block"


@given(st.lists(st.tuples(st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1))))
def test_settings_survive_a_round_trip(settings: list[tuple[int, int]]) -> None:
    [frame] = frames.FrameParser().feed(frames.build_settings(settings))
    assert frames.parse_settings(frame) == settings


@pytest.mark.parametrize("payload", [b"", b"123", b"12345"])
def test_numbers_of_a_wrong_length_are_refused(payload: bytes) -> None:
    with pytest.raises(errors.ProtocolError):
        frames.parse_number(frames.Frame(frames.WINDOW_UPDATE, 0, 0, payload))


def test_goaway_tells_the_last_stream_the_code_and_the_reason() -> None:
    payload = (9).to_bytes(4) + (frames.ENHANCE_YOUR_CALM).to_bytes(4) + b"too_many_pings"
    goaway = frames.parse_goaway(frames.Frame(frames.GOAWAY, 0, 0, payload))
    assert goaway == (9, frames.ENHANCE_YOUR_CALM, "too_many_pings")
