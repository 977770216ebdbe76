"""The loop: one pod at a time through a cycle, bindings beside it (S1 to S4).

The cycle is serial and never waits; what is decided is assumed at once, and the write happens in a task of its own, of
which at most `BINDINGS_MAX` run. A binding that fails is forgotten, and the pod comes back after its back-off, unless
it is gone or has a node by now. Handlers of the caches run between cycles, never within one.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from apimachinery import objects, pods
from apimachinery.clock import Clock
from apimachinery.objects import Key, Object
from scheduler import cycle, podinfo, preemption
from scheduler.cache import Cache
from scheduler.cycle import Profile
from scheduler.decision import Decision
from scheduler.framework import Event
from scheduler.metrics import Metrics
from scheduler.podinfo import PodInfo
from scheduler.preemption import Budget, NoPlan, Plan
from scheduler.queue import Queue, Queued
from scheduler.writer import WriteError, Writer

log = logging.getLogger(__name__)

# Writes under way at once: enough to fill a server's pipeline, few enough not to starve everybody else.
BINDINGS_MAX = 64
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"


class Scheduler:
    """`latest` reads the cache of pods: the newest version of a pod, or None."""

    def __init__(
        self,
        profiles: Iterable[Profile],
        cache: Cache,
        queue: Queue,
        writer: Writer,
        latest: Callable[[Key], Object | None],
        budgets: Callable[[], Sequence[Budget]],
        *,
        clock: Clock,
        chance: random.Random,
        metrics: Metrics,
    ) -> None:
        self._profiles: Mapping[str, Profile] = {profile.scheduler_name: profile for profile in profiles}
        self._cache = cache
        self._queue = queue
        self._writer = writer
        self._latest = latest
        self._budgets = budgets
        self._clock = clock
        self._chance = chance
        self._metrics = metrics
        self._changed = asyncio.Event()
        self._slots = asyncio.Semaphore(BINDINGS_MAX)
        self._start = 0

    async def run(self) -> None:
        """Until cancelled; bindings under way are cancelled too (the API has them or has them not)."""
        async with asyncio.TaskGroup() as group:
            while True:
                async with self._slots:  # no cycle while there is no room for its writes
                    queued = await self._next()
                self._schedule_one(queued, group)
                await asyncio.sleep(0)  # let writes and watches have their turn

    async def _next(self) -> Queued:
        while True:
            self._changed.clear()
            queued = self._queue.pop()
            self._metrics.pending(self._queue.sizes())
            if queued is not None:
                return queued
            try:
                async with asyncio.timeout(self._queue.next_ready_in()):
                    await self._changed.wait()
            except TimeoutError:
                pass  # a back-off is over

    def _schedule_one(self, queued: Queued, group: asyncio.TaskGroup) -> None:
        pod = queued.pod
        profile = self._profiles[pod.scheduler_name]
        began = self._clock.monotonic()
        snapshot = self._cache.snapshot_for(pod)
        decision = cycle.schedule(pod, snapshot, profile, self._chance, self._start)
        self._start = decision.next_start
        self._metrics.attempted(profile.scheduler_name, decision.node is not None, self._clock.monotonic() - began)
        if decision.node is None:
            self._queue.unschedulable(queued, decision.rejecting_plugins)
            plan = preemption.plan(pod, snapshot, profile, decision, self._budgets())
            if isinstance(plan, Plan):
                self._cache.nominate(pod, plan.node)
            group.create_task(self._make_room(pod, decision, plan), name=f"report {pod.key}")
        else:
            self._cache.nominate(pod, "")
            self._cache.assume(pod, decision.node)
            group.create_task(self._bind(queued, decision), name=f"bind {pod.key}")
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s", decision, extra={"step": "S3"})

    async def _bind(self, queued: Queued, decision: Decision) -> None:
        pod, node = queued.pod, decision.node
        assert node is not None
        async with self._slots:
            try:
                await self._writer.bind(pod, node)
            except WriteError as error:
                self._binding_failed(queued, error)
                if self._waits_for_node(pod.key):
                    await self._writer.report_failure(pod, SCHEDULER_ERROR, f"binding rejected: {error}")
                return
        self._metrics.scheduled(queued.attempts, self._clock.monotonic() - queued.added_at)
        log.info("%s: bound to %s", pod.key, node, extra={"step": "S4"})

    def _binding_failed(self, queued: Queued, error: BaseException) -> None:
        key = queued.pod.key
        log.warning("%s: binding failed: %s", key, error, extra={"step": "S4"})
        self._cache.forget(key)
        latest = self._latest(key)
        if latest is not None and self._waits_for_node(key):
            self._queue.retry(_with_pod(queued, podinfo.of(latest)))
        self._wake([Event.POD_DELETED])  # what it was assumed to use is free again

    async def _make_room(self, pod: PodInfo, decision: Decision, plan: Plan | NoPlan) -> None:
        """Reports that the pod has no node; with a plan, nominates one first and evicts who is in the way."""
        async with self._slots:
            if isinstance(plan, NoPlan):
                await self._writer.report_failure(pod, UNSCHEDULABLE, f"{decision.message} preemption: {plan.message}")
                return
            await self._writer.report_failure(pod, UNSCHEDULABLE, decision.message, nominated=plan.node)
            for victim in plan.victims:
                await self._writer.evict(victim, pod, plan.node)

    # --- what the caches tell

    def pod_changed(self, pod: Object) -> None:
        """A pod was added or updated."""
        key = objects.key_of(pod)
        info = podinfo.of(pod)
        if info.node_name:
            self._queue.remove(key)
            self._cache.nominate(info, "")
            self._wake(self._cache.update_pod(info))
        elif not self._waits(pod):
            self._queue.remove(key)
        elif not self._cache.is_assumed(key):
            self._cache.nominate(info, info.nominated_node)
            self._queue.update(info)
            self._changed.set()

    def pod_deleted(self, pod: Object) -> None:
        key = objects.key_of(pod)
        self._cache.nominate(podinfo.of(pod), "")
        self._queue.remove(key)
        self._wake(self._cache.remove_pod(key))

    def node_changed(self, node: Object) -> None:
        self._wake(self._cache.update_node(node))

    def node_deleted(self, node: Object) -> None:
        self._cache.remove_node(objects.name_of(node))

    def namespace_changed(self, _: Object) -> None:
        self._cache.forget_answers()
        self._wake([Event.NAMESPACE])

    def _wake(self, events: Iterable[Event]) -> None:
        if sum(self._queue.wake(event) for event in events):
            self._changed.set()

    def _waits_for_node(self, key: Key) -> bool:
        latest = self._latest(key)
        return latest is not None and not latest["spec"].get("nodeName") and self._waits(latest)

    def _waits(self, pod: Object) -> bool:
        """Whether a pod without a node is ours to schedule now."""
        spec = pod["spec"]
        ours = (spec.get("schedulerName") or podinfo.DEFAULT_SCHEDULER) in self._profiles
        return ours and not spec.get("schedulingGates") and pods.is_active(pod)


def _with_pod(queued: Queued, pod: PodInfo) -> Queued:
    return Queued(pod, queued.added_at, queued.attempts)
