"""The watch cache (step A10): all objects in memory, the latest events, and those who wait for more.

Pure and synchronous: `feed.Feed` brings the changes, nothing here speaks to etcd.

Guarantees: objects, window and revision move together, in order of revision; a subscriber gets every event after its
start exactly once, in order, and each event carries the object that it replaced; whoever is told of revision N finds
the cache at N or later.
Does not guarantee that a subscriber is fast enough: `deliver` is called within the update and must only hand over.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Iterable

from apiserver.storage import compaction, etcd, folders, subscriptions, types, window

log = logging.getLogger(__name__)


class Cache:
    """The state under `prefix` as of `revision`."""

    def __init__(self, prefix: str, *, events_max: int = window.EVENTS_MAX, bytes_max: int = window.BYTES_MAX) -> None:
        self.prefix = prefix
        self.revision = 0
        self.compacted = 0  # the revision that etcd is about to forget what came before
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._objects = folders.Folders()
        # One window for each word after the prefix (pods, events, a custom resource's group …), so that a busy
        # resource does not push out the events of the quiet ones
        self._windows: dict[str, window.Window] = {}
        self._oldest = 0  # what a window that is yet to be made begins after
        self._subscriptions = subscriptions.Subscriptions()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []  # a heap: revision, tie-breaker
        self._waiters_seen = 0

    def __len__(self) -> int:
        return len(self._objects)

    # --- reading

    def get(self, key: str) -> types.Stored | None:
        return self._objects.get(key)

    def under(self, prefix: str) -> list[types.Stored]:
        """All objects whose key starts with `prefix`, in key order. The list is the caller's own."""
        return self._objects.under(prefix)

    def count(self, prefix: str) -> int:
        """How many there are; `prefix` ends with a slash."""
        return self._objects.count(prefix)

    def at(self, prefix: str, revision: int) -> list[types.Stored] | None:
        """What `under(prefix)` was at an earlier revision: the kept events, undone. None where they do not reach back.

        Nor before a compaction that we know of, as etcd itself would refuse.
        """
        if not self.compacted <= revision <= self.revision:
            return None
        try:
            events = [event for event in self._since(prefix, revision) if event.stored.key.startswith(prefix)]
        except types.Compacted:
            return None
        if not events:
            return self.under(prefix)
        then = {stored.key: stored for stored in self.under(prefix)}
        for event in reversed(events):
            then.pop(event.stored.key, None)
            if event.previous is not None:
                then[event.stored.key] = event.previous
        return [then[key] for key in sorted(then)]

    def reached(self, revision: int) -> asyncio.Future[None]:
        """Done when the cache is at `revision` or later. Who no longer waits may cancel it or set an exception."""
        future = asyncio.get_running_loop().create_future()
        if self.revision >= revision:
            future.set_result(None)
        else:
            self._waiters_seen += 1
            heapq.heappush(self._waiting, (revision, self._waiters_seen, future))
        return future

    def subscribe(
        self,
        prefix: str,
        after_revision: int,
        deliver: subscriptions.Deliver,
        on_close: subscriptions.OnClose,
    ) -> subscriptions.Subscription:
        """Delivers the events after the revision that are kept, then every new one. Raises Compacted."""
        past = self._since(prefix, after_revision)
        subscription = subscriptions.Subscription(self._subscriptions, prefix, after_revision, deliver, on_close)
        for event in past:
            subscription.offer(event)
        self._subscriptions.add(subscription)
        return subscription

    # --- changing

    def load(self, pairs: Iterable[etcd.Pair], revision: int) -> None:
        """The first state, at a revision. Whatever was there is gone, and so are its subscribers."""
        self.close_subscriptions(types.Compacted(self.revision, revision))
        self._objects = folders.Folders()
        self.compacted = 0
        for pair in pairs:
            self._objects.put(types.Stored(pair.key, pair.value, pair.revision))
        self._restart_windows(revision)
        self._advance(revision)

    def apply(self, changes: Iterable[etcd.Change], revision: int) -> None:
        """Changes in order of revision, up to and including all of `revision`."""
        for change in changes:
            if change.key.startswith(self.prefix):
                self._apply(change)
            elif change.key == compaction.KEY and change.value is not None and change.value.isdigit():
                self.compacted = int(change.value)
        self._advance(revision)

    def replace(self, pairs: Iterable[etcd.Pair], revision: int) -> None:
        """A later state, where the changes in between are lost: what differs is told as if it had been watched.

        Watches from within the gap are refused afterwards, as nobody knows all that happened there.
        """
        changes = self._difference({pair.key: pair for pair in pairs}, revision)
        self.apply(changes, revision)
        self._restart_windows(revision)

    def close_subscriptions(self, error: types.StorageError) -> None:
        for subscription in self._subscriptions:
            subscription.close(error)

    # --- inside

    def _apply(self, change: etcd.Change) -> None:
        if change.value is None:
            previous = self._objects.pop(change.key)
            if previous is None:
                return  # only a reload can have seen it go already
            stored = types.Stored(change.key, previous.raw, change.revision)
        else:
            stored = types.Stored(change.key, change.value, change.revision)
            previous = self._objects.put(stored)
        event = types.Event(change.value is None, stored, previous)
        self._window_of(change.key).append(event)
        for subscription in self._subscriptions.of(change.key):
            _offer(subscription, event)
        if previous is not None:
            previous.forget()

    def _advance(self, revision: int) -> None:
        self.revision = revision
        while self._waiting and self._waiting[0][0] <= revision:
            _, _, future = heapq.heappop(self._waiting)
            if not future.done():
                future.set_result(None)

    def _difference(self, pairs: dict[str, etcd.Pair], revision: int) -> list[etcd.Change]:
        """The changes that lead from here to `pairs`, in order of revision."""
        changes: list[etcd.Change] = []
        for stored in self._objects.under(self.prefix):
            pair = pairs.get(stored.key)
            if pair is None:
                changes.append(etcd.Change(stored.key, None, revision, 0))
            elif pair.create_revision > stored.revision:
                # Deleted and made again: at some time before it was made
                changes.append(etcd.Change(stored.key, None, pair.create_revision - 1, 0))
        for pair in pairs.values():
            known = self._objects.get(pair.key)
            if known is None or known.revision != pair.revision:
                changes.append(etcd.Change(pair.key, pair.value, pair.revision, pair.create_revision))
        changes.sort(key=lambda change: change.revision)
        return changes

    def _window_of(self, key: str) -> window.Window:
        kind = key[len(self.prefix) :].partition("/")[0]
        found = self._windows.get(kind)
        if found is None:
            found = window.Window(self._oldest, events_max=self._events_max, bytes_max=self._bytes_max)
            self._windows[kind] = found
        return found

    def _restart_windows(self, oldest: int) -> None:
        self._windows = {}
        self._oldest = oldest

    def _since(self, prefix: str, revision: int) -> list[types.Event]:
        kind, slash, _ = prefix[len(self.prefix) :].partition("/")
        if slash:
            kept = [self._windows[kind]] if kind in self._windows else []
        else:
            kept = list(self._windows.values())
        if revision < self._oldest:
            raise types.Compacted(revision, self._oldest)
        return list(heapq.merge(*(item.since(revision) for item in kept), key=_revision_of))


def _offer(subscription: subscriptions.Subscription, event: types.Event) -> None:
    try:
        subscription.offer(event)
    except Exception as error:
        log.exception("A10 watch cache: a subscriber of %s failed", subscription.prefix)
        subscription.close(types.Unavailable(f"the subscriber failed: {error}"))


def _revision_of(event: types.Event) -> int:
    return event.stored.revision
