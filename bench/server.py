"""The server under test: etcd as a cluster runs it (TLS, client certificates, fsync) and `mini-apiserver`."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from certs import cluster as certificates
from minictl.cluster import tools

TOKEN = "bench-token"
READY_SECONDS = 60.0


class Server:
    """Both processes in a temporary folder; use `running()`."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.workers = workers
        self.ready_seconds = 0.0
        self.port, self.etcd_port, self._peer_port = _free_ports(3)
        self._folder = folder
        self.pki = certificates.make_cluster_pki(folder / "pki", api_hosts=["127.0.0.1"], nodes={})
        (folder / "tokens.csv").write_text(f"{TOKEN},bench,0,system:masters\n")
        (folder / "tokens.csv").chmod(0o600)
        self._etcd_program = str(tools.find(["etcd"])["etcd"])
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def etcd_url(self) -> str:
        return f"https://127.0.0.1:{self.etcd_port}"

    @property
    def etcd_pid(self) -> int:
        return self._processes[0].pid

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.pki.ca))

    def start(self) -> None:
        """Both at once, as a supervisor would; returns when `/readyz` answers 200, and notes how long that took."""
        started = time.perf_counter()
        self._spawn(self._etcd(), "etcd.log")
        self._spawn(self._apiserver(), "apiserver.log")
        while not self._is_ready():
            if time.perf_counter() - started > READY_SECONDS or any(p.poll() is not None for p in self._processes):
                raise RuntimeError(f"not ready:\n{(self._folder / 'apiserver.log').read_text()[-2000:]}")
            time.sleep(0.01)
        self.ready_seconds = time.perf_counter() - started

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()
            process.wait()

    def memory(self) -> dict[str, float]:
        """Resident memory in MB: of etcd, of the largest worker of the apiserver, of the apiserver in all.

        Resident memory counts pages that workers share once for each; the whole counts them once (PSS).
        """
        etcd, supervisor = (process.pid for process in self._processes)
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        whole = sum(_memory(pid, "Pss") for pid in (supervisor, *map(int, children)))
        return {"etcd": _memory(etcd, "Rss"), "worker": max(_memory(int(pid), "Rss") for pid in children), "all": whole}

    def _spawn(self, command: list[str], log: str) -> None:
        with (self._folder / log).open("ab") as output:
            self._processes.append(subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True))

    def _is_ready(self) -> bool:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls(), timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def _etcd(self) -> list[str]:
        peer = f"http://127.0.0.1:{self._peer_port}"
        return [
            self._etcd_program,
            "--name=default",
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--cert-file={self.pki.cert('etcd-server')}",
            f"--key-file={self.pki.key('etcd-server')}",
            f"--trusted-ca-file={self.pki.etcd_ca}",
            "--client-cert-auth=true",
            "--log-level=error",
            # as `minictl up` sets them: a member that is alone waits for its election
            "--heartbeat-interval=20",
            "--election-timeout=200",
        ]

    def _apiserver(self) -> list[str]:
        flags = {
            "bind-address": "127.0.0.1",
            "secure-port": self.port,
            "workers": self.workers,
            "etcd-servers": self.etcd_url,
            "etcd-cafile": self.pki.etcd_ca,
            "etcd-certfile": self.pki.cert("apiserver-etcd-client"),
            "etcd-keyfile": self.pki.key("apiserver-etcd-client"),
            "tls-cert-file": self.pki.cert("apiserver"),
            "tls-private-key-file": self.pki.key("apiserver"),
            "client-ca-file": self.pki.ca,
            "token-auth-file": self._folder / "tokens.csv",
            "authorization-mode": "RBAC",
        }
        return [sys.executable, "-m", "apiserver", *(f"--{name}={value}" for name, value in flags.items())]


@contextlib.contextmanager
def running(workers: int) -> Iterator[Server]:
    """A started server; nothing is left of it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="armillary-bench-"))
    server = Server(folder, workers)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _memory(pid: int, kind: str) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/smaps_rollup has no {kind}")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def cores() -> int:
    return len(os.sched_getaffinity(0))
