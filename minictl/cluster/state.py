"""What runs, as the supervisor knows it: DIR/state.json, replaced atomically at every change.

Only the supervisor writes it. It is a record to resume from, not the truth: whoever reads it compares pid and start
time with /proc (`processes`), so a stale file can mislead nobody; what ran before this machine was booted is dropped.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certs import files
from minictl.cluster import processes
from minictl.cluster.processes import Identity

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

# Phases of a process
WAITING = "waiting"  # for others to become ready
STARTING = "starting"
RUNNING = "running"  # it has been ready since it started
BACKOFF = "back-off"  # it died and will be started again


@dataclass
class Running:
    """One process of the plan."""

    phase: str = WAITING
    identity: Identity | None = None
    fingerprint: str = ""
    healthy: bool = False
    message: str = ""  # why it is not healthy, or how it ended last
    restarts: int = 0  # starts after the first, over the cluster's life
    failures: int = 0  # ends in a row without having been ready

    @property
    def is_alive(self) -> bool:
        return self.identity is not None and processes.is_alive(self.identity)


@dataclass
class State:
    """All of it. `plan` is the digest of the plan the supervisor works by."""

    supervisor: Identity | None = None
    plan: str = ""
    processes: dict[str, Running] = field(default_factory=dict)

    @property
    def supervisor_is_alive(self) -> bool:
        return self.supervisor is not None and processes.is_alive(self.supervisor)


def file_of(folder: Path) -> Path:
    return folder / "state.json"


def save(folder: Path, state: State) -> None:
    content = {"boot": boot_id(), **dataclasses.asdict(state)}
    files.write(file_of(folder), json.dumps(content, indent=1).encode())


def load(folder: Path) -> State:
    """The last saved state; an empty one when there is none or it cannot be read."""
    try:
        data = json.loads(file_of(folder).read_bytes())
        return _parse(data)
    except (OSError, ValueError, TypeError, KeyError):
        return State()


def _parse(data: dict[str, Any]) -> State:
    running = {name: _running(item) for name, item in data["processes"].items()}
    known = State(_identity(data["supervisor"]), data["plan"], running)
    if data["boot"] != boot_id():
        known.supervisor = None
        for item in running.values():
            item.identity, item.phase = None, WAITING
    return known


def boot_id() -> str:
    """A value that is new after every boot; "" where the system tells none."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _running(data: dict[str, Any]) -> Running:
    return Running(**{**data, "identity": _identity(data["identity"])})


def _identity(data: list[int] | None) -> Identity | None:
    return None if data is None else Identity(*data)
