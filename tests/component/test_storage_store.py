"""The store on a real etcd: what each operation promises."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator

import orjson
import pytest

from apiserver.storage import store as stores
from apiserver.storage import types
from tests import etcd as etcds

# A value of 3 MB is more than etcd takes by default
FLAGS = ["--max-request-bytes", str(4 * 2**20)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[etcds.Cluster]:
    with etcds.Cluster(flags=FLAGS) as cluster:
        yield cluster


@contextlib.asynccontextmanager
async def started(endpoints: list[str], **options: object) -> AsyncIterator[stores.Store]:
    store = stores.Store(endpoints, **options)  # type: ignore[arg-type]  # passed through
    await store.start()
    try:
        yield store
    finally:
        await store.stop()


@pytest.fixture
async def store(cluster: etcds.Cluster) -> AsyncIterator[stores.Store]:
    async with started(cluster.endpoints) as store:
        yield store


@pytest.fixture
def place() -> str:
    """A prefix of its own for each test."""
    return f"/registry/configmaps/{uuid.uuid4()}/"


async def test_what_is_created_is_read_with_its_revision(store: stores.Store, place: str) -> None:
    created = await store.create(f"{place}a", etcds.object_bytes("a"))
    found = await store.get(f"{place}a")
    assert found is not None
    assert (found.raw, found.revision) == (created.raw, created.revision)
    assert found.object["metadata"]["resourceVersion"] == str(created.revision)


async def test_a_key_is_created_once(store: stores.Store, place: str) -> None:
    await store.create(f"{place}a", b"{}")
    with pytest.raises(types.KeyExists):
        await store.create(f"{place}a", b"{}")


async def test_reading_nothing_gives_nothing(store: stores.Store, place: str) -> None:
    assert await store.get(f"{place}a") is None
    assert (await store.list(place)).items == []


async def test_an_update_replaces_the_newest(store: stores.Store, place: str) -> None:
    first = await store.create(f"{place}a", b"1")
    second = await store.update(f"{place}a", lambda current: current.raw + b"2")
    assert (second.raw, second.revision > first.revision) == (b"12", True)
    found = await store.get(f"{place}a")
    assert found is not None and found.raw == b"12"


async def test_an_update_that_changes_nothing_writes_nothing(store: stores.Store, place: str) -> None:
    created = await store.create(f"{place}a", b"1")
    for change in (lambda current: None, lambda current: current.raw):
        same = await store.update(f"{place}a", change)
        assert (same.raw, same.revision) == (b"1", created.revision)


async def test_an_update_of_nothing_is_refused(store: stores.Store, place: str) -> None:
    with pytest.raises(types.KeyMissing):
        await store.update(f"{place}a", lambda current: b"")
    with pytest.raises(types.KeyMissing):
        await store.delete(f"{place}a")


async def test_a_stale_precondition_is_refused_with_what_is_there(store: stores.Store, place: str) -> None:
    first = await store.create(f"{place}a", b"1")
    second = await store.update(f"{place}a", lambda current: b"2", expected_revision=first.revision)
    for write in (
        store.update(f"{place}a", lambda current: b"3", expected_revision=first.revision),
        store.delete(f"{place}a", expected_revision=first.revision),
    ):
        with pytest.raises(types.RevisionMismatch) as caught:
            await write
        assert caught.value.current.revision == second.revision


async def test_a_change_that_refuses_ends_the_update(store: stores.Store, place: str) -> None:
    await store.create(f"{place}a", b"1")

    def refuse(current: types.Stored) -> None:
        raise PermissionError(current.raw)

    with pytest.raises(PermissionError):
        await store.update(f"{place}a", refuse)
    with pytest.raises(PermissionError):
        await store.delete(f"{place}a", refuse)
    found = await store.get(f"{place}a")
    assert found is not None and found.raw == b"1"


async def test_a_refusal_made_on_an_old_object_is_asked_again_on_the_newest(cluster: etcds.Cluster, place: str) -> None:
    async with started(cluster.endpoints) as here, started(cluster.endpoints) as there:
        await here.create(f"{place}a", b"bad")
        await there.get(f"{place}a")
        seen: list[bytes] = []

        def only_good(current: types.Stored) -> bytes:
            seen.append(current.raw)
            if current.raw == b"bad":
                raise PermissionError
            return b"better"

        # The write and the update leave `here` and `there` at once: `there` has not seen it yet
        await here.update(f"{place}a", lambda current: b"good")
        assert (await there.update(f"{place}a", only_good)).raw == b"better"
        assert seen[-1] == b"good"


async def test_a_deletion_returns_the_last_object_at_the_deletions_revision(store: stores.Store, place: str) -> None:
    created = await store.create(f"{place}a", b"1")
    deleted = await store.delete(f"{place}a", lambda current: None, expected_revision=created.revision)
    assert (deleted.raw, deleted.revision > created.revision) == (b"1", True)
    assert await store.get(f"{place}a") is None


async def test_no_increment_of_many_writers_is_lost(cluster: etcds.Cluster, place: str) -> None:
    async with started(cluster.endpoints) as first, started(cluster.endpoints) as second:
        await first.create(f"{place}counter", b"0")

        async def increment(store: stores.Store) -> None:
            for _ in range(10):
                await store.update(f"{place}counter", lambda current: b"%d" % (int(current.raw) + 1))

        async with asyncio.TaskGroup() as group:
            for _ in range(10):
                group.create_task(increment(first))
                group.create_task(increment(second))
        found = await first.get(f"{place}counter")
        assert found is not None and found.raw == b"200"


async def test_a_read_sees_what_another_worker_has_written(cluster: etcds.Cluster, place: str) -> None:
    async with started(cluster.endpoints) as writer, started(cluster.endpoints) as reader:
        created = await writer.create(f"{place}a", b"0")
        for number in range(100):
            written = await writer.update(f"{place}a", lambda current, number=number: b"%d" % (number + 1))
            found = await reader.get(f"{place}a")
            assert found is not None and found.revision == written.revision
        listing = await reader.list(place)
        assert listing.items[0].revision == written.revision > created.revision


async def test_writes_outside_the_prefix_hold_up_no_read(
    store: stores.Store, cluster: etcds.Cluster, place: str
) -> None:
    async with started(cluster.endpoints, prefix="/elsewhere/") as other:
        for number in range(20):
            written = await other.create(f"/elsewhere/{place}{number}", b"x")
            async with asyncio.timeout(2):
                assert (await store.list(place)).revision >= written.revision


# --- lists


async def test_a_list_in_pages_is_one_snapshot(store: stores.Store, place: str) -> None:
    for number in range(7):
        await store.create(f"{place}{number}", b"old")
    first = await store.list(place, limit=3)
    assert ([item.key[-1] for item in first.items], first.remaining) == (["0", "1", "2"], 4)
    await store.update(f"{place}4", lambda current: b"new")
    await store.delete(f"{place}5")
    await store.create(f"{place}3a", b"new")
    second = await store.list(place, limit=3, start_key=first.next_key, revision=first.revision, exact=True)
    assert [(item.key[-1], item.raw) for item in second.items] == [("3", b"old"), ("4", b"old"), ("5", b"old")]
    assert (second.revision, second.remaining) == (first.revision, 1)
    third = await store.list(place, limit=3, start_key=second.next_key, revision=first.revision, exact=True)
    assert ([item.key[-1] for item in third.items], third.next_key, third.remaining) == (["6"], None, 0)


async def test_a_page_of_a_revision_that_only_etcd_remembers(cluster: etcds.Cluster, place: str) -> None:
    async with started(cluster.endpoints) as writer:
        first = await writer.create(f"{place}a", b"old")
        await writer.create(f"{place}b", b"old")
        last = await writer.create(f"{place}c", b"old")
        await writer.update(first.key, lambda current: b"new")
    async with started(cluster.endpoints) as later:
        page = await later.list(place, limit=2, revision=last.revision, exact=True)
        assert [(item.raw, item.revision) for item in page.items] == [
            (b"old", first.revision),
            (b"old", last.revision - 1),
        ]
        assert (page.revision, page.remaining) == (last.revision, 1)
        rest = await later.list(place, limit=2, start_key=page.next_key, revision=last.revision, exact=True)
        assert ([item.key for item in rest.items], rest.next_key) == ([last.key], None)


async def test_a_list_no_older_than_a_revision_waits_for_it(cluster: etcds.Cluster, place: str) -> None:
    async with started(cluster.endpoints) as writer, started(cluster.endpoints) as reader:
        created = await writer.create(f"{place}a", b"x")
        assert [item.key for item in (await reader.list(place, revision=created.revision)).items] == [f"{place}a"]


async def test_a_revision_that_does_not_come_is_refused_in_time(store: stores.Store, place: str) -> None:
    with pytest.raises(types.FutureRevision, match=", current: "):
        await store.wait_for(store.revision + 1000, timeout_seconds=0.1)
    with pytest.raises(types.FutureRevision):
        await store.list(place, revision=store.revision + 1000, exact=True)


async def test_what_was_compacted_cannot_be_listed(cluster: etcds.Cluster, place: str) -> None:
    async with started(cluster.endpoints) as writer:
        first = await writer.create(f"{place}a", b"1")
        second = await writer.update(f"{place}a", lambda current: b"2")
        await writer.compact(second.revision)
        with pytest.raises(types.Compacted):
            await writer.compact(first.revision)
        with pytest.raises(types.FutureRevision):
            await writer.compact(second.revision + 10_000)
    async with started(cluster.endpoints) as later:
        with pytest.raises(types.Compacted):
            await later.list(place, revision=first.revision, exact=True)
        assert (await later.list(place, revision=second.revision, exact=True)).items[0].raw == b"2"


# --- watching


async def test_a_subscriber_sees_its_prefix_in_order(store: stores.Store, place: str) -> None:
    events: list[types.Event] = []
    subscription = store.subscribe(place, store.revision, events.append, on_close=lambda error: None)
    await store.create(f"{place}a", b"1")
    await store.create("/registry/secrets/elsewhere/" + place[-10:], b"x")
    await store.update(f"{place}a", lambda current: b"2")
    deleted = await store.delete(f"{place}a")
    await store.wait_for(deleted.revision)
    assert [(event.deleted, event.stored.raw) for event in events] == [(False, b"1"), (False, b"2"), (True, b"2")]
    assert [event.previous and event.previous.raw for event in events] == [None, b"1", b"2"]
    subscription.close()


async def test_stopping_closes_the_subscribers(cluster: etcds.Cluster, place: str) -> None:
    closed: list[types.StorageError | None] = []
    async with started(cluster.endpoints) as store:
        store.subscribe(place, store.revision, lambda event: None, on_close=closed.append)
    assert [type(error) for error in closed] == [types.Unavailable]


async def test_events_with_a_time_to_live_go_by_themselves(store: stores.Store, place: str) -> None:
    # Shared leases live a minute longer than asked: with -59 one ends within etcd's shortest time
    events: list[types.Event] = []
    store.subscribe(place, store.revision, events.append, on_close=lambda error: None)
    await store.create(f"{place}a", b"1", ttl_seconds=-59)
    await store.update(f"{place}a", lambda current: b"2")
    await etcds.eventually(lambda: len(events) == 3)
    assert events[-1].deleted
    assert await store.get(f"{place}a") is None


async def test_an_expired_lease_is_replaced(store: stores.Store, place: str) -> None:
    for number in range(2):
        await store.create(f"{place}{number}", b"1", ttl_seconds=-59)
        await etcds.eventually(lambda number=number: store.cached(f"{place}{number}") is not None)
        await etcds.eventually(lambda number=number: store.cached(f"{place}{number}") is None)


# --- sizes


@pytest.mark.parametrize("size", [100_000, 3 * 2**20])
async def test_large_values_go_both_ways(store: stores.Store, place: str, size: int) -> None:
    raw = etcds.object_bytes("big", size)
    created = await store.create(f"{place}a", raw)
    found = await store.get(f"{place}a")
    assert found is not None and found.raw == raw
    listing = await store.list(place, revision=created.revision, exact=True)
    assert listing.items[0].raw == raw
    assert orjson.loads(found.encoded)["metadata"]["resourceVersion"] == str(created.revision)


async def test_many_large_values_at_once_share_the_windows(store: stores.Store, place: str) -> None:
    raw = etcds.object_bytes("big", 300_000)
    await asyncio.gather(*(store.create(f"{place}{number}", raw) for number in range(20)))
    assert [item.raw for item in (await store.list(place)).items] == [raw] * 20


async def test_a_value_beyond_etcds_limit_is_refused_as_such(store: stores.Store, place: str) -> None:
    with pytest.raises(types.TooLarge):
        await store.create(f"{place}a", bytes(5 * 2**20))
    assert await store.get(f"{place}a") is None


async def test_a_start_reads_everything_in_pages(cluster: etcds.Cluster, store: stores.Store, place: str) -> None:
    count = 2500
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(store.create(f"{place}{number:05}", b"x"))
    async with started(cluster.endpoints) as other:
        assert len(other.cached_list(place)) == count


async def test_health_asks_etcd(store: stores.Store) -> None:
    assert store.ready
    await store.health()
