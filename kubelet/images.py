"""L8: have the image before the container: pull policy, credentials of imagePullSecrets, back-off, and the events
that say so.

Guarantees: one pull of the same reference at a time; a failed pull is tried again after 10 s, 20 s, … 5 min, and says
`ErrImagePull` right after a failure and `ImagePullBackOff` between. Wording is upstream's: people search for it.
Source: https://kubernetes.io/docs/concepts/containers/images/
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Iterable
from typing import Protocol

import orjson
from cri_api.v1 import api_pb2 as pb

from apimachinery import names, objects
from apimachinery.clock import Clock
from apimachinery.objects import Object
from kubelet import errors
from kubelet.backoff import Backoff
from kubelet.containers.env import Reference
from kubelet.cri import Runtime
from kubelet.references import References

log = logging.getLogger(__name__)
DOCKER_HUB = "docker.io"
PARALLEL_PULLS = 4  # more only compete for the same line and disk


class Event(Protocol):
    def __call__(self, pod: Object, kind: str, reason: str, message: str, *, container: str = "") -> None: ...


class Images:
    def __init__(self, runtime: Runtime, references: References, clock: Clock, event: Event) -> None:
        self._runtime = runtime
        self._references = references
        self._clock = clock
        self._event = event
        self._backoff = Backoff()
        self._reasons: dict[str, str] = {}
        self._slots = asyncio.Semaphore(PARALLEL_PULLS)
        self._pulling: dict[str, asyncio.Lock] = {}

    async def ensure(self, pod: Object, container: Object, sandbox: pb.PodSandboxConfig) -> pb.Image:
        """The image of `container`, pulled if its policy says so. Raises StartRefused."""
        reference = self._reference(pod, container)
        policy = container.get("imagePullPolicy") or default_policy(reference)
        present = None if policy == "Always" else await self._runtime.image(reference)
        if present is not None:
            message = (
                f'Container image "{container["image"]}" already present on machine and can be accessed by the pod'
            )
            self._event(pod, "Normal", "Pulled", message, container=container["name"])
            return present
        if policy == "Never":
            message = f'Container image "{container["image"]}" is not present with pull policy of Never'
            self._event(pod, "Warning", "ErrImageNeverPull", message, container=container["name"])
            raise errors.StartRefused("ErrImageNeverPull", message)
        return await self._pull(pod, container, reference, sandbox)

    def retry_seconds(self, pod: Object, container: Object) -> float:
        """How long until a pull that failed may be tried again."""
        return self._backoff.left(_key(pod, container), self._clock.now())

    def release(self, pod: Object, containers: Iterable[Object]) -> None:
        for container in containers:
            self._backoff.forget(_key(pod, container))
            self._reasons.pop(_key(pod, container), None)

    def _reference(self, pod: Object, container: Object) -> str:
        try:
            return with_default_tag(container["image"])
        except errors.StartRefused as error:
            self._event(pod, "Warning", "InspectFailed", error.message, container=container["name"])
            raise

    async def _pull(self, pod: Object, container: Object, reference: str, sandbox: pb.PodSandboxConfig) -> pb.Image:
        key, image, name = _key(pod, container), container["image"], container["name"]
        if self._backoff.left(key, self._clock.now()) > 0:
            message = f'Back-off pulling image "{image}"'
            self._event(pod, "Normal", "BackOff", message, container=name)
            last = self._reasons.get(key)
            raise errors.StartRefused("ImagePullBackOff", f"{message}: {last}" if last else message)
        self._event(pod, "Normal", "Pulling", f'Pulling image "{image}"', container=name)
        asked = self._clock.monotonic()
        try:
            found, pulling_seconds = await self._pull_once(pod, reference, sandbox)
        except errors.RuntimeRefused as error:
            self._backoff.failed(key, self._clock.now())
            message = f'failed to pull image "{image}": {error.message}'
            self._reasons[key] = f"ErrImagePull: {message}"
            self._event(pod, "Warning", "Failed", message[0].upper() + message[1:], container=name)
            raise errors.StartRefused("ErrImagePull", message) from error
        self._backoff.forget(key)
        self._reasons.pop(key, None)
        waited = _seconds(self._clock.monotonic() - asked)
        message = (
            f'Successfully pulled image "{image}" in {_seconds(pulling_seconds)} ({waited} including waiting). '
            f"Image size: {found.size} bytes."
        )
        self._event(pod, "Normal", "Pulled", message, container=name)
        return found

    async def _pull_once(self, pod: Object, reference: str, sandbox: pb.PodSandboxConfig) -> tuple[pb.Image, float]:
        lock = self._pulling.setdefault(reference, asyncio.Lock())
        try:
            async with lock, self._slots:
                begun = self._clock.monotonic()
                pulled = await self._try_credentials(pod, reference, sandbox)
                seconds = self._clock.monotonic() - begun
                log.info("pulled %s in %s", reference, _seconds(seconds), extra={"step": "L8"})
        finally:
            if not lock.locked():
                self._pulling.pop(reference, None)
        found = await self._runtime.image(pulled) or await self._runtime.image(reference)
        if found is None:
            raise errors.RuntimeRefused(f"image {reference} is not there after its pull")
        return found, seconds

    async def _try_credentials(self, pod: Object, reference: str, sandbox: pb.PodSandboxConfig) -> str:
        """With each matching credential, then the last error; without any, anonymously."""
        credentials: list[pb.AuthConfig | None] = [*await self._credentials(pod, reference)] or [None]
        problem: errors.RuntimeRefused | None = None
        for credential in credentials:
            try:
                return await self._runtime.pull(reference, credential, sandbox)
            except errors.RuntimeRefused as error:
                problem = error
        raise problem or errors.RuntimeRefused("no credential was tried")

    async def _credentials(self, pod: Object, reference: str) -> list[pb.AuthConfig]:
        names_ = [
            Reference("secret", ref["name"]) for ref in pod["spec"].get("imagePullSecrets") or [] if ref.get("name")
        ]
        found = await self._references.get(objects.uid_of(pod), objects.namespace_of(pod), names_)
        missing = [reference.name for reference, secret in found.items() if secret is None]
        if missing:
            said = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
            message = f"{said}; attempting to pull the image may not succeed."
            self._event(pod, "Warning", "FailedToRetrieveImagePullSecret", message)
        return [auth for secret in found.values() if secret for auth in credentials_of(secret, reference)]


def default_policy(reference: str) -> str:
    """What the API server defaults to; static pods have not been there."""
    return "Always" if reference.endswith(":latest") and "@" not in reference else "IfNotPresent"


def with_default_tag(image: str) -> str:
    """`nginx` → `nginx:latest`. Raises StartRefused (InvalidImageName)."""
    if names.image_reference(image):
        parse = f'couldn\'t parse image name "{image}": {_why_invalid(image)}'
        message = f'Failed to apply default image tag "{image}": {parse}'
        raise errors.StartRefused("InvalidImageName", message)
    tagged = ":" in image.rpartition("/")[2] or "@" in image
    return image if tagged else f"{image}:latest"


def _why_invalid(image: str) -> str:
    """Capitals are the common mistake. A first element with a capital is taken for a host, as upstream does."""
    first, slash, rest = image.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost" or first != first.lower())
    path = rest if is_host else image if slash else f"library/{image}"
    repository = path.partition(":")[0]
    if repository == repository.lower():
        return "invalid reference format"
    return f"invalid reference format: repository name ({repository}) must be lowercase"


def registry_of(reference: str) -> str:
    """The host that a reference is pulled from; without one, Docker's."""
    first, slash, _ = reference.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return first if is_host else DOCKER_HUB


def credentials_of(secret: Object, reference: str) -> list[pb.AuthConfig]:
    """The entries of a docker config secret that are for the reference's registry, the longest match first."""
    data = secret.get("data") or {}
    try:
        if ".dockerconfigjson" in data:
            auths = orjson.loads(base64.b64decode(data[".dockerconfigjson"])).get("auths") or {}
        else:
            auths = orjson.loads(base64.b64decode(data.get(".dockercfg") or "e30="))
    except ValueError:
        return []
    matching = [server for server in auths if _matches(server, reference)]
    matching.sort(key=len, reverse=True)
    return [_auth_config(reference, auths[server]) for server in matching]


def _matches(server: str, reference: str) -> bool:
    """`https://index.docker.io/v1/`, `registry:5000` and `registry:5000/path` all name a registry or a part of one."""
    bare = server.removeprefix("https://").removeprefix("http://").rstrip("/")
    bare = bare.removesuffix("/v1").removesuffix("/v2")
    host, slash, path = bare.partition("/")
    if host in ("index.docker.io", "registry-1.docker.io"):
        host = DOCKER_HUB
    registry = registry_of(reference)
    fits = host == registry or (host.startswith("*.") and registry.endswith(host[1:]))
    rest = reference.removeprefix(f"{registry}/")
    return fits and (not slash or rest.startswith(path))


def _auth_config(reference: str, entry: Object) -> pb.AuthConfig:
    user, password = entry.get("username") or "", entry.get("password") or ""
    if not user and entry.get("auth"):
        user, _, password = base64.b64decode(entry["auth"]).decode("utf-8", "replace").partition(":")
    # A server_address that differs from the registry would make the runtime send no credentials
    return pb.AuthConfig(username=user, password=password, identity_token=entry.get("identitytoken") or "")


def _key(pod: Object, container: Object) -> str:
    """By the image as the spec has it: one that cannot be parsed is asked for and let go as any other."""
    return f"{objects.uid_of(pod)}_{container['image']}"


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f}ms" if value < 1 else f"{value:.3f}s"
