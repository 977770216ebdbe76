"""Who is told of which events: subscriptions to key prefixes, found by an event's key without asking each.

The subscribers of a folder are frozen into a tuple at its first event and kept until somebody comes or goes, so an
event of a pod costs nothing to those who watch config maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from apiserver.storage import folders, types

Deliver = Callable[[types.Event], None]
OnClose = Callable[[types.StorageError | None], None]


def unheeded(error: types.StorageError | None) -> None:
    """For followers that live as long as the process."""


class Subscription:
    """One subscriber. Events come in order of revision until `close`; `on_close` is called once, whoever closes."""

    __slots__ = ("_deliver", "_on_close", "_owner", "after_revision", "closed", "prefix")

    def __init__(
        self, owner: Subscriptions, prefix: str, after_revision: int, deliver: Deliver, on_close: OnClose
    ) -> None:
        self._owner = owner
        self._deliver = deliver
        self._on_close = on_close
        self.prefix = prefix
        self.after_revision = after_revision
        self.closed = False

    def offer(self, event: types.Event) -> None:
        """Delivers the event, unless it lies before the subscription's start or outside its prefix."""
        if not self.closed and event.stored.revision > self.after_revision and event.stored.key.startswith(self.prefix):
            self._deliver(event)

    def close(self, error: types.StorageError | None = None) -> None:
        if not self.closed:
            self.closed = True
            self._owner.remove(self)
            self._on_close(error)


class Subscriptions:
    """All subscriptions of a cache."""

    def __init__(self) -> None:
        self._by_prefix: dict[str, dict[Subscription, None]] = {}
        self._by_folder: dict[str, dict[str, None]] = {}  # prefixes that end within a folder's names
        self._frozen: dict[str, tuple[Subscription, ...]] = {}

    def __len__(self) -> int:
        return sum(len(members) for members in self._by_prefix.values())

    def __iter__(self) -> Iterator[Subscription]:
        return iter([member for members in self._by_prefix.values() for member in members])

    def add(self, subscription: Subscription) -> None:
        prefix = subscription.prefix
        self._by_prefix.setdefault(prefix, {})[subscription] = None
        if prefix and not prefix.endswith("/"):
            self._by_folder.setdefault(folders.folder_of(prefix), {})[prefix] = None
        self._thaw(prefix)

    def remove(self, subscription: Subscription) -> None:
        prefix = subscription.prefix
        members = self._by_prefix.get(prefix, {})
        members.pop(subscription, None)
        if not members:
            self._by_prefix.pop(prefix, None)
            self._by_folder.get(folders.folder_of(prefix), {}).pop(prefix, None)
        self._thaw(prefix)

    def of(self, key: str) -> tuple[Subscription, ...]:
        """Those who may want an event of `key` (`Subscription.offer` has the last word)."""
        folder = folders.folder_of(key)
        found = self._frozen.get(folder)
        if found is None:
            found = self._frozen[folder] = tuple(self._collect(folder))
        return found

    def _collect(self, folder: str) -> Iterator[Subscription]:
        for end in [0, *(index + 1 for index, char in enumerate(folder) if char == "/")]:
            prefix = folder[:end]
            yield from self._by_prefix.get(prefix, ())
            for longer in self._by_folder.get(prefix, ()):
                if longer.startswith(folder) or folder.startswith(longer):
                    yield from self._by_prefix.get(longer, ())

    def _thaw(self, prefix: str) -> None:
        """Forgets the tuples of the folders that a change at `prefix` concerns."""
        place = folders.folder_of(prefix)
        for folder in [folder for folder in self._frozen if folder.startswith(place)]:
            del self._frozen[folder]
