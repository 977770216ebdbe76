"""Tells users what a component did about an object, as core/v1 Events.

Guarantees: `event` never blocks, never fails and never raises for what the server says; at most `QUEUE_MAX` events
wait, later ones are dropped and counted. Repeats raise the count of one Event (`client.correlation`).
Does not guarantee delivery: events are a help to people, never an input of a controller.
"""

from __future__ import annotations

import asyncio
import logging

from apimachinery import clock as clocks
from apimachinery import errors, objects
from apimachinery.clock import Clock, SystemClock
from apimachinery.gvr import EVENTS
from apimachinery.objects import Object
from client import rest
from client.correlation import Correlator, Create, Drop, Repeat

log = logging.getLogger(__name__)

# As upstream's broadcaster: far more than a component says in the time the server may be away for a moment
QUEUE_MAX = 1000
TRIES = 12
RETRY_SECONDS = 10.0
# Upstream's limit of the field in events.k8s.io/v1, kept here so that one event fits both
MESSAGE_MAX = 1024


class EventRecorder:
    """Events of one component. `run` sends them; until it runs they wait."""

    def __init__(self, client: rest.Client, component: str, host: str = "", *, clock: Clock | None = None) -> None:
        self._client = client
        self._component = component
        self._host = host
        self._clock = clock or SystemClock()
        self._queue: asyncio.Queue[Object] = asyncio.Queue(QUEUE_MAX)
        self._correlator = Correlator(self._clock)
        self._last = 0
        self.dropped = 0

    def event(self, obj: Object, type: str, reason: str, message: str, *, field_path: str = "") -> None:
        """`type` is Normal or Warning, `reason` a CamelCase word for machines, `message` a sentence for people."""
        try:
            self._queue.put_nowait(self._make(obj, type, reason, message, field_path))
        except asyncio.QueueFull:
            self.dropped += 1
            if self.dropped == 1:
                log.warning("%s: events are dropped: %d wait already", self._component, QUEUE_MAX)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._record(await self._queue.get())

    async def flush(self, timeout_seconds: float = 2.0) -> None:
        """Send what waits, at most so long: for the end of a process."""
        try:
            async with asyncio.timeout(timeout_seconds):
                while not self._queue.empty():
                    await self._record(self._queue.get_nowait())
        except TimeoutError:
            self.dropped += self._queue.qsize()

    def _make(self, obj: Object, type: str, reason: str, message: str, field_path: str) -> Object:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        involved = {
            "kind": obj.get("kind", ""),
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": objects.uid_of(obj),
            "apiVersion": obj.get("apiVersion", ""),
            "resourceVersion": objects.resource_version_of(obj),
            "fieldPath": field_path,
        }
        now = self._clock.now()
        stamp = clocks.rfc3339(now)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{self._unique(now.timestamp()):x}", "namespace": namespace},
            "involvedObject": {key: value for key, value in involved.items() if value},
            "reason": reason,
            "message": message if len(message) <= MESSAGE_MAX else message[: MESSAGE_MAX - 4] + " ...",
            "source": {"component": self._component} | ({"host": self._host} if self._host else {}),
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
            "type": type,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }

    def _unique(self, seconds: float) -> int:
        """Nanoseconds, never the same twice."""
        self._last = max(int(seconds * 1e9), self._last + 1)
        return self._last

    async def _record(self, event: Object) -> None:
        plan = self._correlator.correlate(event)
        if isinstance(plan, Drop):
            return
        for _ in range(TRIES):
            try:
                await self._write(plan)
            except rest.ConnectionFailed:
                await self._clock.sleep(RETRY_SECONDS)  # only the network is worth waiting for
            except errors.APIError as error:
                log.info("event %s: %s", event["metadata"]["name"], error)
                return
            else:
                return
        self.dropped += 1

    async def _write(self, plan: Create | Repeat) -> None:
        namespace = objects.namespace_of(plan.event)
        if isinstance(plan, Repeat):
            try:
                await self._client.patch(EVENTS, plan.name, plan.patch, namespace, patch_type="strategic")
            except errors.NotFound:  # events live an hour
                self._correlator.posted(plan.event, objects.name_of(plan.event))
            else:
                return
        await self._client.create(EVENTS, plan.event, namespace)
