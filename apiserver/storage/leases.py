"""Leases for objects that expire, shared: one lease holds many keys, as etcd pays for each lease, not for each key.

Objects of one time to live that are written within `REUSE_SECONDS` share a lease, whose own time is that much longer:
an object lives at least as long as asked, and at most `REUSE_SECONDS` longer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from apimachinery import clock as clocks

REUSE_SECONDS = 60
KEYS_MAX = 1000  # the end of a lease deletes all its keys in one revision: not too many at once


@dataclass(slots=True)
class _Lease:
    id: int
    granted_at: float
    keys: int = 0


class Leases:
    """`grant` makes a lease of so many seconds and returns its id."""

    def __init__(self, grant: Callable[[int], Awaitable[int]], *, clock: clocks.Clock) -> None:
        self._grant = grant
        self._clock = clock
        self._leases: dict[int, _Lease] = {}  # by time to live

    async def lease_for(self, ttl_seconds: int) -> int:
        """The id of a lease to put one key under."""
        lease = self._leases.get(ttl_seconds)
        now = self._clock.monotonic()
        if lease is None or lease.keys >= KEYS_MAX or now - lease.granted_at >= REUSE_SECONDS:
            # Two calls at once may both make one; the later stays, and both hold
            lease = _Lease(await self._grant(ttl_seconds + REUSE_SECONDS), now)
            self._leases[ttl_seconds] = lease
        lease.keys += 1
        return lease.id

    def forget(self, ttl_seconds: int) -> None:
        """Drops a lease that etcd no longer knows."""
        self._leases.pop(ttl_seconds, None)
