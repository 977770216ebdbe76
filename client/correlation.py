"""Which events are worth a write, and whether it is a new Event or a higher count of an old one. No I/O.

Upstream's rules (client-go's EventCorrelator): the same event again raises `count`; more than ten that differ only in
their message within ten minutes become one, "(combined from similar events)"; one source may say so much about one
object: 25 at once, then one in five minutes.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from apimachinery import clock as clocks
from apimachinery.objects import Object
from client.ratelimit import TokenBucket

SIMILAR_MAX = 10
SIMILAR_SECONDS = 600
SPAM_BURST = 25
SPAM_PER_SECOND = 1 / 300
# Upstream's bound on each memory: the least recently used is forgotten, and then simply counts as new
MEMORY = 4096

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Create:
    """Post `event`."""

    event: Object


@dataclass(frozen=True, slots=True)
class Repeat:
    """The event `name` of `event`'s namespace happened again: patch it; if it is gone, post `event`."""

    event: Object
    name: str
    patch: Object


@dataclass(frozen=True, slots=True)
class Drop:
    """Too many about this object."""


@dataclass(slots=True)
class _Similar:
    messages: set[str] = field(default_factory=set)
    last: datetime | None = None


class _Memory(OrderedDict[tuple[str, ...], V], Generic[V]):
    def recall(self, key: tuple[str, ...]) -> V | None:
        if key in self:
            self.move_to_end(key)
        return self.get(key)

    def keep(self, key: tuple[str, ...], value: V) -> V:
        self[key] = value
        self.move_to_end(key)
        if len(self) > MEMORY:
            self.popitem(last=False)
        return value


class Correlator:
    """The memory of one recorder."""

    def __init__(self, clock: clocks.Clock) -> None:
        self._clock = clock
        self._similar: _Memory[_Similar] = _Memory()
        self._posted: _Memory[tuple[str, int, str]] = _Memory()  # name, count, first time
        self._buckets: _Memory[TokenBucket] = _Memory()

    def correlate(self, event: Object) -> Create | Repeat | Drop:
        """What to do about `event`, a core/v1 Event with count 1."""
        source = _source(event)
        bucket = self._buckets.recall(source)
        if bucket is None:
            bucket = self._buckets.keep(source, TokenBucket(SPAM_PER_SECOND, SPAM_BURST, self._clock))
        if not bucket.try_take():
            return Drop()
        event, key = self._combine(event)
        known = self._posted.recall(key)
        if known is None:
            self._posted.keep(key, (event["metadata"]["name"], 1, event["firstTimestamp"]))
            return Create(event)
        name, count, first = known
        self._posted.keep(key, (name, count + 1, first))
        patch = {"count": count + 1, "lastTimestamp": event["lastTimestamp"], "message": event["message"]}
        return Repeat(event | {"count": count + 1, "firstTimestamp": first}, name, patch)

    def posted(self, event: Object, name: str) -> None:
        """The Event that counts repeats is now called `name` (the old one had expired)."""
        _, key = _keys(event)
        known = self._posted.recall(key)
        if known is not None:
            self._posted.keep(key, (name, known[1], known[2]))

    def _combine(self, event: Object) -> tuple[Object, tuple[str, ...]]:
        """The event, or the one that stands for many similar ones; and the key it is counted under."""
        aggregate, own = _keys(event)
        now = self._clock.now()
        similar = self._similar.recall(aggregate) or self._similar.keep(aggregate, _Similar())
        if similar.last is not None and (now - similar.last).total_seconds() > SIMILAR_SECONDS:
            similar.messages.clear()
        similar.last = now
        similar.messages.add(event["message"])
        if len(similar.messages) < SIMILAR_MAX:
            return event, own
        similar.messages.pop()  # bounded: enough to know that there are many
        return event | {"message": f"(combined from similar events): {event['message']}"}, aggregate


def _source(event: Object) -> tuple[str, ...]:
    source, involved = event["source"], event["involvedObject"]
    parts = [source.get("component"), source.get("host"), *(involved.get(k) for k in _INVOLVED)]
    return tuple(str(part or "") for part in parts)


_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "fieldPath")


def _keys(event: Object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The key without the message, and with it."""
    aggregate = (*_source(event), event["type"], event["reason"])
    message = str(event["message"])
    if message.startswith("(combined from similar events)"):
        return aggregate, aggregate
    return aggregate, (*aggregate, message)
