"""Pods and observations in few words, and a runtime that is only a value: plans are applied to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from apimachinery.objects import Object
from kubelet.observed import Container, Observed, Sandbox
from kubelet.plan import PodPlan
from kubelet.pods import identity, spec

START = datetime(2026, 1, 1, tzinfo=UTC)


def pod(
    *containers: Object | str,
    init: tuple[Object | str, ...] = (),
    restart: str = "Always",
    status: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Object:
    """A pod of containers given by name or as dicts."""
    metadata = {"name": "p", "namespace": "ns", "uid": "u1"} | fields.pop("metadata", {})
    body = {"containers": [_container(c) for c in containers or ("app",)], "restartPolicy": restart} | fields
    if init:
        body["initContainers"] = [_container(c) for c in init]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body, "status": dict(status or {})}


def sidecar(name: str, **fields: Any) -> Object:
    return {"name": name, "image": "i", "restartPolicy": "Always"} | fields


def _container(given: Object | str) -> Object:
    return {"name": given, "image": "i"} if isinstance(given, str) else {"image": "i"} | given


def run(
    name: str, state: str = "running", *, attempt: int = 0, code: int = 0, sandbox: str = "s0", **fields: Any
) -> Container:
    """One run of a container; an ended one ended at START."""
    made: dict[str, Any] = {
        "id": f"{name}-{attempt}",
        "name": name,
        "attempt": attempt,
        "sandbox_id": sandbox,
        "state": state,
        "exit_code": code,
        "created_at": START,
        "started_at": START,
        "finished_at": START if state == "exited" else None,
        "reason": {"exited": "Completed" if code == 0 else "Error"}.get(state, ""),
    }
    return Container(**(made | fields))


def observed(*runs: Container, ready: bool = True, attempt: int = 0, ips: tuple[str, ...] = ("10.0.0.1",)) -> Observed:
    """A pod with one sandbox `s<attempt>`; runs are sorted as the runtime's would be."""
    sandbox = Sandbox(f"s{attempt}", attempt, ready, START, ips if ready else ())
    return Observed((sandbox,), tuple(sorted(runs, key=lambda c: -c.attempt)))


@dataclass
class World:
    """A runtime without processes: what plans do to it, and what containers then do by themselves."""

    pod: Object
    now: datetime = START
    observed: Observed = field(default_factory=Observed)
    starts: list[str] = field(default_factory=list)

    def apply(self, plan: PodPlan) -> None:
        sandboxes, containers = list(self.observed.sandboxes), list(self.observed.containers)
        stopped = {stop.container_id for stop in plan.stop}
        containers = [self._ended(c, 137) if c.id in stopped and c.state == "running" else c for c in containers]
        for sandbox_id in plan.stop_sandboxes:
            sandboxes = [replace(s, ready=False, ips=()) if s.id == sandbox_id else s for s in sandboxes]
            containers = [
                self._ended(c, 137) if c.sandbox_id == sandbox_id and c.state == "running" else c for c in containers
            ]
        containers = [c for c in containers if c.id not in plan.remove]
        sandboxes = [s for s in sandboxes if s.id not in plan.remove_sandboxes]
        if plan.sandbox_attempt is not None:
            sandboxes.insert(
                0, Sandbox(f"s{plan.sandbox_attempt}", plan.sandbox_attempt, True, self.now, ("10.0.0.1",))
            )
        for start in plan.start:
            assert sandboxes[0].ready, "a container is started only in a ready sandbox"
            assert not any(c.name == start.name and c.state == "running" for c in containers), "never twice at once"
            assert not any(c.name == start.name and c.attempt == start.attempt for c in containers), "attempts are new"
            spec_of = spec.container(self.pod, start.name)
            assert spec_of is not None
            made = run(
                start.name, attempt=start.attempt, sandbox=sandboxes[0].id, spec_hash=identity.spec_hash(spec_of)
            )
            containers.append(replace(made, started_at=self.now, created_at=self.now))
            self.starts.append(start.name)
        self._set(sandboxes, containers)

    def exit(self, name: str, code: int) -> None:
        """The running container `name` ends by itself."""
        self._set(
            list(self.observed.sandboxes),
            [self._ended(c, code) if c.name == name and c.state == "running" else c for c in self.observed.containers],
        )

    def lose_sandbox(self) -> None:
        """The machine was rebooted: nothing runs, the sandbox is not ready."""
        self._set(
            [replace(s, ready=False, ips=()) for s in self.observed.sandboxes],
            [self._ended(c, 255) if c.state == "running" else c for c in self.observed.containers],
        )

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def _ended(self, c: Container, code: int) -> Container:
        return replace(c, state="exited", exit_code=code, finished_at=self.now, reason="Error" if code else "Completed")

    def _set(self, sandboxes: list[Sandbox], containers: list[Container]) -> None:
        self.observed = Observed(
            tuple(sorted(sandboxes, key=lambda s: -s.attempt)), tuple(sorted(containers, key=lambda c: -c.attempt))
        )
