"""A short history in which everything is right, to be spoilt by tests one entry at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.history import entries as e


class Story:
    """Entries by name, in order; each operation takes one second and begins one second after the last ended."""

    def __init__(self) -> None:
        self.entries: dict[str, e.Entry] = {}
        self._time = 0.0
        self._tell()

    def list(self) -> list[e.Entry]:
        return list(self.entries.values())

    def without(self, *names: str) -> list[e.Entry]:
        return [entry for name, entry in self.entries.items() if name not in names]

    def but(self, which: str, /, **changes: Any) -> list[e.Entry]:
        """The history with one entry changed."""
        changed = replace(self.entries[which], **changes)  # type: ignore[type-var]
        return [changed if key == which else entry for key, entry in self.entries.items()]

    def and_then(self, entry: e.Entry) -> list[e.Entry]:
        return [*self.list(), entry]

    def swapped(self, one: str, other: str) -> list[e.Entry]:
        swap = {one: other, other: one}
        return [self.entries[swap.get(name, name)] for name in self.entries]

    def write(self, name: str, verb: str, obj: str, after: e.Version | None, rv: int, **more: Any) -> None:
        """An acknowledged write, and the change that it made."""
        start = self._tick()
        seen = {"marker": after.marker, "data": after.data, "phase": after.phase, "uid": after.uid} if after else {}
        fields = {**seen, **({"rv": rv} if after else {}), **more}
        self.entries[name] = e.Write("w1", verb, obj, start, start + 1, e.OK, 200, **fields)
        self.entries[f"{name} change"] = e.Change(rv, obj, after)

    def get(self, name: str, obj: str, mode: str, found: e.Version | None, **more: Any) -> None:
        start = self._tick()
        code = 200 if found else 404
        self.entries[name] = e.Get("r1", obj, mode, start, start + 1, e.OK, code, found=found, **more)

    def list_all(self, name: str, mode: str, rvs: list[int], items: list[e.Version], **more: Any) -> None:
        start = self._tick()
        self.entries[name] = e.List("r1", mode, start, start + 1, e.OK, 200, page_rvs=rvs, items=items, **more)

    def watch(
        self, number: int, watcher: str, from_rv: int | None, events: list[tuple[str, e.Version]], **more: Any
    ) -> None:
        self.entries[f"stream {number}"] = e.Stream(number, watcher, self._tick(), from_rv, **more)
        for index, (kind, version) in enumerate(events):
            self.entries[f"stream {number} event {index}"] = e.Event(number, self._tick(), kind, version)
        self.entries[f"stream {number} end"] = e.Closed(number, self._tick(), "end")

    def _tick(self) -> float:
        self._time += 2
        return self._time

    def _tell(self) -> None:
        """Two objects' lives, and who saw them."""
        self.write("create a", "create", "a", A10, 10)
        self.get("get a", "a", e.CONSISTENT, A10, connection=1)
        self.write("update a", "update", "a", A11, 11, expects_rv=10)
        self.write("create b", "create", "b", B12, 12)
        self.get("get b", "b", e.CONSISTENT, B12, connection=1)
        self.get("cached a", "a", e.CACHED, A10, connection=2)
        self.list_all("list", e.CONSISTENT, [12], [A11, B12], connection=1)
        self.write("delete a", "delete", "a", None, 13, uid="u-a", expects_rv=11, expects_uid="u-a")
        self.get("no a", "a", e.CONSISTENT, None, connection=1)
        self.list_all("cached list", e.CACHED, [11], [A11], connection=2)
        self.list_all("exact list", e.EXACT, [10], [A10], asked_rv=10, connection=1)
        self.write("create a again", "create", "a", A14, 14)
        self.write(
            "patch b", "json patch", "b", B15, 15, expects_marker="m3", data={"marker": "m5", "k": "2"}, phase=""
        )
        self.get("newer b", "b", e.NOT_OLDER, B15, asked_rv=14, connection=2)
        self.list_all("pages", e.NOT_OLDER, [15, 15], [A14, B15], asked_rv=13, connection=1)
        whole = [("MODIFIED", A11), ("ADDED", B12), ("DELETED", GONE), ("ADDED", A14)]
        self.watch(1, "v1", 10, whole)
        self.watch(2, "v1", 14, [("MODIFIED", B15), ("BOOKMARK", mark(15))])
        state = [("ADDED", A11), ("ADDED", B12), ("BOOKMARK", mark(12))]
        self.entries.update(self._early(state))
        self.watch(4, "v3", 10, [("DELETED", LEFT), ("ADDED", B12), ("ADDED", A14), ("MODIFIED", B15)], phase="on")
        self.entries["fence"] = e.Fence(15, self._tick(), ["v1", "v3"])

    def _early(self, state: list[tuple[str, e.Version]]) -> dict[str, e.Entry]:
        """A stream that began with the state, before the deletion."""
        deletion = self.entries["delete a"]
        assert isinstance(deletion, e.Write)
        time = deletion.start - 0.5
        events = [*state, ("DELETED", GONE)]
        told = {f"stream 3 event {i}": e.Event(3, deletion.end, kind, seen) for i, (kind, seen) in enumerate(events)}
        return {"stream 3": e.Stream(3, "v2", time, None), **told}


def mark(rv: int) -> e.Version:
    return e.Version("", rv, "", {})


A10 = e.Version("a", 10, "u-a", {"marker": "m1"}, "on")
A11 = e.Version("a", 11, "u-a", {"marker": "m2"}, "off")
B12 = e.Version("b", 12, "u-b", {"marker": "m3", "k": "1", "kept": "x"}, "on")
GONE = replace(A11, rv=13)
LEFT = replace(A10, rv=11)
A14 = e.Version("a", 14, "u-a2", {"marker": "m4"}, "on")
B15 = e.Version("b", 15, "u-b", {"marker": "m5", "k": "2", "kept": "x"}, "on")

Spoil = Callable[[Story], list[e.Entry]]
