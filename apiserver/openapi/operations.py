"""Every operation of a collection, free of OpenAPI's versions: path, method, parameters, body, responses.

What kubectl reads from it: `x-kubernetes-group-version-kind` (explain), the parameters `fieldValidation` and `dryRun`
(create and apply), and the media types of patches, by which it knows whether a kind has strategic merge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apimachinery.gvr import GVK
from apiserver.openapi import parameters
from apiserver.openapi.parameters import Parameter
from apiserver.scheme.resources import Resource, Subresource

PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
CUSTOM_PATCH_TYPES = tuple(media_type for media_type in PATCH_TYPES if "strategic" not in media_type)
DELETE_OPTIONS = "DeleteOptions"
STATUS = "Status"
PATCH = "Patch"
TEXT = ""
_VERB_PATHS = ("delete", "get", "head", "options", "patch", "post", "put")


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path. `body` and `response` name kinds, or definitions of meta.k8s.io; "" is text."""

    path: str
    method: str
    action: str  # upstream's word: list, get, post, put, patch, delete, deletecollection, connect; "" for discovery
    operation_id: str
    tag: str
    kind: GVK | None
    parameters: tuple[Parameter, ...]
    body: GVK | str | None
    response: GVK | str
    patch_types: tuple[str, ...] = ()


def of(row: Resource, *, custom: bool = False) -> Iterator[Operation]:
    """All operations of a collection and its subresources; `custom` for custom resources."""
    root = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
    scoped = f"{root}/namespaces/{{namespace}}/{row.resource}" if row.namespaced else f"{root}/{row.resource}"
    patches = CUSTOM_PATCH_TYPES if custom else PATCH_TYPES
    yield from _collection(row, scoped, patches)
    if row.namespaced and "list" in row.verbs:
        path = f"{root}/{row.resource}"
        yield _operation(row, path, "get", "list", row.gvk, parameters.LIST, None, _list(row), everywhere=True)
    for sub in row.subresources:
        yield from _subresource(row, sub, f"{scoped}/{{name}}/{sub.name}", patches)


def of_discovery(group: str, version: str) -> Operation:
    """`/api/`, `/apis/`, `/apis/apps/` or `/apis/apps/v1/`; for the first two, `group` is that word."""
    if not version:
        name, kind, path = _discovery_of_groups(group)
    else:
        words, kind = f"{_group_words(group)}{version.capitalize()}APIResources", "APIResourceList"
        name, path = words, f"/apis/{group}/{version}/" if group else f"/api/{version}/"
    tag = _tag(group, version) if version else name.removesuffix("APIGroup").removesuffix("APIVersions")
    return Operation(path, "get", "", f"get{name}", tag or "apis", None, (), None, kind)


def of_version() -> Operation:
    return Operation("/version/", "get", "", "getCodeVersion", "version", None, (), None, "version.Info")


def _discovery_of_groups(group: str) -> tuple[str, str, str]:
    match group:
        case "api":
            return "CoreAPIVersions", "APIVersions", "/api/"
        case "apis":
            return "APIVersions", "APIGroupList", "/apis/"
    return f"{_group_words(group)}APIGroup", "APIGroup", f"/apis/{group}/"


def _collection(row: Resource, path: str, patches: tuple[str, ...]) -> Iterator[Operation]:
    kind, named = row.gvk, f"{path}/{{name}}"
    write, delete = parameters.WRITE, parameters.DELETE
    table = (
        ("list", path, "get", "list", parameters.LIST, None, _list(row)),
        ("create", path, "post", "post", write, kind, kind),
        ("deletecollection", path, "delete", "deletecollection", parameters.DELETE_ALL, DELETE_OPTIONS, STATUS),
        ("get", named, "get", "get", (), None, kind),
        ("update", named, "put", "put", write, kind, kind),
        ("patch", named, "patch", "patch", (*write, parameters.FORCE), PATCH, kind),
        ("delete", named, "delete", "delete", delete, DELETE_OPTIONS, STATUS),
    )
    for verb, where, method, action, listed, body, response in table:
        if verb in row.verbs:
            yield _operation(row, where, method, action, kind, listed, body, response, patches=patches)


def _subresource(row: Resource, sub: Subresource, path: str, patches: tuple[str, ...]) -> Iterator[Operation]:
    kind = sub.kind or row.gvk
    if sub.name == "log":
        yield _operation(row, path, "get", "get", kind, parameters.CONNECT["log"], None, TEXT, sub="log")
        return
    if kind.kind.endswith("Options"):
        yield from _connections(row, sub, kind, path)
        return
    table = (
        ("get", "get", "get", (), None),
        ("create", "post", "post", parameters.WRITE, kind),
        ("update", "put", "put", parameters.WRITE, kind),
        ("patch", "patch", "patch", (*parameters.WRITE, parameters.FORCE), PATCH),
    )
    for verb, method, action, listed, body in table:
        if verb in sub.verbs:
            yield _operation(row, path, method, action, kind, listed, body, kind, sub=sub.name, patches=patches)


def _connections(row: Resource, sub: Subresource, kind: GVK, path: str) -> Iterator[Operation]:
    """Streams, and proxies with all methods and whatever path the other side has."""
    is_proxy = sub.name == "proxy"
    listed = parameters.CONNECT.get(sub.name, ())
    for method in _VERB_PATHS if is_proxy else ("get", "post"):
        yield _operation(row, path, method, "connect", kind, listed, None, TEXT, sub=sub.name)
        if is_proxy:
            yield _operation(
                row, f"{path}/{{path}}", method, "connect", kind, listed, None, TEXT, sub=sub.name, suffix="WithPath"
            )


def _operation(
    row: Resource,
    path: str,
    method: str,
    action: str,
    kind: GVK,
    listed: tuple[Parameter, ...],
    body: GVK | str | None,
    response: GVK | str,
    *,
    sub: str = "",
    suffix: str = "",
    everywhere: bool = False,
    patches: tuple[str, ...] = (),
) -> Operation:
    places = tuple(item for item in parameters.PLACES if f"{{{item.name}}}" in path)
    pretty = () if action == "connect" else (parameters.PRETTY,)
    identifier = operation_id(row, action, method, sub, everywhere=everywhere) + suffix
    tag = _tag(row.group, row.version)
    return Operation(
        path,
        method,
        action,
        identifier,
        tag,
        kind,
        (*places, *listed, *pretty),
        body,
        response,
        patches if body == PATCH else (),
    )


def operation_id(row: Resource, action: str, method: str, sub: str, *, everywhere: bool) -> str:
    """`createAppsV1NamespacedDeployment`: unique, and the name that generated clients give to the call."""
    group = f"{_group_words(row.group)}{row.version.capitalize()}"
    scope = "Namespaced" if row.namespaced and not everywhere else ""
    tail = "".join(part.capitalize() for part in sub.split("/")) if sub else ""
    what = f"{scope}{row.kind}{tail}{'ForAllNamespaces' if everywhere else ''}"
    match action:
        case "connect":
            return f"connect{group}{method.capitalize()}{what}"
        case "deletecollection":
            return f"delete{group}Collection{what}"
    verb = {"get": "read", "post": "create", "put": "replace"}.get(action, action)
    return f"{verb}{group}{what}"


def _group_words(group: str) -> str:
    return "".join(part.capitalize() for part in (group or "core").removesuffix(".k8s.io").split("."))


def _tag(group: str, version: str) -> str:
    words = _group_words(group)
    return f"{words[0].lower()}{words[1:]}_{version}"


def _list(row: Resource) -> GVK:
    return GVK(row.group, row.version, row.list_kind)
