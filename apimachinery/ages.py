"""How long ago, as `kubectl get` says it: `5s`, `3m10s`, `2d4h`. Upstream's `duration.HumanDuration`."""

from __future__ import annotations

from datetime import datetime

from apimachinery import clock

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def since(timestamp: str | None, now: datetime) -> str:
    """From an object's timestamp until now."""
    if not timestamp:
        return UNKNOWN
    return human((now - clock.parse_rfc3339(timestamp)).total_seconds())


def human(seconds: float) -> str:
    """The more time, the coarser: two units at most."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, unit: int, name: str, smaller: int, smaller_name: str) -> str:
    rest = seconds % unit // smaller
    return f"{seconds // unit}{name}{rest}{smaller_name}" if rest else f"{seconds // unit}{name}"
