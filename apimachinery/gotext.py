"""How Go names and prints JSON values: upstream's messages are full of it, and people search for them."""

from __future__ import annotations

from typing import Any


def text(value: Any) -> str:
    """A decoded value as `%v` prints it: `map[a:1 b:[x y]]`."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "map[" + " ".join(f"{key}:{text(value[key])}" for key in sorted(value)) + "]"
        case list():
            return "[" + " ".join(text(item) for item in value) + "]"
        case None:
            return "<nil>"
    return str(value)


def json_type(value: Any) -> str:
    """What encoding/json calls a value's type."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "number"
        case float():
            return f"number {value!r}"
        case list():
            return "array"
        case dict():
            return "object"
    return "null"


def kind(value: Any) -> str:
    """The kind of the Go value that a JSON value is decoded to."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case list():
            return "slice"
    return "map"


def type_name(value: Any) -> str:
    """The type of that Go value."""
    return {"slice": "[]interface {}", "map": "map[string]interface {}"}.get(kind(value), kind(value))
