"""gRPC messages and outcomes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.storage.http2 import calls, errors


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_messages_come_out_whole_wherever_the_body_is_cut(sent: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(calls.frame(message) for message in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    buffer = calls.MessageBuffer()
    received = []
    for start, stop in itertools.pairwise([0, *cuts, len(wire)]):
        received += buffer.feed(wire[start:stop])
    assert received == sent
    assert len(buffer) == 0


def test_a_compressed_message_is_refused() -> None:
    with pytest.raises(errors.RpcError, match="compressed"):
        calls.MessageBuffer().feed(b"\x01\0\0\0\x01x")


def test_a_message_beyond_all_measure_is_refused_before_it_arrives() -> None:
    with pytest.raises(errors.RpcError) as caught:
        calls.MessageBuffer().feed(b"\0\xff\xff\xff\xff")
    assert caught.value.code == errors.RESOURCE_EXHAUSTED


def test_status_0_is_success() -> None:
    assert calls.outcome({":status": "200", "grpc-status": "0"}) is None


def test_a_status_carries_its_code_and_its_unquoted_message() -> None:
    error = calls.outcome({"grpc-status": "11", "grpc-message": "etcdserver: 100%25 gone"})
    assert error is not None
    assert (error.code, error.message) == (errors.OUT_OF_RANGE, "etcdserver: 100% gone")


@pytest.mark.parametrize(
    ("status", "code"), [("503", errors.UNAVAILABLE), ("401", errors.UNAUTHENTICATED), ("418", errors.UNKNOWN)]
)
def test_an_answer_that_is_not_grpc_is_an_error_by_its_http_status(status: str, code: int) -> None:
    error = calls.outcome({":status": status})
    assert error is not None and error.code == code
