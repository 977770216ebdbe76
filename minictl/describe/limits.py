"""ResourceQuotas and LimitRanges in words: alone, and as a namespace's description shows all of them."""

from __future__ import annotations

from collections.abc import Sequence

from apimachinery import objects
from apimachinery.objects import Object

_SCOPES = {
    "Terminating": (
        "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being "
        "actively terminated by the system."
    ),
    "NotTerminating": (
        "Matches all pods that do not have an active deadline. These pods usually include long running pods whose "
        "container command is not expected to terminate."
    ),
    "BestEffort": (
        "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service."
    ),
    "NotBestEffort": (
        "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed "
        "quality of service."
    ),
}
_LIMITS = ("Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio")
_LIMIT_FIELDS = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")


def quota(obj: Object) -> list[str]:
    """The lines of a ResourceQuota's description, which has no events."""
    lines = [f"Name:\t{objects.name_of(obj)}", f"Namespace:\t{objects.namespace_of(obj)}"]
    return [*lines, *_scopes(obj), "Resource\tUsed\tHard", "--------\t----\t----", *_amounts(obj)]


def limit_range(obj: Object) -> list[str]:
    """The lines of a LimitRange's description, which has no events."""
    lines = [f"Name:\t{objects.name_of(obj)}", f"Namespace:\t{objects.namespace_of(obj)}"]
    return [*lines, *_titles(), *_limits(obj)]


def all_quotas(quotas: Sequence[Object]) -> list[str]:
    """The quotas of a namespace."""
    if not quotas:
        return ["No resource quota."]
    lines = []
    for found in sorted(quotas, key=objects.name_of):
        lines += [f"Name:\t{objects.name_of(found)}", *(line.lstrip() for line in _scopes(found))]
        lines += ["Resource\tUsed\tHard", "--------\t---\t---", *_amounts(found)]
    return ["Resource Quotas", *(f"  {line}" for line in lines)]


def all_ranges(ranges: Sequence[Object]) -> list[str]:
    """The limit ranges of a namespace."""
    if not ranges:
        return ["No LimitRange resource."]
    lines = [*_titles(), *(line for found in ranges for line in _limits(found))]
    return ["Resource Limits", *(f" {line}" for line in lines)]


def _scopes(found: Object) -> list[str]:
    scopes = sorted(found["spec"].get("scopes") or [])
    titles = [f"Scopes:\t{', '.join(scopes)}"] if scopes else []
    return [*titles, *(f" * {_SCOPES[scope]}" for scope in scopes if scope in _SCOPES)]


def _amounts(found: Object) -> list[str]:
    status = found.get("status") or {}
    used = status.get("used") or {}
    return [f"{name}\t{used.get(name, '0')}\t{hard}" for name, hard in sorted((status.get("hard") or {}).items())]


def _titles() -> list[str]:
    titles = ("Type", *_LIMITS)
    return ["\t".join(titles), "\t".join("-" * len(title) for title in titles)]


def _limits(found: Object) -> list[str]:
    lines = []
    for limit in found["spec"].get("limits") or []:
        for name in sorted({name for field in _LIMIT_FIELDS for name in limit.get(field) or {}}):
            amounts = [str((limit.get(field) or {}).get(name, "-")) for field in _LIMIT_FIELDS]
            lines.append("\t".join((limit.get("type") or "", name, *amounts)))
    return lines
