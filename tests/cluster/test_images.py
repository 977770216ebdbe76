"""The images and their registry for real: built from the distribution's packages, pushed, served, cached."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from minictl.cluster import images, oci, registry, tools


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
async def local_registry(tmp_path: Path) -> AsyncIterator[str]:
    async with serve(tmp_path / "storage", None) as address:
        yield address


@asynccontextmanager
async def serve(storage: Path, upstream: str | None) -> AsyncIterator[str]:
    try:
        program = (await asyncio.to_thread(tools.find, ["docker-registry"]))["docker-registry"]
    except tools.ToolsMissing as error:
        pytest.skip(str(error))
    address = free_address()
    config = storage.parent / f"{storage.name}.yml"
    config.write_text(registry.configuration(storage, address, upstream=upstream))
    process = await asyncio.create_subprocess_exec(*registry.command(program, config))
    try:
        async with asyncio.timeout(20):
            while not await registry.is_serving(address):
                assert process.returncode is None, "the registry ended at once"
                await asyncio.sleep(0.05)
        yield address
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def small_image(text: str) -> oci.Image:
    files = oci.Files()
    files.file("etc/motd", text)
    return oci.image([files.layer()], {"Cmd": ["sh"]}, "x86_64", "test")


async def test_a_pushed_image_is_served_under_every_tag(local_registry: str) -> None:
    image = small_image("hello")
    async with httpx.AsyncClient(base_url=f"http://{local_registry}", trust_env=False) as client:
        for tag in ("latest", "1.0"):
            await registry.push(client, image, f"docker.io/library/motd:{tag}")
            answer = await client.get(f"/v2/library/motd/manifests/{tag}", headers={"Accept": oci.MANIFEST_TYPE})
            assert answer.headers["docker-content-digest"] == image.digest
        for digest, blob in image.blobs.items():
            assert (await client.get(f"/v2/library/motd/blobs/{digest}")).content == blob


async def test_a_registry_with_an_upstream_passes_its_images_on_and_refuses_pushes(
    local_registry: str, tmp_path: Path
) -> None:
    image = small_image("from afar")
    async with httpx.AsyncClient(base_url=f"http://{local_registry}", trust_env=False) as client:
        await registry.push(client, image, "docker.io/library/motd:latest")
    async with (
        serve(tmp_path / "cache", f"http://{local_registry}") as cache,
        httpx.AsyncClient(base_url=f"http://{cache}", trust_env=False) as client,
    ):
        answer = await client.get("/v2/library/motd/manifests/latest", headers={"Accept": oci.MANIFEST_TYPE})
        assert answer.headers["docker-content-digest"] == image.digest
        with pytest.raises(registry.RegistryError, match="405"):
            await registry.push(client, small_image("other"), "docker.io/library/motd:latest")


async def test_a_registry_that_is_not_there_is_said_to_be_unreachable() -> None:
    found = await registry.probe(f"http://{free_address()}", timeout_seconds=2)
    assert not found.reachable
    assert "cannot be reached" in found.why


async def test_a_registry_that_answers_is_reachable(local_registry: str) -> None:
    assert (await registry.probe(f"http://{local_registry}")).reachable


async def test_the_three_images_are_built_published_and_come_from_the_cache_next_time(local_registry: str) -> None:
    try:
        built = await asyncio.to_thread(images.build)
    except (tools.ToolsMissing, images.ImageError) as error:
        pytest.skip(str(error))
    said: list[str] = []
    assert await asyncio.to_thread(images.build, said.append) == built
    assert said == []
    names = await registry.publish(local_registry, built)
    assert {"nginx:latest", "busybox:latest", "localhost/armillary/pause:1"} <= set(names)
    assert len([name for name in names if name.startswith("nginx:")]) == 3
