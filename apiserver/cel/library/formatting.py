"""`'%s is %d'.format([a, b])`."""

from __future__ import annotations

import re
from typing import Any

from apiserver.cel import values
from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import conversions, costs
from apiserver.cel.values import TypeValue, Uint

_CLAUSE = re.compile(r"%(?:(%)|(?:\.(\d+))?(.)|$)", re.DOTALL)
_INTS = (int, Uint)
MAX_PRECISION = 1000  # digits that one clause may ask for


def _format(text: str, args: list[Any]) -> str:
    remaining = iter(enumerate(args))

    def clause(match: re.Match[str]) -> str:
        percent, precision, verb = match.groups()
        if percent:
            return "%"
        if verb is None:
            raise EvaluationError("unexpected end of string")
        found = next(remaining, None)
        if found is None:
            raise EvaluationError(f"index {len(args)} out of range")
        if precision is not None and int(precision) > MAX_PRECISION:
            raise EvaluationError("could not parse formatting clause: precision is too large")
        return _formatted(verb, found[1], int(precision) if precision is not None else 6)

    return _CLAUSE.sub(clause, text)


def _formatted(verb: str, value: Any, precision: int) -> str:
    kind = type(value)
    if verb == "s":
        return _text(value)
    if verb == "d" and kind in _INTS:
        return str(int(value))
    if verb == "d" and kind is float and value != value:
        return "NaN"
    if verb in "fe" and kind in (float, *_INTS):
        return f"{float(value):.{precision}{verb}}"
    if verb == "b" and kind in (bool, *_INTS):
        return f"{int(value):b}"
    if verb == "o" and kind in _INTS:
        return f"{int(value):o}"
    if verb in "xX" and kind in (str, bytes, *_INTS):
        shown = f"{int(value):x}" if kind in _INTS else (value.encode() if kind is str else value).hex()
        return shown.upper() if verb == "X" else shown
    if verb not in "sdfeboxX":
        raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    raise EvaluationError(f"error during formatting: {_WANTED[verb]}, was given {values.type_name(value)}")


_WANTED = {
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "o": "octal clause can only be used on integers",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        pairs = sorted((_text(key), _text(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(value, TypeValue):
        return value.name
    if value is None:
        return "null"
    return conversions.text(value)


LIBRARY = Library()
LIBRARY.method("format(string, list(dyn)) -> string", _format, costs.traversal())
