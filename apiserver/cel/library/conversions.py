"""Conversions between types, and the type of a value."""

from __future__ import annotations

import math
import re
from typing import Any

from apiserver.cel import times, values
from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import costs
from apiserver.cel.values import INT_MAX, INT_MIN, NANOS, UINT_MAX, Duration, Timestamp, TypeValue, Uint

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)


def _int(value: Any) -> int:
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value):
            raise EvaluationError(f'strconv.ParseInt: parsing "{value}": invalid syntax')
        value = int(value)
    elif isinstance(value, Timestamp):
        return value.nanos // NANOS
    elif isinstance(value, Duration):
        return value.nanos
    elif isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError("integer overflow")
    number = int(value)
    if not INT_MIN <= number <= INT_MAX:
        raise EvaluationError("integer overflow")
    return number


def _uint(value: Any) -> Uint:
    if isinstance(value, str) and not value.isdecimal():
        raise EvaluationError(f'strconv.ParseUint: parsing "{value}": invalid syntax')
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError("unsigned integer overflow")
    number = int(value)
    if not 0 <= number <= UINT_MAX:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _double(value: Any) -> float:
    if isinstance(value, str) and not _DOUBLE.fullmatch(value):
        raise EvaluationError(f'strconv.ParseFloat: parsing "{value}": invalid syntax')
    return float(value)


def _bool(value: str) -> bool:
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise EvaluationError(f'strconv.ParseBool: parsing "{value}": invalid syntax')


def text(value: Any) -> str:
    """As `string(x)` writes it."""
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return double_text(value)
    if kind is bytes:
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError as error:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from error
    if kind is Timestamp:
        return times.timestamp_text(value)
    if kind is Duration:
        return times.duration_text(value)
    return str(value)


def double_text(value: float) -> str:
    """Go's shortest form: exponents below 1e-4 and from 1e21 on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if 1e-4 <= abs(value) < 1e21:
        shown = repr(float(value))
        if "e" in shown:
            shown = f"{value:.17f}" if abs(value) < 1 else str(int(value))
        return shown.removesuffix(".0")
    mantissa, _, exponent = repr(float(value)).partition("e")
    return f"{mantissa.removesuffix('.0')}e{exponent[0]}{exponent[1:].zfill(2)}"


LIBRARY = Library()
for source in ("int", "uint", "double", "string", "timestamp", "duration"):
    LIBRARY.function(f"int({source}) -> int", _int)
for source in ("uint", "int", "double", "string"):
    LIBRARY.function(f"uint({source}) -> uint", _uint)
for source in ("double", "int", "uint", "string"):
    LIBRARY.function(f"double({source}) -> double", _double)
for source in ("string", "bool", "int", "uint", "double", "bytes", "timestamp", "duration"):
    LIBRARY.function(f"string({source}) -> string", text, costs.traversal() if source == "bytes" else None)
LIBRARY.function("bool(bool) -> bool", lambda value: value)
LIBRARY.function("bool(string) -> bool", _bool)
LIBRARY.function("bytes(bytes) -> bytes", lambda value: value)
LIBRARY.function("bytes(string) -> bytes", str.encode, costs.traversal())
LIBRARY.function("dyn(A) -> dyn", lambda value: value)
LIBRARY.function("type(A) -> type", lambda value: TypeValue(values.type_name(value)))
