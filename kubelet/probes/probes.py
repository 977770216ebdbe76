"""L14: who is probed, how often, and what the results say of each container.

One task repeats each probe of each running container. Results change only after `failureThreshold` or
`successThreshold` looks in a row, and each change wakes the pod's worker.
Guarantees: liveness and readiness wait until startup has succeeded; a container that the API shows as ready keeps being
ready over a restart of the kubelet until a probe says otherwise, so that restarts take nobody out of service.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.objects import Object
from kubelet.images import Event
from kubelet.observed import Container, Observed
from kubelet.pods import spec
from kubelet.probes.checks import Checker

log = logging.getLogger(__name__)
KINDS = ("startup", "liveness", "readiness")


@dataclass(slots=True)
class _Probed:
    """One running container. `failed` names the probe that gave up on it."""

    pod: Object
    container: Object
    run: Container
    pod_ip: str
    started: bool
    ready: bool
    failed: str = ""
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class Probes:
    def __init__(self, checker: Checker, clock: Clock, event: Event, wake: Callable[[str], None]) -> None:
        self._checker = checker
        self._clock = clock
        self._event = event
        self._wake = wake
        self._probed: dict[str, dict[str, _Probed]] = {}  # pod uid → container id

    def reconcile(self, pod: Object, observed: Observed, pod_ip: str) -> None:
        """Begin probing what runs, stop probing what does not."""
        uid = objects.uid_of(pod)
        known = self._probed.setdefault(uid, {})
        wanted = {run.id: container for container, run in _probeable(pod, observed)}
        for container_id in known.keys() - wanted.keys():
            _stop(known.pop(container_id))
        for container, run in _probeable(pod, observed):
            if run.id not in known:
                known[run.id] = self._begin(pod, container, run, pod_ip)
        if not known:
            del self._probed[uid]

    def release(self, uid: str) -> None:
        for probed in self._probed.pop(uid, {}).values():
            _stop(probed)

    async def close(self) -> None:
        for uid in list(self._probed):
            self.release(uid)

    def starting(self, uid: str) -> frozenset[str]:
        return frozenset(key for key, probed in self._probed.get(uid, {}).items() if not probed.started)

    def unready(self, uid: str) -> frozenset[str]:
        return frozenset(key for key, probed in self._probed.get(uid, {}).items() if not probed.ready)

    def unhealthy(self, uid: str) -> Mapping[str, str]:
        return {key: probed.failed for key, probed in self._probed.get(uid, {}).items() if probed.failed}

    def _begin(self, pod: Object, container: Object, run: Container, pod_ip: str) -> _Probed:
        was_ready, was_started = _as_reported(pod, run)
        probed = _Probed(
            pod,
            container,
            run,
            pod_ip,
            started=not container.get("startupProbe") or was_started,
            ready=not container.get("readinessProbe") or was_ready,
        )
        for kind in KINDS:
            if container.get(f"{kind}Probe"):
                probed.tasks.append(asyncio.create_task(self._repeat(kind, probed)))
        return probed

    async def _repeat(self, kind: str, probed: _Probed) -> None:
        probe = probed.container[f"{kind}Probe"]
        period = float(probe.get("periodSeconds") or 10)
        await self._clock.sleep(self._first_delay(probe, probed.run))
        successes = failures = 0
        while not (kind == "startup" and probed.started):
            if kind != "startup" and not probed.started:
                await self._clock.sleep(min(1.0, period))  # its turn comes when startup has succeeded
                continue
            result = await self._checker.check(probe, probed.container, probed.run.id, probed.pod_ip)
            successes, failures = (successes + 1, 0) if result.passed else (0, failures + 1)
            if not result.passed:
                message = f"{kind.capitalize()} probe failed: {result.output}"
                self._event(probed.pod, "Warning", "Unhealthy", message, container=probed.container["name"])
            if successes >= int(probe.get("successThreshold") or 1):
                self._conclude(kind, probed, passed=True)
            elif failures >= int(probe.get("failureThreshold") or 3):
                self._conclude(kind, probed, passed=False)
                if kind != "readiness":
                    return
            await self._clock.sleep(period)

    def _first_delay(self, probe: Object, run: Container) -> float:
        """`initialDelaySeconds` counts from the container's start, also when the kubelet has restarted since."""
        initial = float(probe.get("initialDelaySeconds") or 0)
        if run.started_at is None:
            return initial
        return max(0.0, initial - (self._clock.now() - run.started_at).total_seconds())

    def _conclude(self, kind: str, probed: _Probed, *, passed: bool) -> None:
        before = (probed.started, probed.ready, probed.failed)
        if kind == "startup" and passed:
            probed.started = True
        elif kind == "readiness":
            probed.ready = passed
        elif not passed:
            probed.failed = kind
        if before != (probed.started, probed.ready, probed.failed):
            name = f"{objects.key_of(probed.pod)} {probed.container['name']}"
            log.info("%s: %s probe %s", name, kind, "succeeded" if passed else "failed", extra={"step": "L14"})
            self._wake(objects.uid_of(probed.pod))


def _probeable(pod: Object, observed: Observed) -> list[tuple[Object, Container]]:
    pairs = [
        (container, observed.latest(container["name"]))
        for container in [*spec.sidecars(pod), *spec.app_containers(pod)]
        if any(container.get(f"{kind}Probe") for kind in KINDS)
    ]
    return [(container, run) for container, run in pairs if run is not None and run.state == "running"]


def _as_reported(pod: Object, run: Container) -> tuple[bool, bool]:
    """(ready, started) that the API shows for this very run."""
    status = pod.get("status") or {}
    for entry in [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]:
        if str(entry.get("containerID") or "").endswith(f"//{run.id}"):
            return bool(entry.get("ready")), bool(entry.get("started"))
    return False, False


def _stop(probed: _Probed) -> None:
    for task in probed.tasks:
        task.cancel()
