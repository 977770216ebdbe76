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
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from minictl.cluster import checks, logs, plan, processes, state
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
LAUNCH_TIMEOUT_SECONDS = 20.0  # the launcher does a few system calls; beyond this it hangs
LOG_CHECK_SECONDS = 30.0
KEPT_EXIT_CODES = 256  # of children not asked for yet, nearly all orphans of no interest
PR_SET_CHILD_SUBREAPER = 36

Check = Callable[[plan.Check, dict[str, int]], Awaitable[str]]
Launch = Callable[[Process, int], Identity]
Ending = Callable[[int], str]


class LaunchFailed(Exception):
    """The program could not be started; the message says why."""


class Supervisor:
    """See the module. `launch`, `ending` (how a pid ended) and `check` are the seams to the machine."""

    def __init__(
        self, cluster: ClusterPlan, known: State, *, launch: Launch, ending: Ending, check: Check = checks.run
    ) -> None:
        self._plan = cluster
        self._launch = launch
        self._ending = ending
        self._check = check
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
        """Take over what runs as planned; end what runs otherwise or is no longer planned."""
        planned = {process.name: process for process in self._plan.processes}
        stale = []
        for name, running in known.processes.items():
            wanted = planned.get(name)
            if wanted is not None and is_adoptable(wanted, running):
                log.info("adopting %s (pid %d)", name, running.identity.pid if running.identity else 0)
                running.phase, running.healthy = state.STARTING, False
                self._state.processes[name] = running
            elif running.is_alive and running.identity is not None:
                stale.append(running.identity)
            if wanted is not None and name not in self._state.processes:
                self._state.processes[name] = Running(restarts=running.restarts + (running.identity is not None))
        processes.end(stale, grace_seconds=plan.STOP_GRACE_SECONDS)
        for process in self._plan.processes:
            self._state.processes.setdefault(process.name, Running())

    async def _keep(self, process: Process) -> None:
        """One process, for ever."""
        running = self._state.processes[process.name]
        if not running.is_alive:
            for need in process.after:
                await self._ready[need].wait()
        while True:
            if not running.is_alive:
                if process.namespaces.inside:
                    await self._ready[process.namespaces.inside].wait()
                self._start(process, running)
            if running.identity is not None:
                await self._watch(process, running, running.identity)
            delay = backoff_seconds(running.failures)
            self._change(running, state.BACKOFF)
            await asyncio.sleep(delay)
            if running.identity is not None:
                running.restarts += 1
                running.identity = None

    def _start(self, process: Process, running: Running) -> None:
        inside = process.namespaces.inside
        host = self._state.processes[inside].identity if inside else None
        try:
            running.identity = self._launch(process, host.pid if host else 0)
        except LaunchFailed as error:
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
            await died(identity)
        finally:
            checking.cancel()
        self._ready[process.name].clear()
        was_ready = running.phase == state.RUNNING
        running.failures = 0 if was_ready else running.failures + 1
        running.healthy = False
        running.message = f"ended {self._ending(identity.pid)}"
        log.warning("%s (pid %d) %s", process.name, identity.pid, running.message)
        if process.ends_group:
            left = processes.group_of(identity.pid, plan.TOKEN_VARIABLE, self._plan.token)
            await asyncio.to_thread(processes.end, left, grace_seconds=1.0)

    async def _check_health(self, process: Process, running: Running) -> None:
        failed = 0
        async for _ in _ticks(lambda: running.phase == state.RUNNING):
            problem = await self._check(process.check, self._pids())
            failed = failed + 1 if problem else 0
            if not problem and running.phase != state.RUNNING:
                running.failures = 0
                log.info("%s is ready", process.name)
                self._change(running, state.RUNNING, healthy=True)
                self._ready[process.name].set()
            elif running.phase == state.RUNNING:
                self._judge(process, running, problem, failed)
            else:
                running.message = problem

    def _judge(self, process: Process, running: Running, problem: str, failed: int) -> None:
        """Health of a process that has been ready: only changes are worth a record."""
        healthy = failed < UNHEALTHY_AFTER
        if healthy != running.healthy:
            log.log(logging.INFO if healthy else logging.WARNING, "%s: %s", process.name, problem or "healthy again")
            self._change(running, state.RUNNING, healthy=healthy, message=problem)

    def _change(self, running: Running, phase: str, *, healthy: bool = False, message: str | None = None) -> None:
        running.phase, running.healthy = phase, healthy
        if message is not None or phase == state.RUNNING:
            running.message = message or ""
        self._save()

    def _save(self) -> None:
        """A full disk must not end the supervisor: the record is then old, but its readers check it against /proc."""
        try:
            state.save(self._plan.folder, self._state)
        except OSError as error:
            log.error("cannot record the state: %s", error)

    def _pids(self) -> dict[str, int]:
        known = self._state.processes.items()
        return {name: running.identity.pid for name, running in known if running.identity is not None}

    async def _bound_logs(self) -> None:
        while True:
            await asyncio.sleep(LOG_CHECK_SECONDS)
            for path in {process.log for process in self._plan.processes}:
                try:
                    logs.bound(path)
                except OSError as error:
                    log.error("cannot shorten %s: %s", path, error)


def is_adoptable(process: Process, running: Running) -> bool:
    """Whether what runs is the very process, started as the plan wants it now."""
    return running.is_alive and running.fingerprint == process.fingerprint


def backoff_seconds(failures: int) -> float:
    """The wait before the next start, after so many ends in a row that came before readiness."""
    return min(LAST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** min(failures, 16))


async def died(identity: Identity) -> None:
    """Returns once the process is dead; at once if it is already."""
    with processes.opened(identity) as descriptor:
        if descriptor is None:
            return
        loop, dead = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, dead.set)
        try:
            await dead.wait()
        finally:
            loop.remove_reader(descriptor)


class Reaper:
    """Buries every child, also the orphans that came to us as the nearest subreaper, and keeps the last exit codes."""

    def __init__(self) -> None:
        self._codes: dict[int, int] = {}

    def reap(self) -> None:
        """All that are dead by now."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._codes[pid] = os.waitstatus_to_exitcode(status)
            if len(self._codes) > KEPT_EXIT_CODES:
                del self._codes[next(iter(self._codes))]

    def ending(self, pid: int) -> str:
        """How a child ended. Of one adopted from an earlier supervisor only its own parent could know."""
        self.reap()
        code = self._codes.pop(pid, None)
        if code is None:
            return "in a way not known"
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


async def _ticks(is_running: Callable[[], bool]) -> AsyncIterator[None]:
    """When to check: soon and often until it runs, then now and then."""
    delay = STARTING_CHECK_SECONDS
    while True:
        yield
        await asyncio.sleep(HEALTH_CHECK_SECONDS if is_running() else delay)
        delay = min(delay * 1.3, STARTING_CHECK_MAX_SECONDS)


def launch(process: Process, inside_pid: int) -> Identity:
    """Start a process through `launch.py`. Blocking, some 30 ms. Raises LaunchFailed."""
    order = {
        "argv": process.argv,
        "env": dict(process.env),
        "log": str(process.log),
        "network": process.namespaces.network,
        "own": process.namespaces.own,
        "inside_pid": inside_pid,
    }
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py"))]
    try:
        logs.rotate(process.log)
        done = subprocess.run(
            command,
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=LAUNCH_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchFailed(str(error)) from error
    if done.returncode:
        raise LaunchFailed(done.stderr.strip().rpartition("\n")[2])
    pid = int(json.loads(done.stdout)["pid"])
    # Dead already: an identity that matches nothing, which the watch finds dead at once
    return processes.identify(pid) or Identity(pid, -1)


def become_subreaper() -> None:
    """What our processes leave behind becomes our child, so that it is reaped also where PID 1 does not."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


async def serve(folder: Path) -> None:
    """The supervisor's life, from reading the plan to SIGTERM."""
    cluster = plan.decode(plan.file_of(folder).read_bytes())
    reaper = Reaper()
    supervisor = Supervisor(cluster, state.load(folder), launch=launch, ending=reaper.ending)
    loop = asyncio.get_running_loop()
    work = asyncio.create_task(supervisor.run())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, work.cancel)
    loop.add_signal_handler(signal.SIGCHLD, reaper.reap)
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
        become_subreaper()
        asyncio.run(serve(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
