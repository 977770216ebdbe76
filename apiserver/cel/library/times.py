"""Timestamps, durations and their parts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from apiserver.cel import times
from apiserver.cel.declarations import Library
from apiserver.cel.values import NANOS, Duration, Timestamp

_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
}
_SPANS = {"getHours": 3600 * NANOS, "getMinutes": 60 * NANOS, "getSeconds": NANOS, "getMilliseconds": 10**6}


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda value, zone="UTC": read(times.moment(value, zone))


def _milliseconds(value: Timestamp, zone: str = "UTC") -> int:
    return value.nanos % NANOS // 10**6


def _whole(span: int) -> Callable[[Duration], int]:
    return lambda value: abs(value.nanos) // span * (-1 if value.nanos < 0 else 1)


LIBRARY = Library()
LIBRARY.function("timestamp(string) -> timestamp", times.timestamp)
LIBRARY.function("timestamp(timestamp) -> timestamp", lambda value: value)
LIBRARY.function("timestamp(int) -> timestamp", lambda value: times.within(value * NANOS))
LIBRARY.function("duration(string) -> duration", times.duration)
LIBRARY.function("duration(duration) -> duration", lambda value: value)
LIBRARY.function("duration(int) -> duration", times.bounded)
for name, reader in {**{part: _part(read) for part, read in _PARTS.items()}, "getMilliseconds": _milliseconds}.items():
    LIBRARY.method(f"{name}(timestamp) -> int", reader)
    LIBRARY.method(f"{name}(timestamp, string) -> int", reader)
for name, nanos in _SPANS.items():
    LIBRARY.method(f"{name}(duration) -> int", _whole(nanos))
