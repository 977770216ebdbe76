"""CRI's RuntimeService over a `World`: messages in, messages out; no state of its own.

Answers every call that a kubelet makes; GetContainerEvents, CheckpointContainer and metric descriptors are
UNIMPLEMENTED, as in containerd 1.6, so the kubelet takes the same path (relist) with both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from cri_api.v1 import api_pb2 as cri
from cri_api.v1 import api_pb2_grpc

from apimachinery.clock import Clock
from kubelet.hollow import commands, world
from kubelet.hollow.streaming import Streams
from kubelet.hollow.world import Container, Sandbox, World

NAME, VERSION, API_VERSION = "hollow", "0.1.0", "v1"


class RuntimeService(api_pb2_grpc.RuntimeServiceServicer):
    def __init__(self, world: World, streams: Streams, reopen_log: Callable[[str], None], clock: Clock) -> None:
        self._world = world
        self._streams = streams
        self._reopen_log = reopen_log
        self._clock = clock

    # --- the runtime itself

    async def Version(self, request: Any, context: Any) -> Any:
        return cri.VersionResponse(
            version="0.1.0", runtime_name=NAME, runtime_version=VERSION, runtime_api_version=API_VERSION
        )

    async def Status(self, request: Any, context: Any) -> Any:
        network = cri.RuntimeCondition(type="NetworkReady", status=self._world.pool.is_ready)
        if not network.status:
            network.reason = "NetworkPluginNotReady"
            network.message = "Network plugin returns error: cni plugin not initialized"
        ready = cri.RuntimeCondition(type="RuntimeReady", status=True)
        return cri.StatusResponse(status=cri.RuntimeStatus(conditions=[ready, network]))

    async def UpdateRuntimeConfig(self, request: Any, context: Any) -> Any:
        # Several ranges come joined by commas; the first is the primary family
        cidr = request.runtime_config.network_config.pod_cidr.partition(",")[0]
        if cidr:
            try:
                self._world.pool.configure(cidr)
            except ValueError as error:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"pod CIDR: {error}")
        return cri.UpdateRuntimeConfigResponse()

    async def RuntimeConfig(self, request: Any, context: Any) -> Any:
        return cri.RuntimeConfigResponse(linux=cri.LinuxRuntimeConfiguration(cgroup_driver=cri.CGROUPFS))

    # --- sandboxes

    async def RunPodSandbox(self, request: Any, context: Any) -> Any:
        sandbox = self._world.run_sandbox(request.config, request.runtime_handler)
        return cri.RunPodSandboxResponse(pod_sandbox_id=sandbox.id)

    async def StopPodSandbox(self, request: Any, context: Any) -> Any:
        self._world.stop_sandbox(request.pod_sandbox_id)
        return cri.StopPodSandboxResponse()

    async def RemovePodSandbox(self, request: Any, context: Any) -> Any:
        self._world.remove_sandbox(request.pod_sandbox_id)
        return cri.RemovePodSandboxResponse()

    async def PodSandboxStatus(self, request: Any, context: Any) -> Any:
        sandbox = self._world.sandbox(request.pod_sandbox_id)
        network = cri.PodSandboxNetworkStatus(ip=sandbox.ip if sandbox.ready else "")
        options = sandbox.config.linux.security_context.namespace_options
        return cri.PodSandboxStatusResponse(
            status=cri.PodSandboxStatus(
                network=network,
                linux=cri.LinuxPodSandboxStatus(namespaces=cri.Namespace(options=options)),
                **_sandbox_fields(sandbox),
            )
        )

    async def ListPodSandbox(self, request: Any, context: Any) -> Any:
        wanted = request.filter
        items = [
            cri.PodSandbox(**_sandbox_fields(sandbox))
            for sandbox in self._world.sandboxes(wanted.label_selector)
            if (not wanted.id or sandbox.id.startswith(wanted.id))
            and (not wanted.HasField("state") or _sandbox_state(sandbox) == wanted.state.state)
        ]
        return cri.ListPodSandboxResponse(items=items)

    async def UpdatePodSandboxResources(self, request: Any, context: Any) -> Any:
        self._world.sandbox(request.pod_sandbox_id)
        return cri.UpdatePodSandboxResourcesResponse()

    # --- containers

    async def CreateContainer(self, request: Any, context: Any) -> Any:
        container = self._world.create_container(request.pod_sandbox_id, request.config, request.sandbox_config)
        return cri.CreateContainerResponse(container_id=container.id)

    async def StartContainer(self, request: Any, context: Any) -> Any:
        self._world.start_container(request.container_id)
        return cri.StartContainerResponse()

    async def StopContainer(self, request: Any, context: Any) -> Any:
        self._world.stop_container(request.container_id, request.timeout)
        return cri.StopContainerResponse()

    async def RemoveContainer(self, request: Any, context: Any) -> Any:
        self._world.remove_container(request.container_id)
        return cri.RemoveContainerResponse()

    async def ListContainers(self, request: Any, context: Any) -> Any:
        wanted = request.filter
        found = [
            _container_message(container)
            for container in self._world.containers(wanted.label_selector)
            if (not wanted.id or container.id.startswith(wanted.id))
            and (not wanted.pod_sandbox_id or container.sandbox_id == wanted.pod_sandbox_id)
            and (not wanted.HasField("state") or container.state == wanted.state.state)
        ]
        return cri.ListContainersResponse(containers=found)

    async def ContainerStatus(self, request: Any, context: Any) -> Any:
        return cri.ContainerStatusResponse(status=_container_status(self._world.container(request.container_id)))

    async def UpdateContainerResources(self, request: Any, context: Any) -> Any:
        container = self._world.container(request.container_id)
        container.config.linux.resources.MergeFrom(request.linux)
        return cri.UpdateContainerResourcesResponse()

    async def ReopenContainerLog(self, request: Any, context: Any) -> Any:
        container = self._running(request.container_id)
        if container.log_path:
            self._reopen_log(container.log_path)
        return cri.ReopenContainerLogResponse()

    # --- into containers

    async def ExecSync(self, request: Any, context: Any) -> Any:
        self._running(request.container_id)
        result = commands.run(list(request.cmd))
        return cri.ExecSyncResponse(stdout=result.stdout, stderr=result.stderr, exit_code=result.exit_code)

    async def Exec(self, request: Any, context: Any) -> Any:
        self._running(request.container_id)
        return cri.ExecResponse(url=self._streams.exec_url(list(request.cmd)))

    async def Attach(self, request: Any, context: Any) -> Any:
        self._running(request.container_id)
        return cri.AttachResponse(url=self._streams.refusal_url("hollow containers run no processes to attach to"))

    async def PortForward(self, request: Any, context: Any) -> Any:
        self._world.sandbox(request.pod_sandbox_id)
        # At once, not on a stream: a client that asks by SPDY would never get to read it
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "hollow containers have no network to forward to")

    # --- statistics: nothing runs, so nothing is used

    async def ContainerStats(self, request: Any, context: Any) -> Any:
        return cri.ContainerStatsResponse(stats=self._stats(self._world.container(request.container_id)))

    async def ListContainerStats(self, request: Any, context: Any) -> Any:
        wanted = request.filter
        stats = [
            self._stats(container)
            for container in self._world.containers(wanted.label_selector)
            if container.state == cri.CONTAINER_RUNNING
            and (not wanted.id or container.id == wanted.id)
            and (not wanted.pod_sandbox_id or container.sandbox_id == wanted.pod_sandbox_id)
        ]
        return cri.ListContainerStatsResponse(stats=stats)

    async def PodSandboxStats(self, request: Any, context: Any) -> Any:
        return cri.PodSandboxStatsResponse(stats=self._sandbox_stats(self._world.sandbox(request.pod_sandbox_id)))

    async def ListPodSandboxStats(self, request: Any, context: Any) -> Any:
        found = self._world.sandboxes(request.filter.label_selector)
        stats = [self._sandbox_stats(s) for s in found if s.ready and request.filter.id in ("", s.id)]
        return cri.ListPodSandboxStatsResponse(stats=stats)

    def _running(self, container_id: str) -> Container:
        container = self._world.container(container_id)
        if container.state != cri.CONTAINER_RUNNING:
            raise world.Refused(f"container {container_id!r} is not running")
        return container

    def _stats(self, container: Container) -> Any:
        now = int(self._clock.now().timestamp() * 1e9)
        config = container.config
        nothing = cri.UInt64Value(value=0)
        return cri.ContainerStats(
            attributes=cri.ContainerAttributes(
                id=container.id, metadata=config.metadata, labels=config.labels, annotations=config.annotations
            ),
            cpu=cri.CpuUsage(timestamp=now, usage_core_nano_seconds=nothing, usage_nano_cores=nothing),
            memory=cri.MemoryUsage(timestamp=now, working_set_bytes=nothing, usage_bytes=nothing, rss_bytes=nothing),
            writable_layer=cri.FilesystemUsage(timestamp=now, used_bytes=nothing, inodes_used=nothing),
        )

    def _sandbox_stats(self, sandbox: Sandbox) -> Any:
        config = sandbox.config
        own = self._world.containers({world.POD_UID: sandbox.uid})
        return cri.PodSandboxStats(
            attributes=cri.PodSandboxAttributes(
                id=sandbox.id, metadata=config.metadata, labels=config.labels, annotations=config.annotations
            ),
            linux=cri.LinuxPodSandboxStats(containers=[self._stats(c) for c in own if c.sandbox_id == sandbox.id]),
        )


def _sandbox_state(sandbox: Sandbox) -> int:
    return int(cri.SANDBOX_READY if sandbox.ready else cri.SANDBOX_NOTREADY)


def _sandbox_fields(sandbox: Sandbox) -> dict[str, Any]:
    return {
        "id": sandbox.id,
        "metadata": sandbox.config.metadata,
        "state": _sandbox_state(sandbox),
        "created_at": sandbox.created_at,
        "labels": sandbox.config.labels,
        "annotations": sandbox.config.annotations,
        "runtime_handler": sandbox.handler,
    }


def _container_message(container: Container) -> Any:
    config: Any = container.config
    state: Any = container.state
    return cri.Container(
        id=container.id,
        pod_sandbox_id=container.sandbox_id,
        metadata=config.metadata,
        image=config.image,
        image_ref=container.image_ref,
        state=state,
        created_at=container.created_at,
        labels=config.labels,
        annotations=config.annotations,
    )


def _container_status(container: Container) -> Any:
    config: Any = container.config
    state: Any = container.state
    return cri.ContainerStatus(
        id=container.id,
        metadata=config.metadata,
        state=state,
        created_at=container.created_at,
        started_at=container.started_at,
        finished_at=container.finished_at,
        exit_code=container.exit_code,
        image=config.image,
        image_ref=container.image_ref,
        reason=container.reason,
        labels=config.labels,
        annotations=config.annotations,
        mounts=config.mounts,
        log_path=container.log_path,
        resources=cri.ContainerResources(linux=config.linux.resources),
    )
