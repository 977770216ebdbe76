"""NamespaceLifecycle: nothing is created where there is no namespace, or where one is going away.

The namespaces `default`, `kube-system` and `kube-public` cannot be deleted. A namespace that the cache does not know is
asked for once more, consistently, because it may have been created a moment ago through another apiserver.
"""

from __future__ import annotations

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.plugins import Parts
from apiserver.storage import types
from apiserver.storage.store import Store

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_NAMESPACES = "/registry/namespaces/"
# What may still be asked in a namespace that goes away, or of one that is gone
_REVIEWS = frozenset({"localsubjectaccessreviews"})


class NamespaceLifecycle:
    name = "NamespaceLifecycle"

    def __init__(self, store: Store) -> None:
        self._store = store

    def handles(self, operation: str) -> bool:
        return operation in ("CREATE", "UPDATE", "DELETE")

    async def mutate(self, review: Review) -> Object | None:
        call = review.call
        row = call.resource
        is_namespace = row.group == "" and row.resource == "namespaces"
        if is_namespace and review.operation == "DELETE" and review.name in IMMORTAL:
            raise errors.forbidden("", "namespaces", review.name, "this namespace may not be deleted")
        if not call.namespace or not row.namespaced or row.resource in _REVIEWS or review.operation == "DELETE":
            return review.obj
        namespace = await self._find(call.namespace)
        if namespace is None:
            raise errors.not_found("", "namespaces", call.namespace)
        if review.operation == "CREATE" and not call.subresource and _is_terminating(namespace):
            raise _terminating(review, namespace)
        return review.obj

    async def _find(self, name: str) -> Object | None:
        stored = self._store.cached(_NAMESPACES + name)
        if stored is None:
            try:
                stored = await self._store.get(_NAMESPACES + name)
            except types.StorageError as error:
                raise errors.ServiceUnavailable(f"namespace {name} could not be read: {error}") from error
        return stored.object if stored is not None else None


def make(parts: Parts) -> NamespaceLifecycle:
    return NamespaceLifecycle(parts.store)


def _is_terminating(namespace: Object) -> bool:
    phase = (namespace.get("status") or {}).get("phase")
    return bool(namespace["metadata"].get("deletionTimestamp")) or phase == "Terminating"


def _terminating(review: Review, namespace: Object) -> errors.Forbidden:
    place = namespace["metadata"]["name"]
    row = review.call.resource
    why = f"unable to create new content in namespace {place} because it is being terminated"
    error = errors.forbidden(row.group, row.resource, review.name, why)
    message = f"namespace {place} is being terminated"
    error.details["causes"] = [{"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}]
    return error
