"""L1, L3, L15: one pod's life on this node: look, plan, act, tell; again whenever something has changed.

A worker has a mailbox with room for one: the newest pod. It never works on two steps at once, and a step that is
under way when the pod has to end (deleted, or its grace period made shorter) is cancelled, for a pull may take an
hour.

    running ──(deleted, refused, past its deadline, completed)──▶ ending ──▶ finished ──(no longer in the API)──▶ gone

`finished`: nothing runs; a pod that is being deleted is now removed from the API, another waits with its last status.
Guarantees: a restarted kubelet goes on where the last one stopped, for all that is needed is in the API and in the
runtime. A fault that comes again and again delays a pod, and is told in its events; it never keeps a deleted pod for
ever: after a few failed rounds past its grace period the pod is ended by force (`force.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from apimachinery import clock as clocks
from apimachinery import errors as api_errors
from apimachinery import objects, pods
from apimachinery.clock import Clock
from apimachinery.gvr import PODS
from apimachinery.objects import Object
from client import tracing
from client.rest import Client, ConnectionFailed
from kubelet import errors, plan, relist
from kubelet import status as statuses
from kubelet.backoff import Backoff
from kubelet.cleanup import Cleanup
from kubelet.containers import files
from kubelet.cri import Runtime
from kubelet.images import Event
from kubelet.metrics import Metrics
from kubelet.observed import Observed
from kubelet.plan import Ending, Facts, PodPlan
from kubelet.pods import force, identity, spec
from kubelet.probes.probes import Probes
from kubelet.status import Known, Verdict
from kubelet.status_writer import OWN_CONDITIONS, StatusWriter
from kubelet.sync import Outcome, PodSync

log = logging.getLogger(__name__)
RESYNC_SECONDS = 60.0  # upstream's sync frequency: what no event told is noticed after a minute
FAULT_SECONDS = 1.0  # first pause after an unexpected failure; doubled up to the maximum
FAULT_MAX_SECONDS = 60.0
FAULTS_TO_FORCE = 5  # rounds in a row that failed before a deleted pod is ended by force: half a minute
LEAVING_SECONDS = (
    300.0  # beyond the grace period, for one round of a pod that has to end; the runtime's calls take less
)
CLOSE_LOOK_SECONDS = 0.1  # first look at a container that is to end soon; doubled until the relist is as quick


@dataclass(frozen=True, slots=True)
class Parts:
    """What all workers of a node share."""

    runtime: Runtime
    sync: PodSync
    probes: Probes
    writer: StatusWriter
    cleanup: Cleanup
    client: Client
    clock: Clock
    metrics: Metrics
    event: Event
    host_ips: tuple[str, ...]
    admit: Callable[[Object], Verdict | None]  # L4: None when the pod may run here
    runtime_name: Callable[[], str]
    mirror_of: Callable[[str], Object | None]  # what the API shows for a static pod


class PodWorker:
    def __init__(self, pod: Object, parts: Parts) -> None:
        self.uid = objects.uid_of(pod)
        self.pod = pod
        self.finished = False
        self._parts = parts
        self._in_api = True
        self._gone = False
        self._admitted = False
        self._refused = False
        self._ending: Ending | None = None
        self._verdict: Verdict | None = None
        self._last: dict[str, Any] = {}  # the status put last: the API's copy lags behind it
        self._waiting: dict[str, plan.Wait] = {}
        self._restarts = Backoff()
        self._news = asyncio.Event()
        self._acting: asyncio.Task[Outcome] | None = None
        self._first_seen = parts.clock.monotonic()
        self._start_seen = bool((pod.get("status") or {}).get("startTime"))
        self._faults = 0
        self._close_look = CLOSE_LOOK_SECONDS
        self._absorb(pod)

    @property
    def holds_resources(self) -> bool:
        """Whether the pod counts when another asks to be let in: it was let in itself, and has not finished."""
        was_let_in = bool((self.pod.get("status") or {}).get("startTime"))
        return not self.finished and not self._refused and (self._admitted or was_let_in)

    # --- the mailbox

    def update(self, pod: Object) -> None:
        """The pod has changed in the API. Our own status coming back is no news."""
        news = _what_matters(pod) != _what_matters(self.pod)
        self.pod = pod
        self._absorb(pod)
        if news:
            self.poke()

    def vanish(self) -> None:
        """The pod is no longer in the API: stop it, whatever it does."""
        self._in_api = False
        self._end(spec.grace_seconds(self.pod), "deleted")
        self.poke()

    def poke(self) -> None:
        """Something about the pod has changed: look again."""
        self._news.set()

    def _absorb(self, pod: Object) -> None:
        if objects.is_deleting(pod):
            self._end(spec.grace_seconds(pod), "deleted")
        elif pods.is_terminal(pod):
            self._end(spec.grace_seconds(pod), "pod is over")

    def _end(self, grace_seconds: int, why: str) -> None:
        """Only ever sooner; a step under way is given up for it."""
        until = self._parts.clock.now() + timedelta(seconds=grace_seconds)
        if self._ending is not None and self._ending.until <= until:
            return
        self._ending = Ending(until, why)
        if self._acting is not None:
            self._acting.cancel()

    # --- the loop

    async def run(self) -> None:
        """Until the pod is gone."""
        tracing.current.set(objects.annotations_of(self.pod).get(tracing.ANNOTATION, ""))
        while not self._gone:
            self._news.clear()
            pause = await self._guarded_step()
            if pause > 0 and not self._gone:
                await self._wait(pause)
        log.info("%s: gone", objects.key_of(self.pod), extra={"step": "L15"})

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    async def _guarded_step(self) -> float:
        """One round; failures become a pause. The one place where a pod's errors end."""
        begun = self._parts.clock.monotonic()
        try:
            async with asyncio.timeout(self._limit_seconds()):
                pause = await (self._leave_by_force() if self._must_force() else self._step())
            self._faults = 0
        except errors.RuntimeUnavailable:
            return FAULT_SECONDS  # the relist says so, once, for all pods
        except (errors.NodeError, api_errors.APIError, ConnectionFailed, OSError, ExceptionGroup) as error:
            pause = self._failed(error)
            log.warning("%s: %s; again in %.0f s", objects.key_of(self.pod), error, pause, extra={"step": "L1"})
        except Exception as error:  # a bug about one pod must not stop the node's others
            pause = self._failed(error)
            log.exception("%s: failed; again in %.0f s", objects.key_of(self.pod), pause, extra={"step": "L1"})
        self._parts.metrics.pod_work.labels("sync").observe(self._parts.clock.monotonic() - begun)
        return pause

    def _failed(self, error: Exception) -> float:
        """Counts and tells a fault; how long to wait: twice as long each time."""
        self._faults += 1
        if not isinstance(error, api_errors.APIError | ConnectionFailed):  # who cannot be reached cannot be told
            doing, reason = ("syncing", "FailedSync") if self._ending is None else ("killing", "FailedKillPod")
            self._parts.event(self.pod, "Warning", reason, f"error {doing} pod: {str(error) or type(error).__name__}")
        return float(min(FAULT_SECONDS * 2 ** min(self._faults - 1, 10), FAULT_MAX_SECONDS))

    def _limit_seconds(self) -> float | None:
        """A pull may take an hour; a pod that has to end takes its grace period and a little."""
        if self._ending is None:
            return None
        return max(0.0, (self._ending.until - self._parts.clock.now()).total_seconds()) + LEAVING_SECONDS

    @property
    def _is_leaving(self) -> bool:
        return objects.is_deleting(self.pod) or not self._in_api

    def _must_force(self) -> bool:
        ending = self._ending
        is_late = ending is not None and self._parts.clock.now() >= ending.until
        return self._is_leaving and is_late and self._faults >= FAULTS_TO_FORCE

    async def _step(self) -> float:
        """Look, plan, act, tell. Returns how long nothing need be done; 0: look again at once."""
        pod = self._view()
        observed = await self._parts.runtime.observe(self.uid)
        self._admit(pod, observed)
        deadline = self._check_deadline(pod)
        self._parts.probes.reconcile(pod, observed, _pod_ip(pod, observed, self._parts.host_ips))
        todo = plan.plan_pod(pod, observed, self._facts())
        if todo.finished:
            await self._finish(pod, observed)
            return RESYNC_SECONDS
        outcome = await self._act(pod, todo, observed)
        if outcome is None:
            return 0
        if todo.acts:
            observed = await self._parts.runtime.observe(self.uid)
            self._parts.probes.reconcile(pod, observed, _pod_ip(pod, observed, self._parts.host_ips))
        self._tell(observed)
        return self._next_look(todo, outcome, deadline, watch_closely=plan.ends_soon(pod, observed))

    def _next_look(self, todo: PodPlan, outcome: Outcome, deadline: float | None, *, watch_closely: bool) -> float:
        if todo.acts and not outcome.waiting and outcome.retry_seconds is None:
            self._close_look = CLOSE_LOOK_SECONDS
            return 0  # one more look: the next init container, or the sandbox after the containers
        times = [RESYNC_SECONDS, *(t for t in (todo.again_seconds, outcome.retry_seconds, deadline) if t is not None)]
        if watch_closely and self._close_look < relist.PERIOD_SECONDS:
            times.append(self._close_look)
            self._close_look *= 2
        return max(0.05, min(times))

    # --- looking and planning

    def _view(self) -> Object:
        """The pod with the status put last laid over the API's, which lags behind; others' conditions are the API's."""
        if not self._last:
            return self.pod
        status = self.pod.get("status") or {}
        own = {entry["type"]: entry for entry in self._last.get("conditions") or [] if entry["type"] in OWN_CONDITIONS}
        listed = [own.pop(entry["type"], entry) for entry in status.get("conditions") or []]
        return {**self.pod, "status": {**status, **self._last, "conditions": [*listed, *own.values()]}}

    def _facts(self) -> Facts:
        probes = self._parts.probes
        return Facts(
            now=self._parts.clock.now(),
            restart_delays=self._restarts.delays(),
            starting=probes.starting(self.uid),
            unhealthy=probes.unhealthy(self.uid),
            ending=self._ending,
        )

    def _admit(self, pod: Object, observed: Observed) -> None:
        """L4, once, and only for what has not begun: a running pod is never refused afterwards."""
        if self._admitted or self._ending is not None:
            return
        self._admitted = True
        if observed.sandboxes or (pod.get("status") or {}).get("startTime"):
            return
        verdict = self._parts.admit(pod)
        if verdict is not None:
            log.info("%s: refused: %s", objects.key_of(pod), verdict.message, extra={"step": "L4"})
            self._parts.event(pod, "Warning", verdict.reason, verdict.message)
            self._verdict, self._refused = verdict, True
            self._end(1, verdict.reason)

    def _check_deadline(self, pod: Object) -> float | None:
        """activeDeadlineSeconds: seconds left, None where there is none or it has passed."""
        limit, start = pod["spec"].get("activeDeadlineSeconds"), (pod.get("status") or {}).get("startTime")
        if limit is None or start is None or self._ending is not None:
            return None
        left = limit - (self._parts.clock.now() - clocks.parse_rfc3339(start)).total_seconds()
        if left > 0:
            return float(left)
        message = "Pod was active on the node longer than the specified deadline"
        self._parts.event(pod, "Normal", "DeadlineExceeded", message)
        self._verdict = Verdict("DeadlineExceeded", message)
        self._end(spec.grace_seconds(pod), "DeadlineExceeded")
        return None

    # --- acting

    async def _act(self, pod: Object, todo: PodPlan, observed: Observed) -> Outcome | None:
        """None when the step was given up because the pod has to end (sooner)."""
        if todo.acts:
            log.info("%s: %s", objects.key_of(pod), todo, extra={"step": "L15" if todo.stop else "L9"})
            if not self._last:
                self._tell(observed)  # says that the node has taken it, before the long steps
        self._count_restarts(todo, observed)
        self._acting = asyncio.create_task(self._carry_out(pod, todo, observed))
        try:
            outcome = await self._acting
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._acting.done() and task is not None and not task.cancelling():
                return None
            self._acting.cancel()
            raise
        finally:
            self._acting = None
        self._waiting = outcome.waiting
        return outcome

    async def _carry_out(self, pod: Object, todo: PodPlan, observed: Observed) -> Outcome:
        if todo.acts or todo.waiting:
            return await self._parts.sync.execute(pod, todo, observed)
        await self._parts.sync.refresh_volumes(pod)
        return Outcome()

    def _count_restarts(self, todo: PodPlan, observed: Observed) -> None:
        for stop in todo.stop:
            if stop.why.endswith("definition changed"):
                self._restarts.forget(stop.name)
        for start in todo.start:
            run = observed.latest(start.name)
            if run is not None and run.state == "exited" and todo.sandbox_attempt is None:
                self._restarts.failed(start.name, self._parts.clock.now())

    # --- telling

    def _tell(self, observed: Observed, *, ended: bool = False) -> None:
        parts, pod = self._parts, self._view()
        status = statuses.pod_status(
            pod,
            observed,
            Known(
                now=parts.clock.now(),
                host_ips=parts.host_ips,
                waiting=self._waiting,
                starting=parts.probes.starting(self.uid),
                unready=parts.probes.unready(self.uid),
                messages={c.id: files.termination_message(c) for c in observed.containers if c.state == "exited"},
                verdict=self._verdict,
                ended=ended,
                runtime_name=parts.runtime_name(),
            ),
        )
        self._last = status
        self._measure_start(status)
        shown = parts.mirror_of(self.uid) if identity.is_static(pod) else self.pod
        if self._in_api and shown is not None:
            parts.writer.put(shown, status)

    def _measure_start(self, status: dict[str, Any]) -> None:
        """L2: the first time that all containers are seen running."""
        if not self._start_seen and status["phase"] == "Running":
            self._start_seen = True
            seconds = self._parts.clock.monotonic() - self._first_seen
            self._parts.metrics.pod_start.observe(seconds)
            log.info("%s: running after %.2f s", objects.key_of(self.pod), seconds, extra={"step": "L2"})

    # --- the end

    async def _finish(self, pod: Object, observed: Observed) -> None:
        """Nothing runs any more: tell, tidy up, and take a deleted pod out of the API."""
        if self.finished and not self._is_leaving:
            return
        self._waiting = {}
        self._tell(observed, ended=True)
        self._parts.probes.release(self.uid)
        await self._parts.cleanup.volumes(pod)
        self.finished = True
        if self._is_leaving:
            await self._parts.writer.settle(self.uid)
            await self._parts.cleanup.everything(pod, observed)
            await self._remove_from_api(pod)
            self._parts.writer.forget(self.uid)
            self._gone = not self._in_api  # else the watch will tell; finalizers may hold the pod for long

    async def _leave_by_force(self) -> float:
        parts = self._parts
        await force.end(self.pod, parts.runtime, parts.probes, parts.cleanup)
        self.finished = True
        await self._remove_from_api(self.pod)
        parts.writer.forget(self.uid)
        self._gone = not self._in_api
        return RESYNC_SECONDS

    async def _remove_from_api(self, pod: Object) -> None:
        if not self._in_api:
            return
        # Gone already, or another of this name is there
        with contextlib.suppress(api_errors.NotFound, api_errors.Conflict):
            await self._parts.client.delete(
                PODS, objects.name_of(pod), objects.namespace_of(pod), grace_period_seconds=0, uid=self.uid
            )
        log.info("%s: removed from the API", objects.key_of(pod), extra={"step": "L15"})


def _what_matters(pod: Object) -> tuple[Any, ...]:
    """What can change the plan or the status: not what the kubelet itself has written."""
    metadata = pod["metadata"]
    fields = ("labels", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
    conditions = (pod.get("status") or {}).get("conditions") or []
    others = [entry for entry in conditions if entry["type"] not in OWN_CONDITIONS]
    return (pod["spec"], [metadata.get(name) for name in fields], others)


def _pod_ip(pod: Object, observed: Observed, host_ips: tuple[str, ...]) -> str:
    """Where probes go."""
    ips = host_ips if spec.is_host_network(pod) else observed.ready_sandbox.ips if observed.ready_sandbox else ()
    return ips[0] if ips else ""
