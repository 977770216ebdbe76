"""All group-versions there are, here and elsewhere, in the order that discovery lists them.

As upstream: groups by falling priority, then by name; versions by falling priority, then as Kubernetes orders versions
(v2, v1, v1beta1, v1alpha1); the first version of a group is the preferred one.
"""

from __future__ import annotations

import re

from apimachinery.gvr import GVK
from apiserver.aggregation import registration
from apiserver.aggregation.documents import Described, Documents
from apiserver.aggregation.registration import Served
from apiserver.aggregation.remotes import Remotes
from apiserver.registry import conversion
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"": 2, "beta": 1, "alpha": 0}

Versions = dict[str, list[Resource] | Described]
"""Version → its rows, or what an extension server says of it."""


class Catalog:
    def __init__(self, scheme: Scheme, remotes: Remotes, documents: Documents) -> None:
        self._scheme = scheme
        self._remotes = remotes
        self._documents = documents
        self._made_at = (-1, -1, -1)
        self._groups: dict[str, Versions] = {}
        self._storage: dict[str, GVK] = {}

    @property
    def generation(self) -> tuple[int, int, int]:
        """Moves with every change of what `groups` gives."""
        return (self._scheme.generation, self._remotes.generation, self._documents.generation)

    def groups(self) -> dict[str, Versions]:
        if self._made_at != self.generation:
            self._groups = self._make()
            self._made_at = self.generation
            stored = (row for row in reversed(self._scheme.rows()) if row.gvk not in conversion.TABLE)
            self._storage = {row.prefix: row.gvk for row in stored}
        return self._groups

    def storage_kind(self, row: Resource) -> GVK:
        """The kind that a collection's objects are stored as, whichever version they are read in."""
        self.groups()
        return self._storage.get(row.prefix, row.gvk)

    def _make(self) -> dict[str, Versions]:
        priorities: dict[str, int] = {}
        found: dict[str, dict[str, tuple[int, list[Resource] | Described]]] = {}
        for group, versions in self._scheme.groups().items():
            for version, rows in versions.items():
                custom = all(self._scheme.published(row.gvk) is not None for row in rows)
                group_priority, priority = registration.priorities(Served(group, version, custom))
                priorities[group] = max(priorities.get(group, 0), group_priority)
                # By name, since custom resources come to each worker in an order of its own
                found.setdefault(group, {})[version] = (priority, sorted(rows, key=lambda row: row.resource))
        for remote in self._remotes:
            described = self._documents.of(remote.group, remote.version)
            priorities[remote.group] = max(priorities.get(remote.group, 0), remote.group_priority)
            found.setdefault(remote.group, {})[remote.version] = (remote.version_priority, described)
        return {
            group: {version: item for version, (_, item) in sorted(found[group].items(), key=_place)}
            for group in sorted(found, key=lambda group: (-priorities[group], group))
        }


def _place(entry: tuple[str, tuple[int, list[Resource] | Described]]) -> tuple[int, tuple[int, int, int, int, str]]:
    version, (priority, _) = entry
    return (-priority, order(version))


def order(version: str) -> tuple[int, int, int, int, str]:
    """A key that sorts versions as Kubernetes does, the best one first."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (1, 0, 0, 0, version)
    major, stage, minor = match.groups()
    return (0, -_STAGES[stage or ""], -int(major), -int(minor or 0), version)
