"""A local copy of a collection, with indexes: what controllers read instead of asking the server.

Guarantees: an object is replaced, never changed in place, so what a reader holds stays as it was; every index holds
exactly the objects of the store. Objects are shared: whoever wants to change one copies it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from apimachinery import objects
from apimachinery.objects import Key, Object

Indexer = Callable[[Object], Iterable[str]]
Objects = list[Object]  # within the class, `list` is its method
NAMESPACE = "namespace"


class Store:
    """Objects by key. The index `namespace` is always there."""

    def __init__(self, indexers: Mapping[str, Indexer] | None = None) -> None:
        self._objects: dict[Key, Object] = {}
        self._indexers: dict[str, Indexer] = {}
        self._indexes: dict[str, dict[str, dict[Key, Object]]] = {}
        self.add_index(NAMESPACE, lambda obj: (objects.namespace_of(obj),))
        for name, indexer in (indexers or {}).items():
            self.add_index(name, indexer)

    def add_index(self, name: str, indexer: Indexer) -> None:
        """A new index over what is there and what comes. An index that exists already stays."""
        if name in self._indexers:
            return
        self._indexers[name] = indexer
        self._indexes[name] = {}
        for key, obj in self._objects.items():
            self._index(name, key, obj)

    def get(self, key: Key) -> Object | None:
        return self._objects.get(key)

    def list(self, namespace: str | None = None) -> Objects:
        """Every object, or those of one namespace. The order means nothing."""
        return list(self._objects.values()) if namespace is None else self.by_index(NAMESPACE, namespace)

    def keys(self) -> set[Key]:
        return set(self._objects)

    def by_index(self, name: str, value: str) -> Objects:
        """The objects for which the indexer gave `value`. Raises KeyError for an index that nobody added."""
        return list(self._indexes[name].get(value, {}).values())

    def put(self, obj: Object) -> Object | None:
        """Add or replace; the object that was there before, or None."""
        key = objects.key_of(obj)
        old = self._objects.get(key)
        if old is not None:
            self._unindex(key, old)
        self._objects[key] = obj
        for name in self._indexers:
            self._index(name, key, obj)
        return old

    def remove(self, key: Key) -> Object | None:
        """Remove; the object that was there, or None."""
        old = self._objects.pop(key, None)
        if old is not None:
            self._unindex(key, old)
        return old

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def _index(self, name: str, key: Key, obj: Object) -> None:
        index = self._indexes[name]
        for value in self._indexers[name](obj):
            index.setdefault(value, {})[key] = obj

    def _unindex(self, key: Key, obj: Object) -> None:
        for name, indexer in self._indexers.items():
            index = self._indexes[name]
            for value in indexer(obj):
                members = index.get(value)
                if members is not None and members.pop(key, None) is not None and not members:
                    del index[value]
