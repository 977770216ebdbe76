"""A real kubelet process on the hollow runtime, against the real apiserver. No scheduler and no controllers run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import etcd, harness

NODE = "node-1"
MISSING = "registry.example/missing:*"
WAIT_SECONDS = 20.0


class Node:
    """One kubelet and its runtime, each of which can be killed and started again."""

    def __init__(self, server: harness.Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.port = etcd.free_ports(1)[0]
        self.manifests = folder / "manifests"
        self.manifests.mkdir()
        self._log = (folder / "log").open("ab")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        for name in names or ("hollow", "kubelet"):
            self._processes[name] = subprocess.Popen(self._command(name), stdout=self._log, stderr=self._log)

    def kill(self, name: str) -> None:
        self._processes[name].kill()
        self._processes[name].wait()

    def pause(self, name: str) -> None:
        os.kill(self._processes[name].pid, signal.SIGSTOP)

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._log.close()

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def _command(self, name: str) -> list[str]:
        socket = f"unix://{self.folder}/cri.sock"
        if name == "hollow":
            return [
                sys.executable,
                "-m",
                "kubelet.hollow",
                f"--listen={socket}",
                "--pull-seconds=0.01",
                f"--missing-image={MISSING}",
            ]
        pki = self.server.pki
        flags = {
            "kubeconfig": pki.kubeconfig(f"kubelet-{NODE}"),
            "hostname-override": NODE,
            "container-runtime-endpoint": socket,
            "root-dir": self.folder / "root",
            "node-ip": "127.0.0.1",
            "address": "127.0.0.1",
            "port": self.port,
            "tls-cert-file": pki.cert(f"kubelet-{NODE}"),
            "tls-private-key-file": pki.key(f"kubelet-{NODE}"),
            "client-ca-file": pki.ca,
            "cgroups": "off",
            "pod-manifest-path": self.manifests,
        }
        return [sys.executable, "-m", "kubelet", *(f"--{key}={value}" for key, value in flags.items())]


class Pods:
    """Pods of one namespace on the node."""

    def __init__(self, server: harness.Server, namespace: str) -> None:
        self._client = server.admin()
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self.namespace = namespace

    def close(self) -> None:
        self._client.close()

    def create(self, name: str, *containers: dict[str, Any], **spec: Any) -> None:
        listed = [{"image": "app:1"} | container for container in containers] or [{"name": "app", "image": "app:1"}]
        defaults = {"nodeName": NODE, "terminationGracePeriodSeconds": 1, "tolerations": [{"operator": "Exists"}]}
        body = {"metadata": {"name": name}, "spec": defaults | {"containers": listed} | spec}
        reply = self._client.post(self._path, json=body)
        assert reply.status_code == 201, reply.text

    def post(self, resource: str, body: dict[str, Any]) -> None:
        reply = self._client.post(self._path.replace("/pods", f"/{resource}"), json=body)
        assert reply.status_code == 201, reply.text

    def get(self, name: str) -> dict[str, Any] | None:
        reply = self._client.get(f"{self._path}/{name}")
        return None if reply.status_code == 404 else dict(reply.json())

    def status(self, name: str) -> dict[str, Any]:
        return dict((self.get(name) or {}).get("status") or {})

    def delete(self, name: str, **options: Any) -> None:
        self._client.request(
            "DELETE", f"{self._path}/{name}", json={"kind": "DeleteOptions", "apiVersion": "v1"} | options
        )

    def events(self, name: str) -> set[tuple[str, str]]:
        items = self._client.get(self._path.replace("/pods", "/events")).json()["items"]
        return {(e["reason"], e["message"]) for e in items if e["involvedObject"]["name"] == name}

    def until(self, name: str, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The pod's status once `holds` is true of it."""
        return eventually(lambda: (status := self.status(name)) and holds(status) and status, lambda: self.get(name))

    def until_ready(self, name: str) -> dict[str, Any]:
        return self.until(name, is_ready)

    def until_gone(self, name: str) -> None:
        eventually(lambda: self.get(name) is None, lambda: self.get(name))


def is_ready(status: dict[str, Any]) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or [])


def eventually(probe: Callable[[], Any], explain: Callable[[], object]) -> Any:
    """The first true value of `probe`."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"never came: {explain()}")


def give_range(admin: httpx.Client) -> None:
    """What the node IPAM controller does for a new node; none runs here."""
    merge = {"content-type": "application/merge-patch+json"}
    given = admin.patch(f"/api/v1/nodes/{NODE}", json={"spec": {"podCIDR": "10.9.0.0/24"}}, headers=merge)
    assert given.status_code == 200, given.text


@pytest.fixture(scope="module")
def node(server: harness.Server) -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="armillary-node-") as folder, server.admin() as admin:
        node = Node(server, Path(folder))
        try:
            node.start()
            found = f"/api/v1/nodes/{NODE}"
            eventually(lambda: admin.get(found).status_code == 200, node.log)
            give_range(admin)
            eventually(lambda: is_ready(admin.get(found).json().get("status") or {}), node.log)
            yield node
        finally:
            node.stop()
            with contextlib.suppress(Exception):
                admin.delete(f"/api/v1/nodes/{NODE}")


@pytest.fixture
def pods(node: Node, namespace: str) -> Iterator[Pods]:
    made = Pods(node.server, namespace)
    yield made
    made.close()
