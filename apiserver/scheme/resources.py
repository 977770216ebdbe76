"""A row of the resource table: all that the generic machinery knows of one collection.

A new kind is a row here and, where it needs one, a strategy in `apiserver/registry/strategies`. Custom resources add
rows of the same type at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apimachinery.gvr import GVK, GVR

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`: `cell` is a function of (object, now) or a dotted path within the object."""

    name: str
    cell: Any
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0  # 0 is shown always, 1 with -o wide


@dataclass(frozen=True, slots=True)
class Subresource:
    """`/status`, `/scale`, `/log` …: its own verbs, and the kind of its body where that differs from the parent's."""

    name: str
    verbs: tuple[str, ...]
    kind: GVK | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """One collection in one group and version. `prefix` is its key range in etcd, without a final slash."""

    group: str
    version: str
    resource: str
    kind: str
    singular: str
    namespaced: bool
    prefix: str
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[str, ...] = ()  # beyond metadata.name and metadata.namespace

    @property
    def gvr(self) -> GVR:
        return GVR(self.group, self.version, self.resource)

    @property
    def gvk(self) -> GVK:
        return GVK(self.group, self.version, self.kind)

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    def key(self, namespace: str, name: str) -> str:
        """The object's key in etcd."""
        return f"{self.prefix}/{namespace}/{name}" if self.namespaced else f"{self.prefix}/{name}"

    def range(self, namespace: str = "") -> str:
        """The key prefix, with its final slash, of the collection or of one namespace of it."""
        return f"{self.prefix}/{namespace}/" if self.namespaced and namespace else f"{self.prefix}/"

    def subresource(self, name: str) -> Subresource | None:
        return next((item for item in self.subresources if item.name == name), None)
