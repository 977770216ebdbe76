"""What the runtime holds of a pod: sandboxes and containers, as frozen values that plans and statuses are made from.

Guarantees: sandboxes and containers are sorted newest first; nothing here refers to CRI's messages.
Everything that must survive a restart of the kubelet is read from here (the labels and annotations that
`kubelet/pods/identity.py` puts on what it makes), so there is no state on disk that could be half written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

State = Literal["created", "running", "exited", "unknown"]


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One sandbox: the pause container that holds the pod's namespaces (L9)."""

    id: str
    attempt: int
    ready: bool
    created_at: datetime | None = None
    ips: tuple[str, ...] = ()  # empty for host network, and where the sandbox is not ready

    def __str__(self) -> str:
        return f"{self.id[:8]}#{self.attempt}{'' if self.ready else ' not ready'}"


@dataclass(frozen=True, slots=True)
class Container:
    """One run of a container. `attempt` counts the runs of its name within the pod, from 0."""

    id: str
    name: str
    attempt: int
    sandbox_id: str
    state: State
    image: str = ""
    image_id: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int = 0
    reason: str = ""  # the runtime's: Completed, Error, OOMKilled
    message: str = ""
    spec_hash: str = ""  # of the spec it was made from; "" when it was not recorded
    log_path: str = ""
    annotations: dict[str, str] = field(default_factory=dict, hash=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name}#{self.attempt} {self.state}" + (f" {self.exit_code}" if self.state == "exited" else "")


@dataclass(frozen=True, slots=True)
class Observed:
    """One pod, at one moment."""

    sandboxes: tuple[Sandbox, ...] = ()
    containers: tuple[Container, ...] = ()

    @property
    def sandbox(self) -> Sandbox | None:
        """The newest sandbox; the pod lives in it while it is ready."""
        return self.sandboxes[0] if self.sandboxes else None

    @property
    def ready_sandbox(self) -> Sandbox | None:
        newest = self.sandbox
        return newest if newest is not None and newest.ready else None

    def latest(self, name: str) -> Container | None:
        """The newest run of a container, in whichever sandbox."""
        return next(self.runs(name), None)

    def runs(self, name: str) -> Iterator[Container]:
        return (c for c in self.containers if c.name == name)

    def running(self) -> list[Container]:
        return [c for c in self.containers if c.state == "running"]


NOTHING = Observed()
