"""A pod's worker when something fails again and again: it waits longer, says so, and lets a deleted pod go."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry

from apimachinery import clock as clocks
from apimachinery.objects import Object
from client import kubeconfig, rest
from kubelet import errors
from kubelet.metrics import Metrics
from kubelet.observed import Observed
from kubelet.pods.worker import Parts, PodWorker
from kubelet.status_writer import StatusWriter
from kubelet.sync import Outcome
from tests.unit.kubelet import builders

pytestmark = pytest.mark.looptime


class LoopClock(clocks.SystemClock):
    """The wall clock goes with the loop's time."""

    def now(self) -> datetime:
        return builders.START + (datetime.fromtimestamp(self.monotonic()) - datetime.fromtimestamp(0))


class Node:
    """The seams of a node: a runtime that holds one running container, and steps that fail as they are told to."""

    def __init__(self) -> None:
        self.observed = builders.observed(builders.run("app"))
        self.faults: dict[str, Exception] = {}  # by step
        self.tried: list[tuple[str, float]] = []
        self.events: list[tuple[str, str]] = []
        self.deleted = False
        self.refuses_status = False
        self.hear: Callable[[], None] = lambda: None  # what the watch tells of the deletion

    def parts(self, client: rest.Client) -> Parts:
        clock, metrics = LoopClock(), Metrics(CollectorRegistry())
        writer = StatusWriter(client, clock, metrics)
        node: Any = self
        return Parts(
            node, node, node, writer, node, client, clock, metrics, self.event, ("10.0.0.9",),
            lambda _: None, lambda: "test", lambda _: None,
        )  # fmt: skip

    def _try(self, step: str) -> None:
        self.tried.append((step, asyncio.get_running_loop().time()))
        if step in self.faults:
            raise self.faults[step]

    def times_of(self, step: str) -> list[float]:
        return [when for name, when in self.tried if name == step]

    def event(self, pod: Object, kind: str, reason: str, message: str, *, container: str = "") -> None:
        self.events.append((reason, message))

    async def answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "DELETE":
            self.deleted = True
            asyncio.get_running_loop().call_soon(self.hear)
        elif self.refuses_status:
            return httpx.Response(422, content=json.dumps({"kind": "Status", "message": "no", "reason": "Invalid"}))
        return httpx.Response(200, content=b'{"metadata":{"name":"p","namespace":"ns","uid":"u1"}}')

    # the runtime

    async def observe(self, uid: str) -> Observed:
        self._try("observe")
        return self.observed

    async def stop_container(self, container_id: str, grace_seconds: int) -> None:
        self._try("stop")
        self.observed = replace(self.observed, containers=(builders.run("app", "exited", code=137),))

    async def stop_sandbox(self, sandbox_id: str) -> None:
        self.observed = builders.observed(*self.observed.containers, ready=False)

    # carrying out, probes, tidying up

    async def execute(self, pod: Object, plan: object, observed: Observed) -> Outcome:
        self._try("execute")
        await self.stop_container("app-0", 0)
        await self.stop_sandbox("s0")
        return Outcome()

    async def refresh_volumes(self, pod: Object) -> None:
        self._try("refresh")

    def reconcile(self, *_: object) -> None:
        self._try("probes")

    def release(self, uid: str) -> None:
        self._try("release")

    def starting(self, uid: str) -> frozenset[str]:
        return frozenset()

    unready = starting

    def unhealthy(self, uid: str) -> dict[str, str]:
        return {}

    async def volumes(self, pod: Object) -> None:
        self._try("volumes")

    async def everything(self, pod: Object, observed: Observed) -> None:
        self._try("everything")


async def life(node: Node, *, seconds: float, then: Callable[[PodWorker], None] | None = None) -> bool:
    """A worker for so long, `then` after a second. Whether the pod was gone in time."""
    config = kubeconfig.ClientConfig("http://api.test")
    pod = builders.pod("app", status={"startTime": "2026-01-01T00:00:00Z"})
    async with rest.Client(config, make_transport=lambda _: httpx.MockTransport(node.answer)) as client:
        parts = node.parts(client)
        worker = PodWorker(pod, parts)
        node.hear = worker.vanish
        task = asyncio.create_task(worker.run())
        await asyncio.sleep(1)
        if then is not None:
            then(worker)
        done, _ = await asyncio.wait([task], timeout=seconds)
        if not done:
            task.cancel()
            await asyncio.wait([task])
        await parts.writer.close()
    return bool(done)


def delete(worker: PodWorker) -> None:
    stamp = clocks.rfc3339(builders.START)
    metadata = worker.pod["metadata"] | {"deletionTimestamp": stamp, "deletionGracePeriodSeconds": 1}
    worker.update(worker.pod | {"metadata": metadata})


async def test_a_deleted_pod_is_ended_and_leaves_the_api() -> None:
    node = Node()
    assert await life(node, seconds=30, then=delete)
    assert node.deleted
    assert node.events == []


async def test_a_fault_is_told_and_tried_again_later_and_later() -> None:
    node = Node()
    node.faults["refresh"] = RuntimeError("boom")
    assert not await life(node, seconds=200)
    times = node.times_of("refresh")
    pauses = [round(after - before) for before, after in itertools.pairwise(times)]
    assert pauses[:8] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert set(node.events) == {("FailedSync", "error syncing pod: boom")}


@pytest.mark.parametrize("step", ["probes", "execute", "volumes", "everything", "release"])
@pytest.mark.parametrize("fault", [RuntimeError("boom"), OSError("device busy"), errors.VolumeNotReady("v", "no")])
async def test_no_fault_keeps_a_deleted_pod_for_ever(step: str, fault: Exception) -> None:
    node = Node()

    def break_then_delete(worker: PodWorker) -> None:
        node.faults[step] = fault
        delete(worker)

    assert await life(node, seconds=120, then=break_then_delete)
    assert node.deleted
    assert not node.observed.running()
    assert ("FailedKillPod", f"error killing pod: {fault}") in node.events


async def test_a_pod_whose_container_may_still_run_stays_in_the_api() -> None:
    node = Node()
    node.faults["execute"] = node.faults["stop"] = errors.RuntimeRefused("the shim hangs")
    assert not await life(node, seconds=1000, then=delete)
    assert not node.deleted
    assert node.observed.running()


async def test_a_status_that_is_refused_does_not_keep_a_deleted_pod() -> None:
    node = Node()
    node.refuses_status = True
    assert await life(node, seconds=120, then=delete)
    assert node.deleted
