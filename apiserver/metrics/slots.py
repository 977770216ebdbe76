"""A file that all workers inherit, with a place for what each has counted.

A place holds one snapshot, written whole; a torn one shows by its checksum and is left out.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable

# A slot holds a snapshot; some thousand series fit
SLOT_BYTES = 1 << 20
_HEADER = struct.Struct("<II")  # length, checksum


class Slots:
    """The shared file: one snapshot a worker."""

    def __init__(self, descriptor: int, count: int) -> None:
        self._descriptor = descriptor
        self._count = count

    @property
    def end(self) -> int:
        """Where the file is free for others; at the start of a page."""
        return self._count * SLOT_BYTES

    def write(self, index: int, data: bytes) -> None:
        if len(data) <= SLOT_BYTES - _HEADER.size:
            os.pwrite(self._descriptor, _HEADER.pack(len(data), zlib.crc32(data)) + data, index * SLOT_BYTES)

    def read(self, index: int) -> bytes | None:
        """The snapshot, or None where there is none yet or it is just being written."""
        block = os.pread(self._descriptor, SLOT_BYTES, index * SLOT_BYTES)
        if len(block) < _HEADER.size:
            return None
        length, checksum = _HEADER.unpack_from(block)
        data = block[_HEADER.size : _HEADER.size + length]
        return data if length and len(data) == length and zlib.crc32(data) == checksum else None

    def others(self, index: int) -> Iterable[bytes]:
        for other in range(self._count):
            data = self.read(other) if other != index else None
            if data is not None:
                yield data
