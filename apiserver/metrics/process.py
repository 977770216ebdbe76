"""What a worker costs the machine, in the names that every Prometheus client library uses."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from apiserver.metrics.families import Gauge

_PAGE = resource.getpagesize()
_OPEN, _STATM = Path("/proc/self/fd"), Path("/proc/self/statm")


class Cpu(Gauge):
    """A counter, though workers do not hand it on: what a dead process cost is no longer this server's."""

    kind = "counter"


class Process:
    """The numbers of this process; those that Linux alone tells are left out elsewhere."""

    def __init__(self) -> None:
        self._cpu = Cpu("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.")
        self._resident = Gauge("process_resident_memory_bytes", "Resident memory size in bytes.")
        self._virtual = Gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")
        self._open = Gauge("process_open_fds", "Number of open file descriptors.")
        self._limit = Gauge("process_max_fds", "Maximum number of open file descriptors.")
        self.families = (self._cpu, self._resident, self._virtual, self._open, self._limit)

    def read(self) -> None:
        times = os.times()
        self._cpu.set("", times.user + times.system)
        if not _STATM.exists():
            return
        virtual, resident, *_ = _STATM.read_text().split()
        self._virtual.set("", int(virtual) * _PAGE)
        self._resident.set("", int(resident) * _PAGE)
        self._open.set("", len(os.listdir(_OPEN)))
        self._limit.set("", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
