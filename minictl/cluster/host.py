"""The machine as the supervisor needs it: start a process, know that it died and how, end what it left. Its only seam.

The real one is `Host`; tests of the supervisor's decisions give another.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from minictl.cluster import checks, logs, plan, processes
from minictl.cluster.plan import Process
from minictl.cluster.processes import Identity

LAUNCH_TIMEOUT_SECONDS = 20.0  # the launcher does a few system calls; beyond this it hangs
LEFT_BEHIND_GRACE_SECONDS = 1.0
KEPT_EXIT_CODES = 256  # of children not asked for yet, nearly all orphans of no interest
PR_SET_CHILD_SUBREAPER = 36


class LaunchFailed(Exception):
    """The program could not be started; the message says why."""


class Machine(Protocol):
    """What `Host` does, for the supervisor."""

    def launch(self, process: Process, inside_pid: int) -> Identity:
        """Start it, in the namespaces of `inside_pid` unless that is 0. Raises LaunchFailed."""

    def is_alive(self, identity: Identity) -> bool: ...

    async def died(self, identity: Identity) -> str:
        """Returns once the process is dead, at once if it is already: how it ended, in words."""

    def end(self, identities: Sequence[Identity]) -> None:
        """End them all and wait for it."""

    async def tidy(self, leader: Identity, token: str) -> None:
        """End what a dead process left behind in its process group."""

    async def check(self, check: plan.Check, pids: dict[str, int]) -> str:
        """ "" when the check passes, else why not."""


class Host:
    """This machine. It buries every child, also the orphans that come to us as the nearest subreaper."""

    def __init__(self) -> None:
        self._codes: dict[int, int] = {}

    def become_subreaper(self) -> None:
        """What our processes leave behind becomes our child, so that it is reaped also where PID 1 does not."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def launch(self, process: Process, inside_pid: int) -> Identity:
        """Through `launch.py`. Blocking, some 30 ms."""
        order = {
            "argv": process.argv,
            "env": dict(process.env),
            "log": str(process.log),
            "network": process.namespaces.network,
            "own": process.namespaces.own,
            "inside_pid": inside_pid,
        }
        try:
            logs.rotate(process.log)
            done = subprocess.run(
                [sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py"))],
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
        # Dead already: an identity that matches nothing, which `died` finds dead at once
        return processes.identify(pid) or Identity(pid, -1)

    def is_alive(self, identity: Identity) -> bool:
        return processes.is_alive(identity)

    async def died(self, identity: Identity) -> str:
        with processes.opened(identity) as descriptor:
            if descriptor is not None:
                await _readable(descriptor)
        return self._ending(identity.pid)

    def end(self, identities: Sequence[Identity]) -> None:
        processes.end(list(identities), grace_seconds=plan.STOP_GRACE_SECONDS)

    async def tidy(self, leader: Identity, token: str) -> None:
        left = processes.group_of(leader.pid, plan.TOKEN_VARIABLE, token)
        await asyncio.to_thread(processes.end, left, grace_seconds=LEFT_BEHIND_GRACE_SECONDS)

    async def check(self, check: plan.Check, pids: dict[str, int]) -> str:
        return await checks.run(check, pids)

    def reap(self) -> None:
        """Bury all that are dead by now, and keep their exit codes for a while."""
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

    def _ending(self, pid: int) -> str:
        """Of a process that was adopted from an earlier supervisor only its own parent could know."""
        self.reap()
        code = self._codes.pop(pid, None)
        if code is None:
            return "in a way not known"
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


async def _readable(descriptor: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
