"""The latest events of one kind of key, kept so that a watch can start a little in the past."""

from __future__ import annotations

from collections import deque

from apiserver.storage import types

# Enough for a client to list some thousand objects, or to reconnect, while the cluster is busy; watches from before
# are answered with 410 and list again. Bytes count the values, which the events share with the cache while current.
EVENTS_MAX = 16_384
BYTES_MAX = 16 * 2**20


class Window:
    """Events in order of revision, bounded by number and bytes. Everything after `oldest` is here."""

    def __init__(self, oldest: int, *, events_max: int = EVENTS_MAX, bytes_max: int = BYTES_MAX) -> None:
        self.oldest = oldest
        self._events: deque[types.Event] = deque()
        self._bytes = 0
        self._events_max = events_max
        self._bytes_max = bytes_max

    def append(self, event: types.Event) -> None:
        self._events.append(event)
        self._bytes += event.stored.size
        while len(self._events) > self._events_max or self._bytes > self._bytes_max:
            dropped = self._events.popleft().stored
            self._bytes -= dropped.size
            self.oldest = dropped.revision

    def since(self, revision: int) -> list[types.Event]:
        """The events after `revision`. Raises Compacted when some of them are gone."""
        if revision < self.oldest:
            raise types.Compacted(revision, self.oldest)
        events: list[types.Event] = []
        for event in reversed(self._events):
            if event.stored.revision <= revision:
                break
            events.append(event)
        events.reverse()
        return events
