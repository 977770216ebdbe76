"""What may differ from kind to kind in how an object is written; the defaults here are what most kinds do.

A strategy is stateless and pure: it changes the object it is handed (a copy nobody else holds) and returns causes.
The registry calls, for a create: `prepare_create`, `validate_create`; for an update: `prepare_update`, `validate`,
`validate_update`; for `/status`: `prepare_status`, `validate_status`. Defaults were filled in before.
"""

from __future__ import annotations

from typing import Any, ClassVar

from apimachinery import errors, names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.call import Call
from apiserver.registry.validation import causes

NOT_DATA = frozenset({"apiVersion", "kind", "metadata", "status"})


_KEPT = frozenset({"generation", "ownerReferences"})
_KEPT_WITH_LABELS = _KEPT | {"labels"}


class Strategy:
    has_status: ClassVar[bool] = False  # a status that only `/status` may write
    keeps_status_on_create: ClassVar[bool] = False
    counts_generations: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = False  # PUT of what does not exist creates it
    unconditional_update: ClassVar[bool] = True  # PUT without resourceVersion is allowed
    returns_deleted: ClassVar[bool] = False  # DELETE answers with the object instead of a Status
    orphans_by_default: ClassVar[bool] = False  # dependents of a delete that names no policy
    collects_garbage: ClassVar[bool] = True  # propagation policies mean something
    labels_with_status: ClassVar[bool] = False  # `/status` may change labels
    ttl_seconds: ClassVar[int | None] = None

    def name_problems(self, name: str) -> list[str]:
        """What is wrong with an object's name."""
        return names.dns_subdomain(name)

    def prepare_create(self, obj: Object, call: Call) -> None:
        if self.has_status and not self.keeps_status_on_create:
            obj["status"] = {}
        if self.counts_generations:
            obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        if self.has_status:
            keep(new, old, "status")
        if self.counts_generations:
            generation = old["metadata"].get("generation") or 0
            new["metadata"]["generation"] = generation + (1 if self.intent_differs(new, old) else 0)

    def intent_differs(self, new: Object, old: Object) -> bool:
        """Whether an update changes what is asked for, which starts a new generation."""
        return new.get("spec") != old.get("spec")

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        """What is wrong with the object, beyond its metadata."""
        return []

    def validate_create(self, obj: Object, call: Call) -> list[Cause]:
        return self.validate(obj, call)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        """What may not change so. `validate` has seen `new` before."""
        return []

    def prepare_status(self, new: Object, old: Object, call: Call) -> None:
        """Only the status of `new` counts, and what of its metadata controllers keep (annotations, finalizers)."""
        for field in [*new.keys(), *old.keys()]:
            if field not in NOT_DATA:
                keep(new, old, field)
        for field in self.kept_by_status:
            keep(new["metadata"], old["metadata"], field)

    @property
    def kept_by_status(self) -> frozenset[str]:
        """What of the metadata `/status` leaves as it was."""
        return _KEPT if self.labels_with_status else _KEPT_WITH_LABELS

    def validate_status(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return []

    def prepare_subresource(self, new: Object, old: Object, call: Call) -> None:
        """What of `new` a subresource other than `/status` may change; raises NotFound where it can change nothing."""
        row = call.resource
        raise errors.not_found(row.group, f"{row.resource}/{call.subresource}", call.name)

    def validate_subresource(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return []

    def holds(self, obj: Object) -> bool:
        """Whether something beyond `metadata.finalizers` keeps a deleted object (a namespace's `spec.finalizers`)."""
        return False

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        """How long a deleted object may take to stop; None where the kind knows no grace."""
        return None

    def mark_deleting(self, obj: Object) -> None:
        """Called when `metadata.deletionTimestamp` was set."""


class WithStatus(Strategy):
    """Kinds with a spec, a status and generations: what controllers work on."""

    has_status = True
    counts_generations = True


def keep(new: Object, old: Object, field: str) -> None:
    """Gives `new` the field as `old` has it."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def immutable_field(new: Object, old: Object, *path: str) -> list[Cause]:
    """A cause when the value at `path` differs."""
    after: Any = new
    before: Any = old
    for part in path:
        after, before = (after or {}).get(part), (before or {}).get(part)
    return [] if after == before else [causes.immutable(".".join(path), after)]
