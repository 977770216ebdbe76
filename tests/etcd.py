"""A real etcd for tests: one member or several, in a temporary folder, that can be killed and started again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from apiserver.storage import types
from minictl.cluster import tools


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [item.getsockname()[1] for item in sockets]


class Member:
    """One etcd process. `flags` go to etcd as they are."""

    def __init__(self, folder: Path, name: str, port: int, peer_port: int, peers: str, flags: list[str]) -> None:
        self.scheme = "https" if "--client-cert-auth" in flags else "http"
        self.port = port
        self.url = f"{self.scheme}://127.0.0.1:{port}"
        peer_url = f"http://127.0.0.1:{peer_port}"
        self._data = folder / name
        self._log = folder / f"{name}.log"
        self._command = [
            *(str(tools.find(["etcd"])["etcd"]), "--name", name, "--data-dir", str(folder / name)),
            *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
            *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
            *("--initial-cluster", peers, "--log-level", "error", "--unsafe-no-fsync"),
            # A short election: a member that is alone waits for its end before it leads
            *("--heartbeat-interval", "20", "--election-timeout", "200"),
            *flags,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)

    def erase(self) -> None:
        """Loses all data. For a member that is not running."""
        shutil.rmtree(self._data)

    def signal(self, number: int) -> None:
        """Sends it; a SIGSTOP has stopped the process when this returns."""
        assert self._process is not None
        os.kill(self._process.pid, number)
        if number == signal.SIGSTOP:
            stat = Path(f"/proc/{self._process.pid}/stat")
            while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "Tt":
                time.sleep(0.002)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Cluster:
    """A context manager: members that are running, and a folder that goes with them."""

    def __init__(self, size: int = 1, flags: list[str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="armillary-etcd-"))
        ports = free_ports(2 * size)
        names = [f"m{index}" for index in range(size)]
        peers = ",".join(f"{name}=http://127.0.0.1:{port}" for name, port in zip(names, ports[size:], strict=True))
        self.members = [
            Member(self.folder, name, ports[index], ports[size + index], peers, flags or [])
            for index, name in enumerate(names)
        ]

    @property
    def endpoints(self) -> list[str]:
        return [member.url for member in self.members]

    def __enter__(self) -> Cluster:
        for member in self.members:
            member.start()
        return self

    def __exit__(self, *exc: object) -> None:
        for member in self.members:
            with contextlib.suppress(ProcessLookupError):
                member.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def object_bytes(name: str, size: int = 10, **data: str) -> bytes:
    """A config map to store."""
    filled = {"fill": "x" * size, **data}
    return types.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": filled})


async def eventually(condition: Callable[[], bool], timeout_seconds: float = 10.0) -> None:
    """Waits until the condition holds. For what other processes do in their own time."""
    async with asyncio.timeout(timeout_seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def when_reachable(read: Callable[[], Awaitable[int]], timeout_seconds: float = 10.0) -> int:
    """What `read` gives as soon as etcd can be reached."""
    async with asyncio.timeout(timeout_seconds):
        while True:
            with contextlib.suppress(types.Unavailable):
                return await read()
