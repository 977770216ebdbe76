"""One strategy a kind that differs: `TABLE` says which. The rest take `GENERIC` or, with a status, `WITH_STATUS`."""

from __future__ import annotations

from apiserver.registry.strategies.base import Strategy, WithStatus
from apiserver.scheme.resources import Resource

GENERIC = Strategy()
WITH_STATUS = WithStatus()

TABLE: dict[tuple[str, str], Strategy] = {}


def of(resource: Resource) -> Strategy:
    """The strategy of a collection, whatever its version."""
    found = TABLE.get((resource.group, resource.resource))
    if found is not None:
        return found
    return WITH_STATUS if resource.subresource("status") else GENERIC
