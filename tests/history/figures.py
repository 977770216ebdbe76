"""What a history was made of, in a few lines for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.history import entries as e
from tests.history.timeline import Timeline


def summary(timeline: Timeline) -> Iterator[str]:
    operations: dict[str, Sequence[e.Write | e.Get | e.List]] = {
        "writes": timeline.writes,
        "gets": timeline.of(e.Get),
        "lists": timeline.of(e.List),
    }
    for what, found in operations.items():
        outcomes = Counter(entry.outcome for entry in found)
        took = sorted(entry.end - entry.start for entry in found)
        slowest = f"longest {took[-1]:.1f} s" if took else ""
        yield f"{what:8} {len(found):8,}  " + _counts(outcomes) + f"; {slowest}"
    unknown = [write for write in timeline.writes if write.outcome == e.UNKNOWN]
    done = sum(timeline.step_of(write) is not None for write in unknown)
    yield f"changes  {len(timeline.changes):8,}  of them {done} by writes whose answer was lost"
    streams, events = timeline.of(e.Stream), timeline.of(e.Event)
    yield f"streams  {len(streams):8,}  with {len(events):,} events to {len({s.watcher for s in streams})} watchers"
    ends = Counter(closed.why.partition(":")[0] for closed in timeline.of(e.Closed))
    yield f"  ended by {_counts(ends)}"
    faults = timeline.of(e.Fault)
    yield f"faults   {len(faults):8,}  " + _counts(Counter(fault.name for fault in faults))


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counter.items()))
