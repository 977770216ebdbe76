"""Batches of 1, 2, 4, … concurrent writes (step C3): if the first fails (quota, admission), few more are tried."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

FIRST_BATCH = 1


async def run(count: int, write: Callable[[int], Awaitable[None]]) -> BaseException | None:
    """Calls `write(index)` for each index below `count`. Stops after the first batch with a failure, and returns it."""
    done, size = 0, FIRST_BATCH
    while done < count:
        batch = range(done, min(done + size, count))
        results = await asyncio.gather(*(write(index) for index in batch), return_exceptions=True)
        failure = first_failure(results)
        if failure is not None:
            return failure
        done += len(batch)
        size *= 2
    return None


def first_failure(results: Sequence[BaseException | None]) -> BaseException | None:
    """The first exception among `results`; a cancellation is raised, never returned."""
    failure = next((result for result in results if result is not None), None)
    if isinstance(failure, asyncio.CancelledError):
        raise failure
    return failure
