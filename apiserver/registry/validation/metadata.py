"""`metadata`, the same for every kind.

Names are checked by the kind's own rule. Labels and keys repeat endlessly in a cluster, so their checks are remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes

NameCheck = Callable[[str], list[str]]
ANNOTATIONS_BYTES_MAX = 256 * 1024  # upstream's bound on keys and values together

_qualified = lru_cache(maxsize=4096)(names.qualified_name)
_label_value = lru_cache(maxsize=4096)(names.label_value)


def tidy(metadata: Object) -> None:
    """Drops maps and lists that are empty, as upstream's encoding does."""
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if field in metadata and not metadata[field]:
            del metadata[field]


def validate(metadata: Object, namespaced: bool, check_name: NameCheck) -> list[Cause]:
    """What is wrong with an object's metadata."""
    found: list[Cause] = []
    generate = metadata.get("generateName")
    if generate:
        # a prefix is checked as if it were finished with a legal character
        text = generate[:-1] + "a" if generate.endswith(("-", ".")) else generate
        found += [causes.invalid("metadata.generateName", generate, why) for why in check_name(text)]
    name = metadata.get("name")
    if not name:
        found.append(causes.required("metadata.name", "name or generateName is required"))
    else:
        found += [causes.invalid("metadata.name", name, why) for why in check_name(name)]
    found += _namespace(metadata.get("namespace"), namespaced)
    if "labels" in metadata:
        found += label_map(metadata["labels"], "metadata.labels")
    if "annotations" in metadata:
        found += annotation_map(metadata["annotations"], "metadata.annotations")
    if "ownerReferences" in metadata:
        found += _owners(metadata["ownerReferences"])
    for finalizer in metadata.get("finalizers") or ():
        found += [causes.invalid("metadata.finalizers", finalizer, why) for why in _qualified(finalizer)]
    return found


def validate_update(new: Object, old: Object) -> list[Cause]:
    """What of an object's metadata may not change."""
    found = [
        causes.immutable(f"metadata.{field}", new.get(field))
        for field in ("name", "namespace", "uid", "creationTimestamp")
        if (new.get(field) or "") != (old.get(field) or "")
    ]
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(field) != old.get(field) and old.get(field) is not None:
            found.append(causes.immutable(f"metadata.{field}", new.get(field)))
    if old.get("deletionTimestamp"):
        had = set(old.get("finalizers") or ())
        added = sorted(set(new.get("finalizers") or ()) - had)
        if added:
            why = (
                f"no new finalizers can be added if the object is being deleted, found new finalizers {_go_set(added)}"
            )
            found.append(causes.forbidden("metadata.finalizers", why))
    return found


def label_map(value: dict[str, Any], field: str) -> list[Cause]:
    """A map of labels at `field`."""
    found: list[Cause] = []
    for key, text in value.items():
        found += [causes.invalid(field, key, why) for why in _qualified(key)]
        found += [causes.invalid(field, text, why) for why in _label_value(text)]
    return found


def annotation_map(value: dict[str, str], field: str) -> list[Cause]:
    found: list[Cause] = []
    total = 0
    for key, text in value.items():
        found += [causes.invalid(field, key, why) for why in _qualified(key.lower())]
        total += len(key) + len(text)
    if total > ANNOTATIONS_BYTES_MAX // 4 and _bytes_in(value) > ANNOTATIONS_BYTES_MAX:
        found.append(causes.too_long(field, ANNOTATIONS_BYTES_MAX))
    return found


def _bytes_in(value: dict[str, str]) -> int:
    return sum(len(key.encode()) + len(text.encode()) for key, text in value.items())


def _namespace(namespace: str | None, namespaced: bool) -> list[Cause]:
    if not namespaced:
        return [causes.forbidden("metadata.namespace", "not allowed on this type")] if namespace else []
    if not namespace:
        return [causes.required("metadata.namespace")]
    return [causes.invalid("metadata.namespace", namespace, why) for why in names.dns_label(namespace)]


def _owners(references: list[Object]) -> list[Cause]:
    found: list[Cause] = []
    controllers = [reference for reference in references if reference.get("controller")]
    for index, reference in enumerate(references):
        here = f"metadata.ownerReferences[{index}]"
        if not reference.get("apiVersion"):
            found.append(causes.invalid(f"{here}.apiVersion", "", "version must not be empty"))
        found += [
            causes.invalid(f"{here}.{field}", "", "must not be empty")
            for field in ("kind", "name", "uid")
            if not reference.get(field)
        ]
    if len(controllers) > 1:
        kinds = [f"{reference.get('kind')}/{reference.get('name')}" for reference in controllers]
        why = (
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {kinds[0]} and {kinds[1]}'
        )
        found.append(causes.invalid("metadata.ownerReferences", references, why))
    return found


def _go_set(items: list[str]) -> str:
    return "[]string{" + ", ".join(causes.render(item) for item in items) + "}"
