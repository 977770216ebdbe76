"""What storage gives and takes: stored objects, events, listings, and the ways a write can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from apimachinery.objects import Object

_METADATA = b'"metadata":{'


class TlsFiles(NamedTuple):
    """Paths of what a TLS connection to etcd needs; an empty `cert` shows no client certificate."""

    ca: str | None
    cert: str | None = None
    key: str | None = None


class Stored:
    """One object as etcd holds it: its key, its JSON without resourceVersion, and its mod_revision.

    `encoded` (JSON with resourceVersion) and `object` (decoded, shared, must not be changed) are made at first use and
    kept, so an object read a thousand times is encoded and decoded once. The bytes are held once, in the form that was
    asked for last by a reader: a cache of all objects should not weigh twice what they do.
    """

    __slots__ = ("_encoded", "_object", "_raw", "key", "revision", "size")

    def __init__(self, key: str, raw: bytes, revision: int) -> None:
        self.key = key
        self.revision = revision
        self.size = len(raw)
        self._raw: bytes | None = raw
        self._encoded: bytes = b""
        self._object: Object | None = None

    @property
    def raw(self) -> bytes:
        return without_resource_version(self._encoded, self.revision) if self._raw is None else self._raw

    @property
    def encoded(self) -> bytes:
        if self._raw is not None:
            self._encoded = with_resource_version(self._raw, self.revision)
            self._raw = None
        return self._encoded

    @property
    def held(self) -> bytes:
        """The bytes at hand, with or without resourceVersion: to look something up in, at no cost."""
        return self._encoded if self._raw is None else self._raw

    @property
    def object(self) -> Object:
        if self._object is None:
            self._object = self.decode()
        return self._object

    def decode(self) -> Object:
        """A decoded copy of its own, with resourceVersion, for whoever wants to change it."""
        obj: Any = orjson.loads(self.held)
        obj["metadata"]["resourceVersion"] = str(self.revision)
        return obj  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Drops what can be made again. For versions that have been overwritten, of which only the bytes are kept."""
        self._object = None

    def __repr__(self) -> str:
        return f"Stored({self.key!r}, revision={self.revision})"


def with_resource_version(raw: bytes, revision: int) -> bytes:
    """Splices the version into stored JSON, whose first `"metadata":{` is the object's own."""
    at = raw.index(_METADATA) + len(_METADATA)
    comma = b"" if raw[at : at + 1] == b"}" else b","
    return b'%b"resourceVersion":"%d"%b%b' % (raw[:at], revision, comma, raw[at:])


def without_resource_version(encoded: bytes, revision: int) -> bytes:
    """The reverse: exactly the bytes that etcd has."""
    start = encoded.index(_METADATA) + len(_METADATA)
    end = start + len(b'"resourceVersion":"%d"' % revision)
    if encoded[end : end + 1] == b",":
        end += 1
    return encoded[:start] + encoded[end:]


def encode(obj: Object) -> bytes:
    """The bytes to store: apiVersion, kind and metadata first, no resourceVersion."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    head = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}
    return orjson.dumps(head | {key: value for key, value in obj.items() if key not in head})


class Event(NamedTuple):
    """One change, in order of revision. After a deletion `stored` is the last object, at the deletion's revision."""

    deleted: bool
    stored: Stored
    previous: Stored | None


@dataclass(frozen=True, slots=True)
class Listing:
    """A snapshot of a key range at `revision`. `next_key` continues it there; `remaining` counts the rest."""

    items: list[Stored]
    revision: int
    next_key: str | None = None
    remaining: int = 0


class StorageError(Exception):
    """The root of what storage raises; the registry turns each into its Status."""


class KeyExists(StorageError):
    """A create found the key taken."""


class KeyMissing(StorageError):
    """An update or delete found no such key."""


class RevisionMismatch(StorageError):
    """A precondition on the revision did not hold. `current` is what is there now."""

    def __init__(self, current: Stored) -> None:
        super().__init__(f"{current.key} is at revision {current.revision}")
        self.current = current


class Compacted(StorageError):
    """The revision asked for is older than what is kept; `oldest` is the first one that is."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"revision {requested} is compacted; the oldest kept is {oldest}")
        self.requested = requested
        self.oldest = oldest


class FutureRevision(StorageError):
    """The revision asked for has not been reached in time."""


class Unavailable(StorageError):
    """etcd could not be reached or did not answer in time. `written` says whether a write may still have happened."""

    def __init__(self, message: str, *, maybe_written: bool = False) -> None:
        super().__init__(message)
        self.maybe_written = maybe_written


class TooLarge(StorageError):
    """etcd refuses values of this size (its --max-request-bytes, 1.5 MiB by default)."""
