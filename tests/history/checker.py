"""Holds a history against all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tests.history import entries as e
from tests.history.rules import journal, liveness, reads, watches, writes
from tests.history.rules.verdict import Violation
from tests.history.timeline import Timeline

Rule = Callable[[Timeline], Iterator[Violation]]

RULES: tuple[Rule, ...] = (
    journal.revisions_rise,
    journal.uid_is_for_life,
    journal.one_write_one_change,
    journal.changes_have_authors,
    writes.acknowledged_is_kept,
    writes.one_deletion_one_winner,
    writes.writes_do_what_they_say,
    writes.stale_never_wins,
    writes.writes_go_forward,
    reads.seen_was_stored,
    reads.gets_are_of_their_time,
    reads.lists_are_of_their_time,
    reads.lists_are_snapshots,
    reads.one_connection_never_goes_back,
    watches.each_change_once_and_in_order,
    watches.resumed_without_a_gap,
    watches.watches_come_to_the_end,
    liveness.nothing_hangs,
    liveness.failures_have_faults,
)


def check(history: Iterable[e.Entry]) -> list[Violation]:
    """Everything that is wrong; nothing is the aim."""
    timeline = Timeline(history)
    return [violation for rule in RULES for violation in rule(timeline)]
