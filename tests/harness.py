"""A real apiserver on a real etcd for component tests: certificates, tokens, processes in a temporary folder.

`Server` is a context manager; within it the API answers. Nothing is left behind: processes end and the folder goes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from certs import cluster as pki
from tests import etcd as etcds

READY_SECONDS = 30.0
ISSUER = "https://kubernetes.default.svc.cluster.local"
KUBECTL = Path(sys.executable).parent / "kubectl"

_NO_ACCOUNTS = "--disable-admission-plugins=ServiceAccount"

# token,user,uid,groups
TOKENS = """\
admin-token,root,0,system:masters
alice-token,alice,1001,"team-a,team-b"
bob-token,bob,1002
"""


class Server:
    """One etcd and one apiserver.

    `accounts`: pods need a ServiceAccount, as in a cluster. Without controllers nobody makes one, so that the admission
    plugin is off unless asked for, as in upstream's own integration tests.
    """

    def __init__(self, *flags: str, workers: int = 1, etcd_flags: Sequence[str] = (), accounts: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="armillary-api-"))
        self.port = etcds.free_ports(1)[0]
        self.url = f"https://127.0.0.1:{self.port}"
        self.etcd = etcds.Cluster(flags=["--max-request-bytes", str(4 * 2**20), *etcd_flags])
        self.pki = pki.make_cluster_pki(
            self.folder / "pki",
            api_hosts=["127.0.0.1", "localhost"],
            nodes={"node-1": ["127.0.0.1"]},
            server=self.url,
        )
        self.tokens = self.folder / "tokens.csv"
        self.tokens.write_text(TOKENS)
        self.log = self.folder / "apiserver.log"
        self._flags = [f"--workers={workers}", *([] if accounts else [_NO_ACCOUNTS]), *flags]
        self._process: subprocess.Popen[bytes] | None = None

    # --- life

    def __enter__(self) -> Server:
        try:
            self.etcd.__enter__()
            self.start()
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        self.etcd.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, start_new_session=True)

    def stop(self) -> None:
        """SIGTERM, then wait; kills what does not go."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(25)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def worker_pids(self) -> list[int]:
        listed = subprocess.run(["pgrep", "-P", str(self.pid)], capture_output=True, text=True, check=False)
        return [int(line) for line in listed.stdout.split()]

    def wait_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        with self.client() as client:
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx.TransportError):
                    if client.get("/readyz").status_code == 200:
                        return
                if self._process is not None and self._process.poll() is not None:
                    break
                time.sleep(0.05)
        raise AssertionError(f"the apiserver is not ready:\n{self.log.read_text()[-4000:]}")

    def command(self) -> list[str]:
        flags = {
            "bind-address": "127.0.0.1",
            "secure-port": self.port,
            "etcd-servers": ",".join(self.etcd.endpoints),
            "tls-cert-file": self.pki.cert("apiserver"),
            "tls-private-key-file": self.pki.key("apiserver"),
            "client-ca-file": self.pki.ca,
            "token-auth-file": self.tokens,
            "authorization-mode": "RBAC",
            "service-account-issuer": ISSUER,
            "service-account-signing-key-file": self.pki.sa_key,
            "service-account-key-file": self.pki.sa_pub,
            "kubelet-client-certificate": self.pki.cert("apiserver-kubelet-client"),
            "kubelet-client-key": self.pki.key("apiserver-kubelet-client"),
            "kubelet-certificate-authority": self.pki.ca,
            "proxy-client-cert-file": self.pki.cert("front-proxy-client"),
            "proxy-client-key-file": self.pki.key("front-proxy-client"),
            "requestheader-client-ca-file": self.pki.cert("front-proxy-ca"),
            "requestheader-allowed-names": "front-proxy-client",
        }
        return [
            sys.executable,
            "-m",
            "apiserver",
            *(f"--{name}={value}" for name, value in flags.items()),
            *self._flags,
        ]

    # --- speaking to it

    def client(self, token: str | None = None, *, identity: str | None = None, **options: Any) -> httpx.Client:
        """A client: with a token, as a certificate's identity (`admin`, `scheduler`, …), or anonymous."""
        context = ssl.create_default_context(cafile=str(self.pki.ca))
        if identity is not None:
            context.load_cert_chain(self.pki.cert(identity), self.pki.key(identity))
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, verify=context, headers=headers, timeout=20, trust_env=False, **options)

    def admin(self) -> httpx.Client:
        return self.client("admin-token")

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout_seconds: float = 30.0) -> str:
        """Runs the real kubectl as the cluster's admin; returns what it printed. A failure fails the test."""
        done = self.try_kubectl(*arguments, stdin=stdin, timeout_seconds=timeout_seconds)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def try_kubectl(
        self, *arguments: str, stdin: str | None = None, timeout_seconds: float = 30.0
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(KUBECTL), "--kubeconfig", str(self.pki.kubeconfig("admin")), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
            env={**os.environ, "HOME": str(self.folder)},
        )


@contextlib.contextmanager
def namespace(server: Server, name: str) -> Iterator[str]:
    """A namespace for one test. Nobody empties it, as no controllers run: it goes with the etcd."""
    with server.admin() as client:
        created = client.post("/api/v1/namespaces", json={"metadata": {"name": name}})
        assert created.status_code == 201, created.text
    yield name
