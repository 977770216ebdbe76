"""CustomResourceDefinitions: names and schemas checked, stored versions noted, and objects removed before they go."""

from __future__ import annotations

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.apiextensions import conditions, definitions
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import WithStatus

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class Definitions(WithStatus):
    unconditional_update = False

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        obj["status"] = {
            "conditions": [],
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _with_stored(obj, []),
        }

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_update(new, old, call)
        status = new.setdefault("status", {})
        new["status"] = status | {"storedVersions": _with_stored(new, status.get("storedVersions") or [])}

    def validate_create(self, obj: Object, call: Call) -> list[Cause]:
        return definitions.problems(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return definitions.update_problems(new, old)

    def validate_status(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return definitions.status_problems(new)

    def holds(self, obj: Object) -> bool:
        """A definition never goes at once: its objects go first, which its finalizer waits for."""
        return not obj["metadata"].get("deletionTimestamp")

    def mark_deleting(self, obj: Object) -> None:
        metadata = obj["metadata"]
        finalizers = metadata.setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        now = metadata["deletionTimestamp"]
        conditions.put(obj, now, conditions.TERMINATING, "True", "InstanceDeletionPending", message)


def _with_stored(definition: Object, versions: list[str]) -> list[str]:
    """The versions that objects may be kept in, with the one that new ones are."""
    listed = (definition.get("spec") or {}).get("versions") or ()
    current = [version.get("name", "") for version in listed if version.get("storage")]
    return versions + [name for name in current if name not in versions]
