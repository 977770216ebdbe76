"""A structural schema as types, and its values as those types want them.

Sizes are upstream's: where a schema gives no bound, a list or a text can be as long as fits into the largest request.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from apiserver.cel import lexing, times, types
from apiserver.cel.issues import EvaluationError
from apiserver.cel.types import Field, Type
from apiserver.cel.values import MapList, SetList

Schema = dict[str, Any]
Convert = Callable[[Any], Any]

REQUEST_BYTES = 3 * 1024 * 1024
_RESERVED = (lexing.RESERVED - {"var", "void", "while"}) | {"true", "false", "null", "in"}
_IDENTIFIER = re.compile(r"[A-Za-z_][\w]*", re.ASCII)
_ESCAPABLE = re.compile(r"[A-Za-z_.\-/][\w.\-/]*", re.ASCII)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_LENGTHS = {"duration": 32, "date": 12, "date-time": 25}
_METADATA: Schema = {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}}


def escaped(name: str) -> str | None:
    """The name that a property has in expressions; None for one that they cannot name."""
    if name in _RESERVED:
        return f"__{name}__"
    if _IDENTIFIER.fullmatch(name) and "__" not in name:
        return name
    if not _ESCAPABLE.fullmatch(name):
        return None
    return re.sub("__|[./-]", lambda match: dict(_ESCAPES)[match.group()], name)


def declared(schema: Schema, *, is_resource: bool = False) -> Type | None:
    """The type of what a schema describes; None where it says no type, which expressions cannot see."""
    schema = with_resource_fields(schema) if is_resource else schema
    if schema.get("x-kubernetes-int-or-string"):
        return Type("dyn", max_size=REQUEST_BYTES - 2)
    kind = schema.get("type")
    if kind == "array":
        return _list(schema)
    if kind == "object":
        return _object(schema)
    if kind == "string":
        return _string(schema)
    return {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT}.get(kind or "")


def with_resource_fields(schema: Schema) -> Schema:
    """The schema of a resource: what it has of its metadata is its name alone."""
    properties = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": _METADATA,
    }
    return {**schema, "properties": properties, "type": "object"}


def _list(schema: Schema) -> Type | None:
    item = declared(_dict(schema.get("items")), is_resource=bool(_dict(schema.get("items")).get(_EMBEDDED)))
    if item is None:
        return None
    bound = schema.get("maxItems")
    most = max(bound, 0) if bound is not None else (REQUEST_BYTES - 2) // (_least(schema["items"]) + 1)
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    return types.list_of(item, max_size=most, list_type=schema.get("x-kubernetes-list-type") or "", list_keys=keys)


_EMBEDDED = "x-kubernetes-embedded-resource"


def _object(schema: Schema) -> Type | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict) and not schema.get("properties"):
        value = declared(additional, is_resource=bool(additional.get(_EMBEDDED)))
        if value is None:
            return None
        bound = schema.get("maxProperties")
        most = max(bound, 0) if bound is not None else (REQUEST_BYTES - 2) // (_least(additional) + 6)
        key = Type("string", max_size=REQUEST_BYTES - 2)
        return types.map_of(key, value, max_size=most)
    fields = {}
    for name, inner in (schema.get("properties") or {}).items():
        type_, alias = declared(inner, is_resource=bool(inner.get(_EMBEDDED))), escaped(name)
        if type_ is not None and alias is not None:
            fields[alias] = Field(type_, name)
    # No name of its own could be used in an expression; each object of a schema is a type for itself
    return Type("object", f"object<{','.join(fields)}>", (), fields)


def _string(schema: Schema) -> Type:
    form = schema.get("format") or ""
    if form == "byte":
        return Type("bytes", max_size=_length(schema, 1))
    if form == "duration":
        return Type("duration", max_size=_LENGTHS[form])
    if form in ("date", "date-time"):
        return Type("timestamp", max_size=_LENGTHS[form])
    return Type("string", max_size=_length(schema, 4))


def _length(schema: Schema, bytes_per_character: int) -> int:
    bound = schema.get("maxLength")
    if bound is not None:
        return int(max(bound, 0) * bytes_per_character)
    texts = [item for item in schema.get("enum") or () if isinstance(item, str)]
    return max(map(len, texts)) if texts else REQUEST_BYTES - 2


def _least(schema: Schema) -> int:
    """The fewest bytes that a value of a schema can take in a request."""
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    kind = schema.get("type")
    if kind == "string":
        return {"duration": 4, "date": 12, "date-time": 22}.get(schema.get("format") or "", 2)
    if kind != "object":
        return {"boolean": 4, "array": 2}.get(kind or "", 1)
    least = 2
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name in properties and "default" not in properties[name]:
            least += len(name) + _least(properties[name]) + 4
    return least


def _dict(value: Any) -> Schema:
    return value if isinstance(value, dict) else {}


def converter(declared_type: Type) -> Convert | None:
    """What makes values of JSON those of a type: times and bytes from texts, lists of keys or sets told as such. None
    where JSON's will do, which is the common case. Raises EvaluationError for what the schema let through but is none.
    """
    kind = declared_type.kind
    if kind == "timestamp":
        return lambda value: times.timestamp(value) if len(value) > 10 else times.of_date(value)
    if kind == "double":
        return lambda value: float(value) if type(value) is int else value
    if kind == "duration":
        return times.duration
    if kind == "bytes":
        return _bytes
    if kind == "list":
        return _list_converter(declared_type)
    if kind == "map":
        inner = converter(declared_type.params[1])
        return None if inner is None else lambda value: {key: _converted(inner, item) for key, item in value.items()}
    if kind != "object":
        return None
    fields = {field.key: found for field in declared_type.fields.values() if (found := converter(field.type))}
    return (lambda value: _fields(value, fields)) if fields else None


def _fields(value: dict[str, Any], fields: dict[str, Convert]) -> dict[str, Any]:
    return {key: _converted(fields[key], item) if key in fields else item for key, item in value.items()}


def _list_converter(declared_type: Type) -> Convert | None:
    inner = converter(declared_type.params[0])
    if inner is None and declared_type.list_type not in ("set", "map"):
        return None

    def convert(value: list[Any]) -> list[Any]:
        items = [_converted(inner, item) for item in value] if inner is not None else value
        if declared_type.list_type == "set":
            return SetList(items)
        if declared_type.list_type != "map":
            return items
        by_keys = MapList(items)
        by_keys.keys = declared_type.list_keys
        return by_keys

    return convert


def _converted(convert: Convert, value: Any) -> Any:
    """Null stays null; a value of another type than the schema's is validation's to refuse."""
    try:
        return None if value is None else convert(value)
    except (AttributeError, TypeError) as error:
        raise EvaluationError("no such overload") from error


def _bytes(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvaluationError(f"illegal base64 data: {error}") from error
