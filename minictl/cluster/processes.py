"""Processes of this machine, told apart by pid and start time: a pid alone may have been given away again.

Signals go through a pidfd that was opened before the start time was compared, so they can never reach another process.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Identity(NamedTuple):
    """A process for as long as it lives, and no other after it. `start` is in clock ticks after boot."""

    pid: int
    start: int


class Stat(NamedTuple):
    """What is read from /proc/PID/stat."""

    state: str
    parent: int
    group: int
    start: int


def parse_stat(text: str) -> Stat:
    """The second field is the program's name in parentheses, which may itself hold spaces and parentheses."""
    fields = text.rpartition(")")[2].split()
    return Stat(fields[0], int(fields[1]), int(fields[2]), int(fields[19]))


def stat(pid: int) -> Stat | None:
    try:
        return parse_stat((PROC / str(pid) / "stat").read_text())
    except (OSError, IndexError, ValueError):
        return None


def identify(pid: int) -> Identity | None:
    """The process that has this pid now; None when there is none, or only its corpse."""
    seen = stat(pid)
    return None if seen is None or seen.state in "ZXx" else Identity(pid, seen.start)


def is_alive(identity: Identity) -> bool:
    return identify(identity.pid) == identity


@contextlib.contextmanager
def opened(identity: Identity) -> Iterator[int | None]:
    """A pidfd of the process (readable once it is dead), or None when it is gone."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield descriptor if is_alive(identity) else None
    finally:
        os.close(descriptor)


def send(identity: Identity, number: signal.Signals) -> bool:
    """Whether the signal was delivered; False when the process is gone."""
    with opened(identity) as descriptor:
        if descriptor is None:
            return False
        try:
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        return True


def wait(identity: Identity, timeout_seconds: float) -> bool:
    """Whether the process was dead within the time."""
    with opened(identity) as descriptor:
        if descriptor is None:
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(max(0, int(timeout_seconds * 1000)))
    return not is_alive(identity)


def end(identities: list[Identity], *, grace_seconds: float, kill_seconds: float = 5.0) -> list[Identity]:
    """SIGTERM to all, SIGKILL to those still there after the grace; the ones that outlived even that are returned."""
    for identity in identities:
        send(identity, signal.SIGTERM)
    _wait_all(identities, grace_seconds)
    left = [identity for identity in identities if is_alive(identity)]
    for identity in left:
        send(identity, signal.SIGKILL)
    _wait_all(left, kill_seconds)
    return [identity for identity in left if is_alive(identity)]


def _wait_all(identities: list[Identity], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for identity in identities:
        wait(identity, deadline - time.monotonic())


def all_pids() -> Iterator[int]:
    return (int(entry) for entry in os.listdir(PROC) if entry.isdigit())


def marked(variable: str, value: str) -> list[Identity]:
    """Every living process that was started with this environment variable: ours, whoever its parent is by now."""
    mark = f"{variable}={value}".encode()
    own = os.getpid()
    found = (identify(pid) for pid in all_pids() if pid != own and mark in _environment(pid))
    return [identity for identity in found if identity is not None]


def group_of(leader: int, variable: str, value: str) -> list[Identity]:
    """The living members of the process group `leader` that carry the mark."""
    members = [identity for identity in marked(variable, value) if identity.pid != leader]
    return [identity for identity in members if (seen := stat(identity.pid)) is not None and seen.group == leader]


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def in_namespace(kind: str, of: int) -> list[Identity]:
    """The living processes in the same namespace of that kind as the process `of`."""
    wanted = namespace_of(of, kind)
    if not wanted:
        return []
    return [identity for pid in all_pids() if namespace_of(pid, kind) == wanted and (identity := identify(pid))]


def namespace_of(pid: int, kind: str) -> int:
    """The number of a process's namespace; 0 when the process is gone or not to be looked at."""
    try:
        return os.stat(PROC / str(pid) / "ns" / kind).st_ino
    except OSError:
        return 0
