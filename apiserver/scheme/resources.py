"""A row of the resource table: all that the generic machinery knows of one collection.

A new kind is a row here and, where it needs one, a strategy in `apiserver/registry/strategies`. Custom resources add
rows of the same type at run time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from apimachinery.gvr import GVK, GVR
from apimachinery.objects import Object
from apimachinery.schema import Node

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


class Custom(Protocol):
    """What the rows of custom resources carry: how their objects are kept, written and checked.

    `strategy` and `conversion` are the registry's (`Strategy`, `conversion.Custom`), which this layer does not know.
    """

    @property
    def strategy(self) -> Any: ...

    @property
    def conversion(self) -> Any: ...

    @property
    def node(self) -> Node:
        """The type of its objects."""
        ...

    @property
    def schema(self) -> Object:
        """The schema as the definition has it, for OpenAPI."""
        ...

    @property
    def scale(self) -> Object | None:
        """`subresources.scale` of the version."""
        ...

    def default(self, obj: Object) -> None:
        """Fills in the schema's defaults, in place."""
        ...


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
    list_name: str = ""  # the kind of its lists, where that is not the kind with "List"
    deprecation: str = ""  # what a request for a deprecated version is warned with
    custom: Custom | None = field(default=None, compare=False)  # of a custom resource

    @property
    def gvr(self) -> GVR:
        return GVR(self.group, self.version, self.resource)

    @property
    def gvk(self) -> GVK:
        return GVK(self.group, self.version, self.kind)

    @property
    def list_kind(self) -> str:
        return self.list_name or f"{self.kind}List"

    def key(self, namespace: str, name: str) -> str:
        """The object's key in etcd."""
        return f"{self.prefix}/{namespace}/{name}" if self.namespaced else f"{self.prefix}/{name}"

    def range(self, namespace: str = "") -> str:
        """The key prefix, with its final slash, of the collection or of one namespace of it."""
        return f"{self.prefix}/{namespace}/" if self.namespaced and namespace else f"{self.prefix}/"

    def subresource(self, name: str) -> Subresource | None:
        return next((item for item in self.subresources if item.name == name), None)
