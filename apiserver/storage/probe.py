"""Asks etcd for its revision on behalf of many: one question under way serves all who wait for it.

Guarantees linearizability: an answer may only serve those who asked before the question was *sent*, because a write
acknowledged afterwards need not be in it. Who comes later gets the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from apiserver.storage import types


class RevisionProbe:
    """`ask` fetches the revision, linearizably."""

    def __init__(self, ask: Callable[[], Awaitable[int]]) -> None:
        self._ask = ask
        self._waiting: list[asyncio.Future[int]] = []  # for a question that has not been sent
        self._task: asyncio.Task[None] | None = None

    async def revision(self) -> int:
        """A revision no older than any write acknowledged before this call. Raises Unavailable."""
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return await future

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while self._waiting:
            served, self._waiting = self._waiting, []
            try:
                revision = await self._ask()
            except types.StorageError as error:
                for future in served:
                    if not future.done():
                        future.set_exception(error)
            except asyncio.CancelledError:
                for future in [*served, *self._waiting]:
                    future.cancel()
                raise
            else:
                for future in served:
                    if not future.done():
                        future.set_result(revision)
