"""OpenAPI documents of versions 2 and 3, from operations and definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apimachinery.gvr import GVK
from apiserver.openapi import definitions, operations
from apiserver.openapi.definitions import Definitions
from apiserver.openapi.operations import Operation
from apiserver.openapi.parameters import Parameter
from apiserver.scheme.resources import Resource

TITLE = "Kubernetes"
_JSON, _YAML, _PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_WATCH = ";stream=watch"
_V2, _V3 = "#/definitions/", "#/components/schemas/"
_BEARER = "BearerToken"
_SECURITY = {
    _BEARER: {"type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer Token authentication"}
}

Document = dict[str, Any]
Build = Callable[[], Document]


def v3(rows: Iterable[Resource], extra: Iterable[Operation], known: Definitions, version: str) -> Document:
    """The document of one group and version, with the definitions that it uses."""
    listed = [*extra, *_operations(rows, known)]
    found = known.using(_used(listed, known))
    return {
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": version},
        "paths": _paths(listed, lambda operation: _operation_v3(operation, known)),
        "components": {
            "schemas": {name: definitions.for_v3(definition) for name, definition in found.items()},
            "securitySchemes": _SECURITY,
        },
        "security": [{_BEARER: []}],
    }


def v2(rows: Iterable[Resource], extra: Iterable[Operation], known: Definitions, version: str) -> Document:
    """The one document of the whole API."""
    rows = list(rows)
    listed = [*extra, *_operations(rows, known)]
    found = known.using(_used(listed, known))
    custom = {name for row in rows if known.is_custom(row) if (name := known.name_of(row.gvk))}
    return {
        "swagger": "2.0",
        "info": {"title": TITLE, "version": version},
        "paths": _paths(listed, lambda operation: _operation_v2(operation, known)),
        "definitions": {
            name: definitions.for_v2(definition) if name in custom else definition for name, definition in found.items()
        },
        "securityDefinitions": _SECURITY,
        "security": [{_BEARER: []}],
    }


def merge_v2(document: Document, other: Document) -> None:
    """Adds another server's paths and what they refer to. A definition that is here already stays as it is here."""
    document["paths"] |= other.get("paths") or {}
    offered, known = other.get("definitions") or {}, document["definitions"]
    queue = definitions.references(other.get("paths") or {})
    while queue:
        name = queue.pop()
        if name in offered and name not in known:
            known[name] = offered[name]
            queue += definitions.references(offered[name])


def _operations(rows: Iterable[Resource], known: Definitions) -> list[Operation]:
    return [operation for row in rows for operation in operations.of(row, custom=known.is_custom(row))]


def _paths(listed: list[Operation], render: Callable[[Operation], Document]) -> Document:
    paths: Document = {}
    for operation in listed:
        paths.setdefault(operation.path, {})[operation.method] = render(operation)
    return paths


def _used(listed: list[Operation], known: Definitions) -> set[str]:
    kinds = {kind for operation in listed for kind in (operation.body, operation.response, operation.kind) if kind}
    return {name for kind in kinds if (name := known.name_of(kind))}


def _common(operation: Operation) -> Document:
    kind = operation.kind
    common: Document = {
        "tags": [operation.tag],
        "description": f"{operation.action} {kind.kind}" if kind else f"get {operation.response}",
        "operationId": operation.operation_id,
    }
    if kind:
        gvk = {"group": kind.group, "kind": kind.kind, "version": kind.version}
        common |= {"x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": gvk}
    return common


def _codes(operation: Operation) -> dict[str, str]:
    """The answers that are no failure."""
    by_method = {
        "post": ("200", "201", "202"),
        "put": ("200", "201"),
        "patch": ("200", "201"),
        "delete": ("200", "202"),
    }
    codes = (
        ("200",) if operation.action in ("connect", "deletecollection") else by_method.get(operation.method, ("200",))
    )
    return {code: {"200": "OK", "201": "Created", "202": "Accepted"}[code] for code in codes}


def _produced(operation: Operation) -> tuple[str, ...]:
    if operation.response == operations.TEXT:
        return ("text/plain", _JSON, _YAML, _PROTOBUF) if operation.action == "get" else ("*/*",)
    plain = (_JSON, _YAML, _PROTOBUF)
    return (*plain, _JSON + _WATCH, _PROTOBUF + _WATCH) if operation.action == "list" else plain


def _operation_v3(operation: Operation, known: Definitions) -> Document:
    content = _content(operation.response, _produced(operation), known)
    answers: Document = {code: {"description": text, **content} for code, text in _codes(operation).items()}
    result = _common(operation) | {
        "parameters": [_parameter(item) | {"schema": {"type": item.type}} for item in operation.parameters],
        "responses": answers | {"401": {"description": "Unauthorized"}},
    }
    if operation.body:
        result["requestBody"] = _content(operation.body, operation.patch_types or ("*/*",), known)
        if operation.body != operations.DELETE_OPTIONS:
            result["requestBody"]["required"] = True
    return result


def _content(kind: GVK | str, types: tuple[str, ...], known: Definitions) -> Document:
    name = known.name_of(kind)
    schema = {"$ref": _V3 + name} if name else {"type": "string"}
    return {"content": {media_type: {"schema": schema} for media_type in types}}


def _operation_v2(operation: Operation, known: Definitions) -> Document:
    listed = [_parameter(item) | {"type": item.type} for item in operation.parameters]
    body = known.name_of(operation.body) if operation.body else None
    if body:
        required = operation.body != operations.DELETE_OPTIONS
        listed.append({"name": "body", "in": "body", "required": required, "schema": {"$ref": _V2 + body}})
    response = known.name_of(operation.response)
    schema = {"$ref": _V2 + response} if response else {"type": "string"}
    answers: Document = {code: {"description": text, "schema": schema} for code, text in _codes(operation).items()}
    return _common(operation) | {
        "consumes": list(operation.patch_types) or ["*/*"],
        "produces": list(_produced(operation)),
        "schemes": ["https"],
        "parameters": listed,
        "responses": answers | {"401": {"description": "Unauthorized"}},
    }


def _parameter(item: Parameter) -> Document:
    described: Document = {"name": item.name, "in": item.place, "description": item.description}
    if item.place == "path":
        described["required"] = True
    return described
