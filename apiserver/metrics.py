"""What the server counts, for Prometheus: requests by kind and outcome, their durations, those that run now.

Workers are processes, a scrape reaches one of them, and Prometheus wants the whole server's numbers. So each worker
writes a snapshot into its slot of a file that all inherit from the supervisor, once a second and before a scrape;
whoever answers adds the slots up. A new worker goes on from the counters of the one it replaces.
Guarantees: counting costs about a microsecond and touches no file; label values come from the resource table, never
from the client, so their number is bounded. Names are upstream's.
"""

from __future__ import annotations

import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterable

import orjson

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
# A slot holds a snapshot; some thousand series fit
_SLOT_BYTES = 1 << 20
_HEADER = struct.Struct("<II")  # length, checksum: a torn read shows

_Series = dict[str, list[float]]


class Slots:
    """The shared file: one snapshot a worker."""

    def __init__(self, descriptor: int, count: int) -> None:
        self._descriptor = descriptor
        self._count = count

    def write(self, index: int, data: bytes) -> None:
        if len(data) <= _SLOT_BYTES - _HEADER.size:
            os.pwrite(self._descriptor, _HEADER.pack(len(data), zlib.crc32(data)) + data, index * _SLOT_BYTES)

    def read(self, index: int) -> bytes | None:
        """The snapshot, or None where there is none yet or it is just being written."""
        block = os.pread(self._descriptor, _SLOT_BYTES, index * _SLOT_BYTES)
        if len(block) < _HEADER.size:
            return None
        length, checksum = _HEADER.unpack_from(block)
        data = block[_HEADER.size : _HEADER.size + length]
        return data if length and len(data) == length and zlib.crc32(data) == checksum else None

    def others(self, index: int) -> Iterable[bytes]:
        for other in range(self._count):
            data = self.read(other) if other != index else None
            if data is not None:
                yield data


class Metrics:
    """One worker's numbers."""

    def __init__(self, slots: Slots | None = None, index: int = 0) -> None:
        self._slots = slots
        self._index = index
        self._requests: _Series = {}  # labels → count
        self._durations: _Series = {}  # labels → a count a bucket, one beyond, then the sum
        self._gauges: _Series = {}
        self.inflight = {"readOnly": 0, "mutating": 0}  # kept by the in-flight filter
        self._keys: dict[tuple[str, ...], tuple[str, str]] = {}
        previous = slots.read(index) if slots else None
        if previous is not None:
            self._requests, self._durations, _ = orjson.loads(previous)

    def observe(self, request: Request, seconds: float) -> None:
        """Counts a finished request."""
        total_key, duration_key = self._labels(request)
        count = self._requests.get(total_key)
        if count is None:
            count = self._requests[total_key] = [0]
        count[0] += 1
        if request.info.long_running:
            return
        buckets = self._durations.get(duration_key)
        if buckets is None:
            buckets = self._durations[duration_key] = [0] * (len(BUCKETS) + 2)
        buckets[bisect_left(BUCKETS, seconds)] += 1
        buckets[-1] += seconds

    def add_longrunning(self, verb: str, change: int) -> None:
        key = f'apiserver_longrunning_requests{{verb="{verb.upper()}"}}'
        self._gauges.setdefault(key, [0])[0] += change

    def flush(self) -> None:
        """Shows the numbers to the other workers."""
        for kind, running in self.inflight.items():
            self._gauges[f'apiserver_current_inflight_requests{{request_kind="{kind}"}}'] = [running]
        if self._slots is not None:
            self._slots.write(self._index, orjson.dumps([self._requests, self._durations, self._gauges]))

    def render(self) -> str:
        """The numbers of all workers in Prometheus' text format."""
        own: list[_Series] = [self._requests, self._durations, self._gauges]
        parts = [own, *(orjson.loads(data) for data in (self._slots.others(self._index) if self._slots else ()))]
        requests, durations, gauges = (_summed(part[place] for part in parts) for place in range(3))
        lines = ["# TYPE apiserver_request_total counter"]
        lines += [f"apiserver_request_total{{{labels}}} {int(count[0])}" for labels, count in sorted(requests.items())]
        lines.append("# TYPE apiserver_request_duration_seconds histogram")
        for labels, buckets in sorted(durations.items()):
            lines += _histogram("apiserver_request_duration_seconds", labels, buckets)
        lines += _typed_gauges(gauges)
        return "\n".join(lines) + "\n"

    def _labels(self, request: Request) -> tuple[str, str]:
        info = request.info
        verb = _VERBS.get(info.verb, "other")
        resource = (info.group, info.version, info.resource, info.subresource) if request.routed else ("", "", "", "")
        scope = ""
        if request.routed:
            scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
        key = (verb, *resource, scope, str(request.status))
        found = self._keys.get(key)
        if found is None:
            common = (
                f'component="apiserver",group="{key[1]}",resource="{key[3]}",scope="{scope}",'
                f'subresource="{key[4]}",verb="{verb}",version="{key[2]}"'
            )
            found = self._keys[key] = (f'code="{request.status}",{common}', common)
        return found


def _summed(parts: Iterable[_Series]) -> _Series:
    total: _Series = {}
    for part in parts:
        for labels, values in part.items():
            known = total.get(labels)
            total[labels] = [a + b for a, b in zip(known, values, strict=True)] if known else values
    return total


def _histogram(name: str, labels: str, buckets: list[float]) -> list[str]:
    lines, running = [], 0.0
    for bound, count in zip([*map(str, BUCKETS), "+Inf"], buckets, strict=False):
        running += count
        lines.append(f'{name}_bucket{{{labels},le="{bound}"}} {int(running)}')
    return [*lines, f"{name}_sum{{{labels}}} {buckets[-1]:.6f}", f"{name}_count{{{labels}}} {int(running)}"]


def _typed_gauges(gauges: _Series) -> list[str]:
    lines, last = [], ""
    for series, value in sorted(gauges.items()):
        name = series.partition("{")[0]
        if name != last:
            lines.append(f"# TYPE {name} gauge")
            last = name
        lines.append(f"{series} {int(value[0])}")
    return lines
