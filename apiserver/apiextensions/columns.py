"""`additionalPrinterColumns`: what `kubectl get` prints of a custom resource."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from apimachinery import ages, jsonpath
from apimachinery.objects import Object
from apiserver.scheme.columns import shared
from apiserver.scheme.resources import Column

_AGE = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
    "description": "CreationTimestamp is a timestamp representing the server time when this object was created.",
}


def of(spec: Object) -> tuple[Column, ...]:
    """The columns of a version: the name, then those it asks for, or else the age."""
    asked = spec.get("additionalPrinterColumns") or [_AGE]
    return (shared.NAME, *(_column(item) for item in asked))


def _column(asked: Object) -> Column:
    return Column(
        asked["name"],
        _cell(asked.get("jsonPath") or "", asked.get("type") or "string"),
        asked.get("type") or "string",
        asked.get("format") or "",
        asked.get("description") or "",
        asked.get("priority") or 0,
    )


def _cell(path: str, kind: str) -> Callable[[Object, datetime], Any]:
    def read(obj: Object, now: datetime) -> Any:
        try:
            found = jsonpath.find(path, obj)
        except jsonpath.JSONPathError:
            return None
        return _shown(found[0], kind, now) if found else None

    return read


def _shown(value: Any, kind: str, now: datetime) -> Any:
    """As upstream: a value that is not of the column's type is left out."""
    match kind:
        case "integer":
            return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return ages.since(value, now) if isinstance(value, str) else None
    return jsonpath.plain(value)
