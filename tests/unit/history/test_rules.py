"""Each rule of the history checker catches what it is there for: a rule that cannot fail proves nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.history import checker
from tests.history import entries as e
from tests.history.rules import journal, liveness, reads, watches, writes
from tests.history.timeline import Timeline
from tests.unit.history.stories import A10, A11, A14, B12, B15, GONE, Spoil, Story, mark

# rule, what is wrong, how the good story is spoilt
CASES: list[tuple[checker.Rule, str, Spoil]] = [
    (
        journal.revisions_rise,
        "two changes have come in the wrong order",
        lambda s: s.swapped("create a change", "update a change"),
    ),
    (journal.revisions_rise, "two changes have one revision", lambda s: s.but("create b change", rv=11)),
    (
        journal.uid_is_for_life,
        "an update changes the uid",
        lambda s: s.but("update a change", version=replace(A11, uid="u")),
    ),
    (
        journal.uid_is_for_life,
        "a deleted object is back",
        lambda s: s.but("create a again change", version=replace(A14, uid="u-a")),
    ),
    (
        journal.one_write_one_change,
        "a write was made twice",
        lambda s: s.and_then(e.Change(16, "b", replace(B15, rv=16))),
    ),
    (journal.changes_have_authors, "nobody wrote this", lambda s: s.without("create b")),
    (journal.changes_have_authors, "nobody deleted this", lambda s: s.without("delete a")),
    (
        journal.changes_have_authors,
        "a refused write was done",
        lambda s: s.but("create b", outcome=e.REFUSED, code=409),
    ),
    (
        journal.changes_have_authors,
        "a refused delete was done",
        lambda s: s.but("delete a", outcome=e.REFUSED, code=409),
    ),
    (writes.acknowledged_is_kept, "a create is lost", lambda s: s.without("create b change")),
    (writes.acknowledged_is_kept, "a deletion is lost", lambda s: s.without("delete a change")),
    (writes.acknowledged_is_kept, "the answer had another revision", lambda s: s.but("update a", rv=12)),
    (writes.acknowledged_is_kept, "the answer had another uid", lambda s: s.but("create b", uid="u")),
    (
        writes.one_deletion_one_winner,
        "two were told that they deleted it",
        lambda s: s.and_then(e.Write("w2", "delete", "a", 20, 21, e.OK, 200, uid="u-a")),
    ),
    (writes.writes_do_what_they_say, "another object was written", lambda s: s.but("update a", name="b")),
    (writes.writes_do_what_they_say, "a create overwrote", lambda s: s.but("update a", verb="create")),
    (writes.writes_do_what_they_say, "an update created", lambda s: s.but("create b", verb="update")),
    (
        writes.writes_do_what_they_say,
        "a patch lost another's field",
        lambda s: s.but("patch b change", version=replace(B15, data={"marker": "m5", "k": "2"})),
    ),
    (
        writes.writes_do_what_they_say,
        "a patch's own field is lost",
        lambda s: s.but("patch b change", version=replace(B15, data={**B15.data, "k": "1"})),
    ),
    (
        writes.writes_do_what_they_say,
        "a label is lost",
        lambda s: s.but("create b change", version=replace(B12, phase="")),
    ),
    (writes.stale_never_wins, "an update on a past version won", lambda s: s.but("update a", expects_rv=9)),
    (writes.stale_never_wins, "a delete on a past version won", lambda s: s.but("delete a", expects_rv=10)),
    (writes.stale_never_wins, "a delete of another uid won", lambda s: s.but("delete a", expects_uid="u")),
    (writes.stale_never_wins, "a JSON patch's test failed and it won", lambda s: s.but("patch b", expects_marker="m1")),
    (
        writes.stale_never_wins,
        "an update on a version won whose object was gone",
        lambda s: s.but("create a again", expects_rv=11),
    ),
    (writes.writes_go_forward, "a write got a past revision", lambda s: s.but("update a", start=90, end=91)),
    (
        writes.writes_go_forward,
        "a lost answer's write got a past revision",
        lambda s: s.but("update a", start=90, end=91, outcome=e.UNKNOWN),
    ),
    (writes.writes_go_forward, "a write got a revision to come", lambda s: s.but("patch b", start=1, end=1.5)),
    (reads.seen_was_stored, "a get saw what was never there", lambda s: s.but("get a", found=replace(A10, data={}))),
    (reads.seen_was_stored, "a get saw another revision", lambda s: s.but("cached a", found=replace(A10, rv=9))),
    (reads.seen_was_stored, "a list saw another's uid", lambda s: s.but("list", items=[A11, replace(B12, uid="u")])),
    (reads.gets_are_of_their_time, "a consistent get is stale", lambda s: s.but("get b", name="a", found=A10)),
    (reads.gets_are_of_their_time, "a consistent get sees what is deleted", lambda s: s.but("no a", found=A11)),
    (reads.gets_are_of_their_time, "a consistent get does not find it", lambda s: s.but("get b", found=None)),
    (reads.gets_are_of_their_time, "a get sees the future", lambda s: s.but("get b", found=B15)),
    (reads.gets_are_of_their_time, "a cached get sees the future", lambda s: s.but("cached a", found=A14)),
    (reads.gets_are_of_their_time, "a get is older than asked", lambda s: s.but("newer b", found=B12, asked_rv=15)),
    (reads.gets_are_of_their_time, "a get of a revision does not find it", lambda s: s.but("newer b", found=None)),
    (reads.lists_are_of_their_time, "a consistent list is stale", lambda s: s.but("list", page_rvs=[11], items=[A11])),
    (reads.lists_are_of_their_time, "a list is of the future", lambda s: s.but("list", page_rvs=[14])),
    (reads.lists_are_of_their_time, "a list is older than asked", lambda s: s.but("pages", page_rvs=[12, 12])),
    (reads.lists_are_of_their_time, "an exact list is not", lambda s: s.but("exact list", page_rvs=[11], items=[A11])),
    (reads.lists_are_snapshots, "an object is missing", lambda s: s.but("list", items=[A11])),
    (reads.lists_are_snapshots, "a deleted object is in it", lambda s: s.but("pages", items=[A11, A14, B15])),
    (reads.lists_are_snapshots, "an object is of the past", lambda s: s.but("pages", items=[A14, B12])),
    (reads.lists_are_snapshots, "an object is there twice", lambda s: s.but("pages", items=[A14, A14, B15])),
    (reads.lists_are_snapshots, "out of order", lambda s: s.but("list", items=[B12, A11])),
    (reads.lists_are_snapshots, "pages are of two revisions", lambda s: s.but("pages", page_rvs=[14, 15])),
    (
        reads.one_connection_never_goes_back,
        "a cached get goes back",
        lambda s: [*s.list(), e.Get("r1", "a", e.CACHED, 900, 901, e.OK, 200, None, A10, 2)],
    ),
    (
        reads.one_connection_never_goes_back,
        "a cached list goes back",
        lambda s: s.but("pages", connection=2, page_rvs=[14, 14], items=[A14, B12]),
    ),
    (
        reads.one_connection_never_goes_back,
        "a read of the newest goes back",
        lambda s: [*s.list(), e.Get("r1", "a", e.CONSISTENT, 900, 901, e.OK, 200, None, A10, 1)],
    ),
    (
        reads.one_connection_never_goes_back,
        "a cached get does not find what was shown",
        lambda s: [*s.list(), e.Get("r1", "b", e.CACHED, 70, 71, e.OK, 404, connection=1)],
    ),
    (watches.each_change_once_and_in_order, "a change is left out", lambda s: s.without("stream 1 event 1")),
    (watches.each_change_once_and_in_order, "the first change is left out", lambda s: s.without("stream 1 event 0")),
    (
        watches.each_change_once_and_in_order,
        "a change comes twice",
        lambda s: s.but("stream 1 event 1", type="MODIFIED", version=A11),
    ),
    (
        watches.each_change_once_and_in_order,
        "out of order",
        lambda s: s.swapped("stream 1 event 0", "stream 1 event 1"),
    ),
    (watches.each_change_once_and_in_order, "the wrong type", lambda s: s.but("stream 1 event 1", type="MODIFIED")),
    (
        watches.each_change_once_and_in_order,
        "a deletion at the last object's revision",
        lambda s: s.but("stream 1 event 2", version=A11),
    ),
    (
        watches.each_change_once_and_in_order,
        "a deletion without the last state",
        lambda s: s.but("stream 1 event 2", version=replace(GONE, data={})),
    ),
    (
        watches.each_change_once_and_in_order,
        "a bookmark before its time",
        lambda s: s.but("stream 2 event 0", type="BOOKMARK", version=mark(15)),
    ),
    (
        watches.each_change_once_and_in_order,
        "a bookmark of the past",
        lambda s: s.but("stream 2 event 1", version=mark(13)),
    ),
    (watches.each_change_once_and_in_order, "a state with a hole", lambda s: s.without("stream 3 event 0")),
    (watches.each_change_once_and_in_order, "a state of the past", lambda s: s.but("stream 3", start=90)),
    (
        watches.each_change_once_and_in_order,
        "a change within the state",
        lambda s: s.but("stream 3 event 1", type="MODIFIED"),
    ),
    (
        watches.each_change_once_and_in_order,
        "a selecting watch misses the leaving",
        lambda s: s.without("stream 4 event 0"),
    ),
    (watches.each_change_once_and_in_order, "a selecting watch is told all", lambda s: s.but("stream 4", phase="")),
    (watches.resumed_without_a_gap, "a watcher skips", lambda s: s.but("stream 2", from_rv=15)),
    (
        watches.watches_come_to_the_end,
        "a watcher stands still",
        lambda s: s.without("stream 2", "stream 2 event 0", "stream 2 event 1"),
    ),
    (liveness.nothing_hangs, "a get took a minute", lambda s: s.but("get a", end=70)),
    (
        liveness.failures_have_faults,
        "a 500 for no reason",
        lambda s: s.and_then(e.Get("r", "a", "", 90, 91, e.UNKNOWN, 500)),
    ),
    (
        liveness.failures_have_faults,
        "no answer for no reason",
        lambda s: s.and_then(e.Get("r", "a", "", 90, 91, e.UNKNOWN, 0)),
    ),
]


def test_a_good_history_breaks_no_rule() -> None:
    assert checker.check(Story().list()) == []


@pytest.mark.parametrize(("rule", "what", "spoil"), CASES, ids=[what for _, what, _ in CASES])
def test_a_rule_catches_what_it_is_there_for(rule: checker.Rule, what: str, spoil: Spoil) -> None:
    assert list(rule(Timeline(spoil(Story())))), f"{rule.__name__} does not see that {what}"


def test_every_rule_is_shown_to_catch_something() -> None:
    assert {rule for rule, _, _ in CASES} == set(checker.RULES)


def test_what_may_be_is_no_violation() -> None:
    """Uncertainty is no fault: answers may be lost, and then a write may or may not have been done."""
    story = Story()
    lost = e.Write("w2", "update", "b", 80, 81, e.UNKNOWN, 0, marker="m9", data={"marker": "m9"})
    fault = e.Fault("cut etcd", 79, 80)
    assert checker.check([*story.list(), fault, lost]) == []
    done = e.Change(16, "b", e.Version("b", 16, "u-b", {"marker": "m9"}))
    assert checker.check([*story.list(), fault, lost, done]) == []


def test_a_failure_soon_after_a_fault_is_explained_by_it() -> None:
    failure = e.Get("r", "a", "", 90, 91, e.UNKNOWN, 500)
    assert checker.check([*Story().list(), e.Fault("cut etcd", 85, 85.1), failure]) == []
    assert checker.check([*Story().list(), e.Fault("cut etcd", 60, 60.1), failure]) != []


def test_a_history_is_the_same_after_it_was_on_disk() -> None:
    story = Story().list()
    assert [e.parse(e.dump(entry)) for entry in story] == story
