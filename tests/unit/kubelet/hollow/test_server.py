"""The hollow runtime through gRPC, by the kubelet's own CRI client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cri_api.v1 import api_pb2 as cri
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from apimachinery.clock import SystemClock
from kubelet import errors
from kubelet.cri import Runtime
from kubelet.hollow import world
from kubelet.hollow.server import HollowRuntime, Settings

POD = cri.PodSandboxConfig(
    metadata=cri.PodSandboxMetadata(name="p", namespace="default", uid="u"), labels={world.POD_UID: "u"}
)


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    settings = Settings(pod_cidr="10.5.0.0/24", pull_seconds=0)
    socket = tmp_path / "cri.sock"
    async with HollowRuntime(socket, SystemClock(), settings), Runtime(f"unix://{socket}") as client:
        yield client


async def start(runtime: Runtime, log_directory: Path, *args: str) -> tuple[str, str]:
    config = cri.PodSandboxConfig()
    config.CopyFrom(POD)
    config.log_directory = str(log_directory)
    sandbox = await runtime.run_sandbox(config)
    await runtime.pull("busybox", None, config)
    container = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name="c"),
        image=cri.ImageSpec(image="busybox"),
        args=args,
        log_path="c.log",
        labels={world.POD_UID: "u"},
    )
    container_id = await runtime.create_container(sandbox, container, config)
    await runtime.start_container(container_id)
    return sandbox, container_id


async def test_a_pod_lives_and_is_removed(runtime: Runtime, tmp_path: Path) -> None:
    sandbox, container = await start(runtime, tmp_path, "sleep", "100")
    seen = await runtime.observe("u")
    assert seen.sandboxes[0].ips == ("10.5.0.2",)
    assert (seen.containers[0].id, seen.containers[0].state) == (container, "running")
    await runtime.stop_container(container, 10)
    assert (await runtime.observe("u")).containers[0].exit_code == 143
    await runtime.stop_sandbox(sandbox)
    await runtime.remove_sandbox(sandbox)
    assert not (await runtime.snapshot()).pods


async def test_the_log_is_in_cri_format(runtime: Runtime, tmp_path: Path) -> None:
    await start(runtime, tmp_path, "echo", "hello")
    lines = (tmp_path / "c.log").read_text().splitlines()
    assert [line.split(" ", 3)[1:] for line in lines] == [
        ["stdout", "F", "[hollow] docker.io/library/busybox:latest: simulated, no process runs"],
        ["stdout", "F", "hello"],
    ]


async def test_the_runtime_is_ready_and_names_itself(runtime: Runtime) -> None:
    assert (await runtime.version())[0] == "hollow"
    state = await runtime.state()
    assert state.ready
    assert state.network_ready


async def test_a_runtime_without_a_pod_cidr_says_that_its_network_is_not_ready(tmp_path: Path) -> None:
    socket = tmp_path / "cri.sock"
    async with HollowRuntime(socket, SystemClock(), Settings()), Runtime(f"unix://{socket}") as client:
        state = await client.state()
        assert state.ready
        assert not state.network_ready
        assert "cni plugin not initialized" in state.message
        with pytest.raises(errors.RuntimeRefused, match="no pod CIDR yet"):
            await client.run_sandbox(POD)


async def test_errors_carry_their_codes(runtime: Runtime, tmp_path: Path) -> None:
    with pytest.raises(errors.NoSuchThing, match="code = NotFound"):
        await runtime.pull("nginx:no-such-tag", None, POD)
    with pytest.raises(errors.RuntimeRefused, match="code = InvalidArgument"):
        await runtime.pull("no image", None, POD)
    _, container = await start(runtime, tmp_path, "sleep", "100")
    with pytest.raises(errors.RuntimeRefused, match='"cat" cannot be executed'):
        await runtime.exec_sync(container, ["cat", "/etc/passwd"], 5)
    assert (await runtime.exec_sync(container, ["sh", "-c", "exit 3"], 5)).exit_code == 3


async def test_exec_streams_output_and_status_and_its_url_is_good_once(runtime: Runtime, tmp_path: Path) -> None:
    _, container = await start(runtime, tmp_path, "sleep", "100")
    url = await runtime.exec_url(
        cri.ExecRequest(container_id=container, cmd=["sh", "-c", "echo hi; exit 2"], stdout=True)
    )
    first, status = await frames(url)
    assert first == b"\x01hi\n"
    assert status[:1] == b"\x03"
    assert json.loads(status[1:])["details"]["causes"] == [{"reason": "ExitCode", "message": "2"}]
    (again,) = await frames(url)
    assert "was used" in json.loads(again[1:])["message"]


async def frames(url: str) -> list[bytes]:
    protocols = [Subprotocol("v5.channel.k8s.io")]
    async with connect(url.replace("http", "ws", 1), subprotocols=protocols) as connection:
        return [bytes(frame) async for frame in connection if isinstance(frame, bytes)]


async def test_a_socket_left_by_a_killed_runtime_is_replaced(tmp_path: Path) -> None:
    socket = tmp_path / "cri.sock"
    socket.touch()
    async with HollowRuntime(socket, SystemClock(), Settings()), Runtime(f"unix://{socket}") as client:
        assert (await client.version())[0] == "hollow"


async def test_a_port_forward_is_refused_with_the_reason(runtime: Runtime, tmp_path: Path) -> None:
    sandbox, _ = await start(runtime, tmp_path)
    with pytest.raises(errors.RuntimeRefused, match="hollow containers have no network to forward to"):
        await runtime.port_forward_url(sandbox, [80])
