"""Which events a watcher sees when objects enter, change within and leave its selection."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.registry.watching import Watch, WatchEvent
from apiserver.scheme import table
from apiserver.storage import types
from apiserver.storage.types import Event, Stored

[ROW] = [row for row in table.BUILTIN if row.resource == "configmaps"]
IN, OUT = True, False


def stored(name: str, inside: bool, revision: int) -> Stored:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"in": str(inside)}}
    return Stored(f"/registry/configmaps/d/{name}", orjson.dumps(obj), revision)


def matches(item: Stored) -> bool:
    return item.object["data"]["in"] == "True"


def watch(events: list[WatchEvent], ends: list[Any]) -> Watch:
    return Watch(ROW, matches, None, events.append, ends.append)


@pytest.mark.parametrize(
    ("previous", "now", "kind"),
    [
        (None, IN, "ADDED"),
        (None, OUT, None),
        (OUT, IN, "ADDED"),
        (IN, IN, "MODIFIED"),
        (IN, OUT, "DELETED"),
        (OUT, OUT, None),
        (IN, None, "DELETED"),
        (OUT, None, None),
    ],
)
def test_a_transition_has_one_type(previous: bool | None, now: bool | None, kind: str | None) -> None:
    events: list[WatchEvent] = []
    before = None if previous is None else stored("a", previous, 1)
    after = stored("a", bool(previous) if now is None else now, 2)
    watch(events, []).on_event(Event(now is None, after, before))
    assert [event.type for event in events] == ([kind] if kind else [])
    assert all(event.stored.revision == 2 for event in events)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([IN, OUT, None])), max_size=20))
def test_what_was_added_and_not_deleted_is_what_matches(changes: list[tuple[str, bool | None]]) -> None:
    events: list[WatchEvent] = []
    open_watch = watch(events, [])
    current: dict[str, Stored] = {}
    for revision, (name, inside) in enumerate(changes, 1):
        previous = current.pop(name, None)
        if inside is None:
            if previous is not None:
                open_watch.on_event(Event(True, Stored(previous.key, previous.raw, revision), previous))
            continue
        current[name] = stored(name, inside, revision)
        open_watch.on_event(Event(False, current[name], previous))
    seen: set[str] = set()
    for event in events:
        name = event.stored.object["metadata"]["name"]
        assert (name in seen) is (event.type != "ADDED")
        seen = seen - {name} if event.type == "DELETED" else seen | {name}
    assert seen == {name for name, item in current.items() if matches(item)}


def test_a_closed_watch_is_silent() -> None:
    events: list[WatchEvent] = []
    ends: list[Any] = []
    open_watch = watch(events, ends)
    open_watch.close()
    open_watch.on_event(Event(False, stored("a", IN, 1), None))
    open_watch.bookmark(9)
    open_watch.on_storage_closed(types.Unavailable("gone"))
    assert events == []
    assert ends == []


def test_storage_ending_a_watch_is_told_once_as_an_api_error() -> None:
    ends: list[Any] = []
    open_watch = watch([], ends)
    open_watch.on_storage_closed(types.Compacted(3, 7))
    open_watch.on_storage_closed(types.Compacted(3, 7))
    [error] = ends
    assert error.to_status()["message"] == "too old resource version: 3 (7)"
    assert error.code == 410
