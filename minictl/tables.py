"""Columns as kubectl prints them: at least six wide, three blanks between them, the last one ragged.

`Table` objects come from the server (`as=Table`), so cells are the same whoever asks.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apimachinery import objects
from apimachinery.objects import Object

ACCEPT = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
MIN_WIDTH = 6
PADDING = 3


@dataclass(frozen=True, slots=True)
class Layout:
    """What the flags of `get` ask of a table."""

    wide: bool = False
    headers: bool = True
    namespace: bool = False  # a NAMESPACE column first
    kind: str = ""  # names as `kind/name`
    labels: tuple[str, ...] = ()  # -L
    show_labels: bool = False


class Columns:
    """Rows that line up. Widths only grow, so that the lines of a watch stay under one another."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def render(self, rows: Sequence[Sequence[str]]) -> str:
        """The rows as lines, each column as wide as the widest cell seen so far."""
        for row in rows:
            for index, cell in enumerate(row[:-1]):
                if index == len(self._widths):
                    self._widths.append(MIN_WIDTH)
                self._widths[index] = max(self._widths[index], len(cell) + PADDING)
        return "".join(self._line(row) for row in rows)

    def _line(self, row: Sequence[str]) -> str:
        padded = [cell.ljust(self._widths[index]) for index, cell in enumerate(row[:-1])]
        return "".join([*padded, row[-1]]) + "\n" if row else "\n"


def header(table: Object, layout: Layout) -> list[str]:
    """The first line's cells."""
    cells = ["NAMESPACE"] if layout.namespace else []
    cells += [table["columnDefinitions"][index]["name"].upper() for index in shown(table, layout)]
    cells += [label.rpartition("/")[2].upper() for label in layout.labels]
    return [*cells, "LABELS"] if layout.show_labels else cells


def rows(table: Object, layout: Layout) -> list[list[str]]:
    """The cells of every row."""
    indexes = shown(table, layout)
    return [_row(row, table["columnDefinitions"], indexes, layout) for row in table.get("rows") or []]


def shown(table: Object, layout: Layout) -> list[int]:
    """The columns to show: those of priority 0, all of them with `-o wide`."""
    columns = table["columnDefinitions"]
    return [index for index, column in enumerate(columns) if layout.wide or not column.get("priority")]


def _row(row: Object, columns: Sequence[Object], indexes: Iterable[int], layout: Layout) -> list[str]:
    metadata = row.get("object") or {"metadata": {}}
    labels = objects.labels_of(metadata) if "metadata" in metadata else {}
    cells = [objects.namespace_of(metadata)] if layout.namespace else []
    for index in indexes:
        text = cell(row["cells"][index])
        if layout.kind and columns[index].get("format") == "name":
            text = f"{layout.kind}/{text}"
        cells.append(text)
    cells += [labels.get(label, "") for label in layout.labels]
    if layout.show_labels:
        cells.append(",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "<none>")
    return cells


def cell(value: Any) -> str:
    """A cell's text; only its first line, marked, as kubectl has it."""
    if value is None:
        return "<none>"
    if isinstance(value, bool):
        return "true" if value else "false"
    first, newline, _ = str(value).partition("\n")
    return escaped(f"{first}..." if newline else first)


def escaped(text: str) -> str:
    """What an object says must not steer the terminal."""
    return text.replace("\x1b", "^[").replace("\r", "\\r")


def generic(items: Sequence[Object]) -> Object:
    """A table made here, for servers that give none: names only."""
    return {
        "columnDefinitions": [{"name": "Name", "format": "name", "priority": 0}],
        "rows": [{"cells": [objects.name_of(item)], "object": item} for item in items],
    }
