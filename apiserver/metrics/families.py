"""Counters, histograms and gauges, and Prometheus' text of them.

Labels are the text that stands between the braces; whoever makes it sees to it that there are only so many.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

Values = dict[str, list[float]]
"""Labels → one number, or a histogram's numbers: one a bucket, one beyond, then the sum."""


class Family:
    """All series of one name. `survives`: a new worker goes on from the numbers of the one that it replaces."""

    kind = "gauge"
    survives = False

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.values: Values = {}
        self._text = text

    def render(self, values: Values) -> Iterator[str]:
        """Its lines, of numbers that are added up already."""
        if not values:
            return
        yield f"# HELP {self.name} {self._text}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels in sorted(values):
            yield from self._series(labels, values[labels])

    def cell(self, labels: str) -> list[float]:
        """The series' number, for those who count too often to look it up each time."""
        found = self.values.get(labels)
        if found is None:
            found = self.values[labels] = self._empty()
        return found

    def _empty(self) -> list[float]:
        return [0]

    def _series(self, labels: str, numbers: Sequence[float]) -> Iterator[str]:
        yield f"{self.name}{_braced(labels)} {_number(numbers[0])}"


class Gauge(Family):
    def set(self, labels: str, value: float) -> None:
        self.cell(labels)[0] = value

    def add(self, labels: str, change: float) -> None:
        self.cell(labels)[0] += change


class Counter(Family):
    kind = "counter"
    survives = True

    def count(self, labels: str) -> None:
        self.cell(labels)[0] += 1


class Histogram(Family):
    kind = "histogram"
    survives = True

    def __init__(self, name: str, text: str, buckets: Sequence[float]) -> None:
        super().__init__(name, text)
        self._buckets = tuple(buckets)

    def observe(self, labels: str, value: float) -> None:
        numbers = self.values.get(labels) or self.cell(labels)
        numbers[bisect_left(self._buckets, value)] += 1
        numbers[-1] += value

    def _empty(self) -> list[float]:
        return [0] * (len(self._buckets) + 2)

    def _series(self, labels: str, numbers: Sequence[float]) -> Iterator[str]:
        running = 0.0
        comma = "," if labels else ""
        for bound, count in zip([*map(_number, self._buckets), "+Inf"], numbers, strict=False):
            running += count
            yield f'{self.name}_bucket{{{labels}{comma}le="{bound}"}} {_number(running)}'
        yield f"{self.name}_sum{_braced(labels)} {numbers[-1]:.9g}"
        yield f"{self.name}_count{_braced(labels)} {_number(running)}"


def added(parts: Iterable[Values]) -> Values:
    """The numbers of several workers in one."""
    total: Values = {}
    for part in parts:
        for labels, numbers in part.items():
            known = total.get(labels)
            total[labels] = [a + b for a, b in zip(known, numbers, strict=True)] if known else numbers
    return total


def labelled(values: Mapping[str, str]) -> str:
    """`a="1",b="2"`, in the order of the names."""
    return ",".join(f'{name}="{_escaped(values[name])}"' for name in sorted(values))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.9g}"
