"""A namespace in words, with what limits the objects in it: its ResourceQuotas and LimitRanges."""

from __future__ import annotations

from collections.abc import Sequence

from apimachinery.objects import Object
from minictl.describe import layout, limits


def describe(obj: Object, quotas: Sequence[Object], ranges: Sequence[Object]) -> list[str]:
    """The lines of a namespace's description, which has no events."""
    status = obj.get("status") or {}
    lines = [*layout.head(obj), f"Status:\t{status.get('phase') or ''}", *_conditions(status.get("conditions") or [])]
    return [*lines, "", *limits.all_quotas(quotas), "", *limits.all_ranges(ranges)]


def _conditions(conditions: Sequence[Object]) -> list[str]:
    if not conditions:
        return []
    titles = ("Type", "Status", "LastTransitionTime", "Reason", "Message")
    rows = ["\t".join(titles), "\t".join("-" * len(title) for title in titles)]
    for entry in conditions:
        stamp = layout.go_time(entry.get("lastTransitionTime"))
        cells = (entry["type"], entry["status"], stamp, entry.get("reason") or "", entry.get("message") or "")
        rows.append("\t".join(cells))
    return ["Conditions:", *(f"  {row}" for row in rows)]
