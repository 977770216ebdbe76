"""What the server counts, for Prometheus: requests by kind and outcome, durations, watches, calls of etcd.

Workers are processes, a scrape reaches one of them, and Prometheus wants the whole server's numbers. So each worker
writes a snapshot into its slot of a file that all inherit from the supervisor, once a second and before a scrape;
whoever answers adds the slots up. A new worker goes on from the counters of the one it replaces.
Guarantees: counting costs about a microsecond and touches no file; label values come from the resource table, never
from the client, so their number is bounded. Names are upstream's.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from apiserver import inflight
from apiserver.metrics import families
from apiserver.metrics.families import Counter, Family, Gauge, Histogram, Values
from apiserver.metrics.process import Process
from apiserver.metrics.slots import Slots
from apiserver.request import Request

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_VERBS = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
    "post": "POST",
    "put": "PUT",
}
# Upstream's bounds, thinned out
BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0)
_ETCD_BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_TERMINATED = frozenset({429, 504})

Collect = Callable[[], None]
"""Brings gauges up to date that nobody keeps."""


class Metrics:
    """One worker's numbers."""

    def __init__(self, slots: Slots | None = None, index: int = 0) -> None:
        self._slots = slots
        self._index = index
        self._requests = Counter(
            "apiserver_request_total", "[STABLE] Counter of apiserver requests broken out for each verb and HTTP code."
        )
        self._durations = Histogram(
            "apiserver_request_duration_seconds", "[STABLE] Response latency distribution in seconds.", BUCKETS
        )
        self._terminations = Counter(
            "apiserver_request_terminations_total", "[ALPHA] Requests which apiserver terminated in self-defense."
        )
        self._longrunning = Gauge(
            "apiserver_longrunning_requests", "[STABLE] Gauge of all active long-running requests."
        )
        self._events = Counter("apiserver_watch_events_total", "[ALPHA] Number of events sent in watch clients")
        self._etcd = Histogram(
            "etcd_request_duration_seconds", "[ALPHA] Etcd request latency in seconds", _ETCD_BUCKETS
        )
        self._process = Process()
        self._summed: list[Family] = [
            self._requests,
            self._durations,
            self._terminations,
            self._longrunning,
            self._events,
            self._etcd,
            *self._process.families,
        ]
        self._alike: list[Family] = []
        self._collectors: list[Collect] = []
        self._keys: dict[tuple[Any, ...], tuple[str, str]] = {}
        start = Gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.")
        start.set("", round(time.time(), 3))
        self._alike.append(start)
        self._kept = self._previous()
        for family in self._summed:
            self._restore(family)

    def add_alike(self, family: Family, collect: Collect) -> None:
        """A family whose numbers are the same in every worker: those of who answers are shown, not a sum."""
        self._alike.append(family)
        self._collectors.append(collect)

    # --- what is counted

    def observe(self, request: Request, seconds: float) -> None:
        """Counts a finished request."""
        labels = self._labels(request)
        self._requests.cell(labels[0])[0] += 1
        if request.status in _TERMINATED:
            self._terminations.count(labels[0])
        if not request.info.long_running:
            self._durations.observe(labels[1], seconds)

    @contextlib.contextmanager
    def lasting(self, request: Request) -> Iterator[None]:
        """Counts a watch or a stream for as long as it lasts."""
        labels = self._labels(request)[1]
        self._longrunning.add(labels, 1)
        try:
            yield
        finally:
            self._longrunning.add(labels, -1)

    def outcomes(self, name: str, text: str) -> Counter:
        """A counter of its own for a filter that says how often it decided what."""
        family = Counter(name, text)
        self._add(family)
        return family

    def watch_events(self, group: str, version: str, resource: str) -> list[float]:
        """The cell that a watch of a collection counts its events in."""
        labels = {"group": group, "version": version, "resource": resource}
        return self._events.cell(families.labelled(labels))

    def etcd_call(self, operation: str, kind: str, seconds: float) -> None:
        self._etcd.observe(f'operation="{operation}",type="{kind}"', seconds)

    # --- what is shown

    def flush(self) -> None:
        """Shows the numbers to the other workers."""
        self._process.read()
        if self._slots is not None:
            self._slots.write(self._index, orjson.dumps({family.name: family.values for family in self._summed}))

    def render(self) -> str:
        """The numbers of all workers in Prometheus' text format."""
        for collect in self._collectors:
            collect()
        others = [orjson.loads(data) for data in (self._slots.others(self._index) if self._slots else ())]
        lines: list[str] = []
        for family in self._summed:
            parts: list[Values] = [family.values, *(other.get(family.name) or {} for other in others)]
            lines += family.render(families.added(parts))
        for family in self._alike:
            lines += family.render(family.values)
        return "\n".join(lines) + "\n"

    def _add(self, family: Family) -> None:
        self._restore(family)
        self._summed.append(family)

    def _previous(self) -> dict[str, Values]:
        """What the worker that was here before has left."""
        data = self._slots.read(self._index) if self._slots else None
        return orjson.loads(data) if data is not None else {}

    def _restore(self, family: Family) -> None:
        if family.survives:
            family.values = self._kept.get(family.name) or {}

    def _labels(self, request: Request) -> tuple[str, str]:
        """The labels of the count and those of the duration."""
        info, dry_run = request.info, ""
        if not request.routed:  # what the client made up is no label
            key: tuple[Any, ...] = (info.verb if info.verb in _VERBS else "", request.status)
        else:
            if "dryRun" in request.query and request.option("dryRun") == "All":
                dry_run = "All"
            scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
            key = (info.verb, request.status, info.group, info.version, info.resource, info.subresource, scope, dry_run)
        found = self._keys.get(key)
        if found is None:
            found = self._keys[key] = _make_labels(*key)
        return found


def _make_labels(
    verb: str,
    status: int,
    group: str = "",
    version: str = "",
    resource: str = "",
    subresource: str = "",
    scope: str = "",
    dry_run: str = "",
) -> tuple[str, str]:
    common = {
        "component": "apiserver",
        "dry_run": dry_run,
        "group": group,
        "resource": resource,
        "scope": scope,
        "subresource": subresource,
        "verb": _VERBS.get(verb, "other"),
        "version": version,
    }
    return families.labelled({"code": str(status), **common}), families.labelled(common)


def running_family(metrics: Metrics, running: inflight.Running) -> None:
    """How many requests run, which all workers see alike."""
    family = Gauge(
        "apiserver_current_inflight_requests", "[STABLE] Maximal number of currently used inflight request limit."
    )

    def collect() -> None:
        family.set('request_kind="readOnly"', running.total(inflight.READ_ONLY))
        family.set('request_kind="mutating"', running.total(inflight.MUTATING))

    metrics.add_alike(family, collect)
