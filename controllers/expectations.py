"""What a controller has done but not yet seen in its cache, so that it does not do it twice (step C3).

A controller that made three pods and reads a cache that shows one would make two more. It therefore notes the uid of
every object it created or deleted, and acts again for that owner only once all of them were observed.

Guarantees: an event that arrives before the answer to the write still counts; what is never observed is given up after
`TIMEOUT_SECONDS`. Does not replace optimistic concurrency: it is for creations and deletions only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apimachinery.clock import Clock

TIMEOUT_SECONDS = 300.0  # upstream's; reached only when an event was lost for good


@dataclass(slots=True)
class _Round:
    """One round of writes for one owner. The seen sets also keep what came before the write was noted."""

    deadline: float
    wanted_present: set[str] = field(default_factory=set)
    wanted_gone: set[str] = field(default_factory=set)
    seen_present: set[str] = field(default_factory=set)
    seen_gone: set[str] = field(default_factory=set)

    def met(self) -> bool:
        return self.wanted_present <= (self.seen_present | self.seen_gone) and self.wanted_gone <= self.seen_gone


class Expectations:
    """Rounds by owner uid. All methods are synchronous: the caches' handlers call `observe_*`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rounds: dict[str, _Round] = {}

    def open(self, owner_uid: str) -> None:
        """Starts a round: call before the first write of a reconcile."""
        self._rounds[owner_uid] = _Round(self._clock.monotonic() + TIMEOUT_SECONDS)

    def expect_present(self, owner_uid: str, uid: str) -> None:
        if owner_uid in self._rounds:  # else the owner vanished during the write
            self._rounds[owner_uid].wanted_present.add(uid)

    def expect_gone(self, owner_uid: str, uid: str) -> None:
        if owner_uid in self._rounds:
            self._rounds[owner_uid].wanted_gone.add(uid)

    def observe_present(self, owner_uid: str, uid: str) -> None:
        if owner_uid in self._rounds:
            self._rounds[owner_uid].seen_present.add(uid)

    def observe_gone(self, owner_uid: str, uid: str) -> None:
        """The object is gone, or is being deleted, which is the same to its controller."""
        if owner_uid in self._rounds:
            self._rounds[owner_uid].seen_gone.add(uid)

    def met(self, owner_uid: str) -> bool:
        """Whether the cache shows all that was done. Ends the round if so, or if it took too long."""
        current = self._rounds.get(owner_uid)
        if current is None:
            return True
        if current.met() or self._clock.monotonic() >= current.deadline:
            del self._rounds[owner_uid]
            return True
        return False

    def forget(self, owner_uid: str) -> None:
        """The owner is gone."""
        self._rounds.pop(owner_uid, None)
