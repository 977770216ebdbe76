"""The store when etcd, or the way to it, fails: nothing is lost, nothing doubled, and what is unknown is said."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from apimachinery import clock as clocks
from apiserver.storage import compaction, types
from apiserver.storage import etcd as clients
from apiserver.storage import store as stores
from certs import authority
from tests import etcd as etcds
from tests import proxy as proxies


@pytest.fixture(scope="module")
def shared() -> Iterator[etcds.Cluster]:
    """For tests that break the way to it, not itself."""
    with etcds.Cluster() as cluster:
        yield cluster


@pytest.fixture
def own() -> Iterator[etcds.Cluster]:
    """For tests that kill it."""
    with etcds.Cluster() as cluster:
        yield cluster


@pytest.fixture
async def proxy(shared: etcds.Cluster) -> AsyncIterator[proxies.Proxy]:
    async with proxies.Proxy(shared.members[0].port) as proxy:
        yield proxy


@contextlib.asynccontextmanager
async def started(endpoints: list[str], tls: types.TlsFiles | None = None) -> AsyncIterator[stores.Store]:
    store = stores.Store(endpoints, tls=tls)
    await store.start()
    try:
        yield store
    finally:
        await store.stop()


@contextlib.asynccontextmanager
async def connected(endpoints: list[str], timeout_seconds: float = 10.0) -> AsyncIterator[clients.Etcd]:
    etcd = clients.Etcd(endpoints, timeout_seconds=timeout_seconds)
    try:
        yield etcd
    finally:
        await etcd.close()


@pytest.fixture
def place() -> str:
    return f"/registry/configmaps/{uuid.uuid4()}/"


class History:
    """All that a subscriber was told."""

    def __init__(self, store: stores.Store, prefix: str) -> None:
        self.events: list[types.Event] = []
        self.closed: list[types.StorageError | None] = []
        store.subscribe(prefix, store.revision, self.events.append, on_close=self.closed.append)

    @property
    def revisions(self) -> list[int]:
        return [event.stored.revision for event in self.events]

    @property
    def state(self) -> dict[str, bytes]:
        """What the events make of an empty beginning."""
        state: dict[str, bytes] = {}
        for event in self.events:
            assert (event.previous.raw if event.previous else None) == state.pop(event.stored.key, None)
            if not event.deleted:
                state[event.stored.key] = event.stored.raw
        return state


# --- etcd is killed


async def test_a_watch_over_kill_9_and_restart_loses_and_doubles_nothing(own: etcds.Cluster, place: str) -> None:
    member = own.members[0]
    async with started(own.endpoints) as store, started(own.endpoints) as writer:
        history = History(store, place)
        written: dict[str, int] = {}
        unknown: dict[str, types.Unavailable] = {}

        async def write() -> None:
            for number in range(400):
                key = f"{place}{number}"
                try:
                    written[key] = (await writer.create(key, b"x")).revision
                except types.Unavailable as error:
                    unknown[key] = error

        writing = asyncio.create_task(write())
        for _ in range(3):
            await asyncio.sleep(0.1)
            member.kill()
            await asyncio.sleep(0.05)
            member.start()
            await etcds.eventually(lambda: store.ready)
        await writing
        listing = await store.list(place)
        assert history.revisions == sorted(set(history.revisions))
        assert history.state == {item.key: item.raw for item in listing.items}
        told = {event.stored.key: event.stored.revision for event in history.events}
        assert written.items() <= told.items(), "an acknowledged write was lost"
        assert told.keys() - written.keys() <= {key for key, error in unknown.items() if error.maybe_written}
        assert history.closed == []


async def test_an_etcd_that_lost_its_data_starts_the_cache_anew(own: etcds.Cluster, place: str) -> None:
    member = own.members[0]
    async with started(own.endpoints) as store:
        for number in range(5):
            await store.create(f"{place}{number}", b"x")
        await store.list(place)
        history = History(store, place)
        member.kill()
        member.erase()
        member.start()
        await etcds.eventually(lambda: bool(history.closed))
        assert [type(error) for error in history.closed] == [types.Compacted]
        assert (await store.list(place)).items == []
        created = await store.create(f"{place}new", b"x")
        assert (await store.list(place)).revision == created.revision


async def test_a_start_waits_for_an_etcd_that_is_not_there_yet(place: str) -> None:
    cluster = etcds.Cluster()
    store = stores.Store(cluster.endpoints)
    starting = asyncio.create_task(store.start())
    await asyncio.sleep(0.2)
    with cluster:
        async with asyncio.timeout(10):
            await starting
        await store.create(f"{place}a", b"x")
        await store.stop()


async def test_leader_and_follower_of_three_may_die_and_nothing_acknowledged_is_lost(place: str) -> None:
    with etcds.Cluster(3) as cluster:
        async with started(cluster.endpoints) as store, started(cluster.endpoints[::-1]) as other:
            history = History(store, place)
            written: dict[str, int] = {}
            leader = await leader_of(cluster)
            follower = next(member for member in cluster.members if member is not leader)
            for victim in (leader, follower):
                victim.kill()
                before = len(written)
                for number in range(20):
                    key = f"{place}{victim.port}-{number}"
                    with contextlib.suppress(types.Unavailable):
                        written[key] = (await other.create(key, b"x")).revision
                assert len(written) > before, "no write went through with two members of three"
                victim.start()
                await store.list(place)
            listing = await store.list(place)
            assert written.items() <= {item.key: item.revision for item in listing.items}.items()
            assert history.state == {item.key: item.raw for item in listing.items}
            assert history.revisions == sorted(set(history.revisions))


async def leader_of(cluster: etcds.Cluster) -> etcds.Member:
    for member in cluster.members:
        async with connected([member.url]) as etcd:
            status = await etcd.status()
            if status.leader == status.header.member_id:
                return member
    raise AssertionError("no leader")


async def test_a_member_without_a_leader_is_left_for_one_that_has(place: str) -> None:
    with etcds.Cluster(3) as cluster:
        async with connected(cluster.endpoints) as etcd:
            await etcd.put_if(f"{place}a", 0, b"x")
            for member in cluster.members[1:]:
                member.kill()
            lonely = asyncio.create_task(etcd.revision())
            await asyncio.sleep(1)
            assert not lonely.done(), "one of three answered a linearizable read"
            for member in cluster.members[1:]:
                member.start()
            assert await lonely >= 2


# --- compaction


async def test_a_feed_that_slept_through_a_compaction_reloads_and_tells_what_differs(
    shared: etcds.Cluster, proxy: proxies.Proxy, place: str
) -> None:
    async with started([proxy.url]) as sleeper, started(shared.endpoints) as writer:
        for name in ("kept", "changed", "gone", "remade"):
            await writer.create(f"{place}{name}", b"old")
        await sleeper.list(place)
        history = History(sleeper, place)
        before = sleeper.revision
        proxy.refusing = True
        proxy.cut()
        await writer.update(f"{place}changed", lambda current: b"new")
        await writer.delete(f"{place}gone")
        await writer.delete(f"{place}remade")
        await writer.create(f"{place}remade", b"new")
        last = await writer.create(f"{place}new", b"new")
        await writer.compact(last.revision)
        assert not sleeper.ready
        proxy.refusing = False
        assert (await sleeper.list(place)).revision >= last.revision
        told = [(event.stored.key.removeprefix(place), event.deleted) for event in history.events]
        assert sorted(told) == sorted(
            [("changed", False), ("remade", True), ("remade", False), ("new", False), ("gone", True)]
        )
        assert told.index(("remade", True)) < told.index(("remade", False))
        assert history.revisions == sorted(history.revisions)
        assert all(event.previous is None or event.previous.raw == b"old" for event in history.events)
        with pytest.raises(types.Compacted):
            sleeper.subscribe(place, before, lambda event: None, on_close=lambda error: None)


async def test_of_many_compactors_one_acts_and_only_on_what_is_an_interval_old(own: etcds.Cluster, place: str) -> None:
    async with connected(own.endpoints) as etcd:
        compactors = [compaction.Compactor(etcd, clock=clocks.SystemClock()) for _ in range(3)]
        first = await etcd.put_if(f"{place}a", 0, b"1")
        assert [await compactor.step() for compactor in compactors] == [False] * 3
        assert (await etcd.page(place, place + "~", revision=first.revision)).pairs
        second = await etcd.put_if(f"{place}a", first.revision, b"2")
        assert [await compactor.step() for compactor in compactors].count(True) == 1
        with pytest.raises(types.Compacted):
            await etcd.page(place, place + "~", revision=first.revision)
        assert (await etcd.page(place, place + "~", revision=second.revision)).pairs[0].value == b"2"


async def test_a_workers_cache_forgets_with_etcd_whoever_compacts(own: etcds.Cluster, place: str) -> None:
    async with started(own.endpoints) as store, connected(own.endpoints) as etcd:
        first = await store.create(f"{place}a", b"1")
        await store.update(f"{place}a", lambda current: b"2")
        assert (await store.list(place, revision=first.revision, exact=True)).items[0].raw == b"1"
        compactor = compaction.Compactor(etcd, clock=clocks.SystemClock())
        # The store's own has had the first round, so the first step only learns of it
        assert [await compactor.step() for _ in range(2)] == [False, True]
        assert (await store.list(place)).items[0].raw == b"2"
        with pytest.raises(types.Compacted):
            await store.list(place, revision=first.revision, exact=True)


# --- the way to etcd fails


async def test_a_write_whose_answer_is_lost_says_that_it_may_have_happened(
    shared: etcds.Cluster, proxy: proxies.Proxy, place: str
) -> None:
    async with connected([proxy.url]) as etcd, connected(shared.endpoints) as direct:
        await etcd.revision()
        proxy.hold_answers()
        writing = asyncio.create_task(etcd.put_if(f"{place}a", 0, b"x"))
        await _until_written(direct, f"{place}a")
        proxy.cut()
        with pytest.raises(types.Unavailable) as caught:
            await writing
        assert caught.value.maybe_written
        proxy.release_answers()
        pair, _ = await etcd.get(f"{place}a")
        assert pair is not None and pair.revision == pair.create_revision, "the write was made twice"


async def test_a_read_whose_answer_is_lost_is_made_again(proxy: proxies.Proxy, place: str) -> None:
    async with connected([proxy.url]) as etcd:
        await etcd.put_if(f"{place}a", 0, b"x")
        proxy.hold_answers()
        reading = asyncio.create_task(etcd.get(f"{place}a"))
        await asyncio.sleep(0.1)
        proxy.cut()
        proxy.release_answers()
        pair, _ = await reading
        assert pair is not None and pair.value == b"x"
        assert proxy.connections == 2


async def test_calls_under_way_at_goaway_finish_and_unseen_ones_move_to_a_new_connection(
    shared: etcds.Cluster, proxy: proxies.Proxy, place: str
) -> None:
    async with connected([proxy.url]) as etcd, connected(shared.endpoints) as direct:
        await etcd.revision()  # stream 1
        proxy.hold_answers()
        seen = asyncio.create_task(etcd.put_if(f"{place}seen", 0, b"x"))  # stream 3
        await _until_written(direct, f"{place}seen")
        unseen = asyncio.create_task(etcd.get(f"{place}seen"))  # stream 5
        await asyncio.sleep(0.05)
        proxy.go_away(3)
        pair, _ = await unseen_over_a_new_connection(proxy, unseen)
        assert pair is not None and pair.value == b"x"
        assert (await seen).succeeded
        assert proxy.connections == 2


async def unseen_over_a_new_connection(
    proxy: proxies.Proxy, unseen: asyncio.Task[tuple[clients.Pair | None, int]]
) -> tuple[clients.Pair | None, int]:
    await etcds.eventually(lambda: proxy.connections == 2)
    proxy.release_answers()
    return await unseen


async def test_a_watch_goes_on_elsewhere_after_goaway(proxy: proxies.Proxy, place: str) -> None:
    async with started([proxy.url]) as store:
        history = History(store, place)
        for number in range(30):
            if number % 10 == 5:
                proxy.go_away(2**31 - 1)
            await store.create(f"{place}{number}", b"x")
        listing = await store.list(place)
        assert history.revisions == [item.revision for item in sorted(listing.items, key=lambda item: item.revision)]
        assert len(listing.items) == 30
        assert proxy.connections == 4


async def test_a_deadline_leaves_no_call_behind(own: etcds.Cluster, place: str) -> None:
    async with connected(own.endpoints, timeout_seconds=0.3) as etcd:
        await etcds.when_reachable(etcd.revision)
        own.members[0].signal(signal.SIGSTOP)
        try:
            with pytest.raises(types.Unavailable) as write:
                await etcd.put_if(f"{place}a", 0, b"x")
            with pytest.raises(types.Unavailable) as read:
                await etcd.get(f"{place}a")
        finally:
            own.members[0].signal(signal.SIGCONT)
        assert write.value.maybe_written
        assert not read.value.maybe_written
        assert etcd.calls_under_way == 0
        assert (await etcds.when_reachable(etcd.revision)) > 0


async def test_a_cancelled_call_leaves_nothing_behind(proxy: proxies.Proxy, place: str) -> None:
    async with connected([proxy.url]) as etcd:
        await etcd.revision()
        proxy.hold_answers()
        calls = [asyncio.create_task(etcd.get(f"{place}{number}")) for number in range(20)]
        await etcds.eventually(lambda: etcd.calls_under_way == 20)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert etcd.calls_under_way == 0
        proxy.release_answers()
        assert await etcd.revision() > 0
        assert proxy.connections == 1


async def test_a_watch_that_is_cancelled_leaves_nothing_behind(shared: etcds.Cluster) -> None:
    async with connected(shared.endpoints) as etcd:
        start = await etcd.revision()
        watching = asyncio.create_task(etcd.watch(start, lambda changes, revision: None))
        await etcds.eventually(lambda: etcd.calls_under_way == 1)
        watching.cancel()
        await asyncio.wait([watching])
        assert etcd.calls_under_way == 0


async def test_a_watch_from_the_past_arrives_in_fragments_but_whole_revisions(
    shared: etcds.Cluster, place: str
) -> None:
    async with connected(shared.endpoints) as etcd:
        raw = etcds.object_bytes("big", 400_000)
        first = await etcd.put_if(f"{place}0", 0, raw)
        for number in range(1, 20):
            last = await etcd.put_if(f"{place}{number}", 0, raw)
        changes: list[clients.Change] = []
        batches: list[int] = []

        def keep(batch: list[clients.Change], revision: int) -> None:
            assert batch[-1].revision == revision
            changes.extend(batch)
            batches.append(len(batch))

        watching = asyncio.create_task(etcd.watch(first.revision, keep))
        await etcds.eventually(lambda: bool(changes) and changes[-1].revision >= last.revision)
        watching.cancel()
        await asyncio.wait([watching])
        ours = [change for change in changes if change.key.startswith(place)]
        assert [change.key for change in ours] == [f"{place}{number}" for number in range(20)]
        assert all(change.value == raw for change in ours)
        assert len(batches) > 1


# --- TLS


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a CA, a server's and a client's identity."""
    folder = tmp_path_factory.mktemp("tls")
    ca = authority.Authority.create("etcd-ca")
    server = ca.issue_server("etcd", dns_names=["localhost"], ip_addresses=["127.0.0.1"])
    client = ca.issue_client("apiserver", groups=[])
    for name, pair in (("server", server), ("client", client)):
        (folder / f"{name}.crt").write_bytes(pair.cert_pem)
        (folder / f"{name}.key").write_bytes(pair.key_pem)
    (folder / "ca.crt").write_bytes(ca.cert_pem)
    return folder


async def test_tls_with_client_certificates(tls: Path, place: str) -> None:
    flags = ["--cert-file", f"{tls}/server.crt", "--key-file", f"{tls}/server.key"]
    flags += ["--client-cert-auth", "--trusted-ca-file", f"{tls}/ca.crt"]
    files = types.TlsFiles(f"{tls}/ca.crt", f"{tls}/client.crt", f"{tls}/client.key")
    with etcds.Cluster(flags=flags) as cluster:
        async with started(cluster.endpoints, files) as store:
            history = History(store, place)
            raw = etcds.object_bytes("big", 200_000)
            # More than the streams that Go's own HTTP/2 server admits at once
            await asyncio.gather(*(store.create(f"{place}{number}", b"x") for number in range(400)))
            await store.create(f"{place}big", raw)
            listing = await store.list(place)
            assert len(listing.items) == len(history.events) == 401
            assert listing.items[-1].raw == raw
        stranger = clients.Etcd(cluster.endpoints, tls=types.TlsFiles(f"{tls}/ca.crt"), timeout_seconds=0.5)
        with pytest.raises(types.Unavailable):
            await stranger.revision()
        await stranger.close()
        distrustful = clients.Etcd(cluster.endpoints, timeout_seconds=0.5)
        with pytest.raises(types.Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
            await distrustful.revision()
        await distrustful.close()


async def _until_written(etcd: clients.Etcd, key: str) -> None:
    async with asyncio.timeout(5):
        while (await etcd.get(key))[0] is None:
            await asyncio.sleep(0.01)
