"""PID 1 of a node: prepares the node's mounts, then reaps whatever is orphaned to it. Run as a script, alone.

It is started in new mount, PID, UTS and IPC namespaces and in the node's network namespace (`launch.py`). Killing it
is a node crash: the kernel ends every process of the PID namespace, and mounts and all go with the last of them. The
network namespace stays, since it has a name; starting again is the reboot.

Only the standard library, and no more of it than needed: one such process lives for every node. Nothing imports it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from types import FrameType

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC = 2, 4, 8, 4096, 16384
MS_PRIVATE, MS_SHARED = 1 << 18, 1 << 20
READY_FILE = "/run/armillary-node"
RESOLV_CONF = "/etc/resolv.conf"
# Forwarding: pods are behind the node. route_localnet: a hostPort answers on the node's 127.0.0.1 too.
SYSCTLS = (("net/ipv4/ip_forward", "1"), ("net/ipv4/conf/all/route_localnet", "1"))

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    hostname, resolv_conf = sys.argv[1:3]
    socket.sethostname(hostname)
    prepare_mounts(resolv_conf)
    for name, value in SYSCTLS:
        with open(f"/proc/sys/{name}", "w") as file:
            file.write(value)
    signals = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    # A signal that is ignored by default never wakes sigwait; PID 1 also ignores what it has no handler for.
    for number in signals:
        signal.signal(number, _wake)
    with open(READY_FILE, "w") as file:
        file.write(f"{hostname}\n")
    while signal.sigwait(signals) == signal.SIGCHLD:
        reap()


def prepare_mounts(resolv_conf: str) -> None:
    """A /proc of the own PID namespace, an empty /run, DNS servers in reach, and mounts that pods can share."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)  # nothing that follows is seen outside
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    target = os.path.realpath(RESOLV_CONF)  # often a link into /run
    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    os.makedirs("/run/lock", exist_ok=True)
    if not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w"):
            pass
    mount(resolv_conf, target, "", MS_BIND)
    mount("none", "/", "", MS_REC | MS_SHARED)  # Bidirectional propagation of pod mounts needs it


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {kind or 'flags'} on {target}: {os.strerror(number)}")


def reap() -> None:
    """Every child that is dead by now; one SIGCHLD may stand for several."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def _wake(number: int, frame: FrameType | None) -> None:
    """Only its presence matters."""


if __name__ == "__main__":
    main()
