"""Gets and lists: what was seen was so, at a time that the read may speak of.

What holds for each mode:
consistent (no resourceVersion): linearizable. It shows a revision not older than any that was known before it began.
cached ("0"): a true past, never the future; on one connection it never goes back.
not older (N): a state at N or later, never the future.
exact (N, lists): the state at N.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.history import entries as e
from tests.history.rules.verdict import Violation
from tests.history.timeline import Timeline


def seen_was_stored(timeline: Timeline) -> Iterator[Violation]:
    """Every object in an answer is word for word the one that was stored at its resourceVersion."""
    for entry in timeline.entries:
        if isinstance(entry, e.Get | e.List):
            seen = entry.items if isinstance(entry, e.List) else [entry.found] if entry.found else []
            for version in seen:
                step = timeline.steps.get(version.rv)
                if step is None or step.change.version != version:
                    yield Violation("seen was stored", f"{version}, but the journal has {step and step.change}", entry)


def gets_are_of_their_time(timeline: Timeline) -> Iterator[Violation]:
    """There is a revision between the bounds of a get at which the object was as it was seen."""
    for get in timeline.of(e.Get):
        if get.outcome != e.OK:
            continue
        low, high = _least(timeline, get), timeline.possible_until(get.end)
        if get.found is None:
            if not timeline.absent_between(get.name, low, high):
                yield Violation("gets are of their time", f"not found, but there from {low} to {high}", get)
        elif timeline.until(get.name, get.found.rv) <= low:
            yield Violation("gets are of their time", f"version {get.found.rv} was past at {low}", get)
        elif get.found.rv > high:
            yield Violation("gets are of their time", f"version {get.found.rv} was to come; it was at most {high}", get)


def lists_are_of_their_time(timeline: Timeline) -> Iterator[Violation]:
    for found in timeline.of(e.List):
        if found.outcome != e.OK:
            continue
        low, high = _least(timeline, found), timeline.possible_until(found.end)
        if found.rv < low:
            yield Violation("lists are of their time", f"of {found.rv}, but it had to be at least {low}", found)
        elif found.rv > high:
            yield Violation("lists are of their time", f"of {found.rv}, but it was at most {high}", found)
        elif found.mode == e.EXACT and found.rv != found.asked_rv:
            yield Violation("lists are of their time", f"of {found.rv}, not exactly {found.asked_rv}", found)


def lists_are_snapshots(timeline: Timeline) -> Iterator[Violation]:
    """A list, in however many pages, is the whole state at one revision, in order of name."""
    for found in timeline.of(e.List):
        if found.outcome != e.OK:
            continue
        if len(set(found.page_rvs)) > 1:
            yield Violation("lists are snapshots", f"pages are of {found.page_rvs}", found)
        elif found.items != (state := timeline.state(found.rv)):
            wrong = [item for item in found.items if item not in state]
            missing = [item for item in state if item not in found.items]
            yield Violation("lists are snapshots", f"too much: {wrong}, missing: {missing}, or out of order", found)


def one_connection_never_goes_back(timeline: Timeline) -> Iterator[Violation]:
    """What a connection has shown, it does not take back.

    Reads that want the newest are held against all before them. Those from the cache are held against one another only:
    while a worker's own watch is broken, it asks etcd for the newest, and its cache is behind what it has shown.
    """
    shown: dict[int, int] = {}
    cached: dict[int, int] = {}
    all_reads: list[e.Get | e.List] = [*timeline.of(e.Get), *timeline.of(e.List)]
    for read in sorted(all_reads, key=lambda read: read.start):
        if read.outcome != e.OK or read.mode == e.EXACT:  # the past was asked for
            continue
        is_newest = read.mode == e.CONSISTENT
        yield from _taken_back(timeline, read, (shown if is_newest else cached).get(read.connection, 0))
        revision = read.rv if isinstance(read, e.List) else read.found.rv if read.found is not None else 0
        for floors in (shown,) if is_newest else (shown, cached):
            floors[read.connection] = max(floors.get(read.connection, 0), revision)


def _taken_back(timeline: Timeline, read: e.Get | e.List, before: int) -> Iterator[Violation]:
    rule = "one connection never goes back"
    if isinstance(read, e.List):
        if read.rv < before:
            yield Violation(rule, f"of {read.rv}, after {before} had been shown", read)
    elif read.found is not None:
        if timeline.until(read.name, read.found.rv) <= before:
            yield Violation(rule, f"version {read.found.rv} was past at {before}, which had been shown", read)
    elif not timeline.absent_between(read.name, before, timeline.possible_until(read.end)):
        yield Violation(rule, f"not found, but there since before {before}, which had been shown", read)


def _least(timeline: Timeline, read: e.Get | e.List) -> int:
    """The oldest revision that the read may show."""
    if read.mode == e.CONSISTENT:
        return timeline.known_before(read.start)
    return read.asked_rv or 0 if read.mode in (e.NOT_OLDER, e.EXACT) else 0
