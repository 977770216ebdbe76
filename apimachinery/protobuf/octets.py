"""Protobuf's wire format, outwards: numbers, tags, and fields with their lengths."""

from __future__ import annotations

VARINT, FIXED64, BYTES = 0, 1, 2
_MASK = (1 << 64) - 1


def varint(value: int) -> bytes:
    """An integer; a negative one as its two's complement of 64 bits."""
    if 0 <= value < 128:
        return bytes((value,))
    value &= _MASK
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def field(number: int, data: bytes) -> bytes:
    """A field of bytes, a text's or a message's."""
    return b"%b%b%b" % (tag(number, BYTES), varint(len(data)), data)
