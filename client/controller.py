"""The loop around a reconcile function: take a key, reconcile it, decide when to look again.

The loop owns retry, back-off, concurrency, logging and metrics, so reconcile functions have none of these. A reconcile
gets a key and re-reads the world; it returns an `Outcome` or raises. It is never run twice at once for one key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from apimachinery import errors
from apimachinery.clock import Clock, SystemClock
from apimachinery.objects import Key
from client.workqueue import ShutDown, WorkQueue

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more to do until something changes."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """All is well; look again after so many seconds, whatever happens."""

    seconds: float


Outcome = Done | RequeueAfter
Reconcile = Callable[[Key], Awaitable[Outcome]]


class TerminalError(Exception):
    """Trying again cannot help until the object changes: log it, do not retry."""


class Metrics(Protocol):
    """Told of every reconcile; `result` is success, requeue_after, error or terminal_error."""

    def reconciled(self, controller: str, result: str, seconds: float) -> None: ...


class Controller:
    """`workers` tasks that reconcile the keys of `queue`."""

    def __init__(
        self,
        name: str,
        queue: WorkQueue[Key],
        reconcile: Reconcile,
        *,
        workers: int = 5,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        step: str = "-",
    ) -> None:
        self.name = name
        self.queue = queue
        self._reconcile = reconcile
        self._workers = workers
        self._clock = clock or SystemClock()
        self._metrics = metrics
        self._step = step

    async def run(self) -> None:
        """Until the queue is shut down and drained, or cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name} {number}")

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self.process(key)
            finally:
                self.queue.done(key)

    async def process(self, key: Key) -> None:
        """One reconcile and what follows from it; the one place that catches what a reconcile raises."""
        started = self._clock.monotonic()
        try:
            outcome = await self._reconcile(key)
        except TerminalError as error:
            self.queue.forget(key)
            log.error("%s: %s: %s (not retried)", self.name, key, error, extra={"step": self._step})
            result = "terminal_error"
        except Exception as error:  # noqa: BLE001  # the outermost place of the loop: a failure is retried with back-off
            self._log_failure(key, error)
            self.queue.add_rate_limited(key)
            result = "error"
        else:
            self.queue.forget(key)
            result = self._follow(key, outcome)
        if self._metrics is not None:
            self._metrics.reconciled(self.name, result, self._clock.monotonic() - started)

    def _follow(self, key: Key, outcome: Outcome) -> str:
        if isinstance(outcome, RequeueAfter):
            self.queue.add_after(key, outcome.seconds)
            return "requeue_after"
        return "success"

    def _log_failure(self, key: Key, error: Exception) -> None:
        """Expected refusals in a line; anything else is a bug and shows where."""
        extra = {"step": self._step}
        if isinstance(error, errors.Conflict):  # somebody else was quicker: the retry settles it
            log.info("%s: %s: %s", self.name, key, error, extra=extra)
        elif isinstance(error, errors.APIError):
            log.warning("%s: %s: %s", self.name, key, error, extra=extra)
        else:
            log.error("%s: %s: %s", self.name, key, error, exc_info=error, extra=extra)
