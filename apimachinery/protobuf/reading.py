"""Protobuf bodies, read into the same JSON objects as the other forms (step A7).

Guarantees: what comes out is what the client's JSON would have held: fields that are empty are left out where JSON
leaves them out; unknown fields are skipped, as protobuf says. Malformed bytes raise CodecError, and nesting is bounded.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from apimachinery import clock
from apimachinery.codec import MAX_DEPTH, CodecError
from apimachinery.protobuf import layout
from apimachinery.protobuf.layout import Field

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Value = int | bytes


def decode(data: bytes) -> dict[str, Any]:
    """The object in a body. Raises CodecError."""
    if data[:4] != layout.MAGIC:
        raise CodecError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        envelope = dict(_fields(data[4:]))
        names = dict(_fields(_bytes(envelope.get(1, b""))))
        api_version, kind = _text(names.get(1, b"")), _text(names.get(2, b""))
        body = _message(_message_name(api_version, kind), _bytes(envelope.get(2, b"")), 0)
    except (IndexError, struct.error, UnicodeDecodeError, OverflowError) as error:
        raise CodecError(f"proto: {error}") from error
    return {"apiVersion": api_version, "kind": kind, **body}


def _message_name(api_version: str, kind: str) -> str:
    name = layout.message_of(api_version, kind)
    if not name:
        raise CodecError(f'no kind "{kind}" is registered for version "{api_version}"')
    return name


def _message(name: str, data: bytes, depth: int) -> dict[str, Any]:
    if depth > MAX_DEPTH:
        raise CodecError(f"exceeded max depth {MAX_DEPTH}")
    fields = layout.of(name)
    result: dict[str, Any] = {}
    for number, value in _fields(data):
        field = fields.get(number)
        if field is None:
            continue
        if field.inline:
            result.update(_message(field.kind, _bytes(value), depth + 1))
        elif field.shape == "[]":
            _extend(result.setdefault(field.name, []), field.kind, value, depth)
        elif field.shape == "{}":
            key, item = _entry(field, _bytes(value), depth)
            result.setdefault(field.name, {})[key] = item
        else:
            result[field.name] = (
                _wrapped(field.kind, _bytes(value), depth) if field.shape else _value(field.kind, value, depth)
            )
    return {name: value for name, value in result.items() if value is not None and not _left_out(fields, name, value)}


def _left_out(fields: dict[int, Field], name: str, value: Any) -> bool:
    """Whether JSON would leave the field out: Go writes every plain value into protobuf, empty ones too."""
    if value or isinstance(value, dict):
        return False
    return any(field.name == name and field.omit_empty for field in fields.values())


def _extend(items: list[Any], kind: str, value: Value, depth: int) -> None:
    if kind in "it" and isinstance(value, bytes):  # packed
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            items.append(_value(kind, number, depth))
    else:
        items.append(_value(kind, value, depth))


def _wrapped(kind: str, data: bytes, depth: int) -> list[Any]:
    return [_value(kind, value, depth) for number, value in _fields(data) if number == 1]


def _entry(field: Field, data: bytes, depth: int) -> tuple[str, Any]:
    parts = dict(_fields(data))
    key = _text(parts.get(1, b""))
    if field.inner:
        return key, _wrapped(field.kind, _bytes(parts.get(2, b"")), depth)
    return key, _value(field.kind, parts.get(2, 0 if field.kind in "it" else b""), depth)


def _value(kind: str, value: Value, depth: int) -> Any:
    match kind:
        case "s":
            return _text(value)
        case "b":
            return base64.b64encode(_bytes(value)).decode()
        case "t":
            return bool(_integer(value))
        case "i":
            return _integer(value)
        case "d":
            return struct.unpack("<d", _bytes(value))[0]
    if kind.startswith("!SchemaOr"):
        return _schema(kind, _bytes(value), depth + 1)
    if kind[0] == "!":
        return _special(kind, _bytes(value))
    return _message(kind, _bytes(value), depth + 1)


def _schema(kind: str, data: bytes, depth: int) -> Any:
    """A schema, or what else may stand in its place: several schemas, a boolean, names."""
    parts = list(_fields(data))
    whole = 2 if kind == "!SchemaOrBool" else 1
    for number, value in parts:
        if number == whole:
            return _message(layout.SCHEMA, _bytes(value), depth)
    if kind == "!SchemaOrBool":
        return bool(_integer(dict(parts).get(1, 0)))
    others = [value for number, value in parts if number == 2]
    if kind == "!SchemaOrArray":
        return [_message(layout.SCHEMA, _bytes(value), depth) for value in others]
    return [_text(value) for value in others]


def _special(kind: str, data: bytes) -> Any:
    """The types whose JSON is not the JSON of their fields."""
    parts = dict(_fields(data))
    match kind:
        case "!Time" | "!MicroTime":
            return _time(parts, micro=kind == "!MicroTime")
        case "!Quantity":
            return _text(parts.get(1, b"0"))
        case "!IntOrString":
            return _text(parts.get(3, b"")) if _integer(parts.get(1, 0)) == 1 else _integer(parts.get(2, 0))
        case "!Duration":
            return f"{_integer(parts.get(1, 0)) / 1e9:g}s"
    raw = _bytes(parts.get(1, b""))  # !Raw: JSON within
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise CodecError(f"an embedded object is not JSON: {error}") from error


def _time(parts: dict[int, Value], *, micro: bool) -> str | None:
    if not parts:
        return None
    seconds, nanos = _integer(parts.get(1, 0)), _integer(parts.get(2, 0))
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    return clock.rfc3339_micro(moment) if micro else clock.rfc3339(moment)


# --- the wire


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Field numbers and raw values, in order."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        wire = key & 7
        value: Value
        if wire == _VARINT:
            value, at = _varint(data, at)
        elif wire == _BYTES:
            size, at = _varint(data, at)
            if size > end - at:
                raise CodecError("proto: unexpected EOF")
            value, at = data[at : at + size], at + size
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
            if size > end - at:
                raise CodecError("proto: unexpected EOF")
            value, at = data[at : at + size], at + size
        else:
            raise CodecError(f"proto: illegal wireType {wire}")
        yield key >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7
        if shift > 63:
            raise CodecError("proto: integer overflow")


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise CodecError("proto: wrong wireType for a field of bytes")
    return value


def _text(value: Value) -> str:
    return _bytes(value).decode()


def _integer(value: Value) -> int:
    if isinstance(value, bytes):
        raise CodecError("proto: wrong wireType for an integer field")
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value
