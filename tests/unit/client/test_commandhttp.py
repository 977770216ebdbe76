"""The command line's transport against a scripted server on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from client.commandhttp import CommandTransport


@asynccontextmanager
async def serving(*answers: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that gives one of `answers` to each request and closes after the last; what it got, head by head."""
    got: list[bytes] = []
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while left:
            try:
                got.append(await reader.readuntil(b"\r\n\r\n"))
            except asyncio.IncompleteReadError:
                break
            writer.write(left.pop(0))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/a?b=c%20d", got


async def fetch(transport: CommandTransport, url: str, method: str = "GET") -> tuple[int, bytes]:
    extensions = {"timeout": {"connect": 5.0, "read": 5.0}}
    response = await transport.handle_async_request(httpx.Request(method, url, extensions=extensions))
    try:
        body = b"".join([block async for block in response.stream])  # type: ignore[union-attr]  # our streams are async
    finally:
        await response.stream.aclose()  # type: ignore[union-attr]  # our streams are async
    return response.status_code, body


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", (200, b"hello")),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n",
            (200, b"abcde"),
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", (200, b"until the end")),
        (b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", (304, b"")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", (201, b"")),
    ],
)
async def test_a_body_is_read_to_its_end_however_it_is_framed(answer: bytes, expected: tuple[int, bytes]) -> None:
    async with serving(answer) as (url, got):
        transport = CommandTransport(None, [])
        assert await fetch(transport, url) == expected
        await transport.aclose()
    assert got[0].startswith(b"GET /a?b=c%20d HTTP/1.1\r\n")


async def test_a_connection_is_used_again() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for _ in range(3):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        transport = CommandTransport(None, [])
        for _ in range(3):
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            assert await fetch(transport, url) == (200, b"ok")
        await transport.aclose()
    assert connections == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", httpx.ReadError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort", httpx.ReadError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", httpx.ReadError),
        (b"SSH-2.0-OpenSSH\r\n\r\n", httpx.RemoteProtocolError),
        (b"", httpx.RemoteProtocolError),
    ],
)
async def test_a_broken_answer_is_one_of_httpxs_errors(answer: bytes, error: type[Exception]) -> None:
    async with serving(answer) as (url, _):
        transport = CommandTransport(None, [])
        with pytest.raises(error):
            await fetch(transport, url)
        await transport.aclose()


async def test_nobody_there_is_a_connect_error() -> None:
    with pytest.raises(httpx.ConnectError):
        await fetch(CommandTransport(None, []), "http://127.0.0.1:1/")


async def test_an_exchange_ends_when_its_time_is_over() -> None:
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"
    async with serving(endless, b"") as (url, _):
        transport = CommandTransport(None, [], exchange_seconds=0.05)
        with pytest.raises(httpx.ReadTimeout):
            await fetch(transport, url)
        await transport.aclose()


async def test_no_socket_is_open_after_the_transport_was_closed() -> None:
    """Not of the idle, the abandoned, or the one whose stream is still held."""
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"
    async with serving(endless, endless, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (url, _):
        transport = CommandTransport(None, [])
        held = await transport.handle_async_request(httpx.Request("GET", url))
        abandoned = await transport.handle_async_request(httpx.Request("GET", url))
        await fetch(transport, url)
        sockets = [connection._writer.get_extra_info("socket") for connection in transport._opened]
        await abandoned.stream.aclose()  # type: ignore[union-attr]  # our streams are async
        await transport.aclose()
        assert [socket.fileno() for socket in sockets] == [-1, -1, -1]
        await held.stream.aclose()  # type: ignore[union-attr]  # our streams are async
