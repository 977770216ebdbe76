"""RBAC, quotas, limits, disruption budgets, priority classes."""

from __future__ import annotations

from datetime import datetime

from apimachinery.objects import Object
from apiserver.scheme.columns.shared import AGE, CREATED_AT, NAME, WIDE, Cell, number, text, value
from apiserver.scheme.resources import Column

LIMIT_RANGE = (NAME, CREATED_AT)
ROLE = (NAME, CREATED_AT)


def _role(binding: Object, now: datetime) -> str:
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind')}/{reference.get('name')}"


def _subjects(kind: str) -> Cell:
    def read(binding: Object, now: datetime) -> str:
        found = [item for item in binding.get("subjects") or () if item.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{item.get('namespace') or ''}/{item['name']}" for item in found)
        return ", ".join(item["name"] for item in found)

    return read


ROLE_BINDING = (
    NAME,
    Column("Role", _role),
    AGE,
    Column("Users", _subjects("User"), priority=WIDE),
    Column("Groups", _subjects("Group"), priority=WIDE),
    Column("ServiceAccounts", _subjects("ServiceAccount"), priority=WIDE),
)


def _quota(*, limits: bool) -> Cell:
    """`name: used/hard` of each resource, limits and requests apart."""

    def read(obj: Object, now: datetime) -> str:
        status = obj.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        names = sorted(name for name in hard if name.startswith("limits") is limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return read


RESOURCE_QUOTA = (NAME, Column("Request", _quota(limits=False)), Column("Limit", _quota(limits=True)), AGE)


def _or_not_applicable(path: str) -> Cell:
    read = value(path, None)

    def shown(obj: Object, now: datetime) -> str:
        found = read(obj, now)
        return "N/A" if found is None else str(found)

    return shown


DISRUPTION_BUDGET = (
    NAME,
    Column("Min Available", _or_not_applicable("spec.minAvailable")),
    Column("Max Unavailable", _or_not_applicable("spec.maxUnavailable")),
    number("Allowed Disruptions", "status.disruptionsAllowed"),
    AGE,
)

PRIORITY_CLASS = (
    NAME,
    number("Value", "value"),
    Column("Global-Default", value("globalDefault", False), "boolean"),
    AGE,
    text("PreemptionPolicy", "preemptionPolicy"),
)
