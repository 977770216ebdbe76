"""Custom resources on their way to readers: lists before they are selected from, events before a watch sees them.

Built-in kinds pass as they are. Where a webhook is asked, events wait for it in order, and a watch that falls behind
by more than it may is ended, as any slow watch is.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from apimachinery import errors
from apiserver.registry.watching import Watch
from apiserver.scheme.resources import Resource
from apiserver.storage import types
from apiserver.storage.types import Event, Stored

# Events that wait for a webhook; a burst fits, a webhook that hangs does not fill the memory
_WAITING_MAX = 10_000


class Pump(Protocol):
    """Between storage and a watch."""

    @property
    def is_behind(self) -> bool:
        """Whether events wait: then the watch must not be told that it has seen them."""
        ...

    def offer(self, event: Event) -> None: ...

    def close(self) -> None: ...


def pump(resource: Resource, watch: Watch) -> Pump:
    if resource.custom is None:
        return Straight(watch)
    conversion = resource.custom.conversion
    conversion.watches.add(watch)
    return Waiting(conversion, watch) if conversion.asks_webhook else Converted(conversion, watch)


async def read(resource: Resource, items: list[Stored]) -> list[Stored]:
    """Stored objects as they are to be selected from. Raises InternalError when a webhook fails."""
    if resource.custom is None:
        return items
    shown: list[Stored] = await resource.custom.conversion.out(items)
    return shown


class Conversion(Protocol):
    """What is needed here of `apiextensions.conversion.Conversion`."""

    watches: set[Watch]

    async def event(self, event: Event) -> Event: ...

    def event_now(self, event: Event) -> Event: ...


class Straight:
    is_behind = False

    def __init__(self, watch: Watch) -> None:
        self.offer = watch.on_event

    def close(self) -> None:
        return None


class Converted:
    """Conversion without waiting."""

    is_behind = False

    def __init__(self, conversion: Conversion, watch: Watch) -> None:
        self._conversion = conversion
        self._watch = watch

    def offer(self, event: Event) -> None:
        self._watch.on_event(self._conversion.event_now(event))

    def close(self) -> None:
        self._conversion.watches.discard(self._watch)


class Waiting:
    """Conversion by a webhook: one event after the other."""

    def __init__(self, conversion: Conversion, watch: Watch) -> None:
        self._conversion = conversion
        self._watch = watch
        self._queue: asyncio.Queue[Event] = asyncio.Queue(_WAITING_MAX)
        self._busy = False
        self._task = asyncio.create_task(self._run(), name="conversion of a watch")

    @property
    def is_behind(self) -> bool:
        return self._busy or not self._queue.empty()

    def offer(self, event: Event) -> None:
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self._watch.on_storage_closed(types.Unavailable("the conversion webhook cannot keep up"))

    def close(self) -> None:
        self._conversion.watches.discard(self._watch)
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            self._busy = False
            event = await self._queue.get()
            self._busy = True
            try:
                shown = await self._conversion.event(event)
            except errors.APIError as error:
                self._watch.fail(error)
                return
            self._watch.on_event(shown)
