"""The plan of a cluster: frozen values that say which processes run, with which files, in which order.

Made by `planning`, kept in DIR/plan.json, from which the supervisor works. A process is restarted when its
`fingerprint` differs from that of the one that runs.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKEN_VARIABLE = "ARMILLARY_CLUSTER"  # by which a process of the cluster is recognised

READY_TIMEOUT_SECONDS = 60.0  # of one process: a loaded laptop needs a few; beyond this something is wrong
STOP_GRACE_SECONDS = 10.0  # between SIGTERM and SIGKILL


@dataclass(frozen=True)
class Check:
    """How to see that a process is ready. Kinds:

    `https`, `http`  GET `target` answers 200 (with the client certificate, where one is given)
    `socket`         a unix socket accepts; below the root folder of the process `within`, if that is given
    `file`           a file is there; likewise
    """

    kind: str
    target: str
    within: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""


@dataclass(frozen=True)
class Namespaces:
    """Where a process lives: namespaces of its own, or those of the process `inside`."""

    inside: str = ""
    own: bool = False  # new mount, PID, UTS and IPC namespaces; the process becomes PID 1
    network: str = ""  # path of a named network namespace to enter first


HERE = Namespaces()  # those of the supervisor


@dataclass(frozen=True)
class Process:
    """One process to keep running. `after` names those that must have become ready before its first start."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log: Path
    check: Check
    address: str = ""
    after: tuple[str, ...] = ()
    namespaces: Namespaces = HERE
    inputs: tuple[str, ...] = ()  # digests of the files it reads once, at its start: new ones restart it
    # When it dies, are what it left behind in its process group ended too? Not for containerd: pods outlive it.
    ends_group: bool = True
    ready_timeout_seconds: float = READY_TIMEOUT_SECONDS
    stop_grace_seconds: float = STOP_GRACE_SECONDS

    @property
    def fingerprint(self) -> str:
        told = [self.argv, sorted(self.env.items()), dataclasses.asdict(self.namespaces), self.inputs]
        return digest(json.dumps(told))


@dataclass(frozen=True)
class File:
    """A file that a process reads. `mode` is 0600: some name secrets."""

    path: Path
    content: str


@dataclass(frozen=True)
class ClusterPlan:
    """See the module. `processes` is in starting order."""

    folder: Path
    token: str
    processes: tuple[Process, ...]
    files: tuple[File, ...] = ()
    folders: tuple[Path, ...] = ()

    @property
    def digest(self) -> str:
        return digest(encode(self).decode())

    def process(self, name: str) -> Process:
        return next(process for process in self.processes if process.name == name)


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def file_of(folder: Path) -> Path:
    return folder / "plan.json"


def encode(plan: ClusterPlan) -> bytes:
    return json.dumps(dataclasses.asdict(plan), default=str, sort_keys=True, indent=1).encode()


def decode(content: bytes) -> ClusterPlan:
    """The plan that `encode` wrote."""
    data = json.loads(content)
    return ClusterPlan(
        folder=Path(data["folder"]),
        token=data["token"],
        processes=tuple(_decode_process(item) for item in data["processes"]),
        files=tuple(File(Path(item["path"]), item["content"]) for item in data["files"]),
        folders=tuple(Path(item) for item in data["folders"]),
    )


def _decode_process(data: dict[str, Any]) -> Process:
    data["argv"], data["after"], data["log"] = tuple(data["argv"]), tuple(data["after"]), Path(data["log"])
    data["inputs"] = tuple(data["inputs"])
    data["check"], data["namespaces"] = Check(**data["check"]), Namespaces(**data["namespaces"])
    return Process(**data)
