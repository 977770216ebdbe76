"""Durations as people write and read them: Go's `1h30m`, and kubectl's ages (`5m30s`, `3d4h`)."""

from __future__ import annotations

import re
from datetime import datetime

from apimachinery import clock
from minictl.failures import Refused

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def parse(text: str, flag: str) -> float:
    """Seconds in `30s`, `1h30m`; a bare number is seconds, as kubectl's timeouts have it. Raises Refused."""
    if re.fullmatch(r"\d+", text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise Refused(f'invalid argument "{text}" for "{flag}" flag: time: invalid duration "{text}"')
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def human(seconds: float) -> str:
    """An age in two units at most, as kubectl's tables have it."""
    total = int(seconds)
    if total < -1:
        return "<invalid>"
    total = max(total, 0)
    if total < 2 * _MINUTE:
        return f"{total}s"
    if total < 10 * _MINUTE:
        return _two(total, _MINUTE, "m", 1, "s")
    if total < 3 * _HOUR:
        return f"{total // _MINUTE}m"
    if total < 8 * _HOUR:
        return _two(total, _HOUR, "h", _MINUTE, "m")
    if total < 2 * _DAY:
        return f"{total // _HOUR}h"
    if total < 8 * _DAY:
        return _two(total, _DAY, "d", _HOUR, "h")
    if total < 2 * _YEAR:
        return f"{total // _DAY}d"
    if total < 8 * _YEAR:
        return _two(total, _YEAR, "y", _DAY, "d")
    return f"{total // _YEAR}y"


def since(stamp: str | None, now: datetime) -> str:
    """How long ago a `Time` was; `<unknown>` for none."""
    return human((now - clock.parse_rfc3339(stamp)).total_seconds()) if stamp else "<unknown>"


def _two(total: int, unit: int, name: str, part: int, part_name: str) -> str:
    rest = total % unit // part
    return f"{total // unit}{name}{rest}{part_name}" if rest else f"{total // unit}{name}"
