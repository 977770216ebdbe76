"""A Job in words: how it runs, how far it is, its template."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from apimachinery import ages, clock, objects
from apimachinery.objects import Object
from minictl.describe import layout, workload

INDEXES_SHOWN = 50  # characters of the completed indexes, and what is left of the range there, as kubectl


def describe(obj: Object, events: Sequence[Object] | None, now: datetime) -> list[str]:
    """The lines of a Job's description."""
    spec, status = obj["spec"], obj.get("status") or {}
    lines = [f"Name:\t{objects.name_of(obj)}", f"Namespace:\t{objects.namespace_of(obj)}"]
    lines.append(f"Selector:\t{workload.selector(spec.get('selector') or {})}")
    lines += layout.pairs("Labels", objects.labels_of(obj)) + layout.annotation_lines(obj)
    owner = objects.controller_of(obj)
    if owner:
        lines.append(f"Controlled By:\t{owner['kind']}/{owner['name']}")
    lines += _plan(spec) + _times(status)
    if spec.get("activeDeadlineSeconds") is not None:
        lines.append(f"Active Deadline Seconds:\t{spec['activeDeadlineSeconds']}s")
    lines.append(_pods(status))
    if spec.get("completionMode") == "Indexed":
        lines.append(f"Completed Indexes:\t{_indexes(status.get('completedIndexes') or '')}")
    return [*lines, *workload.template(spec["template"]), *layout.events(events, now)]


def _plan(spec: Object) -> list[str]:
    titles = {
        "Parallelism": spec.get("parallelism"),
        "Completions": spec.get("completions", "<unset>"),
        "Completion Mode": spec.get("completionMode"),
        "Suspend": None if spec.get("suspend") is None else str(spec["suspend"]).lower(),
        "Backoff Limit": spec.get("backoffLimit"),
        "TTL Seconds After Finished": spec.get("ttlSecondsAfterFinished"),
    }
    return [f"{title}:\t{value}" for title, value in titles.items() if value is not None]


def _times(status: Object) -> list[str]:
    started, ended = status.get("startTime"), status.get("completionTime")
    lines = [f"Start Time:\t{layout.when(started)}"] if started else []
    if ended:
        lines.append(f"Completed At:\t{layout.when(ended)}")
    if started and ended:
        lines.append(f"Duration:\t{ages.since(started, clock.parse_rfc3339(ended))}")
    return lines


def _pods(status: Object) -> str:
    ready = f" ({status['ready']} Ready)" if status.get("ready") is not None else ""
    active, succeeded, failed = (status.get(name) or 0 for name in ("active", "succeeded", "failed"))
    return f"Pods Statuses:\t{active} Active{ready} / {succeeded} Succeeded / {failed} Failed"


def _indexes(text: str) -> str:
    """The first of the completed indexes."""
    end = text.find(",", INDEXES_SHOWN)
    return text[: end + 1] + "..." if end >= 0 else text or "<none>"
