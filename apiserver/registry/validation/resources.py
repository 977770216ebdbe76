"""`resources` of containers and pods: legal names, sane amounts, requests within limits."""

from __future__ import annotations

from typing import Any

from apimachinery import names, quantity
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE = "hugepages-"


def requirements(resources: Object, field: str) -> list[Cause]:
    """A container's `resources`."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    found: list[Cause] = []
    for name, value in limits.items():
        found += _amount(name, value, f"{field}.limits[{name}]")
    for name, value in requests.items():
        found += _amount(name, value, f"{field}.requests[{name}]")
        if name not in limits:
            if not _may_overcommit(name):
                found.append(causes.required(f"{field}.limits", "Limit must be set for non overcommitable resources"))
            continue
        found += _within_limit(name, value, limits[name], f"{field}.requests")
    return found


def _within_limit(name: str, value: Any, limit: Any, field: str) -> list[Cause]:
    asked, allowed = quantity.parse(value), quantity.parse(limit)
    if not _may_overcommit(name) and asked != allowed:
        return [causes.invalid(field, value, f"must be equal to {name} limit of {limit}")]
    if asked > allowed:
        return [causes.invalid(field, value, f"must be less than or equal to {name} limit of {limit}")]
    return []


def _amount(name: str, value: Any, field: str) -> list[Cause]:
    found = [causes.invalid(field, name, why) for why in names.qualified_name(name)]
    if "/" not in name and name not in _STANDARD and not name.startswith(_HUGE):
        found.append(causes.invalid(field, name, "must be a standard resource type or fully qualified"))
        found.append(causes.invalid(field, name, "must be a standard resource for containers"))
    number = quantity.parse(value)
    if number < 0:
        found.append(causes.invalid(field, value, "must be greater than or equal to 0"))
    if "/" in name and number != number.to_integral_value():
        found.append(causes.invalid(field, value, "must be an integer"))
    return found


def _may_overcommit(name: str) -> bool:
    """Extended resources and huge pages are given out exactly."""
    return "/" not in name and not name.startswith(_HUGE)
