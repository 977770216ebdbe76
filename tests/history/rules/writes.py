"""Writes: what was acknowledged is there, as it was asked for, upon what it was meant for, in the order of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.history import entries as e
from tests.history.rules.verdict import Violation
from tests.history.timeline import Step, Timeline


def acknowledged_is_kept(timeline: Timeline) -> Iterator[Violation]:
    """Every write that was answered with success is in the journal, at the revision and with the uid of the answer."""
    for write in timeline.writes:
        if write.outcome != e.OK:
            continue
        step = timeline.step_of(write)
        if step is None:
            yield Violation("acknowledged is kept", "lost: the journal has no such change", write)
        elif step.change.version is not None and write.rv != step.change.rv:
            yield Violation("acknowledged is kept", f"stored at {step.change.rv}, answered {write.rv}", write)
        elif step.change.version is not None and write.uid != step.change.version.uid:
            yield Violation("acknowledged is kept", f"stored as {step.change.version.uid}, answered {write.uid}", write)


def one_deletion_one_winner(timeline: Timeline) -> Iterator[Violation]:
    """An object is deleted once: two clients cannot both have done it."""
    winners = Counter(write.uid for write in timeline.writes if write.verb == "delete" and write.outcome == e.OK)
    for write in timeline.writes:
        if write.verb == "delete" and write.outcome == e.OK and winners[write.uid] > 1:
            yield Violation("one deletion, one winner", f"{winners[write.uid]} were told that they deleted it", write)


def writes_do_what_they_say(timeline: Timeline) -> Iterator[Violation]:
    """The change is the asked one, upon whatever was there: no other write's fields are lost, none of its own is."""
    for write, step in _made(timeline):
        after, before = step.change.version, step.before
        if write.name != step.change.name:
            yield Violation("writes do what they say", f"changed {step.change.name}", write)
        elif write.verb == "create" and before is not None:
            yield Violation("create finds nothing", f"{before.rv} was there", write)
        elif write.verb in ("update", "patch", "json patch", "delete") and before is None:
            yield Violation("changes need an object", "there was none", write)
        elif after is not None and (after.data, after.phase) != expected(write, before):
            yield Violation("writes do what they say", f"made {after} of {before}", write)


def expected(write: e.Write, before: e.Version | None) -> tuple[dict[str, str], str]:
    """The model: create and update replace, patches and apply merge."""
    if write.verb in ("create", "update") or before is None:
        return write.data, write.phase
    return {**before.data, **write.data}, write.phase or before.phase


def stale_never_wins(timeline: Timeline) -> Iterator[Violation]:
    """A write with a precondition changed exactly the version that it named."""
    for write, step in _made(timeline):
        before = step.before
        if write.expects_rv is not None and write.expects_rv != step.before_rv:
            yield Violation("stale never wins", f"changed version {step.before_rv}", write)
        if write.expects_marker is not None and (before is None or before.marker != write.expects_marker):
            yield Violation("stale never wins", f"a JSON patch's test held on {before}", write)
        if write.expects_uid is not None and (before is None or before.uid != write.expects_uid):
            yield Violation("stale never wins", f"changed the object with uid {before and before.uid}", write)


def writes_go_forward(timeline: Timeline) -> Iterator[Violation]:
    """A write gets a revision greater than any that was known when it began, and not of a time after its answer."""
    for write, step in _made(timeline):
        rv = step.change.rv
        known = timeline.known_before(write.start)
        if rv <= known:
            yield Violation("writes go forward", f"got {rv}, but {known} was known before it began", write)
        if write.outcome == e.OK and rv > timeline.possible_until(write.end):
            yield Violation("writes go forward", f"got {rv}, greater than that of a write which began later", write)


def _made(timeline: Timeline) -> Iterator[tuple[e.Write, Step]]:
    for write in timeline.writes:
        step = timeline.step_of(write)
        if step is not None:
            yield write, step
