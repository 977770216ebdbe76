"""SPDY frames and sessions: what goes out, what is made of what comes in."""

from __future__ import annotations

import asyncio
import json
import zlib

import pytest

from minictl import channels, spdy
from minictl.failures import Refused
from minictl.spdy import DATA, FIN, PING, RST_STREAM, SYN_REPLY, Frame, Frames, Session


def test_the_dictionary_is_the_protocols() -> None:
    assert len(spdy.DICTIONARY) == 1423
    assert zlib.adler32(spdy.DICTIONARY) == 0xE3C6A7C2


def test_streams_are_opened_with_headers_that_share_one_compression() -> None:
    frames, inflate = Frames(), zlib.decompressobj(zdict=spdy.DICTIONARY)
    for stream, kind in ((1, "error"), (3, "stdin")):
        opened = frames.open(stream, {"streamType": kind})
        assert opened[:4] == bytes([0x80, 3, 0, 1])
        assert int.from_bytes(opened[5:8], "big") == len(opened) - 8
        assert int.from_bytes(opened[8:12], "big") == stream
        name, value = b"streamtype", kind.encode()
        pair = len(name).to_bytes(4, "big") + name + len(value).to_bytes(4, "big") + value
        assert inflate.decompress(opened[18:]) == (1).to_bytes(4, "big") + pair


def test_data_names_its_stream_and_its_end() -> None:
    assert Frames.data(3, b"ab") == bytes([0, 0, 0, 3, 0, 0, 0, 2]) + b"ab"
    assert Frames.data(3, b"", fin=True) == bytes([0, 0, 0, 3, FIN, 0, 0, 0])


CONTROL = bytes([0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 1])


def test_frames_are_whole_however_the_bytes_are_cut() -> None:
    wire = Frames.data(5, b"hello") + CONTROL + Frames.data(7, b"", fin=True)
    subject = Frames()
    found = [frame for byte in wire for frame in subject.feed(bytes([byte]))]
    assert found == [Frame(DATA, 0, 5, b"hello"), Frame(RST_STREAM, 0, 5, CONTROL[8:]), Frame(DATA, FIN, 7, b"")]


def control(kind: int, body: bytes) -> bytes:
    return bytes([0x80, 3, 0, kind, 0]) + len(body).to_bytes(3, "big") + body


class Peer:
    """The other side: sends `script` to one session and keeps what it gets."""

    def __init__(self, script: bytes) -> None:
        self.script = script
        self.got = b""
        self.done = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self.script)
        writer.write_eof()
        self.got = await reader.read()
        writer.close()
        self.done.set()


async def converse(script: bytes, stdin: bytes = b"") -> tuple[int, list[tuple[int, bytes]], bytes]:
    """The exit code, the output, and what the peer received."""
    peer = Peer(script)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    written: list[tuple[int, bytes]] = []
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        wanted = [channels.ERROR, channels.STDIN, channels.STDOUT, channels.STDERR]
        session = Session(reader, writer, wanted)
        try:
            await session.start()
            await session.send(channels.STDIN, stdin)
            await session.close_stdin()
            code = await session.receive(lambda channel, data: written.append((channel, data)))
        finally:
            writer.close()
            await writer.wait_closed()
            await peer.done.wait()
    return code, written, peer.got


# streams as a session numbers them: error 1, stdin 3, stdout 5, stderr 7
REPLIES = b"".join(control(SYN_REPLY, stream.to_bytes(4, "big")) for stream in (1, 3, 5, 7))
ENDS = b"".join(Frames.data(stream, b"", fin=True) for stream in (5, 7))


def ending(status: dict[str, object]) -> bytes:
    return Frames.data(1, json.dumps(status).encode(), fin=True)


async def test_output_goes_to_its_stream_until_all_have_ended() -> None:
    script = REPLIES + Frames.data(5, b"out") + Frames.data(7, b"err") + ending({"status": "Success"}) + ENDS
    code, written, _ = await converse(script)
    assert code == 0
    assert written == [(channels.STDOUT, b"out"), (channels.STDERR, b"err")]


async def test_output_after_the_status_is_not_lost() -> None:
    script = REPLIES + ending({"status": "Success"}) + Frames.data(5, b"late") + ENDS
    assert (await converse(script))[1] == [(channels.STDOUT, b"late")]


async def test_the_exit_code_is_in_the_status() -> None:
    causes = [{"reason": "ExitCode", "message": "9"}]
    status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
    assert (await converse(REPLIES + ending(status) + ENDS))[0] == 9


async def test_input_is_sent_in_pieces_and_then_ended() -> None:
    stdin = b"x" * (channels.CHUNK + 1)
    _, _, got = await converse(REPLIES + ending({"status": "Success"}) + ENDS, stdin)
    sent = [frame for frame in Frames().feed(got) if frame.kind == DATA]
    assert [(frame.stream, len(frame.body), frame.flags) for frame in sent] == [
        (3, channels.CHUNK, 0),
        (3, 1, 0),
        (3, 0, FIN),
    ]


async def test_a_ping_is_answered() -> None:
    ping = control(PING, (2).to_bytes(4, "big"))
    _, _, got = await converse(REPLIES + ping + ending({"status": "Success"}) + ENDS)
    assert Frame(PING, 0, 0, (2).to_bytes(4, "big")) in list(Frames().feed(got))


async def test_a_connection_that_breaks_is_an_error() -> None:
    with pytest.raises(Refused, match="the connection ended before the command did"):
        await converse(REPLIES + Frames.data(5, b"out"))
