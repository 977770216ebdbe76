"""Clients that write: every kind of write, with and without preconditions, and some that are stale on purpose."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.history import entries as e
from tests.history import objects
from tests.history.sessions import Session

NAMES = tuple(f"object-{number:02d}" for number in range(24))
# Versions that were seen some time ago: what stale writes are made of
REMEMBERED = 64
# How often a write is read back at once, most likely from another worker: it must know of it
FOLLOWED_UP = 0.4

_MERGE, _JSON, _APPLY = "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"

# How often each write is made
WEIGHTS = {
    "create": 22,
    "update": 14,
    "update fresh": 14,
    "update stale": 10,
    "patch": 12,
    "patch stale": 5,
    "json patch": 6,
    "apply": 7,
    "delete": 6,
    "delete stale": 4,
}


@dataclass(frozen=True, slots=True)
class Planned:
    """A write before it is sent."""

    verb: str
    name: str
    method: str
    path: str
    body: Any
    content_type: str = "application/json"
    marker: str = ""
    data: dict[str, str] = field(default_factory=dict)
    phase: str = ""
    expects_rv: int | None = None
    expects_marker: str | None = None
    expects_uid: str | None = None


class Writer:
    """One client. `memory` is shared by all writers, so that they write upon each other's versions."""

    def __init__(
        self,
        session: Session,
        follow_up: Callable[[str], Awaitable[None]],
        seed: random.Random,
        memory: deque[e.Version],
        recorder: e.Recorder,
    ) -> None:
        """`follow_up` reads an object by name, on another connection."""
        self._session = session
        self._follow_up = follow_up
        self._random = seed
        self._memory = memory
        self._recorder = recorder
        self._count = 0

    async def step(self) -> None:
        """One write, and the read before it where it wants to be up to date."""
        name = self._random.choice(NAMES)
        choice = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        base: e.Version | None = None
        if choice.endswith("stale") and self._memory:
            base = self._random.choice(self._memory)
        elif choice in ("update fresh", "json patch"):
            base = await self._read(name)
        write = await self.write(plan(choice.split()[0], base.name if base else name, base, *self._next(choice)))
        if write.outcome == e.OK and self._random.random() < FOLLOWED_UP:
            await self._follow_up(write.name)

    async def write(self, planned: Planned) -> e.Write:
        result = await self._session.ask(planned.method, planned.path, planned.body, planned.content_type)
        ok = result.outcome == e.OK
        done = planned.verb == "delete"
        seen = objects.version(result.body) if ok and not done else None
        uid = result.body.get("details", {}).get("uid", "") if done else seen.uid if seen else ""
        write = e.Write(
            *(self._session.name, planned.verb, planned.name, result.start, result.end, result.outcome, result.code),
            *(result.reason, planned.marker, planned.data, planned.phase),
            *(planned.expects_rv, planned.expects_marker, planned.expects_uid),
            *(seen.rv if seen else None, uid, result.connection),
        )
        self._recorder.add(write)
        if seen is not None:
            self._memory.append(seen)
        return write

    async def _read(self, name: str) -> e.Version | None:
        result = await self._session.ask("GET", f"{objects.PATH}/{name}")
        return objects.version(result.body) if result.outcome == e.OK else None

    def _next(self, choice: str) -> tuple[dict[str, str], str]:
        """Data and phase. Whoever patches or applies, does so with a key of its own beside the marker."""
        self._count += 1
        marker = f"{self._session.name}-{self._count}"
        phase = self._random.choice((objects.ON, objects.OFF))
        if choice.startswith("patch"):
            phase = self._random.choice((objects.ON, objects.OFF, ""))
        return {e.MARKER: marker, self._session.name: str(self._count)}, phase


def plan(verb: str, name: str, base: e.Version | None, data: dict[str, str], phase: str) -> Planned:
    """The request. With a `base` it has a precondition: nothing newer than that may be changed."""
    path, marker = f"{objects.PATH}/{name}", data[e.MARKER]
    rv = base.rv if base else None
    body = objects.body(name, data, phase)
    versioned = {**body, "metadata": {**body["metadata"], **({"resourceVersion": str(rv)} if rv else {})}}
    match verb:
        case "create":
            return Planned(verb, name, "POST", objects.PATH, body, "application/json", marker, data, phase)
        case "update":
            return Planned(verb, name, "PUT", path, versioned, "application/json", marker, data, phase, rv)
        case "apply":
            path += f"?fieldManager={marker.split('-')[0]}&force=true"
            return Planned(verb, name, "PATCH", path, body, _APPLY, marker, data, phase)
        case "json" if base is not None:
            tests = [{"op": "test", "path": f"/data/{e.MARKER}", "value": base.marker}]
            adds = [{"op": "add", "path": f"/data/{key}", "value": value} for key, value in data.items()]
            what, phase = [*tests, *adds], ""
            return Planned("json patch", name, "PATCH", path, what, _JSON, marker, data, phase, None, base.marker)
        case "delete":
            conditions = {"preconditions": {"uid": base.uid, "resourceVersion": str(rv)}} if base else {}
            uid = base.uid if base else None
            return Planned(verb, name, "DELETE", path, conditions or None, expects_rv=rv, expects_uid=uid)
    return Planned("patch", name, "PATCH", path, versioned, _MERGE, marker, data, phase, rv)
