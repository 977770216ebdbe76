"""JSON objects written in Kubernetes' protobuf form (step A7), for clients that ask for it.

A message's writer is put together once, from its layout, as a function that goes through the object's own fields: what
an object does not have costs nothing.
Guarantees: read back, the object is what it was. Fields that the message does not know are left out.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from apimachinery.protobuf import layout, octets
from apimachinery.protobuf.layout import Field

Encode = Callable[[Any], bytes]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode(obj: dict[str, Any]) -> bytes:
    """The object in its envelope. Raises KeyError for a kind without a message: ask `layout.message_of` before."""
    api_version, kind = obj["apiVersion"], obj["kind"]
    return envelope(api_version, kind, message(layout.message_of(api_version, kind))(obj))


def encode_list(api_version: str, kind: str, metadata: dict[str, Any], items: Iterable[dict[str, Any]]) -> bytes:
    """A list of objects of one kind, of which only one at a time need be decoded."""
    whole = message(layout.message_of(api_version, kind))
    parts = [whole({"metadata": metadata}), *(whole({"items": (item,)}) for item in items)]
    return envelope(api_version, kind, b"".join(parts))


def event(kind: str, obj: dict[str, Any]) -> bytes:
    """One event of a watch: behind its length, the bare message, within which the object has its own envelope."""
    body = octets.field(1, kind.encode()) + octets.field(2, octets.field(1, encode(obj)))
    return struct.pack(">I", len(body)) + body


def envelope(api_version: str, kind: str, body: bytes) -> bytes:
    """A message with the name of its kind, and the mark that every such body starts with."""
    names = octets.field(1, api_version.encode()) + octets.field(2, kind.encode())
    return b"".join((layout.MAGIC, octets.field(1, names), octets.field(2, body), b"\x1a\x00\x22\x00"))


@lru_cache(maxsize=1024)
def message(name: str) -> Encode:
    """The writer of a message."""
    fields = layout.of(name)
    inlined = [(octets.tag(number, octets.BYTES), field.kind) for number, field in fields.items() if field.inline]
    writers: dict[str, Encode] = {}

    def writer(key: str) -> Encode:
        """Made at first use: messages hold themselves."""
        found = next(((number, field) for number, field in fields.items() if field.name == key), None)
        made = writers[key] = _field(*found) if found else _nothing
        return made

    def write(obj: dict[str, Any]) -> bytes:
        parts = [(writers.get(key) or writer(key))(value) for key, value in obj.items() if value is not None]
        for mark, kind in inlined:
            body = message(kind)(obj)
            parts.append(b"%b%b%b" % (mark, octets.varint(len(body)), body))
        return b"".join(parts)

    return write


def _nothing(value: Any) -> bytes:
    return b""


def _field(number: int, field: Field) -> Encode:
    """A field's writer, tag included."""
    match field.shape:
        case "[]":
            one = _value(number, field.kind)
            return lambda items: b"".join([one(item) for item in items])
        case "{}":
            return _map(number, field)
        case "&":
            return _delimited(number, _list_of(field.kind))
    return _value(number, field.kind)


def _map(number: int, field: Field) -> Encode:
    value = _delimited(2, _list_of(field.kind)) if field.inner else _value(2, field.kind)
    mark = octets.tag(number, octets.BYTES)

    def entry(key: str, item: Any) -> bytes:
        body = octets.field(1, key.encode()) + (b"" if item is None else value(item))
        return b"%b%b%b" % (mark, octets.varint(len(body)), body)

    return lambda items: b"".join([entry(key, items[key]) for key in sorted(items)])


def _list_of(kind: str) -> Encode:
    one = _value(1, kind)
    return lambda items: b"".join([one(item) for item in items])


def _value(number: int, kind: str) -> Encode:
    if kind in ("t", "i"):
        mark = octets.tag(number, octets.VARINT)
        return lambda value: mark + octets.varint(int(value))
    if kind == "d":
        mark = octets.tag(number, octets.FIXED64)
        return lambda value: mark + struct.pack("<d", value)
    if kind in ("s", "b"):
        return _delimited(number, str.encode if kind == "s" else base64.b64decode)
    return _delimited(number, _SPECIAL[kind] if kind[0] == "!" else message(kind))


def _delimited(number: int, write: Encode) -> Encode:
    mark, varint = octets.tag(number, octets.BYTES), octets.varint

    def encoded(value: Any) -> bytes:
        data = write(value)
        return b"%b%b%b" % (mark, varint(len(data)), data)

    return encoded


# --- types whose JSON is not the JSON of their fields


def _time(text: str) -> bytes:
    moment = datetime.fromisoformat(text) - _EPOCH
    seconds, nanos = moment.days * 86400 + moment.seconds, moment.microseconds * 1000
    return b"\x08%b\x10%b" % (octets.varint(seconds), octets.varint(nanos))


def _quantity(value: Any) -> bytes:
    return octets.field(1, str(value).encode())


def _int_or_string(value: Any) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + octets.field(3, value.encode())
    return b"\x08\x00\x10%b\x1a\x00" % octets.varint(value)


def _raw(value: Any) -> bytes:
    return octets.field(1, orjson.dumps(value))


def _schema_or_array(value: Any) -> bytes:
    schema = message(layout.SCHEMA)
    if isinstance(value, dict):
        return octets.field(1, schema(value))
    return b"".join([octets.field(2, schema(item)) for item in value])


def _schema_or_bool(value: Any) -> bytes:
    if isinstance(value, dict):
        return b"\x08\x01" + octets.field(2, message(layout.SCHEMA)(value))
    return b"\x08%b" % octets.varint(int(value))


def _schema_or_strings(value: Any) -> bytes:
    if isinstance(value, dict):
        return octets.field(1, message(layout.SCHEMA)(value))
    return b"".join([octets.field(2, item.encode()) for item in value])


_SPECIAL: dict[str, Encode] = {
    "!SchemaOrArray": _schema_or_array,
    "!SchemaOrBool": _schema_or_bool,
    "!SchemaOrStrings": _schema_or_strings,
    "!Time": _time,
    "!MicroTime": _time,
    "!Quantity": _quantity,
    "!IntOrString": _int_or_string,
    "!Raw": _raw,
}
