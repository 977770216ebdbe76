"""What etcd's answers mean: fragments put together, errors told apart, messages loaded without grpc."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.storage import etcd, messages, types
from apiserver.storage.http2 import errors

FRAGMENT = b"\x38\x01"  # field 7, true


def answer(*revisions: int, fragment: bool = False) -> Any:
    """A watch answer with one event for each revision given."""
    rpc, kv = messages.rpc, messages.kv
    events = [kv.Event(kv=kv.KeyValue(key=b"k", value=b"v", mod_revision=revision)) for revision in revisions]
    encoded = rpc.WatchResponse(events=events).SerializeToString()
    return rpc.WatchResponse.FromString(encoded + (FRAGMENT if fragment else b""))


def fed(assembler: etcd.Assembler, *answers: Any) -> list[tuple[list[int], int]]:
    results = [assembler.feed(item) for item in answers]
    return [([change.revision for change in changes], revision) for changes, revision in results]


def test_a_whole_answer_is_passed_on() -> None:
    assert fed(etcd.Assembler(), answer(5, 6, 6), answer(7)) == [([5, 6, 6], 6), ([7], 7)]


def test_a_revision_that_straddles_fragments_is_held_until_it_is_complete() -> None:
    answers = [answer(5, 6, fragment=True), answer(6, 6, fragment=True), answer(6, 7)]
    assert fed(etcd.Assembler(), *answers) == [([5], 5), ([], 0), ([6, 6, 6, 6, 7], 7)]


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.data())
def test_however_it_is_cut_no_event_is_lost_and_no_revision_split(sizes: list[int], data: st.DataObject) -> None:
    sent = [revision for revision, size in enumerate(sizes, start=1) for _ in range(size)]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(sent) - 1)))) if len(sent) > 1 else []
    pieces = [sent[start:stop] for start, stop in itertools.pairwise([0, *cuts, len(sent)])]
    answers = [answer(*piece, fragment=number < len(pieces)) for number, piece in enumerate(pieces, start=1)]
    results = fed(etcd.Assembler(), *answers)
    assert [revision for changes, _ in results for revision in changes] == sent
    seen: set[int] = set()
    for changes, last in results:
        assert not seen & set(changes)
        assert not changes or changes[-1] == last
        seen |= set(changes)


def unavailable(error: errors.CallError, *, repeatable: bool = False) -> bool:
    """Whether the write that failed so may have happened."""
    translated = etcd.translate(error, repeatable)
    assert isinstance(translated, types.Unavailable)
    return translated.maybe_written


@pytest.mark.parametrize(
    ("error", "maybe_written"),
    [
        (errors.NotSent("no connection"), False),
        (errors.Interrupted("lost"), True),
        (errors.DeadlineExceeded("late"), True),
        (errors.RpcError(errors.UNAVAILABLE, "etcdserver: no leader"), False),
        (errors.RpcError(errors.UNAVAILABLE, "etcdserver: request timed out"), True),
        (errors.RpcError(errors.UNAVAILABLE, "etcdserver: leader changed"), True),
        (errors.RpcError(errors.RESOURCE_EXHAUSTED, "etcdserver: too many requests"), False),
        (errors.RpcError(errors.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded"), False),
        (errors.RpcError(errors.UNKNOWN, "context canceled"), True),
        (errors.RpcError(errors.PERMISSION_DENIED, "etcdserver: permission denied"), False),
        (errors.RpcError(errors.UNIMPLEMENTED, "unknown service"), False),
    ],
)
def test_a_failed_write_is_told_apart_by_whether_it_may_have_happened(
    error: errors.CallError, maybe_written: bool
) -> None:
    assert unavailable(error) is maybe_written
    assert unavailable(error, repeatable=True) is False, "a read writes nothing"


def test_a_refusal_by_size_and_a_lost_lease_have_errors_of_their_own() -> None:
    too_large = errors.RpcError(errors.INVALID_ARGUMENT, "etcdserver: request is too large")
    assert isinstance(etcd.translate(too_large, False), types.TooLarge)
    no_lease = errors.RpcError(errors.NOT_FOUND, "etcdserver: requested lease not found")
    assert isinstance(etcd.translate(no_lease, False), etcd.LeaseMissing)


def test_the_store_is_imported_without_grpc_and_leaves_etcd3_importable() -> None:
    code = (
        "import sys, apiserver.storage.store as store; assert 'grpc' not in sys.modules; "
        "from apiserver.storage import messages; import etcd3; assert 'grpc' in sys.modules; "
        "assert etcd3.etcdrpc.RangeRequest is messages.rpc.RangeRequest"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
