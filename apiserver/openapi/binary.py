"""OpenAPI version 2 in protobuf (A2): the messages of gnostic's `openapi.v2`, which kubectl before 1.27 asks for.

The document is written from its JSON form by tables of field numbers. What the format leaves open (extensions,
defaults, enumerations) travels as YAML text in it; JSON is YAML, so JSON stands there.
Source: https://github.com/google/gnostic/blob/main/openapiv2/OpenAPIv2.proto
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from apimachinery.protobuf import octets
from apimachinery.protobuf.octets import field

ASKED_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
# Go's parser of media types refuses the `@` that its own clients send; as upstream, answers have a dot there
MEDIA_TYPE = ASKED_TYPE.replace("@", ".")

Write = Callable[[Any], bytes]
"""From the value of one field to the field, tag included."""


def encode(document: dict[str, Any]) -> bytes:
    return _message(document, _DOCUMENT)


def _message(value: Mapping[str, Any], fields: Mapping[str, Write], extensions: int = 0) -> bytes:
    parts = [fields[key](item) for key, item in value.items() if key in fields]
    if extensions:
        parts += [field(extensions, _named(key, _any(item))) for key, item in value.items() if key.startswith("x-")]
    return b"".join(parts)


def _named(name: str, value: bytes) -> bytes:
    """An entry of an ordered map."""
    return field(1, name.encode()) + field(2, value)


def _any(value: Any) -> bytes:
    return field(2, orjson.dumps(value))


def _text(number: int) -> Write:
    return lambda value: field(number, value.encode())


def _texts(number: int) -> Write:
    return lambda values: b"".join([field(number, value.encode()) for value in values])


def _flag(number: int) -> Write:
    return lambda value: octets.tag(number, octets.VARINT) + octets.varint(int(value))


def _within(number: int, write: Callable[[Any], bytes]) -> Write:
    """A field that is a message."""
    return lambda value: field(number, write(value))


def _all_within(number: int, write: Callable[[Any], bytes]) -> Write:
    return lambda values: b"".join([field(number, write(value)) for value in values])


def _map_within(number: int, write: Callable[[Any], bytes]) -> Write:
    """A field that is a message of nothing but an ordered map."""
    return _within(
        number, lambda values: b"".join([field(1, _named(name, write(value))) for name, value in values.items()])
    )


def _schema(value: Mapping[str, Any]) -> bytes:
    return _message(value, _SCHEMA, extensions=31)


def _type(value: str | list[str]) -> bytes:
    return _texts(1)([value] if isinstance(value, str) else value)


def _additional(value: bool | Mapping[str, Any]) -> bytes:
    return _flag(2)(value) if isinstance(value, bool) else field(1, _schema(value))


def _info(value: Mapping[str, Any]) -> bytes:
    return _message(value, {"title": _text(1), "version": _text(2), "description": _text(3)})


def _paths(value: Mapping[str, Any]) -> bytes:
    return b"".join([field(2, _named(path, _path(item))) for path, item in value.items()])


def _path(value: Mapping[str, Any]) -> bytes:
    return _message(value, _PATH, extensions=10)


def _operation(value: Mapping[str, Any]) -> bytes:
    return _message(value, _OPERATION, extensions=13)


def _parameter(value: Mapping[str, Any]) -> bytes:
    """`ParametersItem` → `Parameter` → one message a place."""
    if value["in"] == "body":
        return field(1, field(1, _message(value, _BODY, extensions=6)))
    kind, fields = _PLACES[value["in"]]
    return field(1, field(2, field(kind, _message(value, fields))))


def _responses(value: Mapping[str, Any]) -> bytes:
    return b"".join([field(1, _named(code, field(1, _message(item, _RESPONSE)))) for code, item in value.items()])


_SCHEMA: dict[str, Write] = {
    "$ref": _text(1),
    "format": _text(2),
    "title": _text(3),
    "description": _text(4),
    "default": _within(5, _any),
    "pattern": _text(13),
    "required": _texts(19),
    "enum": _all_within(20, _any),
    "additionalProperties": _within(21, _additional),
    "type": _within(22, _type),
    "items": _within(23, lambda value: field(1, _schema(value))),
    "allOf": _all_within(24, _schema),
    "properties": _map_within(25, _schema),
    "readOnly": _flag(27),
}
# Parameters in the path and in the query differ in one number
_PATH_PARAMETER: dict[str, Write] = {
    "required": _flag(1),
    "in": _text(2),
    "description": _text(3),
    "name": _text(4),
    "type": _text(5),
    "format": _text(6),
}
_QUERY_PARAMETER = {**_PATH_PARAMETER, "type": _text(6), "format": _text(7)}
_PLACES: dict[str, tuple[int, dict[str, Write]]] = {"query": (3, _QUERY_PARAMETER), "path": (4, _PATH_PARAMETER)}
_BODY: dict[str, Write] = {
    "description": _text(1),
    "name": _text(2),
    "in": _text(3),
    "required": _flag(4),
    "schema": _within(5, _schema),
}
_RESPONSE: dict[str, Write] = {
    "description": _text(1),
    "schema": _within(2, lambda value: field(1, _schema(value))),
}
_OPERATION: dict[str, Write] = {
    "tags": _texts(1),
    "summary": _text(2),
    "description": _text(3),
    "operationId": _text(5),
    "produces": _texts(6),
    "consumes": _texts(7),
    "parameters": _all_within(8, _parameter),
    "responses": _within(9, _responses),
    "schemes": _texts(10),
    "deprecated": _flag(11),
}
_PATH: dict[str, Write] = {
    "get": _within(2, _operation),
    "put": _within(3, _operation),
    "post": _within(4, _operation),
    "delete": _within(5, _operation),
    "options": _within(6, _operation),
    "head": _within(7, _operation),
    "patch": _within(8, _operation),
    "parameters": _all_within(9, _parameter),
}
_DOCUMENT: dict[str, Write] = {
    "swagger": _text(1),
    "info": _within(2, _info),
    "paths": _within(8, _paths),
    "definitions": _map_within(9, _schema),
}
