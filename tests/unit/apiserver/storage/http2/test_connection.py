"""One connection against a scripted peer: windows, ends, and the connection's own frames."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.storage.http2 import calls, connection, errors, frames
from tests.unit.apiserver.storage.http2 import peer as peers


def resets(sent: list[frames.Frame]) -> list[tuple[int, int]]:
    return [(frame.stream_id, frames.parse_number(frame)) for frame in sent if frame.kind == frames.RST_STREAM]


async def test_the_client_opens_with_preface_settings_and_a_large_window() -> None:
    peer = peers.Peer()
    settings, window, ack = (await peer.taken())[:3]
    assert dict(frames.parse_settings(settings)) == {
        frames.HEADER_TABLE_SIZE: 0,
        frames.ENABLE_PUSH: 0,
        frames.INITIAL_WINDOW_SIZE: connection.STREAM_WINDOW,
    }
    assert frames.parse_number(window) + frames.DEFAULT_WINDOW_SIZE == connection.CONNECTION_WINDOW
    assert (ack.kind, ack.flags) == (frames.SETTINGS, frames.ACK)


async def test_it_is_not_ready_before_the_peers_settings() -> None:
    client = connection.Connection(lambda lost: None)
    client.connection_made(peers.Transport())
    with pytest.raises(errors.NotSent):
        client.open(peers.HEAD, calls.UnaryCall(asyncio.get_running_loop()), b"", end=True)
    waiting = asyncio.ensure_future(client.ready())
    await asyncio.sleep(0)
    assert not waiting.done()
    client.data_received(frames.build_settings([]))
    await waiting
    client.close()


async def test_a_call_is_answered() -> None:
    peer = peers.Peer()
    first, second = peer.call(b"one"), peer.call(b"two")
    assert await peer.bodies() == {1: calls.frame(b"one"), 3: calls.frame(b"two")}
    peer.answer(3, b"second")
    peer.answer(1, b"")
    assert await second.answer == b"second"
    assert await first.answer == b""
    assert peer.client.stream_count == 0


async def test_an_answer_of_three_megabytes_in_many_frames_arrives_and_windows_are_given_back() -> None:
    peer = peers.Peer()
    call = peer.call()
    await peer.taken()
    body = bytes(range(256)) * 12 * 1024 * 2
    peer.answer(1, body)
    assert await call.answer == body
    updates = [frame for frame in await peer.taken() if frame.kind == frames.WINDOW_UPDATE]
    given = {stream: sum(frames.parse_number(f) for f in updates if f.stream_id == stream) for stream in (0, 1)}
    assert len(body) - 4 * 2**20 < given[0] <= len(body) + 5
    assert len(body) - 4 * 2**20 < given[1] <= len(body) + 5


async def test_trailers_with_a_status_fail_the_call() -> None:
    peer = peers.Peer()
    call = peer.call()
    block = b"\x88\x10\x0bgrpc-status\x0211\x10\x0cgrpc-message\x04gone"
    peer.give(frames.build(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, block))
    error = peers.error_of(call)
    assert isinstance(error, errors.RpcError) and error.code == 11 and error.message == "gone"


@pytest.mark.parametrize("body", [b"", b"\0\0\0\0\x09short", b"\0\0\0\0\x01xy", b"\x01\0\0\0\x01x"])
async def test_an_answer_that_is_not_one_whole_message_fails_the_call(body: bytes) -> None:
    peer = peers.Peer()
    call = peer.call()
    peer.give(
        frames.build(frames.HEADERS, frames.END_HEADERS, 1, peers.OK_HEAD),
        frames.build(frames.DATA, 0, 1, body),
        frames.build(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, peers.OK_TRAILERS),
    )
    assert isinstance(peers.error_of(call), errors.RpcError)


async def test_a_header_block_in_continuations_is_put_together() -> None:
    peer = peers.Peer()
    call = peer.call(b"")
    trailers = peers.OK_HEAD + peers.OK_TRAILERS
    peer.give(frames.build(frames.DATA, 0, 1, calls.frame(b"x")))
    peer.give(frames.build(frames.HEADERS, frames.END_STREAM, 1, trailers[:3]))
    peer.give(frames.build(frames.CONTINUATION, 0, 1, trailers[3:7]))
    assert not call.answer.done()
    peer.give(frames.build(frames.CONTINUATION, frames.END_HEADERS, 1, trailers[7:]))
    assert await call.answer == b"x"


# --- what we send


async def test_a_large_body_waits_for_the_peers_windows() -> None:
    peer = peers.Peer()
    message = bytes(200_000)
    peer.call(message)
    sent = (await peer.bodies())[1]
    assert len(sent) == frames.DEFAULT_WINDOW_SIZE
    peer.give(frames.build_window_update(1, 2**20))  # the stream may, the connection may not
    assert await peer.bodies() == {}
    peer.give(frames.build_window_update(0, 1000))
    sent += (await peer.bodies())[1]
    assert len(sent) == frames.DEFAULT_WINDOW_SIZE + 1000
    peer.give(frames.build_window_update(0, 2**20))
    rest = await peer.taken()
    sent += b"".join(frame.payload for frame in rest if frame.kind == frames.DATA)
    assert sent == calls.frame(message)
    assert rest[-1].flags & frames.END_STREAM
    assert all(len(frame.payload) <= frames.DEFAULT_MAX_FRAME_SIZE for frame in rest)


async def test_a_stream_that_waits_for_its_own_window_holds_up_no_other() -> None:
    peer = peers.Peer([(frames.INITIAL_WINDOW_SIZE, 10)])
    peer.call(b"x" * 100)
    peer.call(b"y")
    sent = await peer.bodies()
    assert len(sent[1]) == 10
    assert sent[3] == calls.frame(b"y")


async def test_a_smaller_initial_window_counts_for_open_streams() -> None:
    peer = peers.Peer([(frames.INITIAL_WINDOW_SIZE, 100)])
    peer.call(b"x" * 195)  # 200 with its prefix
    assert len((await peer.bodies())[1]) == 100
    peer.give(frames.build_settings([(frames.INITIAL_WINDOW_SIZE, 50)]))  # 50 too much are out now
    peer.give(frames.build_window_update(1, 60))
    assert len((await peer.bodies())[1]) == 10


async def test_a_larger_frame_size_is_used() -> None:
    peer = peers.Peer([(frames.MAX_FRAME_SIZE, 60_000), (frames.INITIAL_WINDOW_SIZE, 10**6)])
    peer.call(bytes(50_000))
    assert [len(frame.payload) for frame in await peer.taken() if frame.kind == frames.DATA] == [50_005]


async def test_calls_beyond_the_peers_limit_see_a_full_connection() -> None:
    peer = peers.Peer([(frames.MAX_CONCURRENT_STREAMS, 2)])
    peer.call(), peer.call()
    assert peer.client.full
    waiting = asyncio.ensure_future(peer.client.vacancy())
    await asyncio.sleep(0)
    assert not waiting.done()
    peer.answer(1, b"")
    await waiting
    assert not peer.client.full


# --- ends


async def test_a_refused_stream_was_not_sent_and_a_reset_one_may_have_been() -> None:
    peer = peers.Peer()
    refused, reset = peer.call(), peer.call()
    peer.give(frames.build_rst_stream(1, frames.REFUSED_STREAM), frames.build_rst_stream(3, frames.CANCEL))
    assert isinstance(peers.error_of(refused), errors.NotSent)
    assert isinstance(peers.error_of(reset), errors.Interrupted)


async def test_goaway_refuses_what_the_peer_has_not_seen_and_lets_the_rest_finish() -> None:
    peer = peers.Peer()
    seen, unseen = peer.call(), peer.call()
    peer.give(frames.build(frames.GOAWAY, 0, 0, (1).to_bytes(4) + (0).to_bytes(4)))
    assert isinstance(peers.error_of(unseen), errors.NotSent)
    assert not seen.answer.done()
    assert peer.lost == [peer.client]
    with pytest.raises(errors.NotSent):
        peer.call()
    peer.answer(1, b"done")
    assert await seen.answer == b"done"
    assert peer.transport.closing


async def test_goaway_ends_long_streams_at_once() -> None:
    peer = peers.Peer()
    stream = peer.stream()
    await peer.taken()
    peer.give(frames.build(frames.GOAWAY, 0, 0, (1).to_bytes(4) + (0).to_bytes(4)))
    with pytest.raises(errors.Interrupted, match="going away"):
        await stream.receive()
    assert resets(await peer.taken()) == [(1, frames.CANCEL)]


async def test_the_loss_of_the_connection_interrupts_every_call() -> None:
    peer = peers.Peer()
    call, stream = peer.call(), peer.stream()
    peer.client.connection_lost(ConnectionResetError("reset"))
    assert isinstance(peers.error_of(call), errors.Interrupted)
    with pytest.raises(errors.Interrupted):
        await stream.receive()
    assert peer.lost == [peer.client]


async def test_a_cancelled_call_is_reset_and_late_frames_for_it_are_ignored() -> None:
    peer = peers.Peer()
    call, other = peer.call(), peer.call()
    await peer.taken()
    peer.client.cancel(call)
    assert resets(await peer.taken()) == [(1, frames.CANCEL)]
    peer.answer(1, b"too late")
    peer.answer(3, b"fine")
    assert await other.answer == b"fine"
    assert not call.answer.done()
    assert peer.client.stream_count == 0


async def test_an_answer_before_the_request_is_all_out_ends_our_side_too() -> None:
    peer = peers.Peer()
    call = peer.call(bytes(200_000))
    await peer.taken()
    peer.answer(1, b"enough")
    assert await call.answer == b"enough"
    assert resets(await peer.taken()) == [(1, frames.CANCEL)]
    peer.give(frames.build_window_update(0, 2**20))
    assert await peer.bodies() == {}


@pytest.mark.looptime
async def test_a_deadline_ends_its_call_alone(looptime: object) -> None:
    peer = peers.Peer()
    now = asyncio.get_running_loop().time()
    late, early, forever = peer.call(deadline=now + 5), peer.call(deadline=now + 2), peer.call()
    await asyncio.sleep(3)
    assert isinstance(peers.error_of(early), errors.DeadlineExceeded)
    assert not late.answer.done()
    assert resets(await peer.taken()) == [(3, frames.CANCEL)]
    await asyncio.sleep(3)
    assert isinstance(peers.error_of(late), errors.DeadlineExceeded)
    assert not forever.answer.done()
    assert peer.client.stream_count == 1
    peer.client.close()


# --- the connection's own frames


async def test_a_ping_is_answered_with_its_payload() -> None:
    peer = peers.Peer()
    await peer.taken()
    peer.give(frames.build(frames.PING, 0, 0, b"12345678"), frames.build(frames.PING, frames.ACK, 0, b"87654321"))
    assert await peer.taken() == [frames.Frame(frames.PING, frames.ACK, 0, b"12345678")]


@pytest.mark.looptime
async def test_a_silent_peer_is_asked_and_then_given_up(looptime: object) -> None:
    peer = peers.Peer()
    call = peer.call()
    await peer.taken()
    await asyncio.sleep(connection.KEEPALIVE_SECONDS + 1)
    assert peers.kinds(await peer.taken()) == [frames.PING]
    peer.give(frames.build(frames.PING, frames.ACK, 0, bytes(8)))
    await asyncio.sleep(connection.KEEPALIVE_SECONDS + 1)
    assert peers.kinds(await peer.taken()) == [frames.PING]
    assert not call.answer.done()
    await asyncio.sleep(connection.KEEPALIVE_TIMEOUT_SECONDS)
    assert isinstance(peers.error_of(call), errors.Interrupted)
    assert peer.transport.aborted


async def test_frames_of_unknown_kind_are_ignored() -> None:
    peer = peers.Peer()
    call = peer.call()
    peer.give(frames.build(99, 0xFF, 1, b"?"), frames.build(frames.PRIORITY, 0, 1, bytes(5)))
    peer.answer(1, b"ok")
    assert await call.answer == b"ok"


@pytest.mark.parametrize(
    "broken",
    [
        frames.build(frames.DATA, 0, 99, b"x"),  # a stream never opened
        frames.build(frames.HEADERS, frames.END_HEADERS, 2, b"\x88"),  # a stream that only a server may open
        frames.build(frames.PUSH_PROMISE, 0, 1, bytes(4)),
        frames.build(frames.HEADERS, 0, 1, b"\x88") + frames.build(frames.PING, 0, 0, bytes(8)),
        frames.build(frames.CONTINUATION, frames.END_HEADERS, 1, b"\x88"),
        frames.build(frames.HEADERS, 0, 1, b"") + frames.build(frames.CONTINUATION, 0, 1, bytes(16_384)) * 5,
        frames.build_window_update(0, 0),
        frames.build_window_update(0, 2**31 - 1),
        frames.build(frames.PING, 0, 0, b"short"),
        frames.build(frames.SETTINGS, 0, 0, b"short"),
        frames.build_settings([(frames.INITIAL_WINDOW_SIZE, 2**31)]),
        frames.build(frames.GOAWAY, 0, 0, b"short"),
        frames.build(frames.HEADERS, frames.END_HEADERS, 1, b"\xbe"),  # a table entry that cannot be
    ],
)
async def test_a_peer_that_breaks_the_protocol_gets_goaway_and_its_calls_fail(broken: bytes) -> None:
    peer = peers.Peer()
    call = peer.call()
    await peer.taken()
    peer.give(broken)
    assert isinstance(peers.error_of(call), errors.Interrupted)
    assert peer.transport.aborted
    assert frames.GOAWAY in peers.kinds(await peer.taken())


# --- streams of answers


async def test_messages_of_a_stream_are_received_in_order_and_windows_given_back_as_they_are() -> None:
    peer = peers.Peer()
    stream = peer.stream()
    await peer.taken()
    message = bytes(16_000)
    body = calls.frame(message)
    count = 5 * 2**20 // len(body)
    peer.give(frames.build(frames.HEADERS, frames.END_HEADERS, 1, peers.OK_HEAD))
    peer.give(*(frames.build(frames.DATA, 0, 1, body) for _ in range(count)))
    before = [frame for frame in await peer.taken() if frame.kind == frames.WINDOW_UPDATE]
    assert [frame.stream_id for frame in before] == [0], "a reader that does not read holds its stream's window back"
    for _ in range(count):
        assert await stream.receive() == message
    after = [frame for frame in await peer.taken() if frame.kind == frames.WINDOW_UPDATE]
    assert [frame.stream_id for frame in after] == [1]


async def test_a_stream_ends_with_its_status_after_its_last_message() -> None:
    peer = peers.Peer()
    stream = peer.stream()
    peer.answer(1, b"last")
    assert await stream.receive() == b"last"
    with pytest.raises(errors.Interrupted, match="ended"):
        await stream.receive()


async def test_a_stream_that_the_reader_leaves_is_reset() -> None:
    peer = peers.Peer()
    stream = peer.stream()
    await peer.taken()
    stream.cancel()
    assert resets(await peer.taken()) == [(1, frames.CANCEL)]
    assert peer.client.stream_count == 0


async def test_a_broken_message_ends_its_stream_alone() -> None:
    peer = peers.Peer()
    stream, call = peer.stream(), peer.call()
    peer.give(frames.build(frames.DATA, 0, 1, b"\x01\0\0\0\x01x"))
    with pytest.raises(errors.RpcError, match="compressed"):
        await stream.receive()
    peer.answer(3, b"fine")
    assert await call.answer == b"fine"
