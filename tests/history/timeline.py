"""The true story, made of the journal, and what clients' clocks add to it. Pure.

The journal says in which order the changes came; each version's marker says which write made it. Two bounds tie the
revisions to time: whatever somebody knew before an operation began, it must not go back behind (`known_before`), and
whatever was only begun after an operation ended, it cannot have seen (`possible_until`).
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.history import entries as e

_E = TypeVar("_E", bound=e.Entry)
FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Step:
    """One change of one object, and what was there before."""

    change: e.Change
    before: e.Version | None
    before_rv: int
    """The revision of the change before, 0 if there was none: of a deletion there is no version."""


class Timeline:
    """A history, ordered so that rules can ask it questions."""

    def __init__(self, history: Iterable[e.Entry]) -> None:
        self.entries = list(history)
        self._of_kind: dict[type[Any], list[Any]] = defaultdict(list)
        for entry in self.entries:
            self._of_kind[type(entry)].append(entry)
        self.changes = self.of(e.Change)
        self.writes = self.of(e.Write)
        self.steps: dict[int, Step] = {}
        self._of_name: dict[str, list[Step]] = defaultdict(list)
        for change in self.changes:
            self._place(change)
        self.by_marker: dict[str, Step] = {
            step.change.version.marker: step for step in self.steps.values() if step.change.version is not None
        }
        self.deleted: dict[str, Step] = {
            step.before.uid: step for step in self.steps.values() if step.change.version is None and step.before
        }
        self.last_rv = max(self.steps, default=0)
        self._known = _Known(self._evidence())
        self._begun = _Begun(self._begins())

    def of(self, kind: type[_E]) -> list[_E]:
        return self._of_kind[kind]

    def step_of(self, write: e.Write) -> Step | None:
        """The change that this write made, if it made one."""
        if write.verb != "delete":
            return self.by_marker.get(write.marker)
        return self.deleted.get(write.uid) if write.outcome == e.OK else None

    def names(self) -> list[str]:
        return sorted(self._of_name)

    def at(self, name: str, rv: int) -> e.Version | None:
        """The object as of revision `rv`."""
        steps = self._of_name.get(name, [])
        index = bisect.bisect_right(steps, rv, key=lambda step: step.change.rv)
        return steps[index - 1].change.version if index else None

    def state(self, rv: int) -> list[e.Version]:
        """Everything there was at revision `rv`, in order of name."""
        found = (self.at(name, rv) for name in self.names())
        return [version for version in found if version is not None]

    def until(self, name: str, rv: int) -> int:
        """The revision of the next change of `name` after `rv`."""
        steps = self._of_name.get(name, [])
        index = bisect.bisect_right(steps, rv, key=lambda step: step.change.rv)
        return steps[index].change.rv if index < len(steps) else FOREVER

    def absent_between(self, name: str, low: int, high: int) -> bool:
        """Whether there was a revision within the bounds at which the object was not there."""
        if self.at(name, low) is None:
            return True
        steps = self._of_name[name]
        start = bisect.bisect_right(steps, low, key=lambda step: step.change.rv)
        between = itertools.takewhile(lambda step: step.change.rv <= high, steps[start:])
        return any(step.change.version is None for step in between)

    def after(self, rv: int) -> Iterator[Step]:
        """All changes after `rv`, in order."""
        for index in range(bisect.bisect_right(self.changes, rv, key=lambda change: change.rv), len(self.changes)):
            yield self.steps[self.changes[index].rv]

    def known_before(self, time: float) -> int:
        """The greatest revision that anybody had been told of before `time`."""
        return self._known.before(time)

    def possible_until(self, time: float) -> int:
        """The greatest revision that can have been there at `time`: the next is of a write that began later."""
        return self._begun.after(time) - 1

    def _place(self, change: e.Change) -> None:
        steps = self._of_name[change.name]
        last = steps[-1].change if steps else None
        step = Step(change, last.version if last else None, last.rv if last else 0)
        steps.append(step)
        self.steps[change.rv] = step

    def _evidence(self) -> Iterator[tuple[float, int]]:
        for entry in self.entries:
            match entry:
                case e.Write(outcome=e.OK, rv=int(rv), end=end):
                    yield end, rv
                case e.Write(outcome=e.OK, verb="delete", uid=uid, end=end) if uid in self.deleted:
                    yield end, self.deleted[uid].change.rv
                case e.Get(found=e.Version(rv=rv), end=end) | e.Event(version=e.Version(rv=rv), time=end):
                    yield end, rv
                case e.List(page_rvs=[rv, *_], end=end):
                    yield end, rv

    def _begins(self) -> Iterator[tuple[float, int]]:
        for write in self.writes:
            step = self.step_of(write)
            if step is not None:
                yield write.start, step.change.rv


class _Known:
    """Running maximum over time."""

    def __init__(self, facts: Iterable[tuple[float, int]]) -> None:
        ordered = sorted(facts)
        self._times = [time for time, _ in ordered]
        self._most = list(itertools.accumulate((rv for _, rv in ordered), max))

    def before(self, time: float) -> int:
        index = bisect.bisect_left(self._times, time)
        return self._most[index - 1] if index else 0


class _Begun:
    """Running minimum, from the end of time backwards."""

    def __init__(self, facts: Iterable[tuple[float, int]]) -> None:
        ordered = sorted(facts)
        self._times = [time for time, _ in ordered]
        least = list(itertools.accumulate((rv for _, rv in reversed(ordered)), min))
        self._least = least[::-1]

    def after(self, time: float) -> int:
        index = bisect.bisect_right(self._times, time)
        return self._least[index] if index < len(self._least) else FOREVER
