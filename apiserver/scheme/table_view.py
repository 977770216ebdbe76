"""Objects as rows of a meta.k8s.io Table: what `kubectl get` prints (step A3).

Rows without columns of their own have a name and an age. A cell that cannot be made from an object that was stored by
an older server must not fail the whole list, so it is left empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apimachinery.objects import Object
from apiserver.scheme.columns import shared
from apiserver.scheme.resources import Column, Resource

DEFAULT = (shared.NAME, shared.AGE)


def columns(row: Resource) -> tuple[Column, ...]:
    """The columns of a collection, never none."""
    return row.columns or DEFAULT


def definitions(listed: Sequence[Column]) -> list[Object]:
    """`columnDefinitions` of a Table."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in listed
    ]


def cells(listed: Sequence[Column], obj: Object, now: datetime) -> list[Any]:
    """One row's cells, in the columns' order."""
    return [_cell(column, obj, now) for column in listed]


def _cell(column: Column, obj: Object, now: datetime) -> Any:
    cell = column.cell if callable(column.cell) else shared.value(column.cell)
    try:
        return cell(obj, now)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ""
