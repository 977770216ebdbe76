"""L9, L13: the only speaker of CRI v1. One method a call that the kubelet makes; messages become `kubelet.observed`
values.

Guarantees: every call has a deadline; gRPC's errors come out as `kubelet.errors`; statuses of exited containers and
addresses of ready sandboxes are asked for once and remembered (they cannot change), so that a look at a pod whose
containers are stable costs two calls.
Does not guarantee: that the runtime is the same from call to call. It may restart at any moment; ids survive that.
containerd 1.6 has no GetContainerEvents: `kubelet/relist.py` looks instead.
Source: https://github.com/kubernetes/cri-api/blob/master/pkg/apis/runtime/v1/api.proto
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import grpc
import grpc.aio
from cri_api.v1 import api_pb2 as pb
from cri_api.v1 import api_pb2_grpc

from apimachinery import imagenames
from kubelet import errors
from kubelet.observed import Container, Observed, Sandbox, State
from kubelet.pods import identity

CALL_SECONDS = 120.0  # upstream's runtime-request-timeout: containerd under load takes seconds for a sandbox
PULL_SECONDS = 3600.0  # an image may be large; the pod's deletion cancels the call
STOP_MARGIN_SECONDS = 60.0  # beyond the grace period, for the runtime to kill and reap
MESSAGE_MAX_BYTES = 16 * 1024 * 1024  # upstream's limit; lists of many containers pass gRPC's 4 MB

RUNNING = int(pb.CONTAINER_RUNNING)
_STATES: Mapping[int, State] = {
    pb.CONTAINER_CREATED: "created",
    pb.CONTAINER_RUNNING: "running",
    pb.CONTAINER_EXITED: "exited",
}


class ExecResult(NamedTuple):
    exit_code: int
    stdout: bytes
    stderr: bytes


class RuntimeState(NamedTuple):
    """`ready` and `network_ready` with the reason where they are not."""

    ready: bool
    network_ready: bool
    message: str


class Snapshot(NamedTuple):
    """What a relist sees: (id, state) pairs by pod uid, and the labels of one sandbox or container of each.

    Among the labels is the grace period, which the runtime keeps as an annotation.
    """

    pods: dict[str, frozenset[tuple[str, int]]]
    labels: dict[str, dict[str, str]]


class Runtime(AbstractAsyncContextManager["Runtime"]):
    """A connection to `--container-runtime-endpoint`."""

    def __init__(self, endpoint: str) -> None:
        options = [
            ("grpc.max_receive_message_length", MESSAGE_MAX_BYTES),
            ("grpc.max_reconnect_backoff_ms", 1000),  # a restarted containerd is found again within a second
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.default_authority", "localhost"),  # a socket's path is no valid authority: containerd resets on it
        ]
        self._channel = grpc.aio.insecure_channel(endpoint, options=options)
        self._runtime: Any = api_pb2_grpc.RuntimeServiceStub(self._channel)  # type: ignore[no-untyped-call]  # generated
        self._images: Any = api_pb2_grpc.ImageServiceStub(self._channel)  # type: ignore[no-untyped-call]  # generated
        self._exited: dict[str, Container] = {}
        self._addresses: dict[str, tuple[str, ...]] = {}
        self._started: dict[str, Container] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    # --- looking

    async def version(self) -> tuple[str, str]:
        """Name and version of the runtime, as `containerd`, `1.6.20`."""
        reply = await self._call(self._runtime.Version, pb.VersionRequest(), 10)
        return reply.runtime_name, reply.runtime_version

    async def state(self) -> RuntimeState:
        reply = await self._call(self._runtime.Status, pb.StatusRequest(), 10)
        conditions = {c.type: c for c in reply.status.conditions}
        wrong = [
            f"{c.type}={str(c.status).lower()} reason:{c.reason} message:{c.message}"
            for c in conditions.values()
            if not c.status
        ]
        ready, network = conditions.get("RuntimeReady"), conditions.get("NetworkReady")
        return RuntimeState(bool(ready and ready.status), bool(network and network.status), ", ".join(wrong))

    async def set_pod_cidr(self, cidr: str) -> None:
        """Tell the runtime out of which range pods get addresses. containerd uses it for a template if it has one."""
        config = pb.RuntimeConfig(network_config=pb.NetworkConfig(pod_cidr=cidr))
        await self._call(self._runtime.UpdateRuntimeConfig, pb.UpdateRuntimeConfigRequest(runtime_config=config), 30)

    async def snapshot(self) -> Snapshot:
        """Every pod that the runtime holds anything of, in two calls."""
        sandboxes = await self._call(self._runtime.ListPodSandbox, pb.ListPodSandboxRequest(), 30)
        containers = await self._call(self._runtime.ListContainers, pb.ListContainersRequest(), 30)
        found: dict[str, set[tuple[str, int]]] = {}
        labels: dict[str, dict[str, str]] = {}
        for item in [*sandboxes.items, *containers.containers]:
            uid = item.labels.get(identity.POD_UID)
            if uid:
                found.setdefault(uid, set()).add((item.id, item.state))
                grace = item.annotations.get(identity.GRACE_SECONDS)
                labels.setdefault(uid, dict(item.labels) | ({identity.GRACE_SECONDS: grace} if grace else {}))
        self._forget({item.id for item in [*sandboxes.items, *containers.containers]})
        return Snapshot({uid: frozenset(pairs) for uid, pairs in found.items()}, labels)

    async def observe(self, uid: str) -> Observed:
        """One pod, now."""
        selector = {identity.POD_UID: uid}
        sandboxes = await self._call(
            self._runtime.ListPodSandbox,
            pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter(label_selector=selector)),
            30,
        )
        containers = await self._call(
            self._runtime.ListContainers,
            pb.ListContainersRequest(filter=pb.ContainerFilter(label_selector=selector)),
            30,
        )
        seen = [s for item in sandboxes.items if (s := await self._sandbox(item))]
        runs = [c for item in containers.containers if (c := await self._container(item))]
        seen.sort(key=lambda s: (s.attempt, s.created_at), reverse=True)
        runs.sort(key=lambda c: (c.attempt, c.created_at), reverse=True)
        return Observed(tuple(seen), tuple(runs))

    def running_logs(self) -> dict[str, Path]:
        """The log file of each container that was running when last looked at, by container id."""
        return {run.id: Path(run.log_path) for run in self._started.values() if run.log_path}

    async def _sandbox(self, item: Any) -> Sandbox | None:
        ready = item.state == pb.SANDBOX_READY
        ips = self._addresses.get(item.id, ())
        if ready and item.id not in self._addresses:
            try:
                reply = await self._call(
                    self._runtime.PodSandboxStatus, pb.PodSandboxStatusRequest(pod_sandbox_id=item.id), 30
                )
            except errors.NoSuchThing:
                return None
            network = reply.status.network
            ips = tuple(ip for ip in (network.ip, *(more.ip for more in network.additional_ips)) if ip)
            self._addresses[item.id] = ips
        return Sandbox(item.id, item.metadata.attempt, ready, _moment(item.created_at), ips if ready else ())

    async def _container(self, item: Any) -> Container | None:
        """The full status; asked for only where the list does not settle it."""
        known = self._exited.get(item.id) if item.state == pb.CONTAINER_EXITED else self._started.get(item.id)
        if known is not None and _STATES.get(item.state) == known.state:
            return known
        try:
            reply = await self._call(self._runtime.ContainerStatus, pb.ContainerStatusRequest(container_id=item.id), 30)
        except errors.NoSuchThing:
            return None
        status = _container_from_status(reply.status, item.pod_sandbox_id)
        if status.state == "exited":
            self._exited[item.id] = status
            self._started.pop(item.id, None)
        elif status.state == "running":
            self._started[item.id] = status
        return status

    def _forget(self, ids: set[str]) -> None:
        for cache in (self._exited, self._started, self._addresses):
            for gone in cache.keys() - ids:
                del cache[gone]

    # --- acting

    async def run_sandbox(self, config: pb.PodSandboxConfig) -> str:
        reply = await self._call(self._runtime.RunPodSandbox, pb.RunPodSandboxRequest(config=config), 2 * CALL_SECONDS)
        return str(reply.pod_sandbox_id)

    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Stops what runs in it and releases its network. Harmless when repeated."""
        await self._gone_is_fine(self._runtime.StopPodSandbox, pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))

    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Removes it with the containers in it."""
        await self._gone_is_fine(self._runtime.RemovePodSandbox, pb.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))

    async def create_container(self, sandbox_id: str, config: pb.ContainerConfig, sandbox: pb.PodSandboxConfig) -> str:
        request = pb.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox)
        return str((await self._call(self._runtime.CreateContainer, request, CALL_SECONDS)).container_id)

    async def start_container(self, container_id: str) -> None:
        await self._call(
            self._runtime.StartContainer, pb.StartContainerRequest(container_id=container_id), CALL_SECONDS
        )

    async def stop_container(self, container_id: str, grace_seconds: int) -> None:
        """SIGTERM (or the image's stop signal), and SIGKILL after the grace period. Returns when it has exited."""
        request = pb.StopContainerRequest(container_id=container_id, timeout=grace_seconds)
        await self._gone_is_fine(self._runtime.StopContainer, request, grace_seconds + STOP_MARGIN_SECONDS)

    async def remove_container(self, container_id: str) -> None:
        await self._gone_is_fine(self._runtime.RemoveContainer, pb.RemoveContainerRequest(container_id=container_id))

    async def reopen_log(self, container_id: str) -> None:
        await self._call(self._runtime.ReopenContainerLog, pb.ReopenContainerLogRequest(container_id=container_id), 30)

    async def exec_sync(self, container_id: str, command: list[str], timeout_seconds: int) -> ExecResult:
        """Runs a command to its end. Raises RuntimeTimeout when it does not end in time."""
        request = pb.ExecSyncRequest(container_id=container_id, cmd=command, timeout=timeout_seconds)
        reply = await self._call(
            self._runtime.ExecSync, request, timeout_seconds + 10 if timeout_seconds else CALL_SECONDS
        )
        return ExecResult(reply.exit_code, reply.stdout, reply.stderr)

    async def exec_url(self, request: pb.ExecRequest) -> str:
        return str((await self._call(self._runtime.Exec, request, 30)).url)

    async def attach_url(self, request: pb.AttachRequest) -> str:
        return str((await self._call(self._runtime.Attach, request, 30)).url)

    async def port_forward_url(self, sandbox_id: str, ports: list[int]) -> str:
        request = pb.PortForwardRequest(pod_sandbox_id=sandbox_id, port=ports)
        return str((await self._call(self._runtime.PortForward, request, 30)).url)

    # --- images

    async def image(self, reference: str) -> pb.Image | None:
        """The image as the runtime has it, or None when it has not."""
        request = pb.ImageStatusRequest(image=pb.ImageSpec(image=reference))
        reply = await self._call(self._images.ImageStatus, request, CALL_SECONDS)
        return reply.image if reply.HasField("image") and reply.image.id else None

    async def pull(self, reference: str, auth: pb.AuthConfig | None, sandbox: pb.PodSandboxConfig) -> str:
        request = pb.PullImageRequest(image=pb.ImageSpec(image=reference), auth=auth, sandbox_config=sandbox)
        return str((await self._call(self._images.PullImage, request, PULL_SECONDS)).image_ref)

    async def images(self) -> list[pb.Image]:
        return list((await self._call(self._images.ListImages, pb.ListImagesRequest(), 30)).images)

    # --- statistics

    async def container_stats(self) -> list[pb.ContainerStats]:
        return list((await self._call(self._runtime.ListContainerStats, pb.ListContainerStatsRequest(), 30)).stats)

    # --- the edge

    async def _gone_is_fine(self, call: _Call, request: Any, seconds: float = CALL_SECONDS) -> None:
        try:
            await self._call(call, request, seconds)
        except errors.NoSuchThing:
            return

    async def _call(self, call: _Call, request: Any, seconds: float) -> Any:
        try:
            return await call(request, timeout=seconds)
        except grpc.aio.AioRpcError as error:
            raise _translated(error) from error


_Call = Callable[..., Awaitable[Any]]


def _translated(error: grpc.aio.AioRpcError) -> errors.NodeError:
    message = error.details() or error.code().name
    # kubectl and people know gRPC's Go wording; events carry it
    worded = f"rpc error: code = {_GO_CODES.get(error.code(), 'Unknown')} desc = {message}"
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return errors.RuntimeUnavailable(worded)
    if error.code() is grpc.StatusCode.NOT_FOUND:
        return errors.NoSuchThing(worded, message)
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.RuntimeTimeout(worded, message)
    return errors.RuntimeRefused(worded, message)


_GO_CODES = {
    grpc.StatusCode.UNKNOWN: "Unknown",
    grpc.StatusCode.NOT_FOUND: "NotFound",
    grpc.StatusCode.UNAVAILABLE: "Unavailable",
    grpc.StatusCode.DEADLINE_EXCEEDED: "DeadlineExceeded",
    grpc.StatusCode.INVALID_ARGUMENT: "InvalidArgument",
    grpc.StatusCode.ALREADY_EXISTS: "AlreadyExists",
    grpc.StatusCode.FAILED_PRECONDITION: "FailedPrecondition",
    grpc.StatusCode.PERMISSION_DENIED: "PermissionDenied",
    grpc.StatusCode.UNIMPLEMENTED: "Unimplemented",
    grpc.StatusCode.INTERNAL: "Internal",
    grpc.StatusCode.CANCELLED: "Canceled",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "ResourceExhausted",
}


def _container_from_status(status: Any, sandbox_id: str) -> Container:
    return Container(
        id=status.id,
        name=status.labels.get(identity.CONTAINER_NAME) or status.metadata.name,
        attempt=status.metadata.attempt,
        sandbox_id=sandbox_id,
        state=_STATES.get(status.state, "unknown"),
        image=_image_of(status),
        image_id=status.image_ref,
        created_at=_moment(status.created_at),
        started_at=_moment(status.started_at),
        finished_at=_moment(status.finished_at),
        exit_code=status.exit_code,
        reason=status.reason,
        message=status.message,
        spec_hash=status.annotations.get(identity.SPEC_HASH, ""),
        log_path=status.log_path,
        annotations=dict(status.annotations),
    )


def _image_of(status: Any) -> str:
    """The full name of what the spec asked for. The runtime's own choice may be another tag of the same image."""
    asked = status.annotations.get(identity.IMAGE)
    return imagenames.normalized(asked) if asked else str(status.image.image)


def _moment(nanoseconds: int) -> datetime | None:
    """CRI's time; 0 stands for never."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC) if nanoseconds > 0 else None
