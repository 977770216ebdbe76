"""One kubelet, wired by hand: who is made from what, and which tasks run.

    pods (watch) ─▶ a worker a pod ─▶ plan ─▶ sync ─▶ CRI
                         ▲    └─▶ status ─▶ status writer ─▶ API
    relist, probes, configMaps and secrets wake workers;  network ─▶ CNI and routes;
    heartbeat ─▶ Node and Lease;  server ─▶ logs, exec

Shutdown cancels the tasks and touches no pod: what runs goes on running, and the next kubelet takes it over (L15).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from dataclasses import replace
from pathlib import Path

from apimachinery import errors as api_errors
from apimachinery.clock import Clock
from apimachinery.objects import Object
from client import process
from client.events import EventRecorder
from client.metrics import Metrics as ClientMetrics
from client.rest import Client, ConnectionFailed
from kubelet import errors
from kubelet.cgroups import Cgroups
from kubelet.cleanup import Cleanup
from kubelet.config import Config
from kubelet.containers import dns
from kubelet.containers.config import Settings
from kubelet.cri import Runtime
from kubelet.hooks import Hooks
from kubelet.images import Images
from kubelet.logrotation import LogRotation
from kubelet.metrics import Metrics
from kubelet.network.network import Network
from kubelet.node import events as node_events
from kubelet.node import machine
from kubelet.node import status as node_status
from kubelet.node.heartbeat import Heartbeat
from kubelet.pods import admit
from kubelet.pods.source import PodSource
from kubelet.pods.worker import Parts
from kubelet.probes.checks import Checker
from kubelet.probes.probes import Probes
from kubelet.references import References
from kubelet.relist import Relist
from kubelet.server import tls
from kubelet.server.access import Access
from kubelet.server.app import App
from kubelet.server.http import Server
from kubelet.status import Verdict
from kubelet.status_writer import StatusWriter
from kubelet.sync import Node, PodSync
from kubelet.volumes.directories import Directories
from kubelet.volumes.tokens import Tokens
from kubelet.volumes.volumes import Volumes

log = logging.getLogger(__name__)
WAIT_SECONDS = 1.0


class Kubelet:
    def __init__(
        self, config: Config, client: Client, runtime: Runtime, clock: Clock, client_metrics: ClientMetrics
    ) -> None:
        self._config = config
        self._client = client
        self._runtime = runtime
        self._clock = clock
        self._client_metrics = client_metrics
        self._runtime_name, self._runtime_version = "unknown", "unknown"
        self._capacity = machine.capacity(config.root_dir, config.max_pods)
        self.metrics = Metrics(client_metrics.registry)
        self._events = EventRecorder(client, "kubelet", config.node_name, clock=clock)
        self.source = PodSource(client, config.node_name, clock, config.manifests)
        self._relist = Relist(runtime, clock, self.metrics, self.source.wake, self._on_runtime_turn)
        self._network = self._make_network()
        self._heartbeat = Heartbeat(client, clock, self._facts, self._health, self._images_list, self._node_event)
        self._checker = Checker(runtime)
        self._references = References(client, clock, self.source.wake)
        self._probes = Probes(self._checker, clock, self._event, self.source.wake)
        self._writer = StatusWriter(client, clock, self.metrics)
        self._cleanup = self._connect()

    # --- making

    def _make_network(self) -> Network:
        config = self._config
        return Network(
            self._client,
            self._runtime,
            self._clock,
            config.node_name,
            conf_dir=config.cni_conf_dir,
            data_dir=config.cni_data_dir,
            cluster_cidr=config.cluster_cidr,
            on_change=self._on_network,
        )

    def _connect(self) -> Cleanup:
        """The pods' side: everything a worker needs."""
        config, runtime, clock = self._config, self._runtime, self._clock
        directories = Directories(config.root_dir)
        tokens = Tokens(self._client, clock)
        images = Images(runtime, self._references, clock, self._event)
        cgroups = Cgroups(config.cgroup_root, memory_bytes=int(self._capacity["memory"]))
        cleanup = Cleanup(runtime, directories, cgroups, self._references, tokens, images, config.logs_dir)
        host_ips = (config.node_ip,)
        resolver = replace(
            dns.parse_resolv_conf(config.resolv_conf),
            cluster_dns=config.cluster_dns,
            cluster_domain=config.cluster_domain,
        )
        sync = PodSync(
            runtime,
            images,
            Volumes(directories, self._references, tokens, clock, may_mount=config.may_mount),
            self._references,
            Hooks(runtime, self._checker, clock),
            directories,
            Settings(config.node_name, config.logs_dir, resolver, cgroups),
            Node(host_ips, self._capacity, lambda: self._network.problem, self.source.active_pods, self._network.poke),
            clock,
            self._event,
        )
        parts = Parts(
            runtime, sync, self._probes, self._writer, cleanup, self._client, clock, self.metrics, self._event,
            host_ips, self._admit, lambda: self._runtime_name, self.source.mirror_of,
        )  # fmt: skip
        self.source.connect(parts)
        return cleanup

    # --- running

    async def run(self) -> None:
        """Until cancelled."""
        log.info("node %s, %s", self._config.node_name, self._config.runtime_endpoint)
        context = await asyncio.to_thread(self._tls)
        app = App(
            self._runtime,
            Access(self._client, self._clock, self._config.node_name),
            self.metrics,
            self._clock,
            self._config.node_name,
            self.source.find,
            self.source.pods,
            lambda: self._relist.problem,
            self._relist.follow,
        )
        self._server = Server(app, context)
        status = process.StatusServer({"runtime": lambda: not self._relist.problem}, self._client_metrics.registry)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._server.run(self._config.bind_address, self._config.port), name="server")
                group.create_task(status.run(self._config.healthz_host, self._config.healthz_port), name="healthz")
                group.create_task(self._events.run(), name="events")
                await self._wait_for_runtime()
                group.create_task(self._relist.run(), name="relist")
                group.create_task(self._network.run(), name="network")
                rotation = LogRotation(self._runtime, self._clock, self._runtime.running_logs)
                group.create_task(rotation.run(), name="log rotation")
                self._node_event(node_events.STARTING)
                # Not before the network is known: a kubelet that restarts must not show its node NotReady meanwhile
                await self._network.looked.wait()
                group.create_task(self._heartbeat.run(), name="heartbeat")
                group.create_task(self.source.run(self._relist, self._cleanup), name="pods")
        finally:
            await self._close()

    async def _wait_for_runtime(self) -> None:
        """Nothing can be said of the node before its runtime has said who it is."""
        while True:
            try:
                self._runtime_name, self._runtime_version = await self._runtime.version()
                await self._relist.look()
            except errors.NodeError as error:
                log.warning("waiting for the container runtime: %s", error.message)
                await self._clock.sleep(WAIT_SECONDS)
            else:
                return

    async def _close(self) -> None:
        await self._probes.close()
        await self._references.close()
        await self._writer.close()
        await self._checker.close()
        with contextlib.suppress(api_errors.APIError, ConnectionFailed):
            await self._events.flush()

    def _tls(self) -> ssl.SSLContext:
        config = self._config
        if config.tls_cert is not None and config.tls_key is not None:
            return tls.context(config.tls_cert, config.tls_key, config.client_ca)
        from kubelet.server import selfsigned  # its libraries cost a quarter of a second

        folder: Path = config.root_dir / "pki"
        certificate, key = selfsigned.self_signed(folder, config.node_name, config.node_ip, self._clock)
        return tls.context(certificate, key, config.client_ca)

    # --- what the parts ask for

    def _event(self, pod: Object, kind: str, reason: str, message: str, *, container: str = "") -> None:
        self._events.event(pod, kind, reason, message, field_path=_field_path(pod, container))

    def _node_event(self, event: node_events.NodeEvent) -> None:
        self._events.event(node_events.reference(self._config.node_name), *event)

    def _admit(self, pod: Object) -> Verdict | None:
        node = self._network.node or self._heartbeat.node
        return admit.admit(pod, node, self.source.active_pods(), self._capacity) if node is not None else None

    def _facts(self) -> node_status.Facts:
        config = self._config
        return node_status.Facts(
            name=config.node_name,
            addresses=(config.node_ip,),
            port=self._server.port or config.port,
            capacity=self._capacity,
            allocatable=self._capacity,
            system=machine.system_info(),
            runtime_version=f"{self._runtime_name}://{self._runtime_version}",
            labels=config.labels,
            taints=config.taints,
        )

    async def _health(self) -> node_status.Health:
        return node_status.Health(
            runtime_problem=self._relist.outage,
            network_problem="" if self._relist.problem else self._network.problem,
            memory=machine.memory(),
            disk=machine.disk(self._config.root_dir),
            pids=machine.process_ids(),
        )

    async def _images_list(self) -> list[object]:
        try:
            return list(await self._runtime.images())
        except errors.NodeError:
            return []

    def _on_runtime_turn(self) -> None:
        if not self._relist.problem:
            self._network.poke()
        self._heartbeat.poke()

    def _on_network(self) -> None:
        log.info("network: %s", self._network.problem or "ready", extra={"step": "L10"})
        self._heartbeat.poke()
        for worker in list(self.source.workers.values()):
            worker.poke()


def _field_path(pod: Object, container: str) -> str:
    """`spec.containers{NAME}`: which container an event is about."""
    if not container:
        return ""
    for field in ("containers", "initContainers", "ephemeralContainers"):
        if any(entry["name"] == container for entry in pod["spec"].get(field) or []):
            return f"spec.{field}{{{container}}}"
    return ""
