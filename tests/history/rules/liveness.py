"""Time: nothing hangs, and where nothing is broken nothing fails."""

from __future__ import annotations

from collections.abc import Iterator

from tests.history import entries as e
from tests.history.rules.verdict import Violation
from tests.history.timeline import Timeline

# Longer than the longest fault and a request's way through it; the clients of a history wait longer than that
HANG_SECONDS = 25.0
# After a fault: workers are forked again (slower, if they died young), connections to etcd are made again
RECOVERY_SECONDS = 12.0


def nothing_hangs(timeline: Timeline) -> Iterator[Violation]:
    for entry in timeline.entries:
        if isinstance(entry, e.Write | e.Get | e.List) and entry.end - entry.start > HANG_SECONDS:
            yield Violation("nothing hangs", f"took {entry.end - entry.start:.1f} s", entry)


def failures_have_faults(timeline: Timeline) -> Iterator[Violation]:
    """An answer of 5xx, or none, has a fault that explains it: one that overlaps it, or was over only just before."""
    faults = timeline.of(e.Fault)
    for entry in timeline.entries:
        if not isinstance(entry, e.Write | e.Get | e.List) or 100 <= entry.code < 500:
            continue
        explained = any(fault.start <= entry.end and entry.start <= fault.end + RECOVERY_SECONDS for fault in faults)
        if not explained:
            yield Violation("failures have faults", f"{entry.code} while nothing was broken", entry)
