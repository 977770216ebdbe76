"""What this machine is and has: CPUs, memory, disk, kernel, addresses. Reads /proc and /etc, and nothing else.

A machine that lacks a file (no Linux, a container) gets the honest empty value rather than an error.
"""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from apimachinery import quantity

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "ppc64le": "ppc64le", "s390x": "s390x"}


@dataclass(frozen=True, slots=True)
class Memory:
    total_bytes: int
    available_bytes: int


def memory(path: Path = Path("/proc/meminfo")) -> Memory:
    rows = dict(line.split(":", 1) for line in _read(path).splitlines() if ":" in line)
    kilobytes = {name: int(rest.split()[0]) for name, rest in rows.items()}
    total = kilobytes.get("MemTotal", 0) * 1024
    return Memory(total, kilobytes.get("MemAvailable", 0) * 1024 or total)


def capacity(root_dir: Path, max_pods: int) -> dict[str, Decimal]:
    """What the node has, by resource name."""
    return {
        "cpu": Decimal(os.cpu_count() or 1),
        "memory": Decimal(memory().total_bytes),
        "ephemeral-storage": Decimal(_disk_bytes(root_dir)),
        "pods": Decimal(max_pods),
    }


def as_quantities(resources: dict[str, Decimal]) -> dict[str, str]:
    """As upstream writes them: memory and disk in Ki."""
    return {
        name: f"{int(value) // 1024}Ki" if name in ("memory", "ephemeral-storage") else quantity.render(value)
        for name, value in resources.items()
    }


def system_info() -> dict[str, str]:
    """`status.nodeInfo`, but for the runtime's version and ours."""
    return {
        "machineID": _read(Path("/etc/machine-id")).strip(),
        "systemUUID": _read(Path("/sys/class/dmi/id/product_uuid")).strip() or _read(Path("/etc/machine-id")).strip(),
        "bootID": _read(Path("/proc/sys/kernel/random/boot_id")).strip(),
        "kernelVersion": platform.release(),
        "osImage": _os_image(),
        "operatingSystem": platform.system().lower(),
        "architecture": architecture(),
    }


def architecture() -> str:
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def process_ids(proc: Path = Path("/proc")) -> tuple[int, int]:
    """(in use, possible)."""
    words = _read(proc / "loadavg").split()
    running = int(words[3].partition("/")[2]) if len(words) > 3 else 0
    return running, int(_read(proc / "sys/kernel/pid_max").strip() or 0)


def default_address() -> str:
    """This machine's address towards others: a connected datagram socket sends nothing but knows its source."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def disk(path: Path) -> tuple[int, int]:
    """(free bytes, total bytes) of the file system under the nearest existing folder."""
    while not path.exists():
        path = path.parent
    stats = os.statvfs(path)
    return stats.f_bavail * stats.f_frsize, stats.f_blocks * stats.f_frsize


def _disk_bytes(path: Path) -> int:
    return disk(path)[1]


def _os_image() -> str:
    rows = dict(line.split("=", 1) for line in _read(Path("/etc/os-release")).splitlines() if "=" in line)
    return rows.get("PRETTY_NAME", platform.system()).strip('"')


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
