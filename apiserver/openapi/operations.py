"""Every operation of a collection, free of OpenAPI's versions: path, method, parameters, body, response.

What kubectl reads from it: `x-kubernetes-group-version-kind` (explain), the parameters `fieldValidation` and `dryRun`
(create and apply), and the media types of patches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apimachinery.gvr import GVK
from apiserver.scheme.resources import Resource, Subresource

PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
DELETE_OPTIONS = "DeleteOptions"
STATUS = "Status"
PATCH = "Patch"


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str
    description: str
    place: str = "query"


_NAME = Parameter("name", "string", "name of the object", "path")
_NAMESPACE = Parameter("namespace", "string", "object name and auth scope, such as for teams and projects", "path")
_PRETTY = Parameter("pretty", "string", "If 'true', the output is indented.")
_DRY_RUN = Parameter("dryRun", "string", "'All' goes through every step but the write.")
_FIELD_MANAGER = Parameter("fieldManager", "string", "The name of who makes the change.")
_FIELD_VALIDATION = Parameter(
    "fieldValidation", "string", "What happens to unknown and duplicate fields: Ignore, Warn or Strict."
)
_FORCE = Parameter("force", "boolean", "Apply takes conflicting fields over.")
_WRITE = (_DRY_RUN, _FIELD_MANAGER, _FIELD_VALIDATION)
_DELETE = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", "Seconds before the object is deleted; 0 is at once."),
    Parameter("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    Parameter("propagationPolicy", "string", "Orphan, Background or Foreground."),
)
_LIST = (
    Parameter("allowWatchBookmarks", "boolean", "Send events of type BOOKMARK."),
    Parameter("continue", "string", "Where the previous page ended."),
    Parameter("fieldSelector", "string", "Restricts the objects by their fields."),
    Parameter("labelSelector", "string", "Restricts the objects by their labels."),
    Parameter("limit", "integer", "The most objects to return."),
    Parameter("resourceVersion", "string", "Which state of the collection is meant."),
    Parameter("resourceVersionMatch", "string", "How resourceVersion is applied."),
    Parameter("sendInitialEvents", "boolean", "A watch begins with the objects that there are."),
    Parameter("timeoutSeconds", "integer", "The most time that the call may take."),
    Parameter("watch", "boolean", "Stream the changes."),
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path. `body` and `response` name kinds; "" is none (a body) or text (a response)."""

    path: str
    method: str
    action: str  # upstream's word: list, get, post, put, patch, delete, deletecollection, connect
    operation_id: str
    tag: str
    kind: GVK
    parameters: tuple[Parameter, ...]
    body: GVK | str | None
    response: GVK | str | None


def of(row: Resource) -> Iterator[Operation]:
    """All operations of a collection and its subresources."""
    root = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
    scoped = f"{root}/namespaces/{{namespace}}/{row.resource}" if row.namespaced else f"{root}/{row.resource}"
    yield from _collection(row, scoped)
    if row.namespaced and "list" in row.verbs:
        yield _operation(
            row, f"{root}/{row.resource}", "get", "list", row.gvk, _LIST, None, _list(row), everywhere=True
        )
    for sub in row.subresources:
        yield from _subresource(row, sub, f"{scoped}/{{name}}/{sub.name}")


def _collection(row: Resource, path: str) -> Iterator[Operation]:
    kind, named = row.gvk, f"{path}/{{name}}"
    table = (
        ("list", path, "get", "list", _LIST, None, _list(row)),
        ("create", path, "post", "post", _WRITE, kind, kind),
        ("deletecollection", path, "delete", "deletecollection", _DELETE + _LIST[:-1], DELETE_OPTIONS, STATUS),
        ("get", named, "get", "get", (), None, kind),
        ("update", named, "put", "put", _WRITE, kind, kind),
        ("patch", named, "patch", "patch", (*_WRITE, _FORCE), PATCH, kind),
        ("delete", named, "delete", "delete", _DELETE, DELETE_OPTIONS, STATUS),
    )
    for verb, where, method, action, parameters, body, response in table:
        if verb in row.verbs:
            yield _operation(row, where, method, action, kind, parameters, body, response)


def _subresource(row: Resource, sub: Subresource, path: str) -> Iterator[Operation]:
    kind = sub.kind or row.gvk
    if kind.kind.endswith("Options") or sub.name == "log":  # connections and text
        for method in ("get", "post") if "create" in sub.verbs else ("get",):
            yield _operation(row, path, method, "connect", kind, (), None, "", sub=sub.name)
        return
    table = (
        ("get", "get", "get", (), None),
        ("create", "post", "post", _WRITE, kind),
        ("update", "put", "put", _WRITE, kind),
        ("patch", "patch", "patch", (*_WRITE, _FORCE), PATCH),
    )
    for verb, method, action, parameters, body in table:
        if verb in sub.verbs:
            yield _operation(row, path, method, action, kind, parameters, body, kind, sub=sub.name)


def _operation(
    row: Resource,
    path: str,
    method: str,
    action: str,
    kind: GVK,
    parameters: tuple[Parameter, ...],
    body: GVK | str | None,
    response: GVK | str | None,
    *,
    sub: str = "",
    everywhere: bool = False,
) -> Operation:
    places = tuple(item for item in (_NAME, _NAMESPACE) if f"{{{item.name}}}" in path)
    identifier = operation_id(row, action, method, sub, everywhere=everywhere)
    return Operation(path, method, action, identifier, _tag(row), kind, (*places, *parameters, _PRETTY), body, response)


def operation_id(row: Resource, action: str, method: str, sub: str, *, everywhere: bool) -> str:
    """`createAppsV1NamespacedDeployment`: unique, and the name that generated clients give to the call."""
    verb = {
        "get": "read",
        "post": "create",
        "put": "replace",
        "deletecollection": "deleteCollection",
        "connect": f"connect{method.capitalize()}",
    }.get(action, action)
    group = "".join(part.capitalize() for part in (row.group or "core").removesuffix(".k8s.io").split("."))
    scope = "Namespaced" if row.namespaced and not everywhere else ""
    tail = "".join(part.capitalize() for part in sub.split("/")) if sub else ""
    return f"{verb}{group}{row.version.capitalize()}{scope}{row.kind}{tail}{'ForAllNamespaces' if everywhere else ''}"


def _tag(row: Resource) -> str:
    group = "".join(part.capitalize() for part in row.group.removesuffix(".k8s.io").split(".")) or "core"
    return f"{group[0].lower()}{group[1:]}_{row.version}"


def _list(row: Resource) -> GVK:
    return GVK(row.group, row.version, row.list_kind)
