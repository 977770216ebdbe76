"""OpenAPI documents of versions 2 and 3, from operations and definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apimachinery import schemas
from apimachinery.gvr import GVK
from apiserver.openapi import operations
from apiserver.openapi.operations import Operation, Parameter
from apiserver.scheme.resources import Resource

TITLE = "Kubernetes"
_JSON, _YAML = "application/json", "application/yaml"
_V2, _V3 = "#/definitions/", "#/components/schemas/"
_META = {
    operations.DELETE_OPTIONS: schemas.META + "DeleteOptions",
    operations.STATUS: schemas.META + "Status",
    operations.PATCH: schemas.META + "Patch",
}

Document = dict[str, Any]
Build = Callable[[], Document]
NameOf = Callable[[GVK], str | None]


def v3(rows: Iterable[Resource], known: schemas.Schemas, version: str) -> Document:
    """The document of one group and version, with the definitions that it uses."""
    listed = [operation for row in rows for operation in operations.of(row)]
    paths = _paths(listed, lambda operation: _operation_v3(operation, known.name_of))
    definitions = known.definitions(_used(listed, known.name_of))
    return {
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": version},
        "paths": paths,
        "components": {"schemas": {name: _to_v3(definition) for name, definition in definitions.items()}},
    }


def v2(rows: Iterable[Resource], known: schemas.Schemas, version: str) -> Document:
    """The one document of the whole API."""
    listed = [operation for row in rows for operation in operations.of(row)]
    return {
        "swagger": "2.0",
        "info": {"title": TITLE, "version": version},
        "paths": _paths(listed, lambda operation: _operation_v2(operation, known.name_of)),
        "definitions": known.definitions(),
    }


def _paths(listed: list[Operation], render: Callable[[Operation], Document]) -> Document:
    paths: Document = {}
    for operation in listed:
        paths.setdefault(operation.path, {})[operation.method] = render(operation)
    return paths


def _used(listed: list[Operation], name_of: NameOf) -> set[str]:
    kinds = {kind for operation in listed for kind in (operation.body, operation.response, operation.kind)}
    names = (_definition(kind, name_of) for kind in kinds if kind)
    return {name for name in names if name}


def _definition(kind: GVK | str, name_of: NameOf) -> str | None:
    return _META.get(kind) if isinstance(kind, str) else name_of(kind)


def _common(operation: Operation) -> Document:
    kind = operation.kind
    return {
        "tags": [operation.tag],
        "description": f"{operation.action} {kind.kind}",
        "operationId": operation.operation_id,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": kind.group, "kind": kind.kind, "version": kind.version},
    }


def _operation_v3(operation: Operation, name_of: NameOf) -> Document:
    result = _common(operation) | {
        "parameters": [_parameter(item) | {"schema": {"type": item.type}} for item in operation.parameters],
        "responses": {"200": {"description": "OK", **_content(operation.response, (_JSON, _YAML), name_of)}},
    }
    if operation.body:
        types = operations.PATCH_TYPES if operation.body == operations.PATCH else ("*/*",)
        result["requestBody"] = _content(operation.body, types, name_of)
        if operation.body != operations.DELETE_OPTIONS:
            result["requestBody"]["required"] = True
    return result


def _content(kind: GVK | str | None, types: tuple[str, ...], name_of: NameOf) -> Document:
    name = _definition(kind, name_of) if kind else None
    if name is None:
        return {"content": {"*/*": {"schema": {"type": "string"}}}}
    return {"content": {media_type: {"schema": {"$ref": _V3 + name}} for media_type in types}}


def _operation_v2(operation: Operation, name_of: NameOf) -> Document:
    parameters = [_parameter(item) | {"type": item.type} for item in operation.parameters]
    body = _definition(operation.body, name_of) if operation.body else None
    if body:
        required = operation.body != operations.DELETE_OPTIONS
        parameters.append({"name": "body", "in": "body", "required": required, "schema": {"$ref": _V2 + body}})
    response = _definition(operation.response, name_of) if operation.response else None
    return _common(operation) | {
        "consumes": list(operations.PATCH_TYPES) if operation.body == operations.PATCH else ["*/*"],
        "produces": [_JSON, _YAML],
        "schemes": ["https"],
        "parameters": parameters,
        "responses": {
            "200": {"description": "OK", "schema": {"$ref": _V2 + response} if response else {"type": "string"}}
        },
    }


def _parameter(item: Parameter) -> Document:
    described: Document = {"name": item.name, "in": item.place, "description": item.description}
    if item.place == "path":
        described["required"] = True
    return described


def _to_v3(definition: Any) -> Any:
    """References to where version 3 keeps definitions; everything else is alike."""
    if isinstance(definition, dict):
        changed = {key: _to_v3(value) for key, value in definition.items()}
        reference = changed.get("$ref")
        if isinstance(reference, str):
            changed["$ref"] = reference.replace(_V2, _V3, 1)
        if changed.get("format") == "int-or-string":
            changed.pop("type", None)
            changed["oneOf"] = [{"type": "integer"}, {"type": "string"}]
        return changed
    return [_to_v3(item) for item in definition] if isinstance(definition, list) else definition
