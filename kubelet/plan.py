"""Observe, plan, act (L9, L13, L15): what to do next for one pod, as a value. Pure: no runtime, no clock, no I/O.

`plan_pod` compares the spec with what the runtime holds and says what to stop, remove, create and start, in the order
in which `kubelet/sync.py` does it. It is level-based: called again after every change, late or for nothing, it gives
what is left to do; an empty plan means that the pod is as it should be until something changes or `again_seconds` pass.

The ways through it:
    ending (deleted, evicted, past its deadline)  stop app containers, then sidecars last to first, then the sandbox
    completed (nothing will run again)            the same, with the spec's grace period for sidecars
    no ready sandbox                              stop what is left of the old one, create the next, start from the top
    sandbox ready                                 sidecars and init containers in order; when all are through, the apps

Does not decide how long a container backs off: that is `facts.restart_delays`, kept by the pod's worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from apimachinery.objects import Object
from kubelet.observed import Container, Observed, Sandbox
from kubelet.pods import identity, spec

GRACE_AFTER_WAIT_SECONDS = 2  # upstream's minimum once a preStop hook or a sidecar's turn has used up the period


@dataclass(frozen=True, slots=True)
class Ending:
    """The pod must stop. `until` is when its grace period is over; only ever moves closer."""

    until: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the pod beside its spec and what the runtime holds."""

    now: datetime
    restart_delays: Mapping[str, float] = field(default_factory=dict)  # container name → seconds dead before a restart
    starting: frozenset[str] = frozenset()  # ids of running containers whose startup probe has not succeeded yet
    unhealthy: Mapping[str, str] = field(default_factory=dict)  # id → the probe that gave up: "liveness", "startup"
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    container_id: str
    name: str
    grace_seconds: int
    why: str

    def __str__(self) -> str:
        return f"stop {self.name} ({self.why}, {self.grace_seconds} s)"


@dataclass(frozen=True, slots=True)
class Start:
    name: str
    attempt: int

    def __str__(self) -> str:
        return f"start {self.name}#{self.attempt}"


@dataclass(frozen=True, slots=True)
class Wait:
    """A container that is not started yet, with what its status says meanwhile."""

    name: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.name} {self.reason}"


@dataclass(frozen=True, slots=True)
class PodPlan:
    """In the order of execution. `finished`: nothing runs and nothing will; what is left is to tell and tidy up."""

    stop: tuple[Stop, ...] = ()
    stop_sandboxes: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()  # containers
    remove_sandboxes: tuple[str, ...] = ()
    sandbox_attempt: int | None = None  # create a sandbox with this attempt
    start: tuple[Start, ...] = ()
    waiting: tuple[Wait, ...] = ()
    again_seconds: float | None = None
    finished: bool = False

    @property
    def acts(self) -> bool:
        return (
            bool(self.stop or self.stop_sandboxes or self.remove or self.remove_sandboxes or self.start)
            or self.sandbox_attempt is not None
        )

    def __str__(self) -> str:
        parts = [str(step) for step in self.stop]
        parts += [f"stop sandbox {sandbox[:8]}" for sandbox in self.stop_sandboxes]
        parts += [f"remove {container[:8]}" for container in self.remove]
        parts += [f"remove sandbox {sandbox[:8]}" for sandbox in self.remove_sandboxes]
        parts += [f"create sandbox #{self.sandbox_attempt}"] if self.sandbox_attempt is not None else []
        parts += [str(step) for step in self.start]
        parts += [str(wait) for wait in self.waiting]
        return ", ".join(parts) or ("finished" if self.finished else "nothing to do")


def plan_pod(pod: Object, observed: Observed, facts: Facts) -> PodPlan:
    """The next steps for `pod`."""
    if facts.ending is not None:
        return _plan_stop(pod, observed, facts.ending.until, facts.now, facts.ending.why)
    if is_completed(pod, observed):
        until = facts.now + timedelta(seconds=spec.grace_seconds(pod))
        return _plan_stop(pod, observed, until, facts.now, "pod completed")
    if observed.ready_sandbox is None:
        return _plan_sandbox(pod, observed)
    return _plan_containers(pod, observed, observed.ready_sandbox, facts)


def is_completed(pod: Object, observed: Observed) -> bool:
    """Whether the pod has run to its end: every app container is through, or an init container failed for good."""
    for container in spec.init_containers(pod):
        run = observed.latest(container["name"])
        if run is not None and _gave_up(pod, container, run):
            return True
    apps = spec.app_containers(pod)
    runs = [(container, observed.latest(container["name"])) for container in apps]
    if observed.ready_sandbox is None and _stays_down(pod, observed):
        return True
    return bool(apps) and all(run is not None and _is_over(pod, container, run) for container, run in runs)


def is_initialized(pod: Object, observed: Observed, starting: frozenset[str]) -> bool:
    """Whether the app containers may run: in this sandbox all init containers are through and all sidecars started."""
    sandbox = observed.sandbox
    if sandbox is None:
        return not spec.init_containers(pod)
    if _has_app_run(pod, observed, sandbox):
        return True
    return all(
        _passed(container, _run_in(observed, sandbox, container), starting) for container in spec.init_containers(pod)
    )


def ends_soon(pod: Object, observed: Observed) -> bool:
    """Whether something runs whose end others wait for: an init container, or a pod that is meant to finish."""
    once = {c["name"] for c in spec.init_containers(pod) if not spec.is_sidecar(c)}
    finishes = pod["spec"].get("restartPolicy") in ("Never", "OnFailure")
    return any(finishes or c.name in once for c in observed.running())


# --- ending


def _plan_stop(pod: Object, observed: Observed, until: datetime, now: datetime, why: str) -> PodPlan:
    """App and init containers at once, then sidecars one by one from the last, then the sandboxes."""
    running = observed.running()
    order = [container["name"] for container in spec.sidecars(pod)]
    first = [c for c in running if c.name not in order]
    left = (until - now).total_seconds()
    if first:
        return PodPlan(stop=tuple(Stop(c.id, c.name, max(1, round(left)), why) for c in first))
    if running:
        last = max(running, key=lambda c: order.index(c.name))
        return PodPlan(stop=(Stop(last.id, last.name, max(GRACE_AFTER_WAIT_SECONDS, round(left)), why),))
    ready = tuple(sandbox.id for sandbox in observed.sandboxes if sandbox.ready)
    return PodPlan(stop_sandboxes=ready, finished=not ready)


def _is_over(pod: Object, container: Object, run: Container) -> bool:
    return run.state == "exited" and not spec.restarts(pod, container, run)


def _gave_up(pod: Object, container: Object, run: Container) -> bool:
    """An init container that failed and must not be tried again."""
    failed = run.state == "exited" and run.exit_code != 0
    return failed and not spec.is_sidecar(container) and not _retries_init(pod, container, run)


def _retries_init(pod: Object, container: Object, run: Container) -> bool:
    # Always means "until it succeeds" for an init container
    return (
        spec.restarts(pod, container, run)
        or (container.get("restartPolicy") or pod["spec"].get("restartPolicy")) == "Always"
    )


def _stays_down(pod: Object, observed: Observed) -> bool:
    """A pod that must never run again and has lost its sandbox is over, whatever its containers got to."""
    return pod["spec"].get("restartPolicy") == "Never" and bool(observed.containers) and observed.sandbox is not None


# --- starting


def _plan_sandbox(pod: Object, observed: Observed) -> PodPlan:
    """Clear away what still runs beside no sandbox, then make the next one and start from the top."""
    newest = observed.sandbox
    leftovers = tuple(Stop(c.id, c.name, spec.grace_seconds(pod), "its sandbox is gone") for c in observed.running())
    attempt = 0 if newest is None else newest.attempt + 1
    return PodPlan(
        stop=leftovers,
        stop_sandboxes=(newest.id,) if newest is not None else (),  # releases its address
        remove=_created(observed),
        sandbox_attempt=attempt,
        start=_first_starts(pod, observed),
    )


def _first_starts(pod: Object, observed: Observed) -> tuple[Start, ...]:
    inits = spec.init_containers(pod)
    apps = [c for c in spec.app_containers(pod) if not _need_not_start(pod, observed, c, None)]
    return tuple(Start(c["name"], _next_attempt(observed, c)) for c in (inits[:1] or apps))


def _plan_containers(pod: Object, observed: Observed, sandbox: Sandbox, facts: Facts) -> PodPlan:
    stop: list[Stop] = []
    start: list[Start] = []
    waiting: list[Wait] = []
    times: list[float] = []
    for container in _wanted(pod, observed, sandbox, facts):
        run = _run_in(observed, sandbox, container)
        reason = _must_stop(container, run, facts)
        if run is not None and reason:
            stop.append(Stop(run.id, run.name, spec.grace_seconds(pod), reason))
            continue  # restarted, if at all, once it has exited
        if _need_not_start(pod, observed, container, run):
            continue
        left = _backs_off(run, facts)
        if left > 0:
            times.append(left)
            waiting.append(_crash_loop(pod, container, facts))
        else:
            start.append(Start(container["name"], _next_attempt(observed, container)))
    stop += _doubles(pod, observed)
    return PodPlan(
        stop=tuple(stop),
        stop_sandboxes=tuple(s.id for s in observed.sandboxes[1:] if s.ready),
        remove=_created(observed) + _dead(observed),
        remove_sandboxes=_empty_sandboxes(observed),
        start=tuple(start),
        waiting=tuple(waiting),
        again_seconds=min(times) if times else None,
    )


def _wanted(pod: Object, observed: Observed, sandbox: Sandbox, facts: Facts) -> Iterator[Object]:
    """Whose turn it is, or has been: init containers up to the first that is not through, then the apps."""
    past = _has_app_run(pod, observed, sandbox)
    for container in spec.init_containers(pod):
        if past and not spec.is_sidecar(container):
            continue
        yield container
        if not past and not _passed(container, _run_in(observed, sandbox, container), facts.starting):
            return
    yield from spec.app_containers(pod)
    yield from spec.ephemeral_containers(pod)


def _passed(container: Object, run: Container | None, starting: frozenset[str]) -> bool:
    """Whether this init container no longer holds up the next."""
    if run is None:
        return False
    if spec.is_sidecar(container):
        return run.state == "running" and run.id not in starting
    return run.state == "exited" and run.exit_code == 0


def _must_stop(container: Object, run: Container | None, facts: Facts) -> str:
    """Why a running container has to go although the pod stays, or ""."""
    if run is None or run.state != "running":
        return ""
    if run.spec_hash and run.spec_hash != identity.spec_hash(container):
        return f"Container {run.name} definition changed"
    probe = facts.unhealthy.get(run.id)
    return f"Container {run.name} failed {probe} probe" if probe else ""


def _need_not_start(pod: Object, observed: Observed, container: Object, run: Container | None) -> bool:
    """Whether it runs, or is through for good; `run` is its newest in this sandbox."""
    if run is not None:
        return not _must_start(pod, container, run)
    # One that succeeded in an earlier sandbox is not run again for the sake of its siblings
    earlier = observed.latest(container["name"])
    is_app = any(c is container for c in spec.app_containers(pod))
    return is_app and earlier is not None and _is_over(pod, container, earlier)


def _must_start(pod: Object, container: Object, run: Container) -> bool:
    if run.state == "running":
        return False
    if run.state in ("created", "unknown"):
        return True
    if any(c is container for c in spec.ephemeral_containers(pod)):
        return False
    if any(c is container for c in spec.init_containers(pod)) and not spec.is_sidecar(container):
        return run.exit_code != 0
    return spec.restarts(pod, container, run)


def _backs_off(run: Container | None, facts: Facts) -> float:
    """Seconds that an exited container still has to wait."""
    if run is None or run.finished_at is None:
        return 0.0
    delay = facts.restart_delays.get(run.name, 0.0)
    return (run.finished_at - facts.now).total_seconds() + delay


def _crash_loop(pod: Object, container: Object, facts: Facts) -> Wait:
    delay = _go_duration(facts.restart_delays.get(container["name"], 0.0))
    message = f"back-off {delay} restarting failed container={container['name']} pod={identity.describe(pod)}"
    return Wait(container["name"], "CrashLoopBackOff", message)


def _go_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _run_in(observed: Observed, sandbox: Sandbox, container: Object) -> Container | None:
    """The newest run in this sandbox: what ran in an earlier one does not count, the pod has begun anew."""
    return next((c for c in observed.runs(container["name"]) if c.sandbox_id == sandbox.id), None)


def _has_app_run(pod: Object, observed: Observed, sandbox: Sandbox) -> bool:
    return any(_run_in(observed, sandbox, container) is not None for container in spec.app_containers(pod))


def _next_attempt(observed: Observed, container: Object) -> int:
    """A run that was created but never started does not count: it is removed first."""
    runs = [c.attempt for c in observed.runs(container["name"]) if c.state != "created"]
    return max(runs) + 1 if runs else 0


# --- tidying


def _created(observed: Observed) -> tuple[str, ...]:
    """Left by a kubelet that died between create and start: never ran, so nothing is lost."""
    return tuple(c.id for c in observed.containers if c.state == "created")


def _dead(observed: Observed) -> tuple[str, ...]:
    """All dead runs but the newest of each name, which `lastState` and `logs --previous` show."""
    seen: set[str] = set()
    gone: list[str] = []
    for c in observed.containers:
        if c.state == "exited":
            if c.name in seen:
                gone.append(c.id)
            seen.add(c.name)
    return tuple(gone)


def _empty_sandboxes(observed: Observed) -> tuple[str, ...]:
    used = {c.sandbox_id for c in observed.containers}
    return tuple(s.id for s in observed.sandboxes[1:] if not s.ready and s.id not in used)


def _doubles(pod: Object, observed: Observed) -> list[Stop]:
    """Older runs that still run beside a newer one of the same name."""
    seen: set[str] = set()
    result: list[Stop] = []
    for c in observed.running():
        if c.name in seen:
            result.append(Stop(c.id, c.name, spec.grace_seconds(pod), "a newer run of it exists"))
        seen.add(c.name)
    return result
