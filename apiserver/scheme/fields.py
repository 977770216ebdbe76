"""Selectable fields: their values as text, with upstream's reading of those that are no plain strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apimachinery.objects import Object


def value_of(obj: Object, field: str) -> str:
    """The field as a selector compares it; "" where it is not set."""
    special = _SPECIAL.get(field)
    if special is not None:
        return special(obj)
    value: Any = obj
    for part in field.split("."):
        if not isinstance(value, dict):
            return ""
        value = value.get(part)
    return _text(value)


def is_plain(field: str) -> bool:
    """Whether the field's text stands in the object's JSON as a string of its own."""
    return field not in _SPECIAL and not field.startswith("spec.parentRef")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _flag(*path: str) -> Callable[[Object], str]:
    """A boolean that counts as false when absent."""

    def read(obj: Object) -> str:
        value: Any = obj
        for part in path:
            value = (value or {}).get(part)
        return "true" if value else "false"

    return read


def _count(name: str) -> Callable[[Object], str]:
    return lambda obj: str((obj.get("status") or {}).get(name) or 0)


def _source(obj: Object) -> str:
    """Upstream: the component of the source, else the reporting controller."""
    return (obj.get("source") or {}).get("component") or obj.get("reportingComponent") or ""


def _pod_ips(obj: Object) -> str:
    return ",".join(entry.get("ip", "") for entry in (obj.get("status") or {}).get("podIPs") or ())


_SPECIAL: dict[str, Callable[[Object], str]] = {
    "spec.unschedulable": _flag("spec", "unschedulable"),
    "spec.hostNetwork": _flag("spec", "hostNetwork"),
    "status.replicas": _count("replicas"),
    "status.successful": _count("succeeded"),
    "status.podIPs": _pod_ips,
    "source": _source,
}
