"""L9, L13–L15: carry out a `PodPlan`, step by step, in its order.

Guarantees: stops at the first step that the runtime refuses, except that one container which cannot be started does not
keep its siblings from starting; may be cancelled at any point (the pod was deleted meanwhile): what was made is found
again by its labels. Every step that a person would ask about is an Event, in upstream's words.
Does not decide anything: that is `kubelet/plan.py`. Does not write status: that is the pod's worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import orjson
from cri_api.v1 import api_pb2 as pb

from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.objects import Object
from kubelet import errors, logrotation
from kubelet.containers import config, env, files
from kubelet.containers.config import Settings
from kubelet.cri import Runtime
from kubelet.hooks import HookFailed, Hooks
from kubelet.images import Event, Images
from kubelet.observed import Container, Observed
from kubelet.plan import GRACE_AFTER_WAIT_SECONDS, PodPlan, Start, Stop, Wait
from kubelet.pods import identity, spec
from kubelet.references import References
from kubelet.volumes.directories import Directories
from kubelet.volumes.volumes import NodeFacts, Volumes

log = logging.getLogger(__name__)
RETRY_SECONDS = 10.0  # upstream's back-off between two tries of a pod that cannot be started
FAILED_PULL_SECONDS = 5.0  # how long ErrImagePull is shown; shorter than the shortest back-off
PARALLEL_STARTS = 8  # sandboxes made at once: more only slow each other down (nodes with few cores)


@dataclass(slots=True)
class Outcome:
    """What carrying out the plan came to."""

    waiting: dict[str, Wait] = field(default_factory=dict)  # containers that could not be started, and why
    retry_seconds: float | None = None  # when to try again what failed

    def retry_in(self, seconds: float) -> None:
        self.retry_seconds = seconds if self.retry_seconds is None else min(self.retry_seconds, seconds)


@dataclass(frozen=True, slots=True)
class Node:
    """What the node tells about itself when a pod starts."""

    host_ips: tuple[str, ...]
    allocatable: Mapping[str, Decimal]
    network_problem: Callable[[], str]  # "" when pods can have a network
    active_pods: Callable[[], list[Object]]
    check_network: Callable[[], None]  # a sandbox could not be made: perhaps it is the network


class PodSync:
    def __init__(
        self,
        runtime: Runtime,
        images: Images,
        volumes: Volumes,
        references: References,
        hooks: Hooks,
        directories: Directories,
        settings: Settings,
        node: Node,
        clock: Clock,
        event: Event,
    ) -> None:
        self._runtime = runtime
        self._images = images
        self._volumes = volumes
        self._references = references
        self._hooks = hooks
        self._directories = directories
        self._settings = settings
        self._node = node
        self._clock = clock
        self._event = event
        self._starts = asyncio.Semaphore(PARALLEL_STARTS)

    async def execute(self, pod: Object, plan: PodPlan, observed: Observed) -> Outcome:
        """All steps of `plan`. Raises RuntimeUnavailable, and what the API raises when it cannot be asked."""
        outcome = Outcome({wait.name: wait for wait in plan.waiting})
        await self._stop_all(pod, plan, observed)
        for sandbox in plan.stop_sandboxes:
            await self._runtime.stop_sandbox(sandbox)
        for container in plan.remove:
            await self._remove(container, observed)
        for sandbox in plan.remove_sandboxes:
            await self._runtime.remove_sandbox(sandbox)
        if plan.sandbox_attempt is not None or plan.start:
            await self._start_all(pod, plan, observed, outcome)
        for wait in plan.waiting:
            self._event(pod, "Warning", "BackOff", _back_off_message(pod, wait), container=wait.name)
        return outcome

    async def refresh_volumes(self, pod: Object) -> None:
        """Rewrite what has changed in the volumes of a running pod. What cannot be renewed stays as it is."""
        try:
            await self._volumes.prepare(pod, self._facts(()))
        except errors.VolumeNotReady as error:
            self._event(pod, "Warning", "FailedMount", _mount_message(error))

    async def _remove(self, container_id: str, observed: Observed) -> None:
        """A dead run and its log."""
        await self._runtime.remove_container(container_id)
        path = next((c.log_path for c in observed.containers if c.id == container_id), "")
        if path:
            await asyncio.to_thread(logrotation.remove_all, Path(path))

    # --- stopping

    async def _stop_all(self, pod: Object, plan: PodPlan, observed: Observed) -> None:
        if not plan.stop:
            return
        by_id = {c.id: c for c in observed.containers}
        ips = observed.ready_sandbox.ips if observed.ready_sandbox else ()
        try:
            async with asyncio.TaskGroup() as group:
                for stop in plan.stop:
                    group.create_task(self._stop(pod, stop, by_id[stop.container_id], ips[0] if ips else ""))
        except* errors.NodeError as several:
            raise several.exceptions[0] from several

    async def _stop(self, pod: Object, stop: Stop, run: Container, pod_ip: str) -> None:
        will_restart = stop.why.startswith("Container ")
        message = f"{stop.why}, will be restarted" if will_restart else f"Stopping container {stop.name}"
        self._event(pod, "Normal", "Killing", message, container=stop.name)
        grace = await self._pre_stop(pod, stop, run, pod_ip)
        await self._runtime.stop_container(run.id, grace)
        log.info("%s: stopped %s", objects.key_of(pod), stop.name, extra={"step": "L15"})

    async def _pre_stop(self, pod: Object, stop: Stop, run: Container, pod_ip: str) -> int:
        """Runs the hook within the grace period; what is left of it is the container's."""
        hook = run.annotations.get(identity.PRE_STOP)
        if not hook:
            return stop.grace_seconds
        begun = self._clock.monotonic()
        container = spec.container(pod, stop.name) or {"name": stop.name}
        try:
            handler = orjson.loads(hook)
            await self._hooks.run(handler, container, run.id, pod_ip, timeout_seconds=stop.grace_seconds)
        except (HookFailed, TimeoutError) as error:
            log.info("%s: preStop of %s: %s", objects.key_of(pod), stop.name, error, extra={"step": "L14"})
            self._event(pod, "Warning", "FailedPreStopHook", "PreStopHook failed", container=stop.name)
        used = self._clock.monotonic() - begun
        return max(GRACE_AFTER_WAIT_SECONDS, round(stop.grace_seconds - used))

    # --- starting

    async def _start_all(self, pod: Object, plan: PodPlan, observed: Observed, outcome: Outcome) -> None:
        await asyncio.to_thread(self._make_folders, pod)
        try:
            paths = await self._volumes.prepare(pod, self._facts(()))
        except errors.VolumeNotReady as error:
            self._event(pod, "Warning", "FailedMount", _mount_message(error))
            outcome.retry_in(RETRY_SECONDS)
            return
        async with self._starts:
            sandbox = await self._sandbox(pod, plan, observed, outcome)
        if sandbox is None:
            return
        sandbox_id, sandbox_config, ips = sandbox
        for start in plan.start:
            running = {c.name: c.id for c in observed.running()}
            starter = _Starter(pod, start, sandbox_id, sandbox_config, ips, paths, running)
            await self._start_one(starter, outcome)

    def _make_folders(self, pod: Object) -> None:
        self._directories.create(objects.uid_of(pod))
        logs = config.log_directory(self._settings.logs_dir, pod)
        for container in spec.all_containers(pod):
            (logs / container["name"]).mkdir(parents=True, exist_ok=True)

    async def _sandbox(
        self, pod: Object, plan: PodPlan, observed: Observed, outcome: Outcome
    ) -> tuple[str, pb.PodSandboxConfig, tuple[str, ...]] | None:
        """The sandbox to start in, made if the plan says so."""
        if plan.sandbox_attempt is None:
            ready = observed.ready_sandbox
            assert ready is not None, "containers are only started in a ready sandbox"
            return ready.id, config.sandbox_config(pod, ready.attempt, self._settings), ready.ips
        problem = "" if spec.is_host_network(pod) else self._node.network_problem()
        if problem:
            self._event(pod, "Warning", "NetworkNotReady", f"network is not ready: {problem}")
            outcome.retry_in(1.0)
            return None
        sandbox_config = config.sandbox_config(pod, plan.sandbox_attempt, self._settings)
        try:
            sandbox_id = await self._runtime.run_sandbox(sandbox_config)
            made = await self._runtime.observe(objects.uid_of(pod))
        except errors.RuntimeRefused as error:
            self._event(pod, "Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {error.message}")
            self._node.check_network()
            outcome.retry_in(RETRY_SECONDS)
            return None
        await asyncio.to_thread(self._settings.cgroups.apply, pod, self._node.active_pods())
        ips = made.ready_sandbox.ips if made.ready_sandbox else ()
        log.info(
            "%s: sandbox %s has %s",
            objects.key_of(pod),
            sandbox_id[:12],
            ips or "the node's network",
            extra={"step": "L9"},
        )
        return sandbox_id, sandbox_config, ips

    async def _start_one(self, starter: _Starter, outcome: Outcome) -> None:
        pod, name = starter.pod, starter.start.name
        container = spec.container(pod, name)
        assert container is not None, f"the plan starts {name}, which the spec does not have"
        try:
            container_id = await self._create(starter, container)
            await self._run(starter, container, container_id)
        except errors.StartRefused as error:
            outcome.waiting[name] = Wait(name, error.reason, error.message)
            outcome.retry_in(self._next_try(pod, container, error.reason))
            text = error.reason if error.reason in _PULLING else error.message
            self._event(pod, "Warning", "Failed", f"Error: {text}", container=name)
            log.info("%s: %s: %s: %s", objects.key_of(pod), name, error.reason, error.message, extra={"step": "L13"})

    def _next_try(self, pod: Object, container: Object, reason: str) -> float:
        """Within a pull's back-off the pod is looked at as well: its status then says that it waits."""
        left = self._images.retry_seconds(pod, container) if reason in _PULLING else 0.0
        usual = FAILED_PULL_SECONDS if reason == "ErrImagePull" else RETRY_SECONDS
        return min(left or RETRY_SECONDS, usual)

    async def _create(self, starter: _Starter, container: Object) -> str:
        pod, attempt = starter.pod, starter.start.attempt
        image = await self._images.ensure(pod, container, starter.sandbox_config)
        facts = self._facts(starter.ips)
        found = await self._references.get(objects.uid_of(pod), objects.namespace_of(pod), env.references(container))
        sources = env.Sources(found, self._pod_ips(pod, facts), facts.host_ips, self._node.allocatable)
        variables = env.environment(pod, container, sources)
        mounts = self._volumes.mounts_of(pod, container, starter.paths, variables)
        message_file = self._directories.termination_message(objects.uid_of(pod), container["name"], attempt)
        mounts += await asyncio.to_thread(self._own_mounts, pod, container, starter.ips, message_file)
        made = config.container_config(
            pod,
            container,
            attempt,
            image=image,
            variables=variables,
            mounts=mounts,
            annotations={identity.MESSAGE_FILE: str(message_file)},
            cgroups=self._settings.cgroups,
            target_id=starter.running.get(container.get("targetContainerName") or "", ""),
        )
        try:
            container_id = await self._runtime.create_container(starter.sandbox_id, made, starter.sandbox_config)
        except errors.RuntimeRefused as error:
            raise errors.StartRefused("CreateContainerError", error.detail) from error
        self._event(pod, "Normal", "Created", "Container created", container=container["name"])
        return container_id

    def _own_mounts(self, pod: Object, container: Object, ips: tuple[str, ...], message_file: Path) -> list[pb.Mount]:
        """/etc/hosts and the termination message's file, unless the spec mounts there itself."""
        taken = {mount["mountPath"] for mount in container.get("volumeMounts") or []}
        result = []
        if "/etc/hosts" not in taken and not spec.is_host_network(pod):
            hosts = self._directories.etc_hosts(objects.uid_of(pod))
            files.write_hosts(hosts, pod, ips, config.hostname_of(pod, self._settings.node_name))
            result.append(pb.Mount(container_path="/etc/hosts", host_path=str(hosts)))
        target = container.get("terminationMessagePath") or "/dev/termination-log"
        if target not in taken:
            files.make_message_file(message_file)
            result.append(pb.Mount(container_path=target, host_path=str(message_file)))
        return result

    async def _run(self, starter: _Starter, container: Object, container_id: str) -> None:
        pod, name = starter.pod, container["name"]
        try:
            await self._runtime.start_container(container_id)
        except errors.RuntimeRefused as error:
            raise errors.StartRefused("RunContainerError", error.detail) from error
        self._event(pod, "Normal", "Started", "Container started", container=name)
        log.info("%s: started %s#%d", objects.key_of(pod), name, starter.start.attempt, extra={"step": "L13"})
        hook = (container.get("lifecycle") or {}).get("postStart")
        if not hook:
            return
        try:
            await self._hooks.run(
                hook, container, container_id, starter.ips[0] if starter.ips else "", timeout_seconds=None
            )
        except HookFailed as error:
            self._event(pod, "Warning", "FailedPostStartHook", "PostStartHook failed", container=name)
            self._event(pod, "Normal", "Killing", "FailedPostStartHook", container=name)
            await self._runtime.stop_container(container_id, spec.grace_seconds(pod))
            raise errors.StartRefused("PostStartHookError", error.message) from error

    def _facts(self, ips: tuple[str, ...]) -> NodeFacts:
        return NodeFacts(ips, self._node.host_ips, self._node.allocatable)

    def _pod_ips(self, pod: Object, facts: NodeFacts) -> tuple[str, ...]:
        return facts.host_ips if spec.is_host_network(pod) else facts.pod_ips


_PULLING = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"})


@dataclass(frozen=True, slots=True)
class _Starter:
    """Where one container is started."""

    pod: Object
    start: Start
    sandbox_id: str
    sandbox_config: pb.PodSandboxConfig
    ips: tuple[str, ...]
    paths: Mapping[str, Path]
    running: Mapping[str, str]  # container ids by name: what an ephemeral container may look into


def _back_off_message(pod: Object, wait: Wait) -> str:
    return f"Back-off restarting failed container {wait.name} in pod {identity.describe(pod)}"


def _mount_message(error: errors.VolumeNotReady) -> str:
    return f'MountVolume.SetUp failed for volume "{error.volume}" : {error.message}'
