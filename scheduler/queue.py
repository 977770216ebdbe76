"""Pods that wait for a node (S1): active, backing off, or unschedulable until something happens.

Pure but for the clock.

    add ──▶ active ──pop──▶ (a cycle) ──▶ bound
              ▲  ▲                 │ no node            │ a failed write
              │  └── backoff ◀── wake ── unschedulable  └──▶ backoff
              └── time ┘

Active pods go by priority, then by how long they wait. A pod that no node could take sleeps until an event that one of
the plugins that rejected it waits for, or five minutes. Back-off doubles with every attempt, from 1 s to 10 s.
A pod is in one place at a time; while it is in a cycle it is in none.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from apimachinery.clock import Clock
from apimachinery.objects import Key
from scheduler.framework import Event
from scheduler.podinfo import PodInfo

BACKOFF_INITIAL_SECONDS = 1.0
BACKOFF_MAX_SECONDS = 10.0
# However few events come, nobody is forgotten for longer than this.
UNSCHEDULABLE_MAX_SECONDS = 300.0

# The events that a plugin of this name waits for.
WakesOn = Callable[[str], frozenset[Event]]


@dataclass(frozen=True, slots=True)
class Queued:
    """A pod and its history in the queue."""

    pod: PodInfo
    added_at: float  # monotonic; decides among pods of one priority
    attempts: int = 0
    failed_at: float = 0.0
    rejected_by: frozenset[str] = field(default=frozenset())


class Queue:
    """`pop` gives None when nothing is ready; `next_ready_in` says when to ask again."""

    def __init__(
        self,
        clock: Clock,
        wakes_on: WakesOn,
        *,
        initial_backoff_seconds: float = BACKOFF_INITIAL_SECONDS,
        max_backoff_seconds: float = BACKOFF_MAX_SECONDS,
    ) -> None:
        self._clock = clock
        self._wakes_on = wakes_on
        self._initial = initial_backoff_seconds
        self._max = max_backoff_seconds
        self._numbers = itertools.count()
        # Heaps hold an entry a push; it counts only while the map says that this very entry is the pod's place
        self._active: dict[Key, Queued] = {}
        self._active_heap: list[tuple[int, float, int, Queued]] = []
        self._backoff: dict[Key, Queued] = {}
        self._backoff_heap: list[tuple[float, int, Queued]] = []
        self._unschedulable: dict[Key, Queued] = {}

    def add(self, pod: PodInfo) -> None:
        """A pod that needs a node."""
        self.remove(pod.key)
        self._activate(Queued(pod, self._clock.monotonic()))

    def update(self, pod: PodInfo) -> None:
        """A new version of a pod that waits: tried at once if it asks for something else now, else it stays put."""
        asleep, backing_off = pod.key in self._unschedulable, pod.key in self._backoff
        queued = self._take(pod.key)
        if queued is None:
            self.add(pod)
            return
        fresh = replace(queued, pod=pod)
        if queued.pod.obj["spec"] != pod.obj["spec"] or queued.pod.labels != pod.labels:
            self._activate(replace(fresh, rejected_by=frozenset()))
        elif asleep:
            self._unschedulable[pod.key] = fresh
        elif backing_off:
            self._back_off(fresh)
        else:
            self._activate(fresh)

    def remove(self, key: Key) -> None:
        self._take(key)

    def pop(self) -> Queued | None:
        """The first of the active pods, now in the hands of the caller."""
        self._release_due()
        while self._active_heap:
            _, _, _, queued = heapq.heappop(self._active_heap)
            if self._active.get(queued.pod.key) is queued:
                del self._active[queued.pod.key]
                return replace(queued, attempts=queued.attempts + 1)
        return None

    def unschedulable(self, queued: Queued, rejected_by: frozenset[str]) -> None:
        """No node could take it: it sleeps until one of the rejecting plugins has reason to hope."""
        now = self._clock.monotonic()
        self._unschedulable[queued.pod.key] = replace(queued, failed_at=now, rejected_by=rejected_by)

    def retry(self, queued: Queued) -> None:
        """Something went wrong that is not the pod's fault: again after its back-off."""
        self._back_off(replace(queued, failed_at=self._clock.monotonic()))

    def wake(self, event: Event) -> int:
        """Moves the pods that this event may help; how many."""
        helped = [
            queued
            for queued in self._unschedulable.values()
            if not queued.rejected_by or any(event in self._wakes_on(name) for name in queued.rejected_by)
        ]
        for queued in helped:
            del self._unschedulable[queued.pod.key]
            self._back_off(queued)
        return len(helped)

    def next_ready_in(self) -> float | None:
        """Seconds until a pod becomes active by time alone; None: not by time."""
        if self._active:
            return 0.0
        moments = [ready for ready, _, queued in self._backoff_heap[:1] if queued]
        moments += [q.failed_at + UNSCHEDULABLE_MAX_SECONDS for q in self._unschedulable.values()]
        return max(0.0, min(moments) - self._clock.monotonic()) if moments else None

    def sizes(self) -> dict[str, int]:
        return {"active": len(self._active), "backoff": len(self._backoff), "unschedulable": len(self._unschedulable)}

    def __contains__(self, key: object) -> bool:
        return key in self._active or key in self._backoff or key in self._unschedulable

    def _release_due(self) -> None:
        """Back-offs that are over, and pods that have slept too long."""
        now = self._clock.monotonic()
        while self._backoff_heap and self._backoff_heap[0][0] <= now:
            _, _, queued = heapq.heappop(self._backoff_heap)
            if self._backoff.get(queued.pod.key) is queued:
                del self._backoff[queued.pod.key]
                self._activate(queued)
        late = [q for q in self._unschedulable.values() if q.failed_at + UNSCHEDULABLE_MAX_SECONDS <= now]
        for queued in late:
            del self._unschedulable[queued.pod.key]
            self._activate(queued)

    def _activate(self, queued: Queued) -> None:
        self._active[queued.pod.key] = queued
        entry = (-queued.pod.priority, queued.added_at, next(self._numbers), queued)
        heapq.heappush(self._active_heap, entry)

    def _back_off(self, queued: Queued) -> None:
        ready = queued.failed_at + self._backoff_seconds(queued.attempts)
        if ready <= self._clock.monotonic():
            self._activate(queued)
            return
        self._backoff[queued.pod.key] = queued
        heapq.heappush(self._backoff_heap, (ready, next(self._numbers), queued))

    def _backoff_seconds(self, attempts: int) -> float:
        if attempts == 0:
            return 0.0
        return float(min(self._initial * 2 ** min(attempts - 1, 30), self._max))

    def _take(self, key: Key) -> Queued | None:
        return self._active.pop(key, None) or self._backoff.pop(key, None) or self._unschedulable.pop(key, None)
