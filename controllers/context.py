"""What every controller is given: the client, the shared caches, a clock, the options, metrics, recorders of events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from apimachinery.clock import Clock
from apimachinery.objects import Key
from client import controller
from client.events import EventRecorder
from client.informer import InformerFactory
from client.metrics import Metrics
from client.rest import Client
from client.workqueue import WorkQueue
from controllers.options import Options


@dataclass(frozen=True, slots=True)
class Context:
    client: Client
    informers: InformerFactory
    clock: Clock
    options: Options
    metrics: Metrics
    recorders: list[EventRecorder] = field(default_factory=list)  # all that were handed out; main runs them

    def recorder(self, component: str) -> EventRecorder:
        """A recorder of events whose source is `component`."""
        recorder = EventRecorder(self.client, component, clock=self.clock)
        self.recorders.append(recorder)
        return recorder

    def queue(self, name: str) -> WorkQueue[Key]:
        return WorkQueue(self.clock, metrics=self.metrics.queue(name))

    def loop(
        self,
        name: str,
        queue: WorkQueue[Key],
        reconcile: controller.Reconcile,
        *,
        step: str,
        workers: int | None = None,
    ) -> controller.Controller:
        """The loop around `reconcile`; as many workers as the options say, unless told."""
        workers = self.options.workers(name) if workers is None else workers
        return controller.Controller(
            name, queue, reconcile, workers=workers, clock=self.clock, metrics=self.metrics, step=step
        )


class Runnable(Protocol):
    """A controller, wired. Its constructor has asked for its caches and added its handlers; `run` never returns."""

    async def run(self) -> None: ...
