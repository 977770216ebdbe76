"""Time as a parameter: whatever waits or stamps takes a `Clock`, so that tests run in virtual time.

`SystemClock` waits on the running event loop, so a loop with a virtual clock (looptime) makes `sleep` and `monotonic`
virtual at once; only `now` is the wall clock. `FixedClock` is for pure functions that only need a stamp.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back. Only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The real clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class FixedClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds


def rfc3339(moment: datetime) -> str:
    """`metav1.Time`: UTC, whole seconds, as `2026-01-01T00:00:00Z`."""
    moment = moment.astimezone(UTC).replace(microsecond=0, tzinfo=None)  # strftime takes ten times as long
    return f"{moment.isoformat()}Z"


def rfc3339_micro(moment: datetime) -> str:
    """`metav1.MicroTime`: six fraction digits, used by leases and events."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> datetime:
    """The moment a `Time` or `MicroTime` names. Raises ValueError when it is neither.

    Nanoseconds, which runtimes write, are cut to microseconds.
    """
    head, dot, fraction = text.partition(".")
    if dot:
        digits = len(fraction) - len(fraction.lstrip("0123456789"))
        text = f"{head}.{fraction[:digits][:6]}{fraction[digits:]}"
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} has no offset")
    return moment.astimezone(UTC)
