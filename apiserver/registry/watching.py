"""Watches: a collection's events seen through selectors, with initial state, bookmarks and an end (steps A9, A10).

An object that begins to match a selector is ADDED for this watcher, one that ceases to is DELETED, whatever happened
to it in storage. Delivery is synchronous and must not block: the HTTP side puts bytes into buffers of its own.
Guarantees: events in order of revision, each once, all after the revision the watch starts from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import orjson

from apimachinery import errors
from apiserver.registry import faults
from apiserver.registry.conversion import Converter
from apiserver.registry.selection import Matcher
from apiserver.scheme.resources import Resource
from apiserver.storage import types
from apiserver.storage.types import Stored

ADDED, MODIFIED, DELETED, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"
BOOKMARK_SECONDS = 60.0  # as often as upstream sends them
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchEvent(NamedTuple):
    """What a watcher sees: one type, and an object in the version it asked for."""

    type: str
    stored: Stored


Deliver = Callable[[WatchEvent], None]
OnClose = Callable[[errors.APIError | None], None]


class Subscription(Protocol):
    def close(self) -> None: ...


class Watch:
    """One open watch. `close` ends it without a call of `on_close`; storage ending it calls that once."""

    def __init__(
        self,
        resource: Resource,
        matches: Matcher | None,
        converter: Converter | None,
        deliver: Deliver,
        on_close: OnClose,
    ) -> None:
        self._resource = resource
        self._matches = matches
        self._converter = converter
        self._deliver = deliver
        self._on_close = on_close
        self._subscription: Subscription | None = None
        self.on_release: Callable[[], None] | None = None  # called once, at the end
        self.closed = False

    def attach(self, subscription: Subscription) -> None:
        self._subscription = subscription

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if self._subscription is not None:
            self._subscription.close()
        if self.on_release is not None:
            self.on_release()

    def initial(self, items: list[Stored]) -> None:
        """The state before the events, as ADDED."""
        for item in items:
            self._send(ADDED, item)

    def bookmark(self, revision: int, *, initial_events_end: bool = False) -> None:
        """Tells the watcher that it has seen everything up to `revision`."""
        metadata = {"annotations": {INITIAL_EVENTS_END: "true"}} if initial_events_end else {}
        head = {"apiVersion": self._resource.gvr.api_version, "kind": self._resource.kind, "metadata": metadata}
        if not self.closed:
            self._deliver(WatchEvent(BOOKMARK, Stored("", orjson.dumps(head), revision)))

    def on_event(self, event: types.Event) -> None:
        """What storage calls for each change in the collection's range."""
        if self.closed:
            return
        matches = self._matches
        if matches is None:
            kind = DELETED if event.deleted else MODIFIED if event.previous is not None else ADDED
            self._send(kind, event.stored)
            return
        did = event.previous is not None and matches(event.previous)
        does = not event.deleted and matches(event.stored)
        if does:
            self._send(MODIFIED if did else ADDED, event.stored)
        elif event.deleted and (did or (event.previous is None and matches(event.stored))):
            self._send(DELETED, event.stored)
        elif did and event.previous is not None:
            # it left the selection: the last object that belonged to it, at the revision of leaving
            self._send(DELETED, Stored(event.stored.key, event.previous.raw, event.stored.revision))

    def on_storage_closed(self, error: types.StorageError | None) -> None:
        if self.closed:
            return
        self.close()
        self._on_close(faults.translate(error, self._resource) if error is not None else None)

    def fail(self, error: errors.APIError) -> None:
        """Ends the watch because an event cannot be shown."""
        if not self.closed:
            self.close()
            self._on_close(error)

    def _send(self, kind: str, stored: Stored) -> None:
        if self._converter is not None:
            stored = self._converter.out(stored)
        self._deliver(WatchEvent(kind, stored))
