"""Waiting longer after every failure: container restarts (CrashLoopBackOff) and image pulls (ImagePullBackOff), L8,
L15.

A key's first failure may be followed at once; then 10 s, 20 s, … up to 5 min; ten quiet minutes forget it all. This is
upstream's schedule. It is kept in memory only: after a restart of the kubelet a crashing container starts anew at 10 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

INITIAL_SECONDS = 10.0
MAX_SECONDS = 300.0
FORGET_SECONDS = 2 * MAX_SECONDS


@dataclass(slots=True)
class _Entry:
    delay: float
    since: datetime


class Backoff:
    """Delays by key; every key belongs to one pod, and goes with it."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def delay(self, key: str) -> float:
        """Seconds to wait after the last failure of `key`; 0 when it has not failed yet."""
        entry = self._entries.get(key)
        return entry.delay if entry else 0.0

    def left(self, key: str, now: datetime) -> float:
        """Seconds still to wait, counted from the last time that `failed` was told."""
        entry = self._entries.get(key)
        return max(0.0, entry.delay - (now - entry.since).total_seconds()) if entry else 0.0

    def failed(self, key: str, now: datetime) -> None:
        """`key` failed again, or is being tried again after a failure: the next delay is twice as long."""
        entry = self._entries.get(key)
        if entry is None or (now - entry.since).total_seconds() > FORGET_SECONDS:
            self._entries[key] = _Entry(INITIAL_SECONDS, now)
        else:
            self._entries[key] = _Entry(min(2 * entry.delay, MAX_SECONDS), now)

    def forget(self, key: str) -> None:
        self._entries.pop(key, None)

    def delays(self) -> dict[str, float]:
        return {key: entry.delay for key, entry in self._entries.items()}
