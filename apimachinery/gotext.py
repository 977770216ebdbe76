"""How Go names and prints JSON values: upstream's messages are full of it, and people search for them."""

from __future__ import annotations

import math
from typing import Any

_EXPONENT_DIGITS = 6  # from so many digits on Go writes an exponent


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


def number(value: float) -> str:
    """As `%v` prints a float64: `1`, `0.5`, `1e+06`."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    digits = mantissa.replace("-", "").replace(".", "").strip("0")
    if value == 0 or not digits:
        return "0"
    power = math.floor(math.log10(abs(value))) if not exponent else int(exponent)
    if -4 <= power < _EXPONENT_DIGITS:
        return f"{value:.17g}" if value == int(value) else repr(value)
    sign, rest = "-" if value < 0 else "", digits[1:]
    return f"{sign}{digits[0]}{'.' + rest if rest else ''}e{'-' if power < 0 else '+'}{abs(power):02d}"
