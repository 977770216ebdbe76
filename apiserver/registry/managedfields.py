"""`metadata.managedFields` (step A3): who owns which fields of an object, kept at every write.

Each write by other means than apply makes what it changes its manager's own, alone. A manager is a name (the request's
`fieldManager`, or its user agent's first word), an operation, and a subresource; one that updates, also a version.
Guarantees: a write that changes no field changes no entry; entries have upstream's order, and at most
`UPDATERS_MAX` of them are updaters'. Entries that cannot be read are as good as none, and stop no write.
What admission adds afterwards nobody owns, as upstream has it. Pure: objects in, objects out.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from apimachinery import fieldset, ownership
from apimachinery.fieldset import FieldSet
from apimachinery.objects import Object
from apimachinery.schema import Node

UNKNOWN = "unknown"  # owns what a client changed that has not said its name
ANCIENT = "ancient-changes"  # owns what the oldest updaters owned, once there were too many of them
UPDATERS_MAX = 10  # as upstream: each is repeated in every object
NAME_BYTES_MAX = 128
_KEPT_BYTES_MAX = 32 * 1024  # of a spec whose fields are kept for the next equal one
RESET: list[Object] = [{}]
"""How a client drops all ownership. An empty list does not: clients that know nothing of the field send that."""

APPLY, UPDATE = "Apply", "Update"
_HEAD = frozenset({"apiVersion", "kind", "metadata"})
_OF_NOBODY = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)


class Manager(NamedTuple):
    """Who writes, and how: one entry. Appliers keep theirs over versions, so `api_version` is then ""."""

    name: str
    operation: str  # APPLY or UPDATE
    subresource: str = ""
    api_version: str = ""


class Entry(NamedTuple):
    """The fields that one manager owns, since when, written in which version."""

    fields: FieldSet
    api_version: str
    time: str


Managed = dict[Manager, Entry]


@dataclass(frozen=True, slots=True)
class Scope:
    """One write: of which type, by whom, when. `has_status` says that only `/status` writes the status.

    `kept` are fields of the metadata that this write leaves as they were, whatever it says.
    """

    node: Node
    manager: Manager
    now: str
    has_status: bool = False
    kept: frozenset[str] = frozenset()

    def part(self, obj: Object) -> Object:
        """What of an object can have owners, as far as a write through this subresource can change it."""
        part = {key: value for key, value in obj.items() if self._counts(key)}
        if owned := {key: value for key, value in (obj.get("metadata") or {}).items() if self._is_owned(key)}:
            part["metadata"] = owned
        return part

    def changes(self, old: Object, new: Object) -> ownership.Changes:
        """What differs between the `part`s of two objects. Most of what a write brings was there, and is left out."""
        if not old:
            return self._additions(new)
        before, after = _unequal(old, new, self._counts)
        meta_before, meta_after = _unequal(old.get("metadata") or {}, new["metadata"], self._is_owned)
        if meta_before or meta_after:
            before["metadata"], after["metadata"] = meta_before, meta_after
        return ownership.changes(before, after, self.node)

    def _additions(self, new: Object) -> ownership.Changes:
        part = self.part(new)
        spec = part.pop("spec", None)
        rest = ownership.changes({}, part, self.node)
        if spec is None:
            return rest
        return ownership.Changes(fieldset.union(rest.changed, _of_new_spec(self.node, orjson.dumps(spec))), {})

    def _counts(self, field: str) -> bool:
        if self.manager.subresource == "status":
            return field == "status"
        return field not in _HEAD and not (self.has_status and field == "status")

    def _is_owned(self, name: str) -> bool:
        return name not in _OF_NOBODY and name not in self.kept


def _of_new_spec(node: Node, encoded: bytes) -> FieldSet:
    return _kept_of_new_spec(node, encoded) if len(encoded) <= _KEPT_BYTES_MAX else _walked(node, encoded)


def _walked(node: Node, encoded: bytes) -> FieldSet:
    return ownership.changes({}, {"spec": orjson.loads(encoded)}, node).changed


_kept_of_new_spec = lru_cache(maxsize=64)(_walked)
"""Replicas have equal specs: their fields are found once. A few, since who makes others comes in between."""


def _unequal(old: Object, new: Object, counts: Callable[[str], bool]) -> tuple[Object, Object]:
    """The fields of two objects that differ, of those that count."""
    names = [name for name, value in new.items() if name not in old or old[name] != value]
    after = {name: new[name] for name in names if counts(name)}
    before = {name: old[name] for name in after if name in old}
    before |= {name: value for name, value in old.items() if name not in new and counts(name)}
    return before, after


@lru_cache(maxsize=1024)
def manager_of(field_manager: str, user_agent: str, operation: str, subresource: str, version: str) -> Manager:
    """Who a request's manager is. The same few ask again and again."""
    name = manager_name(field_manager, user_agent)
    return Manager(name, operation, subresource, version if operation == UPDATE else "")


def manager_name(given: str, user_agent: str) -> str:
    """The name of a request's manager: what it says, else what comes before the `/` of its user agent."""
    if given:
        return given
    name = user_agent.partition("/")[0]
    if not name.isprintable():
        name = "".join(char for char in name if char.isprintable())
    return name.encode()[:NAME_BYTES_MAX].decode(errors="ignore") or UNKNOWN


def updated(old: Object | None, new: Object, scope: Scope) -> Object:
    """`new`, which becomes of `old` (None: it is created) by other means than apply, with its owners."""
    given = new["metadata"].get("managedFields")
    live = old["metadata"].get("managedFields") if old is not None else None
    if given == RESET:
        managed: Managed | None = {}
    elif not given or given == live or scope.manager.subresource:
        managed = None  # what is there, which need not be read unless something changes
    else:
        managed = read(given)
    if old is not None and not (live if managed is None else managed):
        return _with_entries(new, [])
    change = scope.changes(old or {}, new)
    if not change.changed and not change.removed:
        return _with_entries(new, (live or []) if managed is None else written(managed))
    if managed is None:
        managed = read(live, trusted=True) or {}
    return with_owners(new, capped(_taken(managed, change, scope, str(new["apiVersion"]))))


def _taken(managed: Managed, change: ownership.Changes, scope: Scope, version: str) -> Managed:
    """The owners after a change: what the manager changed is its own alone, what is gone is nobody's."""
    lost = fieldset.union(change.changed, change.removed)
    result = {}
    for key, entry in managed.items():
        fields = fieldset.difference(entry.fields, lost)
        result[key] = entry if fields == entry.fields else entry._replace(fields=fields)
    if change.changed:
        mine = result[scope.manager].fields if scope.manager in result else {}
        result[scope.manager] = Entry(fieldset.union(mine, change.changed), version, scope.now)
    return result


def capped(managed: Managed) -> Managed:
    """With the oldest updaters merged into one a version, where there are too many."""
    updaters = [key for key in managed if key.operation == UPDATE and managed[key].fields]
    excess = len(updaters) - UPDATERS_MAX
    if excess <= 0:
        return managed
    updaters.sort(key=lambda key: (managed[key].time, key))
    result = dict(managed)
    first: dict[str, Manager] = {}
    for key in updaters:
        if excess <= 0:
            break
        entry = result[key]
        if first.setdefault(entry.api_version, key) == key:
            continue
        bucket = Manager(ANCIENT, UPDATE, api_version=entry.api_version)
        before = result[bucket] if bucket in result else result.pop(first[entry.api_version])
        result.pop(key)
        result[bucket] = entry._replace(fields=fieldset.union(before.fields, entry.fields))
        excess -= 1
    return result


def read(entries: Any, *, trusted: bool = False) -> Managed | None:
    """The owners, or None where one of the entries cannot be read. `trusted` entries were read before."""
    managed: Managed = {}
    for item in entries or ():
        operation, version = item.get("operation"), item.get("apiVersion")
        if operation not in (APPLY, UPDATE) or not version or item.get("fieldsType") != "FieldsV1":
            return None
        try:
            fields = item.get("fieldsV1") or {} if trusted else fieldset.check(item.get("fieldsV1") or {})
        except fieldset.FieldSetError:
            return None
        key = Manager(
            item.get("manager") or "",
            operation,
            item.get("subresource") or "",
            version if operation == UPDATE else "",
        )
        managed[key] = Entry(fields, version, item.get("time") or "")
    return managed


def with_owners(obj: Object, managed: Managed) -> Object:
    return _with_entries(obj, written(managed))


def written(managed: Managed) -> list[Object]:
    """The entries as they are stored: in upstream's order, those that own nothing left out."""
    kept = [(key, entry) for key, entry in managed.items() if entry.fields]
    kept.sort(key=lambda pair: (pair[0].operation, pair[1].time, pair[0].name, pair[1].api_version, pair[0][2]))
    return [_entry(key, entry) for key, entry in kept]


def _with_entries(obj: Object, entries: list[Object]) -> Object:
    metadata = obj["metadata"]
    if not entries:
        if "managedFields" not in metadata:
            return obj
        return obj | {"metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
    return obj | {"metadata": metadata | {"managedFields": entries}}


def _entry(manager: Manager, entry: Entry) -> Object:
    item: Object = {"manager": manager.name, "operation": manager.operation, "apiVersion": entry.api_version}
    if entry.time:
        item["time"] = entry.time
    item |= {"fieldsType": "FieldsV1", "fieldsV1": entry.fields}
    if manager.subresource:
        item["subresource"] = manager.subresource
    return item


def same_but_times(one: Any, other: Any) -> bool:
    """Whether two lists of entries differ in nothing but their times."""
    if not one or not other or len(one) != len(other):
        return not one and not other
    timeless = [[{key: entry[key] for key in entry if key != "time"} for entry in entries] for entries in (one, other)]
    return timeless[0] == timeless[1]
