"""HPACK, as little of it as a client with constant requests needs.

A request's block is built once a method: every field a literal that is never indexed, so it is valid whatever the
peer's header table is. We announce a table of size 0, so the peer's blocks are self-contained too: the same bytes
always mean the same fields, and a decoded block is kept. Only Huffman decoding is left to the `hpack` library.

Source: RFC 7541
"""

from __future__ import annotations

from collections.abc import Iterable

import hpack

from apiserver.storage.http2 import errors, frames

Fields = dict[str, str]

# Blocks repeat, but for a `date` field that changes every second where etcd answers through Go's own server (TLS)
_DECODED_MAX = 64
_NEVER_INDEXED = 0x10
_SMALL_LENGTH = 127


def request_block(scheme: str, authority: str, path: str, extra: Iterable[tuple[str, str]] = ()) -> bytes:
    """The header block of a gRPC call."""
    fields = [
        (":method", "POST"),
        (":scheme", scheme),
        (":path", path),
        (":authority", authority),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "armillary"),
        *extra,
    ]
    return b"".join(bytes([_NEVER_INDEXED]) + _text(name) + _text(value) for name, value in fields)


def _text(value: str) -> bytes:
    data = value.encode("ascii")
    if len(data) < _SMALL_LENGTH:
        return bytes([len(data)]) + data
    length, prefix = len(data) - _SMALL_LENGTH, bytearray([_SMALL_LENGTH])
    while length >= 128:
        prefix.append(length % 128 + 128)
        length //= 128
    prefix.append(length)
    return bytes(prefix) + data


class BlockDecoder:
    """Decodes the blocks of one peer that was told to keep no header table."""

    def __init__(self) -> None:
        self._decoded: dict[bytes, Fields] = {}

    def decode(self, block: bytes) -> Fields:
        """The fields of a block; of a repeated name the last value. Shared: not to be changed."""
        fields = self._decoded.get(block)
        if fields is None:
            fields = _decode(block)
            if len(self._decoded) >= _DECODED_MAX:
                self._decoded.clear()
            self._decoded[block] = fields
        return fields


def _decode(block: bytes) -> Fields:
    decoder = hpack.Decoder()
    decoder.header_table_size = 0
    decoder.max_allowed_table_size = 0
    try:
        return {str(name): str(value) for name, value in decoder.decode(block)}
    except hpack.HPACKError as error:
        raise errors.ProtocolError(
            frames.COMPRESSION_ERROR, f"a header block that cannot be decoded: {error}"
        ) from error
