"""L15: notice what happens in the runtime unasked: a container that ends, a sandbox that dies, the runtime itself
going away.

Once a second two calls list everything; the pods whose sandboxes or containers have changed are looked at again. This
is the PLEG of upstream. containerd 1.6 offers nothing to subscribe to in CRI. A kubelet's own actions need no relist:
the worker looks at its pod after each.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from apimachinery.clock import Clock
from kubelet import cri, errors
from kubelet.cri import Runtime, Snapshot
from kubelet.metrics import Metrics

log = logging.getLogger(__name__)
PERIOD_SECONDS = 1.0
# A runtime that restarts is back within a second or two: that must not take the node out of service (upstream: 30 s)
OUTAGE_SECONDS = 10.0


class Relist:
    """`on_change(uid)` for each pod that differs from the look before; `on_turn()` when the runtime goes and comes."""

    def __init__(
        self,
        runtime: Runtime,
        clock: Clock,
        metrics: Metrics,
        on_change: Callable[[str], None],
        on_turn: Callable[[], None],
    ) -> None:
        self._runtime = runtime
        self._clock = clock
        self._metrics = metrics
        self._on_change = on_change
        self.last = Snapshot({}, {})
        self._on_turn = on_turn
        self._looks = 0
        self._answered = clock.monotonic()
        self.outage = ""  # why the runtime is down, once it has been for OUTAGE_SECONDS
        self.problem = "not looked yet"  # "" while the runtime answers

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await self._clock.sleep(PERIOD_SECONDS)

    def follow(self, uid: str, container_id: str) -> Callable[[], bool]:
        """A question to ask again and again: does this container, running now, still run?

        A look that began before the question may not know the container yet: only what a later one misses has gone.
        """
        first = self._looks + 2

        def runs() -> bool:
            states = dict(self.last.pods.get(uid, ()))
            if container_id not in states:
                return self._looks < first
            return states[container_id] == cri.RUNNING

        return runs

    async def look(self) -> None:
        begun = self._clock.monotonic()
        try:
            seen = await self._runtime.snapshot()
        except errors.NodeError as error:
            if not self.problem:
                log.error("the container runtime does not answer: %s", error.message, extra={"step": "L15"})
            self.problem = error.message
            # counted to now, not to when it was asked: one that hangs takes the whole deadline to say nothing
            if not self.outage and self._clock.monotonic() - self._answered >= OUTAGE_SECONDS:
                self.outage = error.message
                self._on_turn()
            return
        self._looks += 1
        self._answered = begun
        came_back, self.problem, self.outage = bool(self.problem), "", ""
        before, self.last = self.last, seen
        if came_back:
            log.info("the container runtime answers: %d pods", len(seen.pods), extra={"step": "L15"})
            self._on_turn()
        for uid in seen.pods.keys() | before.pods.keys():
            if came_back or seen.pods.get(uid) != before.pods.get(uid):
                self._on_change(uid)
        self._metrics.relist.observe(self._clock.monotonic() - begun)
        self._metrics.running_pods.set(len(seen.pods))
