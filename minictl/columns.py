"""`-o custom-columns=NAME:PATH,…` and `custom-columns-file=FILE`: tables of the user's own fields.

A path is JSONPath in any of kubectl's four spellings (`a.b`, `.a.b`, `{a.b}`, `{.a.b}`). A field that is not there is
`<none>`; several values are joined by commas; objects and lists look as Go prints them, since scripts read that.
Source: https://kubernetes.io/docs/reference/kubectl/#custom-columns
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apimachinery.objects import Object
from minictl import jsonpath, tables
from minictl.failures import Refused

_PATH = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
_FILE_FORM = "Expected format is one line of space separated headers, one line of space separated column specs."
# Go prints a float64 of at least this size with an exponent
_EXPONENT_FROM = 1e21


class CustomColumns:
    """Rows under one header; they line up with those that came before, as in a watch."""

    def __init__(self, fields: Sequence[tuple[str, str]], *, headers: bool) -> None:
        self._paths = [path for _, path in fields]
        self._head = [[header for header, _ in fields]] if headers else []
        self._columns = tables.Columns()

    def text(self, obj: Object) -> str:
        """The lines of an object, or of each in a List; the header before the first."""
        found = obj["items"] if isinstance(obj.get("items"), list) else [obj]
        rows, self._head = [*self._head, *(self._row(one) for one in found)], []
        # a value of several lines breaks its row there, as it does in kubectl
        lines = [line.split("\t") for row in rows for line in "\t".join(row).split("\n")]
        return self._columns.render(lines)

    def _row(self, obj: Object) -> list[str]:
        return [_cell(jsonpath.find(path, obj)) if path else "<none>" for path in self._paths]


def parse(form: str, *, headers: bool = True) -> CustomColumns:
    """The columns that `-o` asks for. Raises Refused."""
    kind, _, text = form.partition("=")
    if not text:
        raise Refused("custom-columns format specified but no custom columns given")
    if kind == "custom-columns-file":
        return CustomColumns(_of_file(text), headers=True)  # the file's first line, whatever --no-headers says
    return CustomColumns([_field(part) for part in text.split(",")], headers=headers)


def _field(part: str) -> tuple[str, str]:
    header, colon, path = part.partition(":")
    if not colon:
        raise Refused(f"unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>")
    return header, _path(path)


def _of_file(name: str) -> list[tuple[str, str]]:
    """A line of headers, a line of paths."""
    try:
        lines = Path(name).read_text().splitlines()
    except OSError as error:
        raise Refused(f"error reading template {name}, open {name}: {(error.strerror or '').lower()}") from error
    for line, what in enumerate(("header", "spec")):
        if len(lines) <= line:
            raise Refused(f"invalid template, missing {what} line. {_FILE_FORM}")
    headers, paths = lines[0].split(), lines[1].split()
    if len(headers) != len(paths):
        raise Refused(f"number of headers ({len(headers)}) and field specifications ({len(paths)}) don't match")
    return [(header, _path(path)) for header, path in zip(headers, paths, strict=True)]


def _path(text: str) -> str:
    """The expression without what may stand around it; "" selects nothing."""
    match = _PATH.fullmatch(text) if text else None
    if text and match is None:
        raise Refused(
            "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'"
        )
    return "" if match is None else f".{match[1] or match[2]}"


def _cell(values: Sequence[Any]) -> str:
    return ",".join(tables.escaped(_go(value)) for value in values) or "<none>"


def _go(value: Any) -> str:
    """A value as Go's `fmt.Sprint` has it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXPONENT_FROM:
        return str(int(value))
    return "<nil>" if value is None else str(value)
