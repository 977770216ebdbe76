"""What the registry builds on (steps A9, A10): objects by key, written to etcd, read from the cache.

Guarantees: a write is a transaction on the key's mod_revision, so none is lost to another; `get` and a `list` without
a revision see every write acknowledged before they were called, by whichever apiserver; events come once, in order.
A write whose answer was lost raises `Unavailable(maybe_written=True)` and is never made again here: only a caller who
reads the object can know what became of it.
Does not guarantee that `cached` sees a write that just returned; a consistent read does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from apimachinery import clock as clocks
from apiserver.storage import cache as caches
from apiserver.storage import compaction, feed, folders, leases, probe, subscriptions, turns, types
from apiserver.storage import etcd as etcds

START_TIMEOUT_SECONDS = 60.0
READ_TIMEOUT_SECONDS = 10.0
HEALTH_TIMEOUT_SECONDS = 2.0  # upstream's --etcd-healthcheck-timeout
# How long a reader waits for a revision that is not here yet. Upstream's figure: `Too large resource version` after
REACH_TIMEOUT_SECONDS = 3.0
# An update that lost so many races in a row gives up; each loss means that somebody else's write went through
UPDATE_TRIES_MAX = 100

Change = Callable[[types.Stored], bytes | None]
Check = Callable[[types.Stored], None]
Write = Callable[[types.Stored, bytes], Awaitable[etcds.Outcome]]


class Store:
    """One worker's view of etcd, under `prefix`."""

    def __init__(
        self,
        etcd_endpoints: Iterable[str],
        *,
        tls: types.TlsFiles | None = None,
        prefix: str = "/registry/",
        clock: clocks.Clock | None = None,
        compaction_interval_seconds: float = compaction.INTERVAL_SECONDS,
        observe: etcds.Observe | None = None,
    ) -> None:
        clock = clock or clocks.SystemClock()
        self._etcd = etcds.Etcd(etcd_endpoints, tls=tls, observe=observe)
        self._cache = caches.Cache(prefix)
        self._feed = feed.Feed(self._etcd, self._cache, clock=clock)
        self._probe = probe.RevisionProbe(self._etcd.revision)
        self._turns = turns.Turns()
        self._leases = leases.Leases(self._etcd.grant, clock=clock)
        self._compactor = compaction.Compactor(self._etcd, clock=clock, interval_seconds=compaction_interval_seconds)
        self._tasks: list[asyncio.Task[None]] = []

    # --- life

    async def start(self) -> None:
        """Connects, loads everything and begins to watch. Raises Unavailable when etcd does not answer in time."""
        self._tasks.append(asyncio.create_task(self._feed.run(), name="etcd feed"))
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                await self._feed.loaded.wait()
        except TimeoutError:
            await self.stop()
            raise self._feed.failure or types.Unavailable("etcd: not loaded in time") from None
        except asyncio.CancelledError:
            await self.stop()
            raise
        self._tasks.append(asyncio.create_task(self._compactor.run(), name="etcd compaction"))

    async def stop(self) -> None:
        """Ends the watch and the connection; subscribers are closed."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks = []
        self._cache.close_subscriptions(types.Unavailable("the store is stopping"))
        await self._probe.close()
        await self._etcd.close()

    @property
    def ready(self) -> bool:
        """Whether the cache is loaded and being fed."""
        return self._feed.loaded.is_set() and self._feed.failure is None

    async def health(self) -> None:
        """Raises Unavailable when etcd does not answer a linearizable read in good time."""
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT_SECONDS):
                await self._etcd.revision()
        except TimeoutError:
            raise types.Unavailable(f"etcd: no answer in {HEALTH_TIMEOUT_SECONDS:g} s") from None

    # --- reads

    @property
    def revision(self) -> int:
        """The revision of the cache."""
        return self._cache.revision

    def cached(self, key: str) -> types.Stored | None:
        """What the cache has now."""
        return self._cache.get(key)

    def cached_list(self, prefix: str) -> list[types.Stored]:
        """What the cache has now, in key order."""
        return self._cache.under(prefix)

    def cached_count(self, prefix: str) -> int:
        """How many objects the cache has under a prefix that ends with a slash."""
        return self._cache.count(prefix)

    async def newest_revision(self) -> int:
        """A revision no older than any write acknowledged before, which the cache has reached."""
        await self._catch_up()
        return self.revision

    async def get(self, key: str) -> types.Stored | None:
        """The object, no older than any write acknowledged before."""
        if not self.ready:
            pair, _ = await self._etcd.get(key)
            return _stored(pair) if pair else None
        await self._catch_up()
        return self._cache.get(key)

    async def list(
        self,
        prefix: str,
        *,
        limit: int = 0,
        start_key: str | None = None,
        revision: int | None = None,
        exact: bool = False,
    ) -> types.Listing:
        """The objects under a prefix, from `start_key` on, at most `limit` of them (0: all).

        `revision` None: no older than any write acknowledged before; 0: what the cache has; N: no older than N, or
        with `exact` as they were at N. Raises Compacted, FutureRevision, Unavailable.
        """
        if exact and revision:
            then = self._cache.at(prefix, revision)
            if then is None:
                return await self._list_at(prefix, limit, start_key, revision)
            return _page(then, revision, limit, start_key)
        if revision is None:
            await self._catch_up()
        elif revision:
            await self.wait_for(revision)
        return _page(self._cache.under(prefix), self.revision, limit, start_key)

    async def wait_for(self, revision: int, timeout_seconds: float = REACH_TIMEOUT_SECONDS) -> None:
        """Returns when the cache has reached the revision. Raises FutureRevision when it does not in time."""
        if not await self._reaches(revision, timeout_seconds):
            raise types.FutureRevision(f"{revision}, current: {self.revision}")

    def subscribe(
        self,
        prefix: str,
        after_revision: int,
        deliver: subscriptions.Deliver,
        *,
        on_close: subscriptions.OnClose = subscriptions.unheeded,
    ) -> subscriptions.Subscription:
        """Delivers every event after the revision: those that are kept at once, then each as it comes.

        `deliver` is called within the cache's update and must only hand over. Raises Compacted.
        """
        return self._cache.subscribe(prefix, after_revision, deliver, on_close)

    # --- writes

    async def create(self, key: str, raw: bytes, *, ttl_seconds: int | None = None) -> types.Stored:
        """Raises KeyExists."""
        outcome = await self._put_new(key, raw, ttl_seconds)
        if not outcome.succeeded:
            raise types.KeyExists(key)
        return types.Stored(key, raw, outcome.revision)

    async def update(self, key: str, change: Change, *, expected_revision: int | None = None) -> types.Stored:
        """Replaces the object by `change(current)`, again with the newest one each time that somebody was faster.

        `change` may be called several times; what it raises ends the update, None or the same bytes write nothing.
        A time to live stays as it is. Raises KeyMissing, RevisionMismatch, and what `change` raises.
        """

        def plan(current: types.Stored) -> bytes | None:
            _expect(current, expected_revision)
            raw = change(current)
            return None if raw == current.raw else raw

        async def write(current: types.Stored, raw: bytes) -> etcds.Outcome:
            return await self._etcd.put_if(key, current.revision, raw, keep_lease=True)

        return await self._replace(key, plan, write)

    async def delete(
        self, key: str, check: Check | None = None, *, expected_revision: int | None = None
    ) -> types.Stored:
        """Deletes the object, if `check(current)` does not raise. Returns it, at the deletion's revision.

        Raises KeyMissing, RevisionMismatch, and what `check` raises.
        """

        def plan(current: types.Stored) -> bytes:
            _expect(current, expected_revision)
            if check is not None:
                check(current)
            return current.raw

        async def write(current: types.Stored, raw: bytes) -> etcds.Outcome:
            return await self._etcd.delete_if(key, current.revision)

        return await self._replace(key, plan, write)

    async def compact(self, revision: int) -> None:
        """Lets etcd forget what was overwritten before the revision. Raises Compacted, FutureRevision."""
        await self._etcd.compact(revision)

    # --- inside

    async def _catch_up(self) -> None:
        """Returns when the cache holds every write acknowledged before the call."""
        revision = await self._probe.revision()
        if self._cache.revision < revision and not await self._reaches(revision, READ_TIMEOUT_SECONDS):
            raise types.Unavailable(f"the watch cache is at {self.revision}, etcd at {revision}")

    async def _reaches(self, revision: int, timeout_seconds: float) -> bool:
        if self._cache.revision >= revision:
            return True
        reached = self._cache.reached(revision)
        timer = asyncio.get_running_loop().call_later(timeout_seconds, _give_up, reached)
        try:
            await reached
        except TimeoutError:
            return False
        finally:
            timer.cancel()
        return True

    async def _replace(self, key: str, plan: Change, write: Write) -> types.Stored:
        """Plans on the current object and writes, until no race is lost.

        The cache's object is the first guess, right most of the time. It may be old, so a plan that refuses, or that
        leaves all as it is, holds only for the newest object.
        """
        cached = self._cache.get(key)
        current = cached or await self._newest(key)
        done, current = await self._try(key, current, cached is None, plan, write)
        if done is not None:
            return done
        async with self._turns.turn(key):
            fresh = False  # others have written while this one waited
            for _ in range(UPDATE_TRIES_MAX):
                done, current = await self._try(key, current, fresh, plan, write)
                if done is not None:
                    return done
                fresh = True
        raise types.RevisionMismatch(current)

    async def _try(
        self, key: str, current: types.Stored, fresh: bool, plan: Change, write: Write
    ) -> tuple[types.Stored | None, types.Stored]:
        """One round: what was written, or None and the newest object for the next."""
        refusal: Exception | None = None
        try:
            raw = plan(current)
        except Exception as error:  # noqa: BLE001 - the caller's own, raised again below
            raw, refusal = None, error
        if raw is not None:
            outcome = await write(current, raw)
            if outcome.succeeded:
                return types.Stored(key, raw, outcome.revision), current
            return None, _lost(key, outcome)
        if not fresh and (newest := await self._newest(key)).revision != current.revision:
            return None, newest
        if refusal is not None:
            raise refusal
        return current, current

    async def _newest(self, key: str) -> types.Stored:
        pair, _ = await self._etcd.get(key)
        if pair is None:
            raise types.KeyMissing(key)
        return _stored(pair)

    async def _put_new(self, key: str, raw: bytes, ttl_seconds: int | None) -> etcds.Outcome:
        if ttl_seconds is None:
            return await self._etcd.put_if(key, 0, raw)
        try:
            return await self._etcd.put_if(key, 0, raw, lease=await self._leases.lease_for(ttl_seconds))
        except etcds.LeaseMissing:
            self._leases.forget(ttl_seconds)
        return await self._etcd.put_if(key, 0, raw, lease=await self._leases.lease_for(ttl_seconds))

    async def _list_at(self, prefix: str, limit: int, start_key: str | None, revision: int) -> types.Listing:
        start, end = start_key or prefix, folders.after_prefix(prefix)
        try:
            page = await self._etcd.page(start, end, limit=limit, revision=revision)
        except types.FutureRevision as error:
            raise types.FutureRevision(f"{revision}, current: {self.revision}") from error
        items = [_stored(pair) for pair in page.pairs]
        if not page.more:
            return types.Listing(items, revision)
        return types.Listing(items, revision, _next_key(items[-1].key), page.total - len(items))


def _page(items: list[types.Stored], revision: int, limit: int, start_key: str | None) -> types.Listing:
    if start_key is not None:
        items = folders.from_key(items, start_key)
    if not limit or len(items) <= limit:
        return types.Listing(items, revision)
    return types.Listing(items[:limit], revision, _next_key(items[limit - 1].key), len(items) - limit)


def _give_up(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(TimeoutError())


def _expect(current: types.Stored, revision: int | None) -> None:
    if revision is not None and current.revision != revision:
        raise types.RevisionMismatch(current)


def _lost(key: str, outcome: etcds.Outcome) -> types.Stored:
    """What is there after a write that lost its race."""
    if outcome.current is None:
        raise types.KeyMissing(key)
    return _stored(outcome.current)


def _stored(pair: etcds.Pair) -> types.Stored:
    return types.Stored(pair.key, pair.value, pair.revision)


def _next_key(key: str) -> str:
    """The first key that can follow."""
    return key + "\0"
