"""The real controller manager beside the real apiserver, once for all tests of this folder.

There is no scheduler and no kubelet: `kubelet` is an actor that makes pods ready, and confirms their deletion.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx
import pytest

from apimachinery import clock, errors, gvr, objects
from apimachinery.objects import Object
from client import kubeconfig
from client.rest import Client
from tests import harness

# Fast enough for a test, slow enough for a busy machine
NODE_FLAGS = (
    "--node-monitor-period=200ms --node-monitor-grace-period=3s --node-eviction-rate=100 "
    "--allocate-node-cidrs --cluster-cidr=10.44.0.0/16"
)
STOP_SECONDS = 10


@pytest.fixture(scope="package")
def server() -> Iterator[harness.Server]:
    """A server of their own: controllers write into every namespace, which other tests have for themselves."""
    with harness.Server(accounts=True) as server:
        yield server


@pytest.fixture(scope="package")
def manager(server: harness.Server) -> Iterator[None]:
    """The controller manager, running as its own user."""
    config = server.pki.kubeconfig("controller-manager")
    flags = ["--kubeconfig", str(config), "--healthz-port", "0", "--root-ca-file", str(server.pki.ca)]
    command = [sys.executable, "-m", "controllers", *flags, *NODE_FLAGS.split()]
    with (server.folder / "controllers.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
async def client(server: harness.Server, manager: None) -> AsyncIterator[Client]:
    config = kubeconfig.load(str(server.pki.kubeconfig("admin")))
    async with Client(config, make_transport=_transport) as client:
        yield client


def _transport(context: ssl.SSLContext | None) -> httpx.AsyncBaseTransport:
    """httpx's own: the loop of a test ends at once, and this one has closed its connections by then."""
    return httpx.AsyncHTTPTransport(verify=context or False, trust_env=False)


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace of its own for each test, complete with its ServiceAccount."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    await client.create(gvr.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await exists(client, gvr.SERVICE_ACCOUNTS, "default", name)
    return name


@pytest.fixture
async def kubelet(client: Client, namespace: str) -> AsyncIterator[None]:
    """Makes every pod of the namespace ready, and lets go of those that are deleted."""

    async def attend_all() -> None:
        for pod in await items(client, gvr.PODS, namespace):
            with contextlib.suppress(errors.NotFound, errors.Conflict):
                await attend(client, pod)

    async with repeated(attend_all, 0.05):
        yield


@contextlib.asynccontextmanager
async def repeated(work: Callable[[], Awaitable[None]], pause_seconds: float) -> AsyncIterator[None]:
    """Does `work` again and again beside the block. Ends between two rounds, so that no request is cut off."""
    over = asyncio.Event()

    async def rounds() -> None:
        while not over.is_set():
            await work()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), pause_seconds)

    task = asyncio.ensure_future(rounds())
    try:
        yield
    finally:
        over.set()
        await task


async def attend(client: Client, pod: Object) -> None:
    name, namespace = objects.name_of(pod), objects.namespace_of(pod)
    if objects.is_deleting(pod):
        await client.delete(gvr.PODS, name, namespace, grace_period_seconds=0)
    elif (pod.get("status") or {}).get("phase") in (None, "Pending"):
        await set_phase(client, pod, "Running", ready="True")


async def set_phase(client: Client, pod: Object, phase: str, *, ready: str = "False") -> None:
    moment = clock.rfc3339(clock.SystemClock().now())
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": moment}
    body = {"status": {"phase": phase, "conditions": [condition]}}
    name, namespace = objects.name_of(pod), objects.namespace_of(pod)
    await client.patch(gvr.PODS, name, body, namespace, patch_type="strategic", subresource="status")


async def until(check: Callable[[], Awaitable[bool]], what: str, timeout_seconds: float = 15.0) -> None:
    """Asks again until `check` holds."""
    deadline = time.monotonic() + timeout_seconds
    while not await check():
        assert time.monotonic() < deadline, f"not in time: {what}"
        await asyncio.sleep(0.03)


async def exists(client: Client, collection: gvr.GVR, name: str, namespace: str | None = None) -> Object:
    found: list[Object] = []

    async def check() -> bool:
        with contextlib.suppress(errors.NotFound):
            found.append(await client.get(collection, name, namespace))
        return bool(found)

    await until(check, f"{collection} {name} exists")
    return found[0]


async def gone(client: Client, collection: gvr.GVR, name: str, namespace: str | None = None) -> None:
    async def check() -> bool:
        try:
            await client.get(collection, name, namespace)
        except errors.NotFound:
            return True
        return False

    await until(check, f"{collection} {name} is gone")


async def items(client: Client, collection: gvr.GVR, namespace: str | None = None) -> list[Object]:
    return list((await client.list(collection, namespace))["items"])


async def condition_becomes(
    client: Client, collection: gvr.GVR, name: str, namespace: str | None, kind: str, status: str
) -> Object:
    """The object, once its condition has that status."""
    found: list[Object] = []

    async def check() -> bool:
        found[:] = [await client.get(collection, name, namespace)]
        return (objects.condition(found[0], kind) or {}).get("status") == status

    await until(check, f"{kind} of {name} becomes {status}")
    return found[0]
