"""Columns and cell functions that several kinds have: name, age, containers, selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from apimachinery import ages, selectors
from apimachinery.objects import Object
from apiserver.scheme.resources import Column

NONE = "<none>"
WIDE = 1  # the priority of columns that only `-o wide` shows

Cell = Callable[[Object, datetime], Any]


def name_of(obj: Object, now: datetime) -> str:
    return str(obj["metadata"]["name"])


def age_of(obj: Object, now: datetime) -> str:
    return ages.since(obj["metadata"].get("creationTimestamp"), now)


def created_at(obj: Object, now: datetime) -> str:
    return obj["metadata"].get("creationTimestamp") or ages.UNKNOWN


def value(path: str, default: Any = "") -> Cell:
    """The value at a dotted path."""
    parts = path.split(".")

    def read(obj: Object, now: datetime) -> Any:
        found: Any = obj
        for part in parts:
            found = found.get(part) if isinstance(found, dict) else None
        return default if found is None or found == "" else found

    return read


def count(path: str) -> Cell:
    """How many items the list or map at a path has."""
    read = value(path)
    return lambda obj, now: len(read(obj, now) or ())


def number(name: str, path: str) -> Column:
    return Column(name, value(path, 0), "integer")


def text(name: str, path: str, default: str = "", priority: int = 0) -> Column:
    return Column(name, value(path, default), priority=priority)


NAME = Column("Name", name_of, format="name", description="Name must be unique within a namespace.")
AGE = Column("Age", age_of, description="How long ago the object was created.")
CREATED_AT = Column("Created At", created_at, "date", description="When the object was created.")


def join(values: Iterable[str], default: str = "") -> str:
    return ",".join(values) or default


def label_map(labels: dict[str, str] | None) -> str:
    """`a=b,c=d` in order of keys."""
    return join((f"{key}={item}" for key, item in sorted((labels or {}).items())), NONE)


def selector_text(selector: Object | None) -> str:
    """A `metav1.LabelSelector` as text; one that cannot be read is told as such."""
    if selector is None:
        return NONE
    try:
        parsed = selectors.from_label_selector(selector)
    except (selectors.SelectorError, KeyError):
        return "<error>"
    return join(sorted(str(requirement) for requirement in parsed.requirements), NONE)


def _containers(obj: Object, path: tuple[str, ...]) -> list[Object]:
    found: Any = obj
    for part in path:
        found = (found or {}).get(part)
    return (found or {}).get("containers") or []


def template_columns(*path: str, selector: bool = True) -> tuple[Column, ...]:
    """Containers, Images and Selector of a workload whose pod spec is at `path`."""
    listed = (
        Column("Containers", lambda obj, now: join(c["name"] for c in _containers(obj, path)), priority=WIDE),
        Column("Images", lambda obj, now: join(c.get("image", "") for c in _containers(obj, path)), priority=WIDE),
    )
    if not selector:
        return listed
    return (
        *listed,
        Column("Selector", lambda obj, now: selector_text((obj.get("spec") or {}).get("selector")), priority=WIDE),
    )
