"""The nodes' cgroups, /NAME-NODE in every hierarchy: the kubelet and runc make them, `down` removes them. v1 and v2.

Whatever still runs in one is ended first: a cgroup of that name holds nothing but the cluster's pods.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from minictl.cluster import processes

REMOVE_SECONDS = 5.0  # the kernel frees a cgroup a moment after its last process


def hierarchies(mounts: str) -> list[Path]:
    """The mounted hierarchies, from the text of /proc/mounts. Pure."""
    fields = (line.split() for line in mounts.splitlines())
    return sorted({Path(field[1]) for field in fields if len(field) > 2 and field[2] in ("cgroup", "cgroup2")})


def mounted() -> list[Path]:
    return hierarchies(Path("/proc/mounts").read_text())


def leftovers(names: list[str]) -> list[str]:
    return [f"cgroup {root / name}" for root in mounted() for name in names if (root / name).is_dir()]


def remove(names: list[str]) -> list[str]:
    """Remove the cgroups of these names, with all below; what stays is named in the result."""
    deadline = time.monotonic() + REMOVE_SECONDS
    while left := leftovers(names):
        for root in mounted():
            for name in names:
                _empty(root / name)
                _remove_tree(root / name)
        if time.monotonic() > deadline:
            return left
        if leftovers(names):
            time.sleep(0.05)
    return []


def _empty(cgroup: Path) -> None:
    for folder, _, _ in os.walk(cgroup):
        for pid in _members(Path(folder)):
            identity = processes.identify(pid)
            if identity is not None:
                processes.send(identity, signal.SIGKILL)


def _members(cgroup: Path) -> list[int]:
    try:
        return [int(word) for word in (cgroup / "cgroup.procs").read_text().split() if word != "0"]
    except OSError:
        return []


def _remove_tree(cgroup: Path) -> None:
    """From the leaves up; only folders can be removed, the files in them are the kernel's."""
    for folder, _, _ in os.walk(cgroup, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
