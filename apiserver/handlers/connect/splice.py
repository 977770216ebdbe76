"""A byte splice: after an upgrade both sides speak a protocol of their own (SPDY, WebSocket), and we copy bytes.

Guarantees: bytes pass in order and unchanged, each direction no faster than its reader; the first side to end ends
both.
"""

from __future__ import annotations

import asyncio
import ssl

from apiserver.backend import CHUNK_BYTES, Backend
from apiserver.server import Connection


async def splice(connection: Connection, backend: Backend) -> None:
    """Answers the client with the backend's head and copies until one side ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK_BYTES, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    protocol.connection_made(connection.transport)
    writer = asyncio.StreamWriter(connection.transport, protocol, reader, loop)
    early = connection.take_over(protocol)
    writer.write(backend.head.raw)
    if early:
        backend.writer.write(early)
    copies = [
        asyncio.create_task(_copy(reader, backend.writer), name="client to kubelet"),
        asyncio.create_task(_copy(backend.reader, writer), name="kubelet to client"),
    ]
    try:
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for copy in copies:
            copy.cancel()
        await asyncio.wait(copies)
        writer.close()
        await backend.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(CHUNK_BYTES):
            sink.write(data)
            await sink.drain()
    except (OSError, ssl.SSLError):
        pass  # one side went away: that ends the splice, as an orderly end does
