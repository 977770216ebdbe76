"""Server-side apply: what a manager's configuration makes of an object, and who owns its fields afterwards (step A3).

`managedFields` of an object begin with its first apply: until then nobody pays for them, and whatever it held by then
is owned by `before-first-apply`, as upstream has it for objects older than apply. From then on every write keeps them.
Pure: the functions here take objects and give objects.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from apimachinery import errors, fieldset, objects, ownership
from apimachinery.fieldset import FieldSet
from apimachinery.objects import Object
from apimachinery.schema import Node

BEFORE_FIRST_APPLY = "before-first-apply"
KUBECTL = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_METADATA_OF_NOBODY = (
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
)
_OF_NOBODY: FieldSet = {
    "f:apiVersion": fieldset.MEMBER,
    "f:kind": fieldset.MEMBER,
    "f:metadata": fieldset.MEMBER | {f"f:{name}": fieldset.MEMBER for name in _METADATA_OF_NOBODY},
}


class Manager(NamedTuple):
    """Who writes, and how: one entry of `managedFields`."""

    name: str
    operation: str  # Apply or Update
    subresource: str = ""


class Entry(NamedTuple):
    """The fields that one manager owns, since when, written in which version."""

    fields: FieldSet
    api_version: str
    time: str


Managed = dict[Manager, Entry]


def applied(live: Object, config: Object, node: Node, manager: Manager, *, force: bool, now: str) -> Object:
    """`live` with the configuration applied, and its owners. Raises Conflict when others own what it would change."""
    managed = read(live["metadata"].get("managedFields")) or _first_owner(live, node, now)
    asked = _owned(config, node)
    before = managed.get(manager, Entry({}, "", ""))
    others = {key: entry for key, entry in managed.items() if key != manager}
    result = ownership.merged(live, config, node)
    dropped = fieldset.difference(before.fields, asked)
    if dropped:
        kept = asked
        for entry in others.values():
            kept = fieldset.union(kept, entry.fields)
        result = ownership.without(result, fieldset.difference(dropped, kept), kept, node)
    modified = fieldset.intersection(_unowned(ownership.changes(live, result, node).modified), asked)
    conflicts = _conflicts(others, modified)
    if conflicts and not force and not _is_migration(manager, conflicts, live, node):
        raise conflict(conflicts, others)
    for key, lost in conflicts.items():
        others[key] = others[key]._replace(fields=fieldset.difference(others[key].fields, lost))
    unchanged = before.fields == asked and result == live
    entry = Entry(asked, str(config["apiVersion"]), before.time if unchanged else now)
    return _with_owners(result, {key: others.get(key, entry) for key in [*managed, manager]})


def created(config: Object, node: Node, manager: Manager, now: str) -> Object:
    """The object that an apply creates."""
    return _with_owners(config, {manager: Entry(_owned(config, node), str(config["apiVersion"]), now)})


def updated(old: Object, new: Object, node: Node, manager: Manager, now: str) -> Object:
    """`new`, written by other means than apply, with its owners: who changes a field owns it alone."""
    given = new["metadata"].get("managedFields")
    if given == [{}] or given == []:  # how a client drops all ownership
        return _with_owners(new, {})
    managed = read(given) or read(old["metadata"].get("managedFields"))
    difference = ownership.changes(old, new, node)
    changed = _unowned(fieldset.union(difference.added, difference.modified))
    gone = _unowned(difference.removed)
    if not changed and not gone:
        return _with_owners(new, managed)
    lost = fieldset.union(changed, gone)
    result = {
        key: entry if key == manager else entry._replace(fields=fieldset.difference(entry.fields, lost))
        for key, entry in managed.items()
    }
    mine = fieldset.union(fieldset.difference(result.get(manager, Entry({}, "", "")).fields, gone), changed)
    if changed or manager in result:
        result[manager] = Entry(mine, str(new["apiVersion"]), now)
    return _with_owners(new, result)


def read(entries: Any) -> Managed:
    """`metadata.managedFields`. As upstream, entries of which one cannot be read are as good as none at all."""
    managed: Managed = {}
    for item in entries or ():
        if item.get("fieldsType") != "FieldsV1" or not isinstance(item.get("fieldsV1"), dict):
            return {}
        key = Manager(item.get("manager") or "", item.get("operation") or "", item.get("subresource") or "")
        try:
            fields = fieldset.from_json(item["fieldsV1"])
        except fieldset.FieldSetError:
            return {}
        managed[key] = Entry(fields, item.get("apiVersion") or "", item.get("time") or "")
    return managed


def conflict(conflicts: dict[Manager, FieldSet], managed: Managed) -> errors.Conflict:
    """Upstream's words: kubectl shows them, and people search for them."""
    lost = {_whose(key, managed[key]): list(fieldset.paths(fields)) for key, fields in conflicts.items()}
    causes = [
        errors.Cause("FieldManagerConflict", f"conflict with {whose}", path)
        for whose, listed in lost.items()
        for path in listed
    ]
    if len(causes) == 1:
        text = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = [
            line for whose, listed in lost.items() for line in (f"conflicts with {whose}:", *(f"- {p}" for p in listed))
        ]
        text = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return errors.Conflict(text, causes=causes)


def _whose(manager: Manager, entry: Entry) -> str:
    text = f'"{manager.name}"'
    if manager.subresource:
        text += f' with subresource "{manager.subresource}"'
    if manager.operation == "Update":
        text += f" using {entry.api_version}" + (f" at {entry.time}" if entry.time else "")
    return text


def _conflicts(others: Managed, modified: FieldSet) -> dict[Manager, FieldSet]:
    found = {key: fieldset.intersection(entry.fields, modified) for key, entry in others.items()}
    return {key: fields for key, fields in found.items() if fields}


def _is_migration(manager: Manager, conflicts: dict[Manager, FieldSet], live: Object, node: Node) -> bool:
    """kubectl may go on with what its own client-side apply has written: what the annotation says is its own."""
    text = objects.annotations_of(live).get(LAST_APPLIED)
    if manager.name != KUBECTL or not text:
        return False
    try:
        last = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    own = ownership.fields_of(last, node) if isinstance(last, dict) else {}
    return not any(fieldset.difference(fields, own) for fields in conflicts.values())


def _first_owner(live: Object, node: Node, now: str) -> Managed:
    entry = Entry(_owned(live, node), str(live["apiVersion"]), now)
    return {Manager(BEFORE_FIRST_APPLY, "Update"): entry}


def _owned(obj: Object, node: Node) -> FieldSet:
    return _unowned(ownership.fields_of(obj, node))


def _unowned(fields: FieldSet) -> FieldSet:
    """Without what belongs to the server."""
    return fieldset.difference(fields, _OF_NOBODY)


def _with_owners(obj: Object, managed: Managed) -> Object:
    entries = [_entry(key, entry) for key, entry in managed.items() if entry.fields]
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    if entries:
        metadata["managedFields"] = entries
    return obj | {"metadata": metadata}


def _entry(manager: Manager, entry: Entry) -> Object:
    written: Object = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": entry.api_version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldset.to_json(entry.fields),
    }
    return written | ({"subresource": manager.subresource} if manager.subresource else {})
