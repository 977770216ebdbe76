"""Every five minutes, lets etcd forget what was overwritten more than five minutes ago.

Every worker of every apiserver runs this; a key that counts the rounds picks the one that acts: it is written only by
who knows its version, the others learn the new version from the refusal and wait another interval. The key is
upstream's, so that both kinds of apiserver on one etcd share the rounds.
"""

from __future__ import annotations

import logging

from apimachinery import clock as clocks
from apiserver.storage import etcd as etcds
from apiserver.storage import types

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 300.0
KEY = "compact_rev_key"


class Compactor:
    """`run` for ever."""

    def __init__(self, etcd: etcds.Etcd, *, clock: clocks.Clock, interval_seconds: float = INTERVAL_SECONDS) -> None:
        self._etcd = etcd
        self._clock = clock
        self._interval_seconds = interval_seconds
        self._round = 0  # the key's version as we know it
        self._revision = 0  # at the round before; 0: unknown

    async def run(self) -> None:
        while True:
            try:
                await self.step()
            except types.StorageError as error:
                log.warning("A9 compaction: %s", error)
            await self._clock.sleep(self._interval_seconds)

    async def step(self) -> bool:
        """One round. Returns whether it was ours to compact, and was done."""
        target = self._revision
        won, self._round, self._revision = await self._etcd.put_if_version(
            KEY, self._round, str(target).encode("ascii")
        )
        if not won or target == 0:
            return False
        try:
            await self._etcd.compact(target)
        except types.Compacted:
            return False  # somebody else went further
        log.info("A9 compaction: compacted at revision %d", target)
        return True
