"""Header blocks: ours are readable by any peer, theirs are decoded once."""

from __future__ import annotations

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.storage.http2 import errors, headers

ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=500)


@given(ASCII)
def test_a_request_block_of_any_length_is_read_by_an_ordinary_decoder(value: str) -> None:
    block = headers.request_block("https", "etcd:2379", "/etcdserverpb.KV/Txn", [("x", value)])
    fields = dict(hpack.Decoder().decode(block))
    assert fields[":method"] == "POST"
    assert fields[":scheme"] == "https"
    assert fields[":authority"] == "etcd:2379"
    assert fields[":path"] == "/etcdserverpb.KV/Txn"
    assert fields["te"] == "trailers"
    assert fields["content-type"] == "application/grpc"
    assert fields["x"] == value


def test_a_request_block_leaves_no_trace_in_the_peers_table() -> None:
    decoder = hpack.Decoder()
    first = headers.request_block("http", "a", "/b")
    assert decoder.decode(first) == decoder.decode(first)
    assert not decoder.header_table.dynamic_entries


def test_a_block_of_a_peer_without_a_table_is_decoded() -> None:
    encoder = hpack.Encoder()
    encoder.header_table_size = 0
    block = encoder.encode([(":status", "200"), ("grpc-status", "0"), ("grpc-message", "")])
    decoder = headers.BlockDecoder()
    expected = {":status": "200", "grpc-status": "0", "grpc-message": ""}
    assert decoder.decode(block) == expected
    assert decoder.decode(block) is decoder.decode(block)


def test_blocks_that_never_repeat_do_not_fill_the_memory() -> None:
    decoder = headers.BlockDecoder()
    for number in range(1000):
        text = f"{number:04}".encode()
        assert decoder.decode(b"\x10\x01a\x04" + text) == {"a": text.decode()}
    assert len(decoder._decoded) <= 64


@pytest.mark.parametrize("block", [b"\xff\xff\xff\xff\xff\x0f", b"\x10\x05ab", b"\xbe"])
def test_a_block_that_cannot_be_decoded_breaks_the_protocol(block: bytes) -> None:
    with pytest.raises(errors.ProtocolError):
        headers.BlockDecoder().decode(block)
