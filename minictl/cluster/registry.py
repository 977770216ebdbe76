"""A local registry that stands for docker.io, so that every pull of a cluster takes the real path.

Two modes, decided by `probe`: where docker.io answers, the registry is a pull-through cache of it (it runs where the
proxy settings are, so nodes need no way out); where it does not, it serves the images built by `images`. Nodes reach it
through containerd's `hosts.toml`. The process is the distribution's docker-registry; starting and stopping it is the
supervisor's work: this module gives its command, configuration and content.
Source: https://github.com/opencontainers/distribution-spec (push), https://github.com/containerd/containerd/blob/main/docs/hosts.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import httpx

from apimachinery import imagenames
from minictl.cluster import images, oci

UPSTREAM = "https://registry-1.docker.io"

# A registry that needs longer for its greeting is not one a first `up` should wait for.
PROBE_TIMEOUT_SECONDS = 3.0
_PUSH_TIMEOUT_SECONDS = 30.0
# Registries that nodes reach through the local one when it serves our images.
_MIRRORED = ("docker.io", "localhost")


class RegistryError(Exception):
    """The registry refused or did not answer; the message says what was asked of it."""


@dataclass(frozen=True)
class Reachability:
    """Whether docker.io can be used, and a sentence that says why."""

    reachable: bool
    why: str


async def probe(url: str = UPSTREAM, timeout_seconds: float = PROBE_TIMEOUT_SECONDS) -> Reachability:
    """Asks the registry for its greeting, through the environment's proxy. Network faults are answers, not errors."""
    try:
        async with httpx.AsyncClient(timeout=timeout_seconds) as client:
            answer = await client.get(f"{url}/v2/")
    except httpx.HTTPError as error:
        return Reachability(False, f"{url} cannot be reached ({error or type(error).__name__})")
    # 401 is the usual greeting: pulls get a token first
    if answer.status_code in (200, 401) and "docker-distribution-api-version" in answer.headers:
        return Reachability(True, f"{url} answers")
    return Reachability(False, f"{url} answers {answer.status_code}, which is no registry's greeting")


def configuration(storage: Path, address: str, *, upstream: str | None = None) -> str:
    """docker-registry's configuration (JSON is YAML). With `upstream` it is a pull-through cache and takes no push."""
    settings: dict[str, object] = {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(storage)},
            "cache": {"blobdescriptor": "inmemory"},
            "delete": {"enabled": True},
        },
        "http": {"addr": address},
    }
    if upstream is not None:
        settings["proxy"] = {"remoteurl": upstream}
    return json.dumps(settings, indent=2) + "\n"


def command(program: Path, config: Path) -> list[str]:
    """What runs the registry in the foreground; it ends on SIGTERM."""
    return [str(program), "serve", str(config)]


async def is_serving(address: str, timeout_seconds: float = 1.0) -> bool:
    """Whether the registry at `host:port` answers."""
    try:
        async with httpx.AsyncClient(timeout=timeout_seconds, trust_env=False) as client:
            return (await client.get(f"http://{address}/v2/")).status_code == 200
    except httpx.HTTPError:
        return False


def write_hosts(folder: Path, address: str, *, upstream: str | None = None) -> None:
    """containerd's `config_path` folder: names of docker.io (and `localhost`) are pulled from `http://address`.

    Naming `server` as well keeps containerd from going to the internet behind our back; with `upstream` it may.
    """
    for registry in _MIRRORED:
        server = upstream if upstream and registry == "docker.io" else f"http://{address}"
        place = folder / registry
        place.mkdir(parents=True, exist_ok=True)
        (place / "hosts.toml").write_text(
            f'server = "{server}"\n\n[host."http://{address}"]\n  capabilities = ["pull", "resolve"]\n'
        )


async def publish(address: str, built: Iterable[images.BuiltImage]) -> list[str]:
    """Pushes each image under each of its names; returns the names as people write them. Raises RegistryError."""
    names: list[str] = []
    async with httpx.AsyncClient(
        base_url=f"http://{address}", timeout=_PUSH_TIMEOUT_SECONDS, trust_env=False
    ) as client:
        for one in built:
            image = one.read()
            for name in one.names:
                await push(client, image, name)
                names.append(imagenames.familiar(name))
    return names


async def push(client: httpx.AsyncClient, image: oci.Image, name: str) -> None:
    """Pushes the blobs that the registry lacks, then the manifest under the name's tag. Raises RegistryError."""
    repository, _, tag = name.partition("/")[2].rpartition(":")
    try:
        for digest, blob in image.blobs.items():
            await _push_blob(client, repository, digest, blob)
        answer = await client.put(
            f"/v2/{repository}/manifests/{tag}",
            content=image.manifest,
            headers={"Content-Type": oci.MANIFEST_TYPE},
        )
    except httpx.HTTPError as error:
        raise RegistryError(f"the local registry did not take {name}: {error or type(error).__name__}") from error
    _expect(answer, 201, f"the manifest of {name}")


async def _push_blob(client: httpx.AsyncClient, repository: str, digest: str, blob: bytes) -> None:
    if (await client.head(f"/v2/{repository}/blobs/{digest}")).status_code == 200:
        return
    begun = await client.post(f"/v2/{repository}/blobs/uploads/")
    _expect(begun, 202, f"an upload to {repository}")
    place = urljoin(str(begun.url), begun.headers["location"])
    separator = "&" if "?" in place else "?"
    done = await client.put(
        f"{place}{separator}digest={digest}", content=blob, headers={"Content-Type": "application/octet-stream"}
    )
    _expect(done, 201, f"{digest} of {repository}")


def _expect(answer: httpx.Response, code: int, what: str) -> None:
    if answer.status_code != code:
        raise RegistryError(f"the local registry answered {answer.status_code} to {what}: {answer.text[:200].strip()}")
