"""Whether a cache shows our own last write of an object yet (step C1).

A reconcile that starts from an object older than its own last write would compute the same again, only to lose against
itself (409). It is skipped instead: the event of that write is on its way, and brings the key back.
Relies on resourceVersions of one collection being comparable numbers, which Kubernetes guarantees since 1.35. Gives up
waiting after `PATIENCE_SECONDS`: a restored backup may have turned the numbers back.
"""

from __future__ import annotations

from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.objects import Object

PATIENCE_SECONDS = 30.0


class Freshness:
    """The newest versions written, by uid. Entries live until the cache has caught up, or patience ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._written: dict[str, tuple[int, float]] = {}

    def wrote(self, answer: Object) -> None:
        """Notes the server's answer to a write."""
        version = objects.resource_version_of(answer)
        if version.isdecimal():
            self._written[objects.uid_of(answer)] = int(version), self._clock.monotonic()

    def is_behind(self, cached: Object) -> bool:
        """Whether the cache's `cached` is older than what was written."""
        uid = objects.uid_of(cached)
        written = self._written.get(uid)
        if written is None:
            return False
        version, since = written
        shown = objects.resource_version_of(cached)
        if not shown.isdecimal() or int(shown) >= version or self._clock.monotonic() - since > PATIENCE_SECONDS:
            del self._written[uid]
            return False
        return True

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._written.pop(uid, None)
