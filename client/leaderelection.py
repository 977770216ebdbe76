"""One active instance of several, agreed by a Lease (step C5).

Two states, Follower and Leader, and one pure function, `decide`, that says what to write.
Guarantees: an instance that cannot renew stops leading after `renew_deadline` (10 s), before anybody else may take over
after `lease_duration` (15 s), as long as clocks *run* equally fast; they need not agree, since an instance measures how
long it has seen the record unchanged, never compares its clock with a time in the record. A clean exit releases the
lease at once.
Does not guarantee: fencing. A paused process may act for a moment after it has lost the lease, so what a leader writes
must be safe against that (resourceVersion preconditions).
Source: https://kubernetes.io/docs/concepts/architecture/leases/
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from apimachinery import clock as clocks
from apimachinery import errors
from apimachinery.clock import Clock, SystemClock
from apimachinery.gvr import LEASES
from apimachinery.objects import Object
from client import process, rest

log = logging.getLogger(__name__)


class LeadershipLost(process.Ended):
    """The lease could not be renewed in time; the process should end and start again as a follower."""


@dataclass(frozen=True, slots=True)
class Timing:
    """client-go's defaults. Must hold: lease > renew > retry * jitter."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    jitter: float = 1.2

    def __post_init__(self) -> None:
        if self.lease_duration <= self.renew_deadline:
            raise ValueError("lease_duration must be greater than renew_deadline")
        if self.renew_deadline <= self.retry_period * self.jitter:
            raise ValueError("renew_deadline must be greater than retry_period * jitter")


@dataclass(frozen=True, slots=True)
class Observed:
    """The newest record seen, and since when it has been seen unchanged (monotonic seconds)."""

    spec: Object
    since: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Somebody else holds the lease."""

    holder: str


@dataclass(frozen=True, slots=True)
class Write:
    """The spec to put into the lease; if the write succeeds, we lead."""

    spec: Object


def decide(
    lease: Object | None, observed: Observed | None, identity: str, now: float, stamp: str, seconds: int
) -> Wait | Write:
    """Whether this instance may hold the lease now, and what to write if so."""
    spec = {"holderIdentity": identity, "leaseDurationSeconds": seconds, "renewTime": stamp}
    if lease is None:
        return Write(spec | {"acquireTime": stamp, "leaseTransitions": 0})
    old = lease.get("spec") or {}
    holder = old.get("holderIdentity") or ""
    if holder == identity:
        return Write(old | spec)
    # a holder that said how long its lease lasts is believed, not our own setting
    valid = float(old.get("leaseDurationSeconds") or 0)
    if holder and observed is not None and observed.since + valid > now:
        return Wait(holder)
    transitions = int(old.get("leaseTransitions") or 0) + 1
    return Write(old | spec | {"acquireTime": stamp, "leaseTransitions": transitions})


class LeaderElector:
    """One candidate. `identity` must differ between instances (host name and a random part)."""

    def __init__(
        self,
        client: rest.Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        timing: Timing | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._timing = timing or Timing()
        self._clock = clock or SystemClock()
        self._random = rng or random.Random()
        self._observed: Observed | None = None
        self.is_leader = False

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, then run `lead` for as long as it is held.

        Returns when `lead` does. Raises LeadershipLost after `lead` was cancelled because the lease could not be
        renewed. The lease is released when `lead` ends for any other reason, cancellation included.
        """
        await self._acquire()
        log.info("%s: leading as %s", self._name, self._identity, extra={"step": "C5"})
        self.is_leader = True
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait({leading, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if renewing.done():
                renewing.result()  # raises LeadershipLost
            await leading
        finally:
            self.is_leader = False
            await _stop(leading)
            lost = renewing.done()
            await _stop(renewing)
            if not lost:
                await self._release()

    async def _acquire(self) -> None:
        while not await self._try():
            jittered = self._timing.retry_period * (1 + self._random.random() * self._timing.jitter)
            await self._clock.sleep(jittered)

    async def _renew(self) -> None:
        """Renew every `retry_period`; raises LeadershipLost when `renew_deadline` passes without success."""
        renewed = self._clock.monotonic()
        while True:
            await self._clock.sleep(self._timing.retry_period)
            try:
                async with asyncio.timeout(renewed + self._timing.renew_deadline - self._clock.monotonic()):
                    success = await self._try()
            except TimeoutError:
                success = False
            now = self._clock.monotonic()
            if success:
                renewed = now
            elif now - renewed >= self._timing.renew_deadline:
                raise LeadershipLost(f"{self._namespace}/{self._name}: failed to renew the lease in time")

    async def _try(self) -> bool:
        """One attempt to get or keep the lease; faults are a failed attempt."""
        try:
            lease = await self._read()
            self._observe(lease)
            plan = decide(
                lease,
                self._observed,
                self._identity,
                self._clock.monotonic(),
                clocks.rfc3339_micro(self._clock.now()),
                int(self._timing.lease_duration),
            )
            if isinstance(plan, Wait):
                return False
            self._observe(await self._write(lease, plan.spec))
        except (errors.APIError, rest.ConnectionFailed) as error:
            log.info("%s: lease not held: %s", self._name, error, extra={"step": "C5"})
            return False
        return True

    def _observe(self, lease: Object | None) -> None:
        spec = (lease or {}).get("spec") or {}
        if self._observed is None or self._observed.spec != spec:
            self._observed = Observed(spec, self._clock.monotonic())

    async def _read(self) -> Object | None:
        try:
            return await self._client.get(LEASES, self._name, self._namespace)
        except errors.NotFound:
            return None

    async def _write(self, lease: Object | None, spec: Object) -> Object:
        if lease is None:
            made = {
                "apiVersion": LEASES.api_version,
                "kind": "Lease",
                "metadata": {"name": self._name, "namespace": self._namespace},
                "spec": spec,
            }
            return await self._client.create(LEASES, made)
        # the resourceVersion in it makes the write conditional: of two that try, one wins
        return await self._client.update(LEASES, lease | {"spec": spec})

    async def _release(self) -> None:
        """Let go, so that a follower takes over at its next try instead of after the lease has run out."""
        try:
            lease = await self._read()
            if lease is None or (lease.get("spec") or {}).get("holderIdentity") != self._identity:
                return
            stamp = clocks.rfc3339_micro(self._clock.now())
            released = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": stamp, "acquireTime": stamp}
            await self._write(lease, lease["spec"] | released)
        except (errors.APIError, rest.ConnectionFailed) as error:
            log.info("%s: lease not released: %s", self._name, error, extra={"step": "C5"})


async def _stop(task: asyncio.Future[None]) -> None:
    """Cancel and wait; what the task itself raised is re-raised by whoever awaits its result."""
    if not task.done():
        task.cancel()
    await asyncio.wait({task})
