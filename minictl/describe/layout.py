"""Lines with elastic tab stops, as Go's tabwriter makes them, and the pieces that all descriptions share.

A cell is text that ends in a tab. Cells of one column line up over neighbouring lines that all have that column; a line
without it ends the block. Text after a line's last tab is not in any column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from apimachinery import ages, clock, objects
from apimachinery.objects import Object

PADDING = 2
# Annotations that only machines read, and that would fill the screen
HIDDEN_ANNOTATIONS = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
MAX_ANNOTATION = 140


def align(lines: Sequence[str]) -> str:
    """The lines with every column lined up."""
    split = [line.split("\t") for line in lines]
    _align(split, 0, len(split), 0)
    return "".join(f"{''.join(cells)}\n" for cells in split)


def _align(lines: list[list[str]], start: int, end: int, column: int) -> None:
    """Pad column after column, block by block."""
    at = start
    while at < end:
        if len(lines[at]) <= column + 1:
            at += 1
            continue
        block = at
        while at < end and len(lines[at]) > column + 1:
            at += 1
        width = max(len(cells[column]) for cells in lines[block:at]) + PADDING
        for cells in lines[block:at]:
            cells[column] = cells[column].ljust(width)
        _align(lines, block, at, column + 1)


def when(stamp: str | None) -> str:
    """A time as kubectl describes it, in the user's zone."""
    return clock.parse_rfc3339(stamp).astimezone().strftime("%a, %d %b %Y %H:%M:%S %z") if stamp else "<unset>"


def go_time(stamp: str | None) -> str:
    """A time as Go prints one by default."""
    return clock.parse_rfc3339(stamp).astimezone().strftime("%Y-%m-%d %H:%M:%S %z %Z") if stamp else "<nil>"


def indented(lines: Iterable[str], level: int) -> list[str]:
    return ["  " * level + line for line in lines]


def pairs(title: str, values: Mapping[str, str] | None, join: str = "=") -> list[str]:
    """`Labels:  a=b`, one pair a line, the title before the first."""
    shown = [f"{key}{join}{value}" for key, value in sorted((values or {}).items())] or ["<none>"]
    return [f"{title}:\t{shown[0]}", *(f"\t{line}" for line in shown[1:])]


def annotation_lines(obj: Object) -> list[str]:
    """The annotations for people; long or multi-line ones on lines of their own."""
    shown: list[str] = []
    for key, value in sorted(objects.annotations_of(obj).items()):
        if key in HIDDEN_ANNOTATIONS:
            continue
        text = value.rstrip("\n")
        if "\n" in text or len(f"{key}: {text}") > MAX_ANNOTATION:
            shown.append(f"{key}:")
            shown += [f"  {_shortened(line)}" for line in text.split("\n")]
        else:
            shown.append(f"{key}: {text}")
    lines = shown or ["<none>"]
    return [f"Annotations:\t{lines[0]}", *(f"\t{line}" for line in lines[1:])]


def head(obj: Object, *, created: bool = False) -> list[str]:
    """Name, namespace, labels, annotations."""
    lines = [f"Name:\t{objects.name_of(obj)}"]
    if objects.namespace_of(obj):
        lines.append(f"Namespace:\t{objects.namespace_of(obj)}")
    if created:
        lines.append(f"CreationTimestamp:\t{when(obj['metadata'].get('creationTimestamp'))}")
    return [*lines, *pairs("Labels", objects.labels_of(obj)), *annotation_lines(obj)]


def events(found: Sequence[Object] | None, now: datetime) -> list[str]:
    """The events about an object, oldest first; None: they were not asked for."""
    if found is None:
        return []
    if not found:
        return ["Events:\t<none>"]
    rows = ["Type\tReason\tAge\tFrom\tMessage", "----\t------\t----\t----\t-------"]
    rows += [_event(event, now) for event in sorted(found, key=_last)]
    return ["Events:", *(f"  {row}" for row in rows)]


def _event(event: Object, now: datetime) -> str:
    source = event.get("source") or {}
    path = (event.get("involvedObject") or {}).get("fieldPath")
    component = source.get("component") or event.get("reportingComponent") or ""
    return "\t".join(
        (
            str(event.get("type") or ""),
            str(event.get("reason") or ""),
            _age(event, now),
            component,
            f"{f'{path}: ' if path else ''}{str(event.get('message') or '').strip()}",
        )
    )


def _age(event: Object, now: datetime) -> str:
    first = event.get("firstTimestamp") or event.get("eventTime")
    count = int((event.get("series") or {}).get("count") or event.get("count") or 1)
    if count > 1:
        return f"{ages.since(_last(event), now)} (x{count} over {ages.since(first, now)})"
    return ages.since(first, now)


def _last(event: Object) -> str:
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")


def _shortened(line: str) -> str:
    return f"{line[:MAX_ANNOTATION]}..." if len(line) > MAX_ANNOTATION else line
