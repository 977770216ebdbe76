"""The objects of the cache by key, in key order.

A folder holds the keys that share everything up to their last slash: one resource of one namespace, or one
cluster-scoped resource. Reading a prefix touches only its folders; a write moves within one folder's key list.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from apiserver.storage import types


def folder_of(key: str) -> str:
    """`/registry/pods/default/a` → `/registry/pods/default/`."""
    return key[: key.rfind("/") + 1]


def after_prefix(prefix: str) -> str:
    """The end of the range of all keys that start with `prefix`."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


class _Folder:
    __slots__ = ("keys", "objects")

    def __init__(self) -> None:
        self.keys: list[str] = []  # sorted
        self.objects: dict[str, types.Stored] = {}


class Folders:
    """A sorted mapping of key to object."""

    def __init__(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._names: list[str] = []  # sorted
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, key: str) -> types.Stored | None:
        folder = self._folders.get(folder_of(key))
        return folder.objects.get(key) if folder else None

    def put(self, stored: types.Stored) -> types.Stored | None:
        """Returns what was there before."""
        key = stored.key
        name = folder_of(key)
        folder = self._folders.get(name)
        if folder is None:
            folder = self._folders[name] = _Folder()
            insort(self._names, name)
        previous = folder.objects.get(key)
        folder.objects[key] = stored
        if previous is None:
            insort(folder.keys, key)
            self._count += 1
        return previous

    def pop(self, key: str) -> types.Stored | None:
        """Returns what was there."""
        name = folder_of(key)
        folder = self._folders.get(name)
        previous = folder.objects.pop(key, None) if folder else None
        if folder is None or previous is None:
            return None
        del folder.keys[bisect_left(folder.keys, key)]
        self._count -= 1
        if not folder.keys:
            del self._folders[name]
            del self._names[bisect_left(self._names, name)]
        return previous

    def under(self, prefix: str) -> list[types.Stored]:
        """Everything whose key starts with `prefix`, in key order."""
        result: list[types.Stored] = []
        nested = False
        last = ""
        for name in self._names_under(prefix):
            folder = self._folders[name]
            first, stop = 0, len(folder.keys)
            if len(name) < len(prefix):  # the prefix ends within this folder's names
                first = bisect_left(folder.keys, prefix)
                stop = bisect_left(folder.keys, after_prefix(prefix))
            objects = folder.objects
            result += [objects[key] for key in folder.keys[first:stop]]
            nested = nested or bool(last and name.startswith(last))
            last = name
        if nested:  # a folder within a folder: their keys interleave
            result.sort(key=_key)
        return result

    def count(self, prefix: str) -> int:
        """How many keys start with `prefix`, which ends with a slash."""
        return sum(len(self._folders[name].keys) for name in self._names_under(prefix) if name.startswith(prefix))

    def _names_under(self, prefix: str) -> Iterator[str]:
        """The names of the folders that may hold keys with the prefix, sorted."""
        parent = folder_of(prefix)
        if parent != prefix and parent in self._folders:
            yield parent
        first = bisect_left(self._names, prefix)
        for index in range(first, len(self._names)):
            if not self._names[index].startswith(prefix):
                return
            yield self._names[index]


def from_key(items: list[types.Stored], start_key: str) -> list[types.Stored]:
    """The part of a list in key order from `start_key` on."""
    return items[bisect_left(items, start_key, key=_key) :]


def _key(stored: types.Stored) -> str:
    return stored.key
