"""The client against a real apiserver: both transports, informers over restarts and silence, leases, events."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from apimachinery import errors, objects
from apimachinery.gvr import CONFIGMAPS, EVENTS, LEASES, SERVICES
from apimachinery.objects import Key
from client import kubeconfig, rest, transport
from client.events import EventRecorder
from client.informer import Informer
from client.leaderelection import LeaderElector, Timing
from tests import harness

POLL_SECONDS = 0.05


@pytest.fixture(params=["for_component", "for_command"])
async def client(request: pytest.FixtureRequest, server: harness.Server) -> AsyncIterator[rest.Client]:
    """A client over each of the two transports."""
    make = getattr(transport, request.param)
    async with rest.Client(config(server), make_transport=make) as made:
        yield made


def config(server: harness.Server) -> kubeconfig.ClientConfig:
    return kubeconfig.load(str(server.pki.kubeconfig("admin")))


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"n": name}}, "data": data}


async def eventually(holds: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(POLL_SECONDS)


async def test_an_object_is_made_read_changed_and_removed(client: rest.Client, namespace: str) -> None:
    made = await client.create(CONFIGMAPS, configmap("a", x="1"), namespace)
    assert await client.get(CONFIGMAPS, "a", namespace) == made
    changed = await client.update(CONFIGMAPS, made | {"data": {"x": "2"}})
    with pytest.raises(errors.Conflict):
        await client.update(CONFIGMAPS, made | {"data": {"x": "3"}})
    assert (await client.patch(CONFIGMAPS, "a", {"data": {"y": "é/?"}}, namespace))["data"] == {"x": "2", "y": "é/?"}
    with pytest.raises(errors.AlreadyExists):
        await client.create(CONFIGMAPS, configmap("a"), namespace)
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIGMAPS, "a", namespace, uid="another")
    await client.delete(CONFIGMAPS, "a", namespace, uid=objects.uid_of(changed))
    with pytest.raises(errors.NotFound):
        await client.get(CONFIGMAPS, "a", namespace)


async def test_pages_and_selectors(client: rest.Client, namespace: str) -> None:
    for name in "abcde":
        await client.create(CONFIGMAPS, configmap(name), namespace)
    first = await client.list(CONFIGMAPS, namespace, limit=3, label_selector="n in (a,b,c,d)")
    rest_of_it = await client.list(
        CONFIGMAPS, namespace, limit=3, label_selector="n in (a,b,c,d)", continue_token=first["metadata"]["continue"]
    )
    assert [objects.name_of(item) for item in first["items"] + rest_of_it["items"]] == ["a", "b", "c", "d"]
    await client.delete_collection(CONFIGMAPS, namespace, label_selector="n!=a")
    assert [objects.name_of(item) for item in (await client.list(CONFIGMAPS, namespace))["items"]] == ["a"]


async def test_a_watch_ends_when_it_was_asked_to(client: rest.Client, namespace: str) -> None:
    version = (await client.list(CONFIGMAPS, namespace))["metadata"]["resourceVersion"]
    await client.create(CONFIGMAPS, configmap("a"), namespace)
    async with contextlib.aclosing(
        client.watch(CONFIGMAPS, namespace, resource_version=version, timeout_seconds=1)
    ) as events:
        seen = [(kind, objects.name_of(obj)) async for kind, obj in events if kind != "BOOKMARK"]
    assert seen == [("ADDED", "a")]


@contextlib.asynccontextmanager
async def following(client: rest.Client, namespace: str, **options: Any) -> AsyncIterator[Informer]:
    informer = Informer(client, CONFIGMAPS, namespace=namespace, **options)
    running = asyncio.ensure_future(informer.run())
    try:
        async with asyncio.timeout(20):
            await informer.wait_synced()
        yield informer
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_informers_store_follows_the_collection(client: rest.Client, namespace: str, streaming: bool) -> None:
    await client.create(CONFIGMAPS, configmap("before"), namespace)
    async with following(client, namespace, streaming=streaming, label_selector="n!=hidden") as informer:
        assert Key(namespace, "before") in informer.store
        await client.create(CONFIGMAPS, configmap("hidden"), namespace)
        await client.create(CONFIGMAPS, configmap("after", x="1"), namespace)
        await client.patch(CONFIGMAPS, "after", {"data": {"x": "2"}}, namespace)
        await client.delete(CONFIGMAPS, "before", namespace)
        await eventually(lambda: {key.name for key in informer.store.keys()} == {"after"})  # noqa: SIM118 - no dict
        await eventually(lambda: informer.store.list()[0]["data"] == {"x": "2"})


async def test_an_informer_of_metadata_holds_nothing_else(client: rest.Client, namespace: str) -> None:
    await client.create(CONFIGMAPS, configmap("a", x="1"), namespace)
    async with following(client, namespace, metadata_only=True) as informer:
        assert "data" not in informer.store.list()[0]


async def test_an_informer_survives_restarts_of_the_server() -> None:
    """Killed without a word, away for a while, and back: nothing is missed."""
    with harness.Server() as server:
        async with rest.Client(config(server)) as client, following(client, "default") as informer:
            for round_number in range(2):
                os.killpg(server.pid, signal.SIGKILL)
                server.stop()
                server.start()
                await asyncio.to_thread(server.wait_ready)
                await client.create(CONFIGMAPS, configmap(f"after-{round_number}"), "default")
                key = Key("default", f"after-{round_number}")
                await eventually(lambda key=key: key in informer.store, seconds=30)  # type: ignore[misc]


async def test_a_server_that_fell_silent_is_noticed() -> None:
    """Stopped, not closed: only the watch's own deadline tells."""
    with harness.Server() as server:
        async with (
            rest.Client(config(server), watch_grace_seconds=1) as client,
            contextlib.aclosing(client.watch(SERVICES, timeout_seconds=1, resource_version="")) as events,
        ):
            await anext(events)  # the first Service, or the first bookmark: the watch is established
            os.killpg(server.pid, signal.SIGSTOP)
            try:
                async with asyncio.timeout(10):
                    with pytest.raises(rest.ConnectionFailed):
                        [event async for event in events]
            finally:
                os.killpg(server.pid, signal.SIGCONT)


async def test_of_two_candidates_the_second_leads_when_the_first_stops(client: rest.Client, namespace: str) -> None:
    timing = Timing(lease_duration=3, renew_deadline=2, retry_period=0.2)
    led: list[str] = []

    def candidate(name: str) -> asyncio.Task[None]:
        async def lead() -> None:
            led.append(name)
            await asyncio.Event().wait()

        elector = LeaderElector(client, namespace, "lock", name, timing=timing)
        return asyncio.create_task(elector.run(lead))

    first = candidate("first")
    await eventually(lambda: led == ["first"])
    second = candidate("second")
    await asyncio.sleep(1)
    assert led == ["first"]
    first.cancel()
    await eventually(lambda: led == ["first", "second"], seconds=2.5)  # released, so sooner than the lease lasts
    lease = await client.get(LEASES, "lock", namespace)
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("second", 1)
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)


async def test_events_are_counted_at_the_server(client: rest.Client, namespace: str) -> None:
    about = await client.create(CONFIGMAPS, configmap("a"), namespace)
    recorder = EventRecorder(client, "tester", "host-1")
    for _ in range(3):
        recorder.event(about, "Warning", "Broken", "it does not work")
    await recorder.flush(10)
    (event,) = (await client.list(EVENTS, namespace, field_selector="involvedObject.name=a"))["items"]
    assert (event["count"], event["reason"], event["source"]["host"]) == (3, "Broken", "host-1")
    assert event["involvedObject"]["uid"] == objects.uid_of(about)
