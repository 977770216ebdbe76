"""Durations as people write them in flags: Go's `1h30m`. (How ages are shown is `apimachinery.ages`.)"""

from __future__ import annotations

import re

from minictl.failures import Refused

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse(text: str, flag: str) -> float:
    """Seconds in `30s`, `1h30m`; a bare number is seconds, as kubectl's timeouts have it. Raises Refused."""
    if re.fullmatch(r"\d+", text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise Refused(f'invalid argument "{text}" for "{flag}" flag: time: invalid duration "{text}"')
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
