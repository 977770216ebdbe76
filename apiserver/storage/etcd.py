"""etcd's API as storage uses it (step A9): compare-and-put, ranges at a revision, leases, compaction, one watch.

Errors leave here as `types.StorageError` only. Keys are text; etcd orders them by bytes, which is the order of their
code points.
Source: https://etcd.io/docs/v3.4/learning/api/
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from google.protobuf import unknown_fields

from apiserver.storage import messages, types
from apiserver.storage.http2 import channel, errors

# Longer than etcd's own limit (5 s and two election timeouts: 7 s), so that etcd says what became of a write, not we
CALL_TIMEOUT_SECONDS = 10.0

_KV = "/etcdserverpb.KV/"
_WATCH = "/etcdserverpb.Watch/Watch"
_LEASE = "/etcdserverpb.Lease/"
_STATUS = "/etcdserverpb.Maintenance/Status"

# A member without a leader refuses at once instead of waiting for one
_REQUIRE_LEADER = ("hasleader", "true")
_NO_LEADER = "etcdserver: no leader"
_COMPACTED = "etcdserver: mvcc: required revision has been compacted"
_FUTURE = "etcdserver: mvcc: required revision is a future revision"
_TOO_LARGE = "etcdserver: request is too large"
_MESSAGE_TOO_LARGE = "grpc: received message larger than max"
_LEASE_MISSING = "etcdserver: requested lease not found"
# Refusals that come before a write is proposed to the members
_NEVER_PROPOSED = (_NO_LEADER, "etcdserver: too many requests", "etcdserver: mvcc: database space exceeded")

# What a comparison looks at
_VERSION = messages.rpc.Compare.VERSION
_MOD = messages.rpc.Compare.MOD

# `fragment` of WatchCreateRequest (field 8) and WatchResponse (field 7), which the generated messages do not know
_FRAGMENT_WANTED = b"\x40\x01"
_FRAGMENT_FIELD = 7

ALL_KEYS = ("\0", "\0")  # as a range: everything


class Pair(NamedTuple):
    """A key with its value. `lease` is 0 without one."""

    key: str
    value: bytes
    revision: int
    create_revision: int
    lease: int


class Outcome(NamedTuple):
    """Of a conditional write: whether it happened, at which revision; if not, what is there (None: nothing)."""

    succeeded: bool
    revision: int
    current: Pair | None


class Page(NamedTuple):
    """A part of a range. `total` is the number of pairs from its start to the range's end."""

    pairs: list[Pair]
    revision: int
    more: bool
    total: int


class Change(NamedTuple):
    """One event of a watch; `value` is None for a deletion."""

    key: str
    value: bytes | None
    revision: int
    create_revision: int


class LeaseMissing(types.StorageError):
    """The lease of a put has expired."""


Observe = Callable[[str, str, float], None]
"""Told of each call that succeeded: get, list, create, update or delete; the kind of key; the seconds it took."""


class Etcd:
    """The operations, over one channel."""

    def __init__(
        self,
        endpoints: Iterable[str],
        *,
        tls: types.TlsFiles | None = None,
        timeout_seconds: float = CALL_TIMEOUT_SECONDS,
        observe: Observe | None = None,
    ) -> None:
        self._observe = observe
        self._channel = channel.Channel(
            endpoints,
            tls=tls,
            extra_headers=[_REQUIRE_LEADER],
            never_acted=lambda error: error.message in _NEVER_PROPOSED,
        )
        self._timeout_seconds = timeout_seconds

    @property
    def calls_under_way(self) -> int:
        return self._channel.stream_count

    async def close(self) -> None:
        await self._channel.close()

    # --- reads

    async def revision(self) -> int:
        """The newest revision that any write acknowledged before this call can have."""
        # Linearizable, and the cheapest: a count of the keys at a place where none is
        request = messages.rpc.RangeRequest(key=b"\0", count_only=True)
        return int((await self._range(request)).header.revision)

    async def get(self, key: str) -> tuple[Pair | None, int]:
        """The pair now, and the revision of the answer. Linearizable."""
        began = time.perf_counter()
        answer = await self._range(messages.rpc.RangeRequest(key=_encode(key)))
        self._note("get", key, began)
        return (_pair(answer.kvs[0]) if answer.kvs else None), answer.header.revision

    async def page(self, start: str, end: str, *, limit: int = 0, revision: int = 0) -> Page:
        """Up to `limit` pairs of `[start, end)` at a revision (0: now, linearizable), in key order."""
        request = messages.rpc.RangeRequest(key=_encode(start), range_end=_encode(end), limit=limit, revision=revision)
        began = time.perf_counter()
        try:
            answer = await self._range(request)
        except errors.RpcError as error:
            _raise_revision(error, revision)
        self._note("list", start, began)
        pairs = [_pair(item) for item in answer.kvs]
        return Page(pairs, revision or answer.header.revision, answer.more, answer.count)

    async def raw_call(self, path: str, request: bytes) -> bytes:
        """An encoded call, once. For measurements."""
        return await self._channel.call(path, request, timeout_seconds=self._timeout_seconds)

    async def status(self) -> Any:
        """The state of the member that answers."""
        request = messages.rpc.StatusRequest()
        return messages.rpc.StatusResponse.FromString(await self._call(_STATUS, request, repeatable=True))

    # --- writes

    async def put_if(
        self, key: str, revision: int, value: bytes, *, lease: int = 0, keep_lease: bool = False
    ) -> Outcome:
        """Puts the value if the key is at mod_revision `revision` (0: if there is no such key)."""
        name = _encode(key)
        request = _compare_revision(name, revision)
        put = request.success.add().request_put
        put.key, put.value, put.lease, put.ignore_lease = name, value, lease, keep_lease
        began = time.perf_counter()
        outcome = await self._write_if(request)
        self._note("update" if revision else "create", key, began)
        return outcome

    async def delete_if(self, key: str, revision: int) -> Outcome:
        """Deletes the key if it is at mod_revision `revision`."""
        name = _encode(key)
        request = _compare_revision(name, revision)
        request.success.add().request_delete_range.key = name
        began = time.perf_counter()
        outcome = await self._write_if(request)
        self._note("delete", key, began)
        return outcome

    async def put_if_version(self, key: str, version: int, value: bytes) -> tuple[bool, int, int]:
        """Puts the value if the key was written `version` times: (whether, its version now, the revision)."""
        name = _encode(key)
        request = messages.rpc.TxnRequest()
        compare = request.compare.add()
        compare.key, compare.target, compare.version = name, _VERSION, version
        put = request.success.add().request_put
        put.key, put.value = name, value
        request.failure.add().request_range.key = name
        answer = await self._txn(request)
        if answer.succeeded:
            return True, version + 1, answer.header.revision
        found = answer.responses[0].response_range.kvs
        return False, (found[0].version if found else 0), answer.header.revision

    async def compact(self, revision: int) -> None:
        """Forgets what was overwritten before `revision`. Raises Compacted when that has been done already."""
        request = messages.rpc.CompactionRequest(revision=revision)
        try:
            await self._call(_KV + "Compact", request, repeatable=True)
        except errors.RpcError as error:
            _raise_revision(error, revision)

    async def grant(self, ttl_seconds: int) -> int:
        """A new lease, which deletes the keys put under it when it ends."""
        # Twice does no harm: a lease without keys just ends
        request = messages.rpc.LeaseGrantRequest(TTL=ttl_seconds)
        answer = await self._call(_LEASE + "LeaseGrant", request, repeatable=True)
        return int(messages.rpc.LeaseGrantResponse.FromString(answer).ID)

    # --- the watch

    async def watch(
        self, start_revision: int, apply: Callable[[list[Change], int], None], *, keys: tuple[str, str] = ALL_KEYS
    ) -> NoReturn:
        """Calls `apply(changes, revision)` for all changes from `start_revision` on, until it fails.

        Each call brings whole revisions, in order: `revision` is the last that is complete, so a watch that broke
        resumes at `revision + 1`. Raises Compacted, or Unavailable when the stream ends for any other reason.
        """
        create = messages.rpc.WatchCreateRequest(
            key=_encode(keys[0]), range_end=_encode(keys[1]), start_revision=start_revision
        )
        create.MergeFromString(_FRAGMENT_WANTED)
        request = messages.rpc.WatchRequest(create_request=create).SerializeToString()
        try:
            stream = await self._channel.stream(_WATCH, request, timeout_seconds=self._timeout_seconds)
        except errors.CallError as error:
            raise types.Unavailable(f"etcd watch: {error}") from error
        assembler = Assembler()
        try:
            while True:
                answer = messages.rpc.WatchResponse.FromString(await stream.receive())
                if answer.canceled:
                    self._raise_cancelled(answer, start_revision)
                changes, revision = assembler.feed(answer)
                if changes:
                    apply(changes, revision)
        except errors.CallError as error:
            self._leave_if_unserved(error)
            raise types.Unavailable(f"etcd watch: {error}") from error
        finally:
            stream.cancel()

    def _raise_cancelled(self, answer: Any, start_revision: int) -> NoReturn:
        if answer.compact_revision:
            raise types.Compacted(start_revision, answer.compact_revision)
        self._channel.fail_over()
        raise types.Unavailable(f"etcd watch: cancelled: {answer.cancel_reason}")

    def _leave_if_unserved(self, error: errors.CallError) -> None:
        if isinstance(error, errors.RpcError) and error.code == errors.UNAVAILABLE:
            self._channel.fail_over()

    # --- calls

    def _note(self, operation: str, key: str, began: float) -> None:
        if self._observe is not None:
            self._observe(operation, _kind_of(key), time.perf_counter() - began)

    async def _range(self, request: Any) -> Any:
        return messages.rpc.RangeResponse.FromString(await self._call(_KV + "Range", request, repeatable=True))

    async def _write_if(self, request: Any) -> Outcome:
        answer = await self._txn(request)
        if answer.succeeded:
            return Outcome(True, answer.header.revision, None)
        found = answer.responses[0].response_range.kvs
        return Outcome(False, answer.header.revision, _pair(found[0]) if found else None)

    async def _txn(self, request: Any) -> Any:
        return messages.rpc.TxnResponse.FromString(await self._call(_KV + "Txn", request, repeatable=False))

    async def _call(self, path: str, request: Any, *, repeatable: bool) -> bytes:
        try:
            return await self._channel.call(
                path, request.SerializeToString(), timeout_seconds=self._timeout_seconds, repeatable=repeatable
            )
        except errors.CallError as error:
            translated = translate(error, repeatable)
            if translated is None:
                raise
            raise translated from error


class Assembler:
    """Puts fragments together: what has arrived of a revision is held back until all of it has."""

    def __init__(self) -> None:
        self._held: list[Change] = []

    def feed(self, answer: Any) -> tuple[list[Change], int]:
        """The changes of all revisions that are complete now, and the last of these revisions."""
        changes = self._held + [_change(event) for event in answer.events]
        self._held = []
        if changes and _is_fragment(answer):
            last = changes[-1].revision
            cut = next(index for index, change in enumerate(changes) if change.revision == last)
            self._held = changes[cut:]
            changes = changes[:cut]
        return changes, (changes[-1].revision if changes else 0)


def _compare_revision(name: bytes, revision: int) -> Any:
    """A transaction that acts if the key is at the revision, and reads it if not; what it does is yet to be added."""
    # Filled in place: the constructors of nested messages take three times as long
    request = messages.rpc.TxnRequest()
    compare = request.compare.add()
    compare.key, compare.target, compare.mod_revision = name, _MOD, revision
    request.failure.add().request_range.key = name
    return request


def _is_fragment(answer: Any) -> bool:
    """Whether more of the same batch follows."""
    fields = unknown_fields.UnknownFieldSet(answer)
    return any(field.field_number == _FRAGMENT_FIELD and bool(field.data) for field in fields)


def translate(error: errors.CallError, repeatable: bool) -> types.StorageError | None:
    """What a failed call means; None where that depends on the call."""
    if isinstance(error, errors.RpcError):
        if error.message in (_COMPACTED, _FUTURE):
            return None
        if error.message == _TOO_LARGE or error.message.startswith(_MESSAGE_TOO_LARGE):
            return types.TooLarge(f"etcd: {error.message}")
        if error.message == _LEASE_MISSING:
            return LeaseMissing(f"etcd: {error.message}")
    return types.Unavailable(f"etcd: {error}", maybe_written=not repeatable and _may_have_acted(error))


def _may_have_acted(error: errors.CallError) -> bool:
    if isinstance(error, errors.RpcError):
        # Statuses other than these say that etcd looked at the request and refused it
        ambiguous = error.code in (errors.UNAVAILABLE, errors.UNKNOWN, errors.INTERNAL, 1, 4)  # cancelled, deadline
        return ambiguous and error.message not in _NEVER_PROPOSED
    return not isinstance(error, errors.NotSent)


def _raise_revision(error: errors.RpcError, revision: int) -> NoReturn:
    if error.message == _COMPACTED:
        raise types.Compacted(revision, revision + 1) from error
    raise types.FutureRevision(str(revision)) from error


def _kind_of(key: str) -> str:
    """`/registry/pods/default/a` → `pods`: the word after the first one, by which calls are counted."""
    parts = key.split("/", 3)
    return parts[2] if len(parts) > 2 else ""


def _encode(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


def _decode(key: bytes) -> str:
    # Foreign keys may be any bytes; ours are ASCII
    return key.decode("utf-8", "surrogateescape")


def _pair(item: Any) -> Pair:
    return Pair(_decode(item.key), item.value, item.mod_revision, item.create_revision, item.lease)


def _change(event: Any) -> Change:
    item = event.kv
    return Change(_decode(item.key), None if event.type else item.value, item.mod_revision, item.create_revision)
