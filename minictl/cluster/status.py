"""`minictl status`: every process of the cluster as it is at this moment.

Pids come from the supervisor's record, but whether they live is read from /proc, and whether they are well is asked of
the processes themselves: the answer is right also when the supervisor is dead.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from minictl.cluster import checks, errors, plan, state
from minictl.cluster import settings as settings_module
from minictl.cluster.plan import ClusterPlan, Process
from minictl.cluster.settings import Settings
from minictl.cluster.state import State


@dataclass(frozen=True)
class Row:
    """One process. `pid` is 0 when it does not run; `message` says why it is not healthy."""

    name: str
    pid: int
    address: str
    healthy: bool
    log: str
    restarts: int = 0
    message: str = ""


@dataclass(frozen=True)
class Status:
    settings: Settings
    rows: tuple[Row, ...]

    @property
    def healthy(self) -> bool:
        return all(row.healthy for row in self.rows)


async def read(folder: Path) -> Status:
    """Raises NoCluster, ClusterError."""
    settings = settings_module.load(folder)
    try:
        cluster = plan.decode(plan.file_of(folder).read_bytes())
    except (OSError, ValueError, KeyError) as error:
        raise errors.ClusterError(f"the cluster in {folder} is half started: `minictl up` completes it") from error
    known = state.load(folder)
    pids = {name: running.identity.pid for name, running in known.processes.items() if running.identity is not None}
    rows = await asyncio.gather(*(_row(process, known, pids) for process in cluster.processes))
    return Status(settings, (_supervisor(known, cluster), *rows))


def _supervisor(known: State, cluster: ClusterPlan) -> Row:
    alive = known.supervisor_is_alive
    pid = known.supervisor.pid if known.supervisor and alive else 0
    message = "" if alive else "does not run: `minictl up` starts it"
    return Row("supervisor", pid, "", alive, str(cluster.folder / "logs" / "supervisor.log"), message=message)


async def _row(process: Process, known: State, pids: dict[str, int]) -> Row:
    running = known.processes.get(process.name, state.Running())
    if not running.is_alive or running.identity is None:
        message = running.message or f"does not run ({running.phase})"
        return Row(process.name, 0, process.address, False, str(process.log), running.restarts, message)
    problem = await checks.run(process.check, pids)
    return Row(
        process.name, running.identity.pid, process.address, not problem, str(process.log), running.restarts, problem
    )
