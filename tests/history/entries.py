"""What a history is made of, and its form on disk: one JSON object a line.

Times are seconds of one monotonic clock: all clients live in one process. `rv` is a resourceVersion as a number, which
is etcd's revision of the change. Every write carries a marker that no other write has, so that each version of an
object tells which write made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

MARKER = "marker"
"""The key in an object's data that holds the marker of the write that made this version."""

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"
"""Outcomes. Refused: the answer says that nothing was done. Unknown: no answer, or one that leaves it open."""

CONSISTENT, CACHED, NOT_OLDER, EXACT = "consistent", "cached", "not older", "exact"
"""What a read asked for: no resourceVersion, "0", a number, a number that must be met exactly."""


@dataclass(frozen=True, slots=True)
class Version:
    """One object as somebody saw it."""

    name: str
    rv: int
    uid: str
    data: dict[str, str]
    phase: str = ""
    """The label that selecting watches select by."""

    @property
    def marker(self) -> str:
        return self.data.get(MARKER, "")


@dataclass(frozen=True, slots=True)
class Change:
    """The journal: one change as etcd itself reports it. After a deletion `version` is empty."""

    rv: int
    name: str
    version: Version | None


@dataclass(frozen=True, slots=True)
class Write:
    """A create, update, patch, apply or delete."""

    client: str
    verb: str
    name: str
    start: float
    end: float
    outcome: str
    code: int
    reason: str = ""
    marker: str = ""
    data: dict[str, str] = field(default_factory=dict)
    phase: str = ""
    expects_rv: int | None = None
    """The resourceVersion that was sent along as a precondition."""
    expects_marker: str | None = None
    """The marker that a JSON patch tested for."""
    expects_uid: str | None = None
    rv: int | None = None
    uid: str = ""
    connection: int = 0


@dataclass(frozen=True, slots=True)
class Get:
    client: str
    name: str
    mode: str
    start: float
    end: float
    outcome: str
    code: int
    asked_rv: int | None = None
    found: Version | None = None
    connection: int = 0
    """Who is on one connection speaks to one worker."""


@dataclass(frozen=True, slots=True)
class List:
    """A whole list, or all the pages of one."""

    client: str
    mode: str
    start: float
    end: float
    outcome: str
    code: int
    asked_rv: int | None = None
    page_rvs: list[int] = field(default_factory=list)
    items: list[Version] = field(default_factory=list)
    connection: int = 0

    @property
    def rv(self) -> int:
        return self.page_rvs[0]


@dataclass(frozen=True, slots=True)
class Stream:
    """A watch that was opened: after `from_rv`, or, where that is empty, with the state at its start."""

    stream: int
    watcher: str
    start: float
    from_rv: int | None
    phase: str = ""
    """Only objects with this label were asked for."""
    connection: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """What a stream said. A BOOKMARK's version has only its revision."""

    stream: int
    time: float
    type: str
    version: Version


@dataclass(frozen=True, slots=True)
class Closed:
    """A stream's end. `seen` is where its watcher stands, `why` what ended it."""

    stream: int
    time: float
    why: str


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Fence:
    """The last write of a history: every watcher that is still there must have come to it by `time`."""

    rv: int
    time: float
    watchers: list[str]


Entry = Change | Write | Get | List | Stream | Event | Closed | Fault | Fence
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Change, Write, Get, List, Stream, Event, Closed, Fault, Fence)
}


def dump(entry: Entry) -> bytes:
    return orjson.dumps({"entry": type(entry).__name__, **asdict(entry)})


def parse(line: bytes) -> Entry:
    values = orjson.loads(line)
    kind = _KINDS[values.pop("entry")]
    for key in ("version", "found"):
        if values.get(key) is not None:
            values[key] = Version(**values[key])
    if "items" in values:
        values["items"] = [Version(**item) for item in values["items"]]
    return kind(**values)  # type: ignore[no-any-return]


def read(path: Path) -> Iterator[Entry]:
    with path.open("rb") as lines:
        for line in lines:
            yield parse(line)


class Recorder:
    """Takes entries as they happen: in memory for the checker, and on disk for who wants to look."""

    def __init__(self, path: Path) -> None:
        self.entries: list[Entry] = []
        self._file = path.open("wb")

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._file.write(dump(entry) + b"\n")

    def extend(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.add(entry)

    def close(self) -> None:
        self._file.close()
