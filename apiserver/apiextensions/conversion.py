"""Custom resources in the version that is asked for, whichever they are kept in.

`Conversion` belongs to one version; what it makes of a stored object is remembered for as long as that object is the
newest, or the one before. Objects that need no webhook are converted without waiting (`out_now`), so that a watch sees
them at once.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple, Protocol

from apimachinery.objects import Object
from apiserver.apiextensions.version import Version
from apiserver.storage import types
from apiserver.storage.types import Event, Stored

# What is remembered of objects that were read: a reference each, and the object again where the versions differ
_KNOWN_MAX = 50_000


# Objects that are made ready before others get their turn: a tenth of a millisecond each, the first time
_AT_ONCE = 100


class _Pair(NamedTuple):
    stored: Stored
    shown: Stored


class Converter(Protocol):
    """Asks a definition's webhook."""

    async def convert(self, definition: Object, objects: list[Object], api_version: str) -> list[Object]:
        """The objects in that version, in the same order. Raises InternalError."""
        ...


class Watch(Protocol):
    def on_storage_closed(self, error: types.StorageError | None) -> None: ...


class Conversion:
    def __init__(self, version: Version, converter: Converter) -> None:
        spec = version.definition["spec"]
        self._version = version
        self._converter = converter
        self._api_version = f"{spec['group']}/{version.name}"
        stored = next(item["name"] for item in spec["versions"] if item.get("storage"))
        self._stored_version = f"{spec['group']}/{stored}"
        self._known: dict[str, tuple[_Pair, ...]] = {}
        self._last: tuple[Event, Event] | None = None  # of which all watchers are told one after the other
        self.asks_webhook = (spec.get("conversion") or {}).get("strategy") == "Webhook"
        self.watches: set[Watch] = set()

    async def out(self, items: list[Stored]) -> list[Stored]:
        """Stored objects as this version shows them. Raises InternalError when the webhook fails."""
        foreign = [item for item in items if self._needs_webhook(item)] if self.asks_webhook else []
        if foreign:
            objects = [item.decode() for item in foreign]
            converted = await self._converter.convert(self._version.definition, objects, self._api_version)
            for item, obj in zip(foreign, converted, strict=True):
                self._remember(item, self._tidied(item, obj))
        shown = []
        for index, item in enumerate(items, 1):
            shown.append(self.out_now(item))
            if not index % _AT_ONCE:
                await asyncio.sleep(0)
        return shown

    def out_now(self, stored: Stored) -> Stored:
        """One object, converted by its apiVersion alone unless a webhook has converted it before."""
        known = self._recall(stored)
        if known is not None:
            return known
        obj = stored.decode()
        obj["apiVersion"] = self._api_version
        return self._remember(stored, self._tidied(stored, obj))

    async def event(self, event: Event) -> Event:
        """A change, as this version shows it."""
        if event.previous is None:
            return Event(event.deleted, (await self.out([event.stored]))[0], None)
        stored = (await self.out([event.stored]))[0]
        return Event(event.deleted, stored, (await self.out([event.previous]))[0])

    def event_now(self, event: Event) -> Event:
        if self._last is None or self._last[0] is not event:
            previous = self.out_now(event.previous) if event.previous is not None else None
            self._last = (event, Event(event.deleted, self.out_now(event.stored), previous))
        return self._last[1]

    async def to_storage(self, obj: Object) -> Object:
        """A new object as it is kept. Raises InternalError when the webhook fails."""
        if self._api_version == self._stored_version:
            return obj
        if not self.asks_webhook:
            return obj | {"apiVersion": self._stored_version}
        return (await self._converter.convert(self._version.definition, [obj], self._stored_version))[0]

    def retire(self) -> None:
        """Ends the watches: the version is no longer served like this, and clients come back for what there is."""
        for watch in list(self.watches):
            watch.on_storage_closed(None)

    def _needs_webhook(self, stored: Stored) -> bool:
        if self._recall(stored) is not None:
            return False
        # the bytes begin with the apiVersion (`types.encode`)
        return not stored.held.startswith(b'{"apiVersion":"%b"' % self._api_version.encode())

    def _tidied(self, stored: Stored, obj: Object) -> Stored:
        self._version.tidy(obj)
        raw = types.encode(obj)
        return stored if raw == stored.raw else Stored(stored.key, raw, stored.revision)

    def _recall(self, stored: Stored) -> Stored | None:
        return next((pair.shown for pair in self._known.get(stored.key, ()) if pair.stored is stored), None)

    def _remember(self, stored: Stored, shown: Stored) -> Stored:
        """Of each object the newest and the one before, which events speak of."""
        if len(self._known) >= _KNOWN_MAX:
            self._known.pop(next(iter(self._known)))
        self._known[stored.key] = (_Pair(stored, shown), *self._known.get(stored.key, ())[:1])
        return shown
