"""Watches: every change once, in order, none left out, each with the right type, up to the last one."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from tests.history import entries as e
from tests.history.rules.verdict import Violation
from tests.history.timeline import Step, Timeline

ADDED, MODIFIED, DELETED, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"


class _Follower:
    """What a stream has to say next, told by the journal: all after revision `rv`, of which the state is known."""

    def __init__(self, timeline: Timeline, phase: str, rv: int) -> None:
        self._seen = rv
        shown = (shown_as(step, phase) for step in timeline.after(rv))
        self._coming = (event for event in shown if event is not None)
        self._due = next(self._coming, None)

    def take(self, event: e.Event) -> str:
        """What is wrong with this event; empty if nothing is."""
        rv, due = event.version.rv, self._due
        if event.type == BOOKMARK:
            if due is not None and due[1].rv <= rv:
                return f"a bookmark of {rv} before the change {due}"
            return "" if rv >= self._seen else f"a bookmark of {rv} after {self._seen}"
        if rv <= self._seen:
            return f"{rv} after {self._seen}: again, or out of order"
        self._seen = rv
        while self._due is not None and self._due[1].rv <= rv:  # past a gap too, so that it is told once
            self._due = next(self._coming, None)
        return "" if due == (event.type, event.version) else f"due was {due}"


def shown_as(step: Step, phase: str) -> tuple[str, e.Version] | None:
    """The event of a change for a watcher who selects by `phase` (or not at all)."""
    after, before, rv = step.change.version, step.before, step.change.rv
    does = after is not None and phase in ("", after.phase)
    did = before is not None and phase in ("", before.phase)
    if does:
        assert after is not None
        return (MODIFIED if did else ADDED), after
    if did:
        assert before is not None
        return DELETED, e.Version(before.name, rv, before.uid, before.data, before.phase)
    return None


def each_change_once_and_in_order(timeline: Timeline) -> Iterator[Violation]:
    """A stream from a revision is the journal from there on; one without begins with a state and a bookmark."""
    for stream, events in _streams(timeline):
        if stream.from_rv is None:
            told = list(itertools.takewhile(lambda event: event.type != BOOKMARK, events))
            if len(told) == len(events):
                continue  # it ended before the state was told
            events = events[len(told) :]
            yield from _begins_with_the_state(timeline, stream, told, events[0].version.rv)
        follower = _Follower(timeline, stream.phase, stream.from_rv or events[0].version.rv)
        for event in events:
            wrong = follower.take(event)
            if wrong:
                yield Violation("watches see each change once and in order", wrong, event)


def _begins_with_the_state(timeline: Timeline, stream: e.Stream, told: list[e.Event], rv: int) -> Iterator[Violation]:
    state = [(ADDED, version) for version in timeline.state(rv) if stream.phase in ("", version.phase)]
    if [(event.type, event.version) for event in told] != state:
        yield Violation("a watch begins with the state", f"at {rv} that was {state}, told was {told}", stream)
    if rv < timeline.known_before(stream.start):
        known = timeline.known_before(stream.start)
        yield Violation("a watch begins with the state", f"of {rv}, but {known} was known before it began", stream)


def resumed_without_a_gap(timeline: Timeline) -> Iterator[Violation]:
    """A watcher takes up where it stood: at its last event or bookmark, or at a list it made since."""
    stood: dict[str, int] = {}
    streams = {stream.stream: stream for stream in timeline.of(e.Stream)}
    for entry in timeline.entries:
        match entry:
            case e.Event(stream=number, version=version) if number in streams:
                stood[streams[number].watcher] = version.rv
            case e.List(client=client, outcome=e.OK, mode=mode) if mode != e.EXACT:
                stood[client] = entry.rv
            case e.Stream(watcher=watcher, from_rv=int(rv)) if rv != stood.get(watcher, rv):
                yield Violation("watches are resumed without a gap", f"stood at {stood[watcher]}", entry)


def watches_come_to_the_end(timeline: Timeline) -> Iterator[Violation]:
    """Whoever kept watching has seen the last write: nothing hangs on to a past."""
    watcher_of = {stream.stream: stream.watcher for stream in timeline.of(e.Stream)}
    seen: dict[str, int] = defaultdict(int)
    for event in timeline.of(e.Event):
        watcher = watcher_of.get(event.stream, "")
        seen[watcher] = max(seen[watcher], event.version.rv)
    for fence in timeline.of(e.Fence):
        for watcher in fence.watchers:
            if seen[watcher] < fence.rv:
                text = f"{watcher} stands at {seen[watcher]}, the last write is {fence.rv}"
                yield Violation("watches come to the end", text, fence)


def _streams(timeline: Timeline) -> Iterator[tuple[e.Stream, list[e.Event]]]:
    events: dict[int, list[e.Event]] = defaultdict(list)
    for event in timeline.of(e.Event):
        events[event.stream].append(event)
    for stream in timeline.of(e.Stream):
        yield stream, events[stream.stream]
