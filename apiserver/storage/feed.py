"""Keeps the cache current: loads it, watches, resumes after a loss, reloads after a compaction.

One watch on everything that etcd holds: every revision then shows up in it, so the cache's revision is etcd's, and
whoever knows a revision can wait for it. (With a watch on our prefix alone, a write of somebody else would leave the
cache behind for ever; etcd's manual progress requests would not help, as those of 3.4 and 3.5 can overtake events.)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from apimachinery import clock as clocks
from apiserver.storage import cache as caches
from apiserver.storage import etcd as etcds
from apiserver.storage import folders, types

log = logging.getLogger(__name__)

PAGE = 1000  # objects a range answer of a load: a few MB
FIRST_PAUSE_SECONDS = 0.05
LAST_PAUSE_SECONDS = 2.0


class Feed:
    """`run` for ever; `loaded` is set when the cache has its first state."""

    def __init__(self, etcd: etcds.Etcd, cache: caches.Cache, *, clock: clocks.Clock) -> None:
        self._etcd = etcd
        self._cache = cache
        self._clock = clock
        self.loaded = asyncio.Event()
        self._sound = False  # whether the cache is a state that etcd had, and may be continued
        self.failure: types.StorageError | None = None  # why the cache is not being fed now

    async def run(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            before = self._cache.revision
            try:
                await self._run_once()
            except types.Compacted as error:
                log.warning("A10 watch cache: %s; loading it again", error)
                await self._reload()
            except types.Unavailable as error:
                self.failure = error
                log.warning("A10 watch cache: %s", error)
            except Exception as error:
                log.exception("A10 watch cache: failed; starting anew")
                self.failure = types.Unavailable(f"the watch cache failed: {error}")
                self._sound = False
            pause = FIRST_PAUSE_SECONDS if self._cache.revision > before else min(pause * 2, LAST_PAUSE_SECONDS)
            await self._clock.sleep(pause)

    async def _run_once(self) -> None:
        revision = await self._etcd.revision()
        if revision < self._cache.revision:
            log.error("A10 watch cache: etcd went back from %d to %d; starting anew", self._cache.revision, revision)
            self._sound = False
        if not self._sound:
            await self._load()
        self.failure = None
        await self._etcd.watch(self._cache.revision + 1, self._cache.apply)

    async def _load(self) -> None:
        self._cache.load(*await self._read_all())
        self._sound = True
        self.loaded.set()

    async def _reload(self) -> None:
        if not self._sound:
            return  # a page of the load itself came too late; `run` begins it again
        try:
            self._cache.replace(*await self._read_all())
        except types.StorageError as error:
            self.failure = error

    async def _read_all(self) -> tuple[list[etcds.Pair], int]:
        """Every pair under the prefix, at one revision."""
        pairs: list[etcds.Pair] = []
        revision = 0
        async for page in self._pages():
            pairs += page.pairs
            revision = page.revision
        return pairs, revision

    async def _pages(self) -> AsyncIterator[etcds.Page]:
        start, end = self._cache.prefix, folders.after_prefix(self._cache.prefix)
        page = await self._etcd.page(start, end, limit=PAGE)
        yield page
        while page.more:
            page = await self._etcd.page(page.pairs[-1].key + "\0", end, limit=PAGE, revision=page.revision)
            yield page
