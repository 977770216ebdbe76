"""`minictl down`: end and remove everything a cluster made, whatever state it is in, and say what is left, if anything.

Works from DIR/cluster.json alone: processes are found by the cluster's token in their environment and, inside nodes,
by the PID namespace; networks, cgroups and firewall rules by the cluster's name. Nothing is asked of the cluster
itself, which may be broken.
"""

from __future__ import annotations

import os
from pathlib import Path

from minictl.cluster import errors, folder, machine, plan, processes, state, tools
from minictl.cluster import settings as settings_module
from minictl.cluster.processes import Identity
from minictl.cluster.progress import Progress
from minictl.cluster.settings import CONTAINERD, Settings

# All data is about to be removed: a process needs time only to end its children, not to save anything
GRACE_SECONDS = 1.0
ROUNDS = 5  # of killing: a fork at the wrong moment escapes one round, not five


def down(path: Path, progress: Progress) -> list[str]:
    """Remove the cluster of a folder; returns what could not be removed. Raises NoCluster, ClusterError."""
    settings = settings_module.load(path)
    if settings.runtime == CONTAINERD and os.geteuid() != 0:
        raise errors.ClusterError("this cluster was started by root: run `minictl down` as root")
    with folder.only_one(path):
        left = _end_processes(settings, progress)
        if settings.runtime == CONTAINERD:
            left += machine.remove(settings, _iptables())
            progress.step("removed networks, cgroups and firewall rules")
        if not left:
            left += folder.remove(path, settings.sockets)
    return left


def _end_processes(settings: Settings, progress: Progress) -> list[str]:
    supervisor = state.load(settings.folder).supervisor
    if supervisor is not None:  # first, or it would start again what is ended next
        processes.end([supervisor], grace_seconds=plan.STOP_GRACE_SECONDS)
    inside = inhabitants(settings)
    own = processes.marked(plan.TOKEN_VARIABLE, settings.token)
    progress.waiting(f"ending {len({*own, *inside})} processes")
    processes.end(own, grace_seconds=GRACE_SECONDS)
    for _ in range(ROUNDS):
        left = [*processes.marked(plan.TOKEN_VARIABLE, settings.token), *filter(processes.is_alive, inside)]
        if not left:
            break
        processes.end(left, grace_seconds=0.0)
    progress.step(f"ended {len({*own, *inside})} processes")
    return [f"process {identity.pid}" for identity in left]


def inhabitants(settings: Settings) -> list[Identity]:
    """Everything inside the nodes, pods among it, by the PID namespace of a node's processes."""
    if settings.runtime != CONTAINERD:
        return []
    here = os.stat("/proc/self/ns/pid").st_ino
    found: dict[int, Identity] = {}
    for identity in processes.marked(plan.TOKEN_VARIABLE, settings.token):
        if processes.namespace_of(identity.pid, "pid") != here:
            found |= {other.pid: other for other in processes.in_namespace("pid", identity.pid)}
    return list(found.values())


def _iptables() -> Path | None:
    """Where it cannot be had, no rule was made."""
    try:
        return tools.find(["iptables"])["iptables"]
    except tools.ToolsMissing:
        return None
