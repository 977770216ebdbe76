"""Keeps the processes of a cluster running: `python -m minictl.cluster.supervisor --dir DIR`, in the background.

It starts them in the plan's order, each after those it needs are ready, starts again what dies (later and later while
it keeps dying), checks their health, and records all of it in DIR/state.json. Its own death harms nothing: the
processes go on, and the next supervisor adopts those that live, by pid and start time, and starts the missing ones.
SIGTERM ends the supervisor alone; ending the processes is `down`'s work.

One task a process, one loop each: wait for its needs → start → watch until it dies → wait → start. Every process is
watched through a pidfd, whether it is a child or was adopted.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from minictl.cluster import host, logs, plan, processes, state
from minictl.cluster.plan import ClusterPlan, Process
from minictl.cluster.processes import Identity
from minictl.cluster.state import Running, State

log = logging.getLogger("supervisor")

STARTING_CHECK_SECONDS = 0.05  # between checks of a process that is not ready yet; grows to the next
STARTING_CHECK_MAX_SECONDS = 0.5
HEALTH_CHECK_SECONDS = 5.0
UNHEALTHY_AFTER = 2  # failed checks in a row: one may be the machine's hiccup
FIRST_BACKOFF_SECONDS = 0.2
LAST_BACKOFF_SECONDS = 30.0
LOG_CHECK_SECONDS = 30.0

Save = Callable[[State], None]


class Supervisor:
    """See the module. `machine` is the world of processes, `save` keeps the state where others read it."""

    def __init__(self, cluster: ClusterPlan, known: State, machine: host.Machine, save: Save) -> None:
        self._plan = cluster
        self._machine = machine
        self._save_state = save
        self._state = State(processes.identify(os.getpid()), cluster.digest)
        self._ready = {process.name: asyncio.Event() for process in cluster.processes}  # set while it is ready
        self._adopt(known)

    @property
    def state(self) -> State:
        return self._state

    async def run(self) -> None:
        """Runs until cancelled."""
        self._save()
        async with asyncio.TaskGroup() as group:
            for process in self._plan.processes:
                group.create_task(self._keep(process), name=process.name)
            group.create_task(self._bound_logs())

    def _adopt(self, known: State) -> None:
        """Take over what runs as planned; end what runs otherwise or is no longer planned.

        The last started end first, one by one: a leader can then still give its lease back to the apiserver.
        """
        stale = []
        for name, running in known.processes.items():
            if not self._is_alive(running):
                continue
            if self._fingerprint(name) == running.fingerprint:
                log.info("adopting %s (pid %d)", name, running.identity.pid if running.identity else 0)
                running.phase, running.healthy = state.STARTING, False
                self._state.processes[name] = running
            elif running.identity is not None:
                stale.append(running.identity)
        for identity in reversed(stale):
            self._machine.end([identity])
        for process in self._plan.processes:
            earlier = known.processes.get(process.name, Running())
            restarts = earlier.restarts + (earlier.identity is not None)
            self._state.processes.setdefault(process.name, Running(restarts=restarts))

    def _fingerprint(self, name: str) -> str | None:
        return next((process.fingerprint for process in self._plan.processes if process.name == name), None)

    def _is_alive(self, running: Running) -> bool:
        return running.identity is not None and self._machine.is_alive(running.identity)

    async def _keep(self, process: Process) -> None:
        """One process, for ever."""
        running = self._state.processes[process.name]
        if not self._is_alive(running):
            for need in process.after:
                await self._ready[need].wait()
        while True:
            if not self._is_alive(running):
                if process.namespaces.inside:
                    await self._ready[process.namespaces.inside].wait()
                self._start(process, running)
            if running.identity is not None:
                await self._watch(process, running, running.identity)
            self._change(running, state.BACKOFF, message=running.message)
            await asyncio.sleep(backoff_seconds(running.failures))
            if running.identity is not None:
                running.restarts += 1
                running.identity = None

    def _start(self, process: Process, running: Running) -> None:
        inside = process.namespaces.inside
        node = self._state.processes[inside].identity if inside else None
        try:
            running.identity = self._machine.launch(process, node.pid if node else 0)
        except host.LaunchFailed as error:
            running.failures += 1
            running.message = str(error)
            log.error("%s: %s", process.name, error)
            return
        running.fingerprint = process.fingerprint
        self._change(running, state.STARTING)
        log.info("started %s (pid %d)", process.name, running.identity.pid)

    async def _watch(self, process: Process, running: Running, identity: Identity) -> None:
        """Check its health until it is dead, then tidy up after it."""
        checking = asyncio.create_task(self._check_health(process, running))
        try:
            how = await self._machine.died(identity)
        finally:
            checking.cancel()
        self._ready[process.name].clear()
        running.failures = 0 if running.phase == state.RUNNING else running.failures + 1
        running.message = f"ended {how}"
        log.warning("%s (pid %d) %s", process.name, identity.pid, running.message)
        if process.ends_group:
            await self._machine.tidy(identity, self._plan.token)

    async def _check_health(self, process: Process, running: Running) -> None:
        failed = 0
        async for _ in _ticks(lambda: running.phase == state.RUNNING):
            problem = await self._machine.check(process.check, self._pids())
            failed = failed + 1 if problem else 0
            if running.phase == state.RUNNING:
                self._judge(process, running, problem, failed)
            elif problem:
                running.message = problem
            else:
                log.info("%s is ready", process.name)
                self._change(running, state.RUNNING, healthy=True)
                self._ready[process.name].set()

    def _judge(self, process: Process, running: Running, problem: str, failed: int) -> None:
        """Health of a process that has been ready: only changes are worth a record."""
        healthy = failed < UNHEALTHY_AFTER
        if healthy != running.healthy:
            log.log(logging.INFO if healthy else logging.WARNING, "%s: %s", process.name, problem or "healthy again")
            self._change(running, state.RUNNING, healthy=healthy, message=problem)

    def _change(self, running: Running, phase: str, *, healthy: bool = False, message: str = "") -> None:
        running.phase, running.healthy, running.message = phase, healthy, message
        self._save()

    def _save(self) -> None:
        """A full disk must not end the supervisor: the record is then old, but its readers check it against /proc."""
        try:
            self._save_state(self._state)
        except OSError as error:
            log.error("cannot record the state: %s", error)

    def _pids(self) -> dict[str, int]:
        known = self._state.processes.items()
        return {name: running.identity.pid for name, running in known if running.identity is not None}

    async def _bound_logs(self) -> None:
        while True:
            await asyncio.sleep(LOG_CHECK_SECONDS)
            for process in self._plan.processes:
                try:
                    logs.bound(process.log)
                except OSError as error:
                    log.error("cannot shorten %s: %s", process.log, error)


def backoff_seconds(failures: int) -> float:
    """The wait before the next start, after so many ends in a row that came before readiness."""
    return min(LAST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** min(failures, 16))


async def _ticks(is_running: Callable[[], bool]) -> AsyncIterator[None]:
    """When to check: soon and often until it runs, then now and then."""
    delay = STARTING_CHECK_SECONDS
    while True:
        yield
        await asyncio.sleep(HEALTH_CHECK_SECONDS if is_running() else delay)
        delay = min(delay * 1.3, STARTING_CHECK_MAX_SECONDS)


async def serve(folder: Path) -> None:
    """The supervisor's life, from reading the plan to SIGTERM."""
    cluster = plan.decode(plan.file_of(folder).read_bytes())
    machine = host.Host()
    machine.become_subreaper()
    supervisor = Supervisor(cluster, state.load(folder), machine, lambda known: state.save(folder, known))
    loop = asyncio.get_running_loop()
    work = asyncio.create_task(supervisor.run())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, work.cancel)
    loop.add_signal_handler(signal.SIGCHLD, machine.reap)
    with contextlib.suppress(asyncio.CancelledError):
        await work


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m minictl.cluster.supervisor", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True)
    folder: Path = parser.parse_args(arguments).dir
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(message)s", stream=sys.stderr)
    with (folder / "supervisor.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.error("another supervisor works in %s", folder)
            return 1
        asyncio.run(serve(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
