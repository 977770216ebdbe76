"""Server-side apply: what a manager's configuration makes of an object, and who owns its fields afterwards (step A3).

A manager owns what its configuration says. What it said before and says no more goes, unless others own it too; a
value that another owns is a conflict unless forced. An object without owners is first given one, `before-first-apply`.
kubectl may go on with what its own client-side apply has written. Pure: objects in, objects out.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from apimachinery import errors, fieldset, objects, ownership
from apimachinery.fieldset import FieldSet
from apimachinery.objects import Object
from apiserver.registry import managedfields
from apiserver.registry.managedfields import Entry, Managed, Manager, Scope
from apiserver.registry.validation import metadata as metadatas

BEFORE_FIRST_APPLY = "before-first-apply"
KUBECTL = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Application:
    """One apply of a configuration."""

    config: Object
    scope: Scope
    force: bool = False

    @property
    def manager(self) -> Manager:
        return self.scope.manager

    @property
    def version(self) -> str:
        return str(self.config["apiVersion"])

    def fields_of(self, obj: Object) -> FieldSet:
        return ownership.fields_of(self.scope.part(obj), self.scope.node)

    def changes(self, old: Object, new: Object) -> ownership.Changes:
        return self.scope.changes(old, new)


def applied(live: Object, application: Application) -> Object:
    """`live` with the configuration applied, and its owners. Raises Conflict when others own what it would change."""
    managed = managedfields.read(live["metadata"].get("managedFields"), trusted=True) or _first_owner(live, application)
    asked, manager = application.fields_of(application.config), application.manager
    before = managed.get(manager, Entry({}, "", ""))
    others = {key: entry for key, entry in managed.items() if key != manager}
    result = _merged(live, application, before, asked, others)
    change = application.changes(live, result)
    conflicts = _conflicts(others, change.changed)
    if conflicts and not application.force:
        _settle(conflicts, live, application)
    lost = fieldset.union(change.changed, change.removed)
    for key, entry in others.items():
        others[key] = entry._replace(fields=fieldset.difference(entry.fields, lost))
    since = before.time if before.fields == asked and not lost else application.scope.now
    entry = Entry(asked, application.version, since)
    return managedfields.with_owners(_synced(result, application), others | {manager: entry})


def created(application: Application) -> Object:
    """The object that an apply creates."""
    owner = Entry(application.fields_of(application.config), application.version, application.scope.now)
    return managedfields.with_owners(_synced(application.config, application), {application.manager: owner})


def _merged(live: Object, application: Application, before: Entry, asked: FieldSet, others: Managed) -> Object:
    """`live` with what the configuration says, and without what the manager alone said before."""
    result: Object = ownership.merged(live, application.config, application.scope.node)
    dropped = fieldset.difference(before.fields, asked)
    if not dropped:
        return result
    kept = fieldset.union(asked, _IDENTITY)
    for entry in others.values():
        kept = fieldset.union(kept, entry.fields)
    pruned: Object = ownership.without(result, before.fields, kept, application.scope.node)
    return pruned | {"metadata": pruned.get("metadata") or {}}


# Every configuration names its object, and nobody owns the name: who gives up all other metadata must not drop it
_IDENTITY: FieldSet = {"f:metadata": {"f:name": fieldset.MEMBER}}


def conflict(conflicts: dict[Manager, FieldSet]) -> errors.Conflict:
    """Upstream's words: kubectl shows them, and people search for them."""
    lost = {_whose(key): list(fieldset.paths(conflicts[key])) for key in sorted(conflicts)}
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


def _whose(manager: Manager) -> str:
    text = f'"{manager.name}"'
    if manager.subresource:
        text += f' with subresource "{manager.subresource}"'
    return f"{text} using {manager.api_version}" if manager.operation == managedfields.UPDATE else text


def _conflicts(others: Managed, changed: FieldSet) -> dict[Manager, FieldSet]:
    found = {key: fieldset.intersection(entry.fields, changed) for key, entry in others.items()}
    return {key: fields for key, fields in found.items() if fields}


def _settle(conflicts: dict[Manager, FieldSet], live: Object, application: Application) -> None:
    """Lets kubectl have what its client-side apply has written. Raises Conflict for the rest."""
    allowed = _last_applied(live, application) if application.manager.name == KUBECTL else {}
    left = {key: fieldset.difference(fields, allowed) for key, fields in conflicts.items()}
    left = {key: fields for key, fields in left.items() if fields}
    if left:
        raise conflict(left)


def _last_applied(live: Object, application: Application) -> FieldSet:
    """What the annotation of kubectl's client-side apply says, as far as it is still so."""
    try:
        last = orjson.loads(objects.annotations_of(live).get(LAST_APPLIED) or "null")
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != application.version:
        return {}
    if not isinstance(last.get("metadata"), dict):
        return {}
    change = application.changes(last, live)
    said = fieldset.difference(application.fields_of(last), change.changed)
    return fieldset.difference(said, change.removed)


def _synced(result: Object, application: Application) -> Object:
    """With kubectl's annotation, where there is one, saying what kubectl has applied from the server's side."""
    annotations = objects.annotations_of(result)
    if application.manager.name != KUBECTL or not annotations.get(LAST_APPLIED):
        return result
    config = application.config
    said = {key: text for key, text in objects.annotations_of(config).items() if key != LAST_APPLIED}
    meta = {key: value for key, value in config["metadata"].items() if key != "annotations"}
    config = config | {"metadata": meta | ({"annotations": said} if said else {})}
    text = orjson.dumps(config, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE).decode()
    noted = annotations | {LAST_APPLIED: text}
    if metadatas.annotation_map(noted, ""):  # too long: rather none than one that is no longer so
        del noted[LAST_APPLIED]
    return result | {"metadata": result["metadata"] | {"annotations": noted}}


def _first_owner(live: Object, application: Application) -> Managed:
    version = str(live["apiVersion"])
    first = Manager(BEFORE_FIRST_APPLY, managedfields.UPDATE, application.manager.subresource, version)
    return {first: Entry(application.changes({}, live).changed, version, application.scope.now)}
