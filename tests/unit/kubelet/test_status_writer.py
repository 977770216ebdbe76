"""L3: what is written about a pod, what is not, and what is written again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from prometheus_client import CollectorRegistry

from apimachinery.clock import FixedClock
from apimachinery.objects import Object
from client import kubeconfig, rest
from kubelet.metrics import Metrics
from kubelet.status_writer import StatusWriter

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
STARTING = {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]}


class OnePod:
    """An API server with one pod, whose status is merged as conditions are: by type."""

    def __init__(self) -> None:
        self.pod: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "ns", "uid": "u1", "resourceVersion": "9"},
            "status": {},
        }
        self.writes: list[Any] = []
        self.before_answer: Callable[[], None] = lambda: None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        patch = json.loads(request.content)["status"]
        self.writes.append(patch)
        self.before_answer()
        return httpx.Response(200, content=json.dumps(self.change(patch)).encode())

    def change(self, patch: Object) -> Object:
        """The pod with `patch` laid over its status; a new revision when that changes anything."""
        status = self.pod["status"]
        conditions = {entry["type"]: entry for entry in status.get("conditions", [])}
        conditions |= {entry["type"]: entry for entry in patch.get("conditions", [])}
        changed = {**status, **patch, "conditions": list(conditions.values())}
        if changed != status:
            revision = str(int(self.pod["metadata"]["resourceVersion"]) + 1)
            metadata = {**self.pod["metadata"], "resourceVersion": revision}
            self.pod = {**self.pod, "metadata": metadata, "status": changed}
        return self.pod

    def condition(self, name: str) -> str:
        return next(str(entry["status"]) for entry in self.pod["status"]["conditions"] if entry["type"] == name)


@asynccontextmanager
async def writing(api: OnePod) -> AsyncIterator[StatusWriter]:
    config = kubeconfig.ClientConfig("http://api.test")
    async with rest.Client(config, make_transport=lambda _: httpx.MockTransport(api)) as client:
        writer = StatusWriter(client, FixedClock(), Metrics(CollectorRegistry()))
        yield writer
        await writer.close()


async def test_a_status_is_written_once() -> None:
    api = OnePod()
    async with writing(api) as writer:
        for _ in range(2):
            writer.put(api.pod, READY)
            await writer.settle("u1")
            writer.seen(api.pod)
            await writer.settle("u1")
    assert len(api.writes) == 1


async def test_a_pod_that_others_called_not_ready_is_said_to_be_ready_again() -> None:
    api = OnePod()
    async with writing(api) as writer:
        writer.put(api.pod, READY)
        await writer.settle("u1")
        writer.seen(api.change({"conditions": [{"type": "Ready", "status": "False"}]}))
        await writer.settle("u1")
    assert api.condition("Ready") == "True"


async def test_a_pod_called_not_ready_during_a_write_is_said_to_be_ready_again() -> None:
    api = OnePod()
    async with writing(api) as writer:
        writer.put(api.pod, READY)
        await writer.settle("u1")
        api.before_answer = lambda: writer.seen(api.change({"conditions": [{"type": "Ready", "status": "False"}]}))
        writer.put(api.pod, {**READY, "podIP": "10.0.0.1"})
        await _next_write(api, writer)
    assert (api.condition("Ready"), len(api.writes)) == ("True", 3)


async def _next_write(api: OnePod, writer: StatusWriter) -> None:
    """Others write in the middle of the first write only."""
    others = api.before_answer

    def once() -> None:
        api.before_answer = lambda: None
        others()

    api.before_answer = once
    await writer.settle("u1")


async def test_an_older_copy_than_that_of_the_last_write_is_no_news() -> None:
    api = OnePod()
    async with writing(api) as writer:
        writer.put(api.pod, STARTING)
        await writer.settle("u1")
        older = api.pod
        writer.put(api.pod, READY)
        await writer.settle("u1")
        writer.seen(older)
        await writer.settle("u1")
    assert len(api.writes) == 2


async def test_conditions_of_others_are_left_as_they_are() -> None:
    api = OnePod()
    api.change({"conditions": [{"type": "example.com/gate", "status": "False"}]})
    async with writing(api) as writer:
        writer.put(api.pod, {**READY, "conditions": [*api.pod["status"]["conditions"], *READY["conditions"]]})
        await writer.settle("u1")
        theirs = {"type": "example.com/gate", "status": "True"}
        writer.seen(api.change({"conditions": [theirs, {"type": "Ready", "status": "False"}]}))
        await writer.settle("u1")
    assert (api.condition("example.com/gate"), api.condition("Ready")) == ("True", "True")
