"""The journal itself: what etcd was told to store must make sense as the life of objects."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.history.rules.verdict import Violation
from tests.history.timeline import Timeline


def revisions_rise(timeline: Timeline) -> Iterator[Violation]:
    """Each change has a revision of its own, greater than all before."""
    for earlier, later in itertools.pairwise(timeline.changes):
        if later.rv <= earlier.rv:
            yield Violation("revisions rise", f"{later.rv} came after {earlier.rv}", later)


def uid_is_for_life(timeline: Timeline) -> Iterator[Violation]:
    """An object keeps its uid until it is deleted; what comes after under the same name has one that never was."""
    ever: dict[str, str] = {}
    for step in timeline.steps.values():
        now, before = step.change.version, step.before
        if now is None:
            continue
        if before is not None and now.uid != before.uid:
            yield Violation("uid is for life", f"{now.name} had {before.uid} and has {now.uid}", step.change)
        if before is None and now.uid in ever:
            yield Violation("deleted is final", f"{now.uid} of {ever[now.uid]} is there again", step.change)
        ever[now.uid] = now.name


def one_write_one_change(timeline: Timeline) -> Iterator[Violation]:
    """No marker is stored twice: a write whose answer was lost is not made again behind its author's back."""
    seen: dict[str, int] = {}
    for change in timeline.changes:
        if change.version is None:
            continue
        marker = change.version.marker
        if marker in seen:
            yield Violation("one write, one change", f"{marker} was stored at {seen[marker]} too", change)
        seen[marker] = change.rv


def changes_have_authors(timeline: Timeline) -> Iterator[Violation]:
    """Everything in the journal was asked for, and was not refused."""
    made = {write.marker for write in timeline.writes if write.verb != "delete" and write.outcome != "refused"}
    refused = {write.marker: write for write in timeline.writes if write.outcome == "refused" and write.marker}
    deletable = {write.name for write in timeline.writes if write.verb == "delete" and write.outcome != "refused"}
    for change in timeline.changes:
        if change.version is None:
            if change.name not in deletable:
                yield Violation("changes have authors", f"nobody deleted {change.name}", change)
        elif change.version.marker in refused:
            yield Violation("refused is not done", f"stored at {change.rv}", refused[change.version.marker])
        elif change.version.marker not in made:
            yield Violation("changes have authors", f"nobody wrote {change.version.marker!r}", change)
