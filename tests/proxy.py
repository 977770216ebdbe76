"""A TCP proxy that can be told to misbehave: to hold answers, to cut connections, to say GOAWAY."""

from __future__ import annotations

import asyncio
import contextlib
from typing import cast

from apiserver.storage.http2 import frames


class Proxy:
    """A context manager in front of a port of 127.0.0.1, which speaks HTTP/2 in the clear."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = []
        self._answers = asyncio.Event()
        self._answers.set()
        self._held: dict[asyncio.StreamWriter, asyncio.Event] = {}
        self.refusing = False
        self.connections = 0
        self.url = ""

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.sleep(0.01)  # for the transports that were cut to close

    def hold_answers(self) -> None:
        """Requests still pass; what etcd says is kept back."""
        self._answers.clear()

    def hold_one(self, number: int) -> None:
        """As `hold_answers`, for one of the clients: the others go on, and know more than it."""
        clients = [client for client, _ in self._writers if not client.is_closing()]
        if clients:
            self._held[clients[number % len(clients)]] = asyncio.Event()

    def release_answers(self) -> None:
        self._answers.set()
        for event in self._held.values():
            event.set()
        self._held = {}

    def cut(self) -> None:
        """Every connection breaks now; what was held back is lost."""
        for pair in self._writers:
            for writer in pair:
                cast("asyncio.Transport", writer.transport).abort()
        self._writers = []

    def go_away(self, last_stream_id: int) -> None:
        """Says GOAWAY to every client, in etcd's name."""
        payload = last_stream_id.to_bytes(4) + frames.NO_ERROR.to_bytes(4)
        for client, _ in self._writers:
            client.write(frames.build(frames.GOAWAY, 0, 0, payload))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            cast("asyncio.Transport", writer.transport).abort()
            return
        self.connections += 1
        try:
            from_etcd, to_etcd = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
        else:
            self._writers.append((writer, to_etcd))
            for work in (self._requests(reader, to_etcd), self._answer(from_etcd, writer)):
                task = asyncio.create_task(work)
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while not writer.is_closing() and (data := await reader.read(65_536)):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Frame by frame, so that one of ours may come between."""
        parser = frames.FrameParser()
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                await self._answers.wait()
                if held := self._held.get(writer):
                    await held.wait()
                if writer.is_closing():
                    break
                for frame in parser.feed(data):
                    writer.write(frames.build(*frame))
                await writer.drain()
        writer.close()
