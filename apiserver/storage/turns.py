"""Writers of one key in one process take turns once they have met; only other processes can then overtake them.

Without it, of many writers that retry at once each round lets one through and all the others try in vain: some starve.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Turns:
    """A lock a key, first come first served; a key that nobody waits for costs nothing."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    @contextlib.asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Held by one at a time."""
        self._wanted[key] = self._wanted.get(key, 0) + 1
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                del self._wanted[key], self._locks[key]
