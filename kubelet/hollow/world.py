"""Sandboxes and containers that are only remembered: the state machine behind the hollow runtime. No gRPC, no tasks.

    sandbox:    READY → NOTREADY → (removed)
    container:  CREATED → RUNNING → EXITED → (removed)

What a running container does by itself (print, end) is worked out from its behaviour and the clock whenever somebody
looks (`settle`), so a thousand containers cost nothing while nobody asks. Repeating stop and remove is harmless, as CRI
demands. In memory only: after a restart the kubelet finds nothing and makes its pods again, as after a node's reboot.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cri_api.v1 import api_pb2 as cri

from apimachinery.clock import Clock
from kubelet.hollow import addresses, behaviour
from kubelet.hollow.images import Images

POD_UID = "io.kubernetes.pod.uid"
_KILLED, _TERMINATED = 137, 143  # 128 + SIGKILL, SIGTERM
_NANO = 1_000_000_000

_T = TypeVar("_T")

# Where a container's printed lines go: log path, stream, text.
Printer = Callable[[str, str, str], None]


class NotFound(Exception):
    """There is no such sandbox, container or image."""


class Refused(Exception):
    """The call makes no sense in the present state."""


@dataclass
class Sandbox:
    id: str
    config: Any  # cri.PodSandboxConfig
    handler: str
    created_at: int
    ip: str
    ready: bool = True
    containers: set[str] = field(default_factory=set)

    @property
    def uid(self) -> str:
        return str(self.config.labels.get(POD_UID) or self.config.metadata.uid)


@dataclass
class Container:
    id: str
    sandbox_id: str
    config: Any  # cri.ContainerConfig
    image_name: str
    image_ref: str
    log_path: str
    created_at: int
    behaviour: behaviour.Behaviour
    state: int = cri.CONTAINER_CREATED
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    began: float = 0.0  # monotonic, at the start
    printed: int = 0  # how many of the behaviour's lines are in the log


class World:
    """One node's runtime. `new_id` and the clock are given, so that tests can tell what happens."""

    def __init__(self, clock: Clock, new_id: Callable[[], str], printer: Printer, images: Images, pool: addresses.Pool):
        self._clock = clock
        self._new_id = new_id
        self._print = printer
        self.images = images
        self.pool = pool
        self._sandboxes: dict[str, Sandbox] = {}
        self._containers: dict[str, Container] = {}
        self._by_uid: dict[str, set[str]] = {}  # pod uid → its sandboxes
        self._due: list[tuple[float, str]] = []  # when a running container next does something by itself

    # --- sandboxes

    def run_sandbox(self, config: Any, handler: str) -> Sandbox:
        """Raises addresses.NoAddress when the pod needs an address and there is none."""
        host = config.linux.security_context.namespace_options.network == cri.NODE
        ip = "" if host else self.pool.take()
        sandbox = Sandbox(self._new_id(), config, handler, self._now(), ip)
        self._sandboxes[sandbox.id] = sandbox
        self._by_uid.setdefault(sandbox.uid, set()).add(sandbox.id)
        return sandbox

    def sandbox(self, sandbox_id: str) -> Sandbox:
        return _one(self._sandboxes, sandbox_id, "sandbox")

    def stop_sandbox(self, sandbox_id: str) -> None:
        """Kills what runs in it and gives its address back."""
        sandbox = self._sandboxes.get(sandbox_id)
        if sandbox is None:
            return
        for container_id in sandbox.containers:
            self.stop_container(container_id, 0)
        if sandbox.ready and sandbox.ip:
            self.pool.give_back(sandbox.ip)
        sandbox.ready = False

    def remove_sandbox(self, sandbox_id: str) -> None:
        self.stop_sandbox(sandbox_id)
        sandbox = self._sandboxes.pop(sandbox_id, None)
        if sandbox is None:
            return
        for container_id in list(sandbox.containers):
            self.remove_container(container_id)
        siblings = self._by_uid[sandbox.uid]
        siblings.discard(sandbox_id)
        if not siblings:
            del self._by_uid[sandbox.uid]

    def sandboxes(self, selector: Mapping[str, str] | None = None) -> Iterator[Sandbox]:
        """Those whose labels hold `selector`; one pod's are found without looking at the others."""
        selector = selector or {}
        candidates: Iterable[str] = self._sandboxes
        if POD_UID in selector:
            candidates = self._by_uid.get(selector[POD_UID], ())
        for sandbox_id in list(candidates):
            sandbox = self._sandboxes[sandbox_id]
            if _selects(selector, sandbox.config.labels):
                yield sandbox

    # --- containers

    def create_container(self, sandbox_id: str, config: Any, sandbox_config: Any) -> Container:
        sandbox = self.sandbox(sandbox_id)
        if not sandbox.ready:
            raise Refused(f"sandbox container {sandbox_id!r} is not running")
        image = self.images.find(config.image.image)
        if image is None:
            raise NotFound(f'failed to get image "{config.image.image}": not found')
        directory = sandbox_config.log_directory or sandbox.config.log_directory
        log_path = f"{directory}/{config.log_path}" if directory and config.log_path else ""
        argv, name = [*config.command, *config.args], image.tags[0] if image.tags else config.image.image
        container = Container(
            self._new_id(),
            sandbox_id,
            config,
            name,
            image.digests[0] if image.digests else image.id,
            log_path,
            self._now(),
            behaviour.of(argv, name, has_stdin=config.stdin),
        )
        self._containers[container.id] = container
        sandbox.containers.add(container.id)
        return container

    def container(self, container_id: str) -> Container:
        self.settle()
        return _one(self._containers, container_id, "container")

    def start_container(self, container_id: str) -> None:
        container = self.container(container_id)
        if container.state != cri.CONTAINER_CREATED:
            raise Refused(f"container {container_id!r} is in state {cri.ContainerState.Name(container.state)}")
        container.state, container.started_at = cri.CONTAINER_RUNNING, self._now()
        container.began = self._clock.monotonic()
        self._say(container, "stdout", f"[hollow] {container.image_name}: simulated, no process runs")
        self._schedule(container)
        self.settle()

    def stop_container(self, container_id: str, grace_seconds: int) -> None:
        """Ends it at once: with a grace period as SIGTERM would, without one as SIGKILL."""
        self.settle()
        container = self._containers.get(container_id)
        if container is None or container.state == cri.CONTAINER_EXITED:
            return
        if container.state == cri.CONTAINER_CREATED:
            self._finish(container, _KILLED, self._now())
            return
        # A server takes SIGTERM as its sign to leave; a script dies of it
        polite = 0 if not container.behaviour.understood else _TERMINATED
        self._finish(container, polite if grace_seconds > 0 else _KILLED, self._now())

    def remove_container(self, container_id: str) -> None:
        self.stop_container(container_id, 0)
        container = self._containers.pop(container_id, None)
        if container is not None and container.sandbox_id in self._sandboxes:
            self._sandboxes[container.sandbox_id].containers.discard(container_id)

    def containers(self, selector: Mapping[str, str] | None = None) -> Iterator[Container]:
        self.settle()
        selector = selector or {}
        candidates: Iterable[str] = self._containers
        if POD_UID in selector:
            owned = self._by_uid.get(selector[POD_UID], set())
            candidates = [one for sandbox_id in owned for one in self._sandboxes[sandbox_id].containers]
        for container_id in list(candidates):
            container = self._containers[container_id]
            if _selects(selector, container.config.labels):
                yield container

    # --- time

    def settle(self) -> None:
        """Lets everything happen that is due: lines are printed, containers that have run their time end."""
        now = self._clock.monotonic()
        while self._due and self._due[0][0] <= now:
            _, container_id = heapq.heappop(self._due)
            container = self._containers.get(container_id)
            if container is not None and container.state == cri.CONTAINER_RUNNING:
                self._advance(container, now)

    def _advance(self, container: Container, now: float) -> None:
        elapsed = now - container.began
        lines = container.behaviour.lines
        while container.printed < len(lines) and lines[container.printed].after_seconds <= elapsed:
            line = lines[container.printed]
            self._say(container, line.stream, line.text)
            container.printed += 1
        runs = container.behaviour.runs_seconds
        if runs is not None and runs <= elapsed:
            # At the moment it was due, not at the moment somebody looked
            self._finish(container, container.behaviour.exit_code, container.started_at + int(runs * _NANO))
        else:
            self._schedule(container)

    def _schedule(self, container: Container) -> None:
        lines, runs = container.behaviour.lines, container.behaviour.runs_seconds
        moments = [lines[container.printed].after_seconds] if container.printed < len(lines) else []
        moments += [runs] if runs is not None else []
        if moments:
            heapq.heappush(self._due, (container.began + min(moments), container.id))

    def _finish(self, container: Container, exit_code: int, finished_at: int) -> None:
        container.state, container.exit_code = cri.CONTAINER_EXITED, exit_code
        container.finished_at = finished_at
        container.reason = "Completed" if exit_code == 0 else "Error"

    def _say(self, container: Container, stream: str, text: str) -> None:
        if container.log_path:
            self._print(container.log_path, stream, text)

    def _now(self) -> int:
        return int(self._clock.now().timestamp() * _NANO)


def _one(found: Mapping[str, _T], key: str, kind: str) -> _T:
    thing = found.get(key)
    if thing is None:
        raise NotFound(f'an error occurred when try to find {kind} "{key}": not found')
    return thing


def _selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())
