"""The watch cache against a model, and its promises one by one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from apiserver.storage import cache as caches
from apiserver.storage import etcd, subscriptions, types

PREFIX = "/registry/"
PODS, MAPS = "/registry/pods/", "/registry/configmaps/"


def put(key: str, revision: int, value: bytes = b"v", *, created: int | None = None) -> etcd.Change:
    return etcd.Change(key, value, revision, revision if created is None else created)


def delete(key: str, revision: int) -> etcd.Change:
    return etcd.Change(key, None, revision, 0)


def pair(key: str, revision: int, value: bytes = b"v", *, created: int | None = None) -> etcd.Pair:
    return etcd.Pair(key, value, revision, revision if created is None else created, 0)


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[types.Event] = []
        self.closed: list[types.StorageError | None] = []
        self.subscription: subscriptions.Subscription | None = None

    def on(self, cache: caches.Cache, prefix: str, after: int) -> Listener:
        self.subscription = cache.subscribe(prefix, after, self.events.append, self.closed.append)
        return self

    @property
    def seen(self) -> list[tuple[str, str, int]]:
        return [("DELETE" if e.deleted else "PUT", e.stored.key, e.stored.revision) for e in self.events]


def loaded(*pairs: etcd.Pair, revision: int = 10, **bounds: int) -> caches.Cache:
    cache = caches.Cache(PREFIX, **bounds)
    cache.load(pairs, revision)
    return cache


# --- reading


def test_objects_are_listed_in_key_order_within_their_prefix_only() -> None:
    keys = [f"{PODS}b/2", f"{PODS}b/1", f"{PODS}a-b/1", f"{PODS}a/9", f"{MAPS}b/1", "/registry/podsecurity/x"]
    cache = loaded(*(pair(key, 5) for key in keys))
    assert [item.key for item in cache.under(PODS)] == [f"{PODS}a-b/1", f"{PODS}a/9", f"{PODS}b/1", f"{PODS}b/2"]
    assert [item.key for item in cache.under(f"{PODS}b/")] == [f"{PODS}b/1", f"{PODS}b/2"]
    assert [item.key for item in cache.under(f"{PODS}b/1")] == [f"{PODS}b/1"]
    assert [item.key for item in cache.under(PREFIX)] == sorted(keys)


def test_a_folder_within_a_folder_keeps_the_order_of_keys() -> None:
    keys = ["/registry/x/a", "/registry/x/a/b", "/registry/x/a-c", "/registry/x/b"]
    cache = loaded(*(pair(key, 5) for key in keys))
    assert [item.key for item in cache.under("/registry/x/")] == sorted(keys)


def test_keys_outside_the_prefix_move_the_revision_and_nothing_else() -> None:
    cache = loaded()
    everything = Listener().on(cache, PREFIX, 10)
    cache.apply([put("compact_rev_key", 11)], 11)
    assert (cache.revision, len(cache), everything.events) == (11, 0, [])


# --- events


def test_an_event_carries_the_object_that_it_replaced() -> None:
    cache = loaded(pair(f"{PODS}a/1", 5, b"old"))
    listener = Listener().on(cache, PODS, 10)
    cache.apply([put(f"{PODS}a/1", 11, b"new"), delete(f"{PODS}a/1", 12)], 12)
    first, second = listener.events
    assert first.previous is not None and first.previous.raw == b"old" and first.stored.raw == b"new"
    assert second.deleted and second.previous is first.stored
    assert (second.stored.raw, second.stored.revision) == (b"new", 12)


def test_events_are_offered_only_where_their_key_belongs() -> None:
    cache = loaded()
    listeners = {
        prefix: Listener().on(cache, prefix, 10)
        for prefix in (PREFIX, PODS, MAPS, f"{PODS}a/", f"{PODS}b/", f"{PODS}a/1", "/registry/po")
    }
    cache.apply([put(f"{PODS}a/1", 11), put(f"{PODS}a/12", 12), put(f"{MAPS}a/1", 13)], 13)
    told = {prefix: [event.stored.revision for event in listener.events] for prefix, listener in listeners.items()}
    assert told == {
        PREFIX: [11, 12, 13],
        PODS: [11, 12],
        MAPS: [13],
        f"{PODS}a/": [11, 12],
        f"{PODS}b/": [],
        f"{PODS}a/1": [11, 12],  # a prefix, not a name: the caller matches names
        "/registry/po": [11, 12],
    }


def test_a_subscriber_in_the_past_gets_the_kept_events_first() -> None:
    cache = loaded()
    cache.apply([put(f"{PODS}a/{n}", n) for n in range(11, 16)], 15)
    listener = Listener().on(cache, PODS, 12)
    assert [revision for _, _, revision in listener.seen] == [13, 14, 15]
    cache.apply([put(f"{PODS}a/1", 16)], 16)
    assert [revision for _, _, revision in listener.seen] == [13, 14, 15, 16]


def test_a_subscriber_in_the_future_gets_nothing_before_its_revision() -> None:
    cache = loaded()
    listener = Listener().on(cache, PODS, 12)
    cache.apply([put(f"{PODS}a/{n}", n) for n in range(11, 15)], 14)
    assert [revision for _, _, revision in listener.seen] == [13, 14]


def test_a_subscriber_of_everything_gets_the_windows_merged_in_order() -> None:
    cache = loaded()
    cache.apply([put(f"{PODS if n % 2 else MAPS}a/{n}", n) for n in range(11, 20)], 19)
    assert [revision for _, _, revision in Listener().on(cache, PREFIX, 13).seen] == list(range(14, 20))


def test_who_subscribes_within_a_delivery_gets_each_event_once() -> None:
    cache = loaded()
    inner = Listener()

    def subscribe_once(event: types.Event) -> None:
        if inner.subscription is None:
            inner.on(cache, PODS, 10)

    cache.subscribe(PODS, 10, subscribe_once, lambda error: None)
    cache.apply([put(f"{PODS}a/1", 11), put(f"{PODS}a/2", 12)], 12)
    assert [revision for _, _, revision in inner.seen] == [11, 12]


def test_who_closes_within_a_delivery_gets_nothing_more() -> None:
    cache = loaded()
    seen: list[int] = []

    def first_only(event: types.Event) -> None:
        seen.append(event.stored.revision)
        subscription.close()

    closed: list[object] = []
    subscription = cache.subscribe(PODS, 10, first_only, closed.append)
    cache.apply([put(f"{PODS}a/1", 11), put(f"{PODS}a/2", 12)], 12)
    subscription.close()
    assert (seen, closed) == ([11], [None])


def test_a_subscriber_that_fails_is_closed_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    cache = loaded()
    closed: list[types.StorageError | None] = []

    def broken(event: types.Event) -> None:
        raise KeyError("bug")

    cache.subscribe(PODS, 10, broken, closed.append)
    healthy = Listener().on(cache, PODS, 10)
    cache.apply([put(f"{PODS}a/1", 11), put(f"{PODS}a/2", 12)], 12)
    assert [revision for _, _, revision in healthy.seen] == [11, 12]
    assert [type(error) for error in closed] == [types.Unavailable]
    assert "bug" in caplog.text


# --- the window


@pytest.mark.parametrize("bounds", [{"events_max": 3}, {"bytes_max": 3}])
def test_a_window_that_is_full_forgets_its_oldest_events(bounds: dict[str, int]) -> None:
    cache = loaded(**bounds)
    cache.apply([put(f"{PODS}a/{n}", n) for n in range(11, 16)], 15)
    assert [revision for _, _, revision in Listener().on(cache, PODS, 12).seen] == [13, 14, 15]
    with pytest.raises(types.Compacted) as caught:
        Listener().on(cache, PODS, 11)
    assert caught.value.oldest == 12


def test_a_busy_resource_does_not_push_out_the_events_of_a_quiet_one() -> None:
    cache = loaded(events_max=3)
    cache.apply([put(f"{MAPS}a/1", 11), *(put(f"{PODS}a/{n}", n) for n in range(12, 30))], 29)
    assert [revision for _, _, revision in Listener().on(cache, MAPS, 10).seen] == [11]
    with pytest.raises(types.Compacted):
        Listener().on(cache, PREFIX, 10)


def test_nothing_before_the_first_load_is_kept() -> None:
    with pytest.raises(types.Compacted):
        Listener().on(loaded(revision=10), PODS, 9)


def test_overwritten_versions_keep_their_bytes_only() -> None:
    raw = types.encode({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    cache = loaded(pair(f"{PODS}a/1", 5, raw))
    old = cache.get(f"{PODS}a/1")
    assert old is not None and old.object and old.encoded
    cache.apply([put(f"{PODS}a/1", 11, raw)], 11)
    assert old._object is None and old.held == old.encoded


# --- waiting


async def test_a_waiter_is_woken_at_its_revision_and_not_before() -> None:
    cache = loaded()
    waiters = {revision: cache.reached(revision) for revision in (12, 10, 14, 11)}
    cache.apply([put(f"{PODS}a/1", 11), put(f"{PODS}a/2", 12)], 12)
    assert {revision for revision, waiter in waiters.items() if waiter.done()} == {10, 11, 12}


async def test_a_waiter_that_has_gone_is_no_trouble() -> None:
    cache = loaded()
    gone, stays = cache.reached(11), cache.reached(11)
    gone.cancel()
    cache.apply([put(f"{PODS}a/1", 11)], 11)
    assert stays.done() and not stays.cancelled()
    await asyncio.sleep(0)


# --- reloading


def test_what_differs_after_a_reload_is_told_in_order_of_revision() -> None:
    cache = loaded(
        *(pair(f"{PODS}a/same", 5), pair(f"{PODS}a/changed", 6), pair(f"{PODS}a/gone", 7), pair(f"{PODS}a/remade", 8))
    )
    listener = Listener().on(cache, PODS, 10)
    now = [
        pair(f"{PODS}a/same", 5),
        pair(f"{PODS}a/changed", 30, created=6),
        pair(f"{PODS}a/remade", 25, created=24),
        pair(f"{PODS}a/new", 20),
    ]
    cache.replace(now, 40)
    assert listener.seen == [
        ("PUT", f"{PODS}a/new", 20),
        ("DELETE", f"{PODS}a/remade", 23),
        ("PUT", f"{PODS}a/remade", 25),
        ("PUT", f"{PODS}a/changed", 30),
        ("DELETE", f"{PODS}a/gone", 40),
    ]
    assert cache.revision == 40
    assert [(item.key, item.revision) for item in cache.under(PODS)] == sorted((p.key, p.revision) for p in now)


def test_watches_from_within_the_gap_of_a_reload_are_refused() -> None:
    cache = loaded()
    cache.replace([pair(f"{PODS}a/new", 20)], 40)
    with pytest.raises(types.Compacted):
        Listener().on(cache, PODS, 39)
    assert Listener().on(cache, PODS, 40).seen == []


def test_a_load_from_scratch_closes_the_subscribers() -> None:
    cache = loaded(revision=10)
    listener = Listener().on(cache, PODS, 10)
    cache.load([pair(f"{PODS}a/1", 2)], 3)
    assert [type(error) for error in listener.closed] == [types.Compacted]
    assert (cache.revision, len(cache)) == (3, 1)


# --- the past


def test_a_list_of_the_past_is_what_was_there() -> None:
    cache = loaded(pair(f"{PODS}a/changed", 5, b"old"), pair(f"{PODS}a/gone", 6))
    now = [put(f"{PODS}a/changed", 11, b"new"), put(f"{MAPS}a/other", 12), delete(f"{PODS}a/gone", 13)]
    cache.apply([*now, put(f"{PODS}a/a-new", 14)], 14)
    for revision, names in (
        (10, ["changed", "gone"]),
        (12, ["changed", "gone"]),
        (13, ["changed"]),
        (14, ["a-new", "changed"]),
    ):
        then = cache.at(PODS, revision)
        assert then is not None
        assert [item.key.removeprefix(f"{PODS}a/") for item in then] == names
    before, after = cache.at(PODS, 10), cache.at(PODS, 11)
    assert before is not None and (before[0].raw, before[0].revision) == (b"old", 5)
    assert after is not None and (after[0].raw, after[0].revision) == (b"new", 11)


def test_the_past_ends_with_the_window_with_the_load_and_with_etcds_own() -> None:
    cache = loaded(events_max=3)
    cache.apply([put(f"{PODS}a/{n}", n) for n in range(11, 16)], 15)
    assert cache.at(PODS, 11) is None, "beyond the window"
    assert cache.at(PODS, 12) is not None
    assert cache.at(MAPS, 9) is None, "before the load"
    assert cache.at(PODS, 16) is None, "in the future"
    cache.apply([put("compact_rev_key", 16, b"14")], 16)
    assert cache.at(PODS, 13) is None, "compacted"
    assert cache.at(PODS, 14) is not None


# --- against a model

KEYS = st.sampled_from(
    [f"/registry/{kind}/{name}" for kind in ("pods/a", "pods/b", "pods/a-b", "nodes") for name in "xyz"]
    + ["/registry/nodes", "/other/pods/a/x"]
)
PREFIXES = st.sampled_from(
    [
        *("/registry/", "/registry/pods/", "/registry/pods/a/", "/registry/pods/a"),
        "/registry/pods/a/x",
        "/registry/nodes/",
    ]
)


class CacheModel(RuleBasedStateMachine):
    """The model: a dict of what is there, a list of all that happened, and for each watch what it must have seen."""

    watches: Bundle[Any] = Bundle("watches")

    def __init__(self) -> None:
        super().__init__()
        self.cache = caches.Cache(PREFIX, events_max=5, bytes_max=60)
        self.cache.load([], 1)
        self.revision = 1
        self.objects: dict[str, tuple[bytes, int, int]] = {}  # value, mod and create revision
        self.history: list[tuple[str, str, int]] = []
        self.open: list[tuple[str, int, Listener]] = []
        self.past: dict[int, dict[str, tuple[bytes, int, int]]] = {1: {}}

    def _change(self, key: str, value: bytes | None) -> etcd.Change | None:
        """Of the key at the model's revision."""
        if value is None and key not in self.objects:
            return None
        if value is None:
            del self.objects[key]
        else:
            created = self.objects[key][2] if key in self.objects else self.revision
            self.objects[key] = (value, self.revision, created)
        if key.startswith(PREFIX):
            self.history.append(("DELETE" if value is None else "PUT", key, self.revision))
        return etcd.Change(key, value, self.revision, self.objects[key][2] if value is not None else 0)

    @rule(
        writes=st.lists(
            st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=12)), max_size=3, unique_by=lambda w: w[0]),
            max_size=4,
        )
    )
    def apply(self, writes: list[list[tuple[str, bytes | None]]]) -> None:
        """A batch of revisions, each of which may change several keys."""
        changes = []
        for revision in writes:
            self.revision += 1
            made = [change for key, value in revision if (change := self._change(key, value)) is not None]
            if not made:
                self.revision -= 1
            changes += made
            self.past[self.revision] = dict(self.objects)
        if changes:
            self.cache.apply(changes, self.revision)

    @rule(target=watches, prefix=PREFIXES, back=st.integers(-2, 8))
    def subscribe(self, prefix: str, back: int) -> Any:
        after = max(0, self.revision - back)
        listener = Listener()
        try:
            listener.on(self.cache, prefix, after)
        except types.Compacted as error:
            refusal = error
        else:
            self.open.append((prefix, after, listener))
            return listener
        assert after < refusal.oldest, "refused although nothing is missing"
        return None

    @rule(listener=consumes(watches))
    def unsubscribe(self, listener: Listener | None) -> None:
        if listener is not None and listener.subscription is not None:
            listener.subscription.close()
            assert listener.closed[-1:] == [None] or listener.closed
            self.open = [entry for entry in self.open if entry[2] is not listener]

    @rule(writes=st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=12)), min_size=1, max_size=6))
    def lose_changes_and_replace(self, writes: list[tuple[str, bytes | None]]) -> None:
        """Watches end here in the model: what they see over a gap is tested by itself."""
        for key, value in writes:
            self.revision += 1
            if self._change(key, value) is None:
                self.revision -= 1
        pairs = [
            etcd.Pair(key, value, revision, created, 0)
            for key, (value, revision, created) in self.objects.items()
            if key.startswith(PREFIX)
        ]
        seen = [(listener, len(listener.events)) for _, after, listener in self.open if after <= self.cache.revision]
        before = {item.key: item for item in self.cache.under(PREFIX)}
        self.past = {self.revision: dict(self.objects)}
        self.cache.replace(pairs, self.revision)
        for listener, count in seen:
            self._check_told(listener, listener.events[count:], dict(before))
        for _, _, listener in self.open:
            assert listener.subscription is not None
            listener.subscription.close()
        self.open = []

    def _check_told(self, listener: Listener, events: list[types.Event], state: dict[str, types.Stored]) -> None:
        """The events lead from the old state to the new one, step by step and in order."""
        assert listener.subscription is not None
        prefix = listener.subscription.prefix
        for event in events:
            assert event.previous is state.pop(event.stored.key, None)
            if not event.deleted:
                state[event.stored.key] = event.stored
        left = [state[key] for key in sorted(state) if key.startswith(prefix)]
        assert left == self.cache.under(prefix)
        revisions = [event.stored.revision for event in events]
        assert revisions == sorted(revisions)

    @precondition(lambda self: self.revision > 3)
    @rule()
    def etcd_is_restored_from_a_backup(self) -> None:
        self.revision -= 2
        self.objects, self.history, self.past = {}, [], {self.revision: {}}
        self.cache.load([], self.revision)
        assert all(isinstance(listener.closed[-1], types.Compacted) for _, _, listener in self.open)
        self.open = []

    @invariant()
    def lists_are_those_of_the_model(self) -> None:
        assert self.cache.revision == self.revision
        for prefix in ("/registry/", "/registry/pods/", "/registry/pods/a/", "/registry/pods/a", "/registry/nodes/"):
            expected = [(key, *self.objects[key][:2]) for key in sorted(self.objects) if key.startswith(prefix)]
            assert [(item.key, item.raw, item.revision) for item in self.cache.under(prefix)] == expected

    @rule(prefix=PREFIXES, back=st.integers(0, 6))
    def list_the_past(self, prefix: str, back: int) -> None:
        revision = self.revision - back
        then = self.cache.at(prefix, revision)
        if then is not None:
            there = self.past[revision]
            expected = [(key, *there[key][:2]) for key in sorted(there) if key.startswith(prefix)]
            assert [(item.key, item.raw, item.revision) for item in then] == expected

    @invariant()
    def every_watch_has_seen_what_happened_after_its_start(self) -> None:
        for prefix, after, listener in self.open:
            expected = [event for event in self.history if event[2] > after and event[1].startswith(prefix)]
            # Within one revision there is no order
            assert sorted(listener.seen, key=lambda event: event[1:]) == sorted(expected, key=lambda event: event[1:])
            revisions = [revision for _, _, revision in listener.seen]
            assert revisions == sorted(revisions)


TestCacheModel = CacheModel.TestCase
TestCacheModel.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
