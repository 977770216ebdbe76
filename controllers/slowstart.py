"""Many writes at once, with care (step C3).

`run` goes in batches of 1, 2, 4, …: if the first fails (quota, admission), few more are tried. `every` tries all.
Within a batch at most `CONCURRENT_MAX` are under way: each takes a connection, and the server works no faster for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

FIRST_BATCH = 1
CONCURRENT_MAX = 32

Write = Callable[[int], Awaitable[None]]


async def run(count: int, write: Write) -> BaseException | None:
    """Calls `write(index)` for each index below `count`. Stops after the first batch with a failure, and returns it."""
    done, size = 0, FIRST_BATCH
    while done < count:
        batch = range(done, min(done + size, count))
        failure = await _together(batch, write)
        if failure is not None:
            return failure
        done += len(batch)
        size *= 2
    return None


async def every(count: int, write: Write) -> BaseException | None:
    """Calls `write(index)` for each index below `count`, whatever fails, and returns the first failure."""
    return await _together(range(count), write)


async def _together(indexes: range, write: Write) -> BaseException | None:
    turns = asyncio.Semaphore(CONCURRENT_MAX)

    async def in_turn(index: int) -> None:
        async with turns:
            await write(index)

    return first_failure(await asyncio.gather(*map(in_turn, indexes), return_exceptions=True))


def first_failure(results: Sequence[BaseException | None]) -> BaseException | None:
    """The first exception among `results`; a cancellation is raised, never returned."""
    failure = next((result for result in results if result is not None), None)
    if isinstance(failure, asyncio.CancelledError):
        raise failure
    return failure
