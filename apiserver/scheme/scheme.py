"""The resource table as it is now: built-in rows, and those that custom resource definitions add at run time (A3).

`generation` moves with every change, so that discovery and OpenAPI know when what they made is out of date.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apimachinery import schemas
from apimachinery.gvr import GVK
from apimachinery.schema import Boolean, Integer, Node, Struct
from apiserver.scheme import defaults, table
from apiserver.scheme.resources import Resource

Groups = dict[str, dict[str, list[Resource]]]


class Scheme:
    """All collections by their names, all types by their kinds."""

    def __init__(self, known: schemas.Schemas, rows: Iterable[Resource] = table.BUILTIN) -> None:
        self.schemas = known
        self.generation = 0
        self._rows: dict[tuple[str, str, str], Resource] = {}
        self._kinds: dict[GVK, Resource] = {}
        self._published: dict[GVK, dict[str, Any]] = {}
        self._zeros: dict[GVK, tuple[tuple[str, Any], ...]] = {}
        for row in rows:
            self.add(row)

    @classmethod
    def builtin(cls) -> Scheme:
        """The table of built-in kinds with the definitions of the served version."""
        return cls(schemas.Schemas.load())

    def find(self, group: str, version: str, resource: str) -> Resource | None:
        return self._rows.get((group, version, resource))

    def by_kind(self, gvk: GVK) -> Resource | None:
        return self._kinds.get(gvk)

    def rows(self) -> list[Resource]:
        return list(self._rows.values())

    def groups(self) -> Groups:
        """Group → version → rows, each in the table's order; the first version of a group is the preferred one."""
        found: Groups = {}
        for row in self._rows.values():
            found.setdefault(row.group, {}).setdefault(row.version, []).append(row)
        return found

    def published(self, gvk: GVK) -> dict[str, Any] | None:
        """The OpenAPI schema of a custom resource, as its definition gives it; None for a built-in kind."""
        return self._published.get(gvk)

    def add(self, row: Resource, published: dict[str, Any] | None = None) -> None:
        """Serves one more collection, or serves it differently.

        `published` is the schema that OpenAPI shows of it, for a custom resource its own unless said.
        """
        self._rows[row.gvr] = row
        self._kinds[row.gvk] = row
        custom = row.custom
        if custom is not None:
            self.schemas.add(row.gvk, lambda: custom.node)
            published = published or custom.schema
        if published is not None:
            self._published[row.gvk] = published
        self.generation += 1

    def remove(self, row: Resource) -> None:
        self._rows.pop(row.gvr, None)
        self._kinds.pop(row.gvk, None)
        self._published.pop(row.gvk, None)
        self.schemas.remove(row.gvk)
        self.generation += 1

    def complete_status(self, gvk: GVK, obj: dict[str, Any]) -> None:
        """Shows the status's required numbers and flags that nobody has set, as typed clients expect to find them.

        Upstream's types write them always. A custom resource's status is its own matter.
        """
        status = obj.get("status")
        if not isinstance(status, dict) or gvk in self._published:
            return
        zeros = self._zeros.get(gvk)
        if zeros is None:
            zeros = self._zeros[gvk] = _zeros(self.schemas.of(gvk))
        for name, zero in zeros:
            if name not in status:
                status[name] = zero

    def is_stored(self, row: Resource) -> bool:
        """Whether the collection's objects live in etcd; reviews and bindings are only answered."""
        return (row.group, row.resource) not in table.STORELESS

    def default(self, gvk: GVK, obj: dict[str, object]) -> None:
        """Fills in what the kind's fields default to, in place; a kind without defaults is left alone."""
        apply = defaults.TABLE.get(gvk)
        if apply is not None:
            apply(obj)
            return
        row = self._kinds.get(gvk)
        if row is not None and row.custom is not None:
            row.custom.default(obj)


def _zeros(node: Node | None) -> tuple[tuple[str, Any], ...]:
    """The required scalars of a kind's status, and what they are unset."""
    field = node.fields.get("status") if isinstance(node, Struct) else None
    if field is None or not isinstance(field.node, Struct):
        return ()
    fields, required = field.node.fields, sorted(field.node.required)
    return tuple(
        (name, fields[name].node.zero()) for name in required if isinstance(fields[name].node, Integer | Boolean)
    )
