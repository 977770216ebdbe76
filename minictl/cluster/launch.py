"""Starts one process as its plan says and prints its pid. Run as a script, alone, by the supervisor.

What it starts is a session leader with standard output and error in its log, no open files of ours, and default
signals. It enters the namespaces of another process, or gets new ones and is their PID 1. This script is gone as soon
as the pid is known, and the process becomes a child of the supervisor, the nearest subreaper.

A step of its own because entering namespaces needs a process with one thread and leaves it changed. Guarantees: either
the program runs (exec succeeded) and `{"pid": N}` is printed, or nothing was started and the reason is on stderr, exit
code 1.
The pid is this namespace's, also when the process has another one where it lives. Only the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x04000000, 0x08000000, 0x20000000
# The mount namespace last: the others are found through the /proc of the old one.
NAMESPACES_TO_ENTER = ("net", "uts", "ipc", "pid", "mnt")

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    order = json.load(sys.stdin)
    try:
        sys.stdout.write(json.dumps({"pid": start(order)}))
    except OSError as error:
        sys.stderr.write(f"{order['argv'][0]}: {error}\n")
        sys.exit(1)


def start(order: dict[str, Any]) -> int:
    """The pid of the new process. Raises OSError when a namespace, the log or the program cannot be had."""
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    enter(order)
    result_read, result_write = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        become(order, log, result_write)
    os.close(result_write)
    failure = os.read(result_read, 4096).decode()
    if failure:
        os.waitpid(pid, 0)
        number, _, text = failure.partition(" ")
        raise OSError(int(number), text)
    return pid


def enter(order: dict[str, Any]) -> None:
    """Join or make the namespaces; those of PIDs hold for the child that is forked next."""
    if order["network"]:
        _setns(order["network"])
    if order["inside_pid"]:
        folder = f"/proc/{order['inside_pid']}/ns"
        descriptors = [os.open(f"{folder}/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in NAMESPACES_TO_ENTER]
        for descriptor in descriptors:
            _call("setns", descriptor, 0)
    if order["own"]:
        _call("unshare", CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID)


def become(order: dict[str, Any], log: int, result: int) -> NoReturn:
    """In the child: turn into the program. A failure is told through the pipe, which a successful exec closes."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir("/")
        os.umask(0o022)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ):  # Python ignores or handles these
            signal.signal(number, signal.SIG_DFL)
        os.execve(order["argv"][0], order["argv"], order["env"])
    except OSError as error:
        os.write(result, f"{error.errno} {error.strerror}".encode())
    finally:
        os._exit(127)


def _setns(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    _call("setns", descriptor, 0)
    os.close(descriptor)


def _call(name: str, *arguments: int) -> None:
    if getattr(_libc, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
