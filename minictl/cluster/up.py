"""`minictl up`: choose, make keys and networks, plan, start the supervisor, wait until every node is Ready.

Every step sees what is there already and makes what is missing, so a second `up` costs a second, and one that was
interrupted, or a cluster of which parts were killed, is completed by the next. What cannot go on raises ClusterError;
what was started stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from certs import cluster as pki
from certs import files
from minictl.cluster import choose, errors, facts, folder, logs, machine, plan, planning, processes, pulls, state, tools
from minictl.cluster import settings as settings_module
from minictl.cluster.choose import Wishes
from minictl.cluster.plan import ClusterPlan
from minictl.cluster.progress import Progress
from minictl.cluster.settings import CONTAINERD, HOLLOW, Settings
from minictl.cluster.state import State
from minictl.cluster.tools import Tools

READY_SECONDS = 180.0  # all processes and nodes, on a slow machine; a single one has its own limit in the plan
FAILURES_TO_GIVE_UP = 4  # ends in a row without having been ready: it will not become better by itself
POLL_SECONDS = 0.1
NODES_POLL_SECONDS = 0.25
SUPERVISOR_SECONDS = 10.0
LOG_LINES = 12
LOW_MIB = 128  # etcd alone reserves 64 at its start, and as much again before it needs them
DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


@dataclass(frozen=True)
class Up:
    """A cluster that is ready, and what the person should know about it."""

    settings: Settings
    notes: tuple[str, ...]


async def up(wishes: Wishes, progress: Progress) -> Up:
    """Bring the cluster of a folder up. Raises ClusterError."""
    with _disk_faults(wishes.folder), folder.taken(wishes.folder):
        return await _up(wishes, progress)


async def _up(wishes: Wishes, progress: Progress) -> Up:
    settings, found = await asyncio.to_thread(decide, wishes, progress)
    check_ports(settings)
    make_keys(settings)
    notes: list[str] = []
    if settings.runtime == CONTAINERD:
        notes = await _start_with_images(settings, found, progress)
    else:
        await _start(settings, found, progress)
    await wait_until_nodes_ready(settings, progress)
    return Up(settings, (*found.warnings, *notes))


async def _start_with_images(settings: Settings, found: Tools, progress: Progress) -> list[str]:
    """Images are built while processes start: both take seconds, and neither needs the other until the end."""
    problem = machine.open_way_out(settings, found["iptables"])
    notes = [f"nodes cannot reach the outside world: {problem}"] if problem else []
    world = await pulls.configure(settings)
    building = asyncio.create_task(asyncio.to_thread(pulls.build, world, progress.step))
    try:
        await _start(settings, found, progress)
        notes += await pulls.publish(settings, world, await building, found, progress)
    finally:
        building.cancel()
    return notes


async def _start(settings: Settings, found: Tools, progress: Progress) -> None:
    cluster = planning.plan_cluster(settings, await asyncio.to_thread(facts.gather, settings, found))
    write_plan(cluster)
    await ensure_supervisor(cluster, progress)
    await wait_until_running(cluster, progress)


def decide(wishes: Wishes, progress: Progress) -> tuple[Settings, Tools]:
    """The settings and their tools. They are saved before anything is made, so that `down` knows all of it."""
    try:
        known = settings_module.load(wishes.folder)
    except errors.NoCluster:
        return _decide_anew(wishes, progress)
    settings = choose.adjusted(known, wishes)
    if settings.runtime == CONTAINERD:
        machine.ensure_fabric(settings)
    if settings != known:
        settings_module.save(settings)
    progress.step(f"cluster {settings.name} in {settings.folder} ({settings.runtime})")
    return settings, tools.find(facts.TOOLS_OF[settings.runtime], progress=progress.step)


def _decide_anew(wishes: Wishes, progress: Progress) -> tuple[Settings, Tools]:
    runtime, found, why = find_runtime(wishes.runtime, progress)
    with machine.choosing() if runtime == CONTAINERD else contextlib.nullcontext():
        settings = choose.new(wishes, runtime)
        if runtime == CONTAINERD:
            _refuse_foreign(settings)
        settings_module.save(settings)
        if runtime == CONTAINERD:
            machine.ensure_fabric(settings)
    progress.step(f"cluster {settings.name} in {settings.folder}, runtime {runtime}: {why}")
    return settings, found


def _refuse_foreign(settings: Settings) -> None:
    """A name is this machine's, not the folder's: nothing that exists already under it is ours."""
    from minictl.cluster import cgroups, network

    left = network.leftovers(network.plan_fabric(settings))
    left += cgroups.leftovers([settings.scoped(node) for node in settings.nodes])
    if left:
        raise errors.ClusterError(f"--name {settings.name} is in use by another cluster: there is a {left[0]}")


def find_runtime(wish: str | None, progress: Progress) -> tuple[str, Tools, str]:
    """The runtime, its tools, and why this one. `auto` falls back to hollow when containerd cannot be had."""
    runtime, why = choose.choose_runtime(wish)
    try:
        return runtime, tools.find(facts.TOOLS_OF[runtime], progress=progress.step), why
    except tools.ToolsMissing as error:
        if runtime == HOLLOW or wish == CONTAINERD:
            raise errors.ClusterError(str(error)) from error
        why = str(error).partition("\n")[0]
    try:
        return HOLLOW, tools.find(facts.TOOLS_OF[HOLLOW], progress=progress.step), why
    except tools.ToolsMissing as error:
        raise errors.ClusterError(str(error)) from error


def check_ports(settings: Settings) -> None:
    """The apiserver's port must be free, unless it is our apiserver that has it."""
    running = state.load(settings.folder).processes.get("apiserver")
    if running is not None and running.is_alive:
        return
    port = settings.ports.apiserver
    if processes.marked(plan.TOKEN_VARIABLE, settings.token):
        return  # parts of the cluster live: the port may still be held by a worker that is about to end
    if not choose.is_free("127.0.0.1", port):
        raise errors.ClusterError(f"port {port} is in use by another process: choose another with --port")


def make_keys(settings: Settings) -> None:
    """Keys and certificates, and the administrator's kubeconfig at its well-known place."""
    made = pki.make_cluster_pki(
        settings.pki,
        api_hosts=[settings.root_address],
        nodes={node.name: [node.address] for node in settings.nodes},
        server=settings.server,
        node_server=settings.node_server,
        name=settings.name,
    )
    content = made.kubeconfig("admin").read_bytes()
    if not settings.kubeconfig.exists() or settings.kubeconfig.read_bytes() != content:
        files.write(settings.kubeconfig, content)
    folder.hand_over([settings.folder, settings.kubeconfig], os.environ)


def write_plan(cluster: ClusterPlan) -> None:
    for path in cluster.folders:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    for file in cluster.files:
        files.write(file.path, file.content.encode())
    files.write(plan.file_of(cluster.folder), plan.encode(cluster))


async def ensure_supervisor(cluster: ClusterPlan, progress: Progress) -> None:
    """One supervisor that works by this very plan. Raises ClusterError when it does not come up."""
    known = state.load(cluster.folder)
    if known.supervisor is not None and known.supervisor_is_alive:
        if known.plan == cluster.digest:
            return
        progress.step("the plan has changed: restarting the supervisor")
        await asyncio.to_thread(processes.end, [known.supervisor], grace_seconds=plan.STOP_GRACE_SECONDS)
    start_supervisor(cluster)
    deadline = time.monotonic() + SUPERVISOR_SECONDS
    while not _works(state.load(cluster.folder), cluster):
        if time.monotonic() > deadline:
            raise _failed(cluster.folder / "logs" / "supervisor.log", "the supervisor does not start")
        await asyncio.sleep(POLL_SECONDS)


def _works(known: State, cluster: ClusterPlan) -> bool:
    return known.supervisor_is_alive and known.plan == cluster.digest


def start_supervisor(cluster: ClusterPlan) -> None:
    """In the background, with the cluster's mark in its environment, so that `down` finds it in any case."""
    path = cluster.folder / "logs" / "supervisor.log"
    logs.rotate(path)
    with path.open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "minictl.cluster.supervisor", "--dir", str(cluster.folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={**cluster.processes[0].env},
            start_new_session=True,
        )


async def wait_until_running(cluster: ClusterPlan, progress: Progress) -> None:
    """Until every process has been ready. Raises NotReady with the end of the log of the one that is not."""
    deadline = time.monotonic() + READY_SECONDS
    told = {process.name for process in cluster.processes if _runs(state.load(cluster.folder), process)}
    if told:
        progress.step(f"{len(told)} of {len(cluster.processes)} processes run already")
    while True:
        known = state.load(cluster.folder)
        for process in cluster.processes:
            if process.name not in told and _runs(known, process):
                told.add(process.name)
                progress.step(f"{process.name} is ready at {process.address}")
        waiting = [process for process in cluster.processes if process.name not in told]
        if not waiting:
            return
        _give_up(cluster, known, waiting, time.monotonic() > deadline)
        progress.waiting("waiting for " + ", ".join(process.name for process in waiting[:3]))
        await asyncio.sleep(POLL_SECONDS)


def _runs(known: State, process: plan.Process) -> bool:
    return known.processes.get(process.name, state.Running()).phase == state.RUNNING


def _give_up(cluster: ClusterPlan, known: State, waiting: list[plan.Process], is_late: bool) -> None:
    """Raise NotReady when more waiting is of no use."""
    if not known.supervisor_is_alive:
        raise _failed(cluster.folder / "logs" / "supervisor.log", "the supervisor has ended")
    for process in waiting:
        running = known.processes.get(process.name, state.Running())
        if is_late or running.failures >= FAILURES_TO_GIVE_UP:
            raise _failed(process.log, f"{process.name} does not become ready: {running.message or running.phase}")


def _failed(log: Path, text: str) -> errors.NotReady:
    lines = "".join(f"\n    {line}" for line in logs.tail(log, LOG_LINES))
    advice = "`minictl up` tries again with what runs already, `minictl down` removes it all"
    return errors.NotReady(f"{text}{_low_disk(log.parent)}\n  the end of {log}:{lines or ' (it is empty)'}\n  {advice}")


def _low_disk(path: Path) -> str:
    """Said beside every failure: what a program writes on a full disk seldom shows in the last lines of its log."""
    free = shutil.disk_usage(path).free >> 20
    return f"\n  only {free} MiB are free in {path}" if free < LOW_MIB else ""


async def wait_until_nodes_ready(settings: Settings, progress: Progress) -> None:
    """Until the apiserver has every node with condition Ready. Raises NotReady."""
    from minictl.cluster import nodes

    deadline = time.monotonic() + READY_SECONDS
    wanted = {node.name for node in settings.nodes}
    async with nodes.watcher(settings.kubeconfig) as ready:
        while missing := sorted(wanted - await ready()):
            if time.monotonic() > deadline:
                log = settings.logs / f"{missing[0]}-kubelet.log"
                raise _failed(log, f"{', '.join(missing)} did not become Ready within {READY_SECONDS:.0f} s")
            progress.waiting(f"waiting for {', '.join(missing[:3])} to be Ready")
            await asyncio.sleep(NODES_POLL_SECONDS)
    progress.step(f"{len(wanted)} node{'s are' if len(wanted) > 1 else ' is'} Ready")


@contextlib.contextmanager
def _disk_faults(path: Path) -> Iterator[None]:
    """A full or read-only disk, or a file of another user, is said in one line, wherever it shows."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FAULTS:
            raise
        free = shutil.disk_usage(path if path.exists() else path.parent).free >> 20
        named = f"{error.filename}: " if error.filename else ""
        raise errors.ClusterError(f"{named}{os.strerror(error.errno)} ({free} MiB are free in {path})") from error
