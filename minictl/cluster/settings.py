"""What was chosen for a cluster when it was made, and stays: names, addresses, ports. Kept in DIR/cluster.json.

The file marks the folder as ours (`down` removes nothing without it), keeps the kubeconfig valid over restarts, and
holds the token by which every process of the cluster is recognised: a random value in its environment, never its name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certs import files
from minictl.cluster import errors

FORMAT = 1
CONTAINERD, HOLLOW = "containerd", "hollow"
# A network namespace, a cgroup and a hostname are named after it: a DNS label, short enough to be prefixed.
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?")
MAX_SOCKET_PATH = 100  # the kernel's limit is 108 with the closing zero


@dataclass(frozen=True)
class Node:
    """One node. `kubelet_port` is 10250 where nodes have addresses of their own."""

    name: str
    address: str
    kubelet_port: int


@dataclass(frozen=True)
class Ports:
    """Ports on 127.0.0.1 (the apiserver's also on the fabric's root address)."""

    apiserver: int
    etcd: int
    etcd_peer: int
    controllers: int
    scheduler: int
    registry: int


@dataclass(frozen=True)
class Settings:
    """See the module. Equal settings give equal plans."""

    name: str
    token: str
    folder: Path
    runtime: str  # CONTAINERD or HOLLOW
    ports: Ports
    nodes: tuple[Node, ...]
    fabric: str  # the nodes' subnet, "" without one (hollow)
    root_address: str  # where nodes reach this machine: in the fabric, or 127.0.0.1
    pod_cidr: str
    service_cidr: str
    sockets: Path  # a folder whose path is short enough for unix sockets

    @property
    def short(self) -> str:
        """A name of 9 characters for links, whose names the kernel limits to 15."""
        return "arm" + hashlib.sha256(f"{self.name}/{self.token}".encode()).hexdigest()[:6]

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.ports.apiserver}"

    @property
    def node_server(self) -> str:
        return f"https://{self.root_address}:{self.ports.apiserver}"

    @property
    def registry(self) -> str:
        """Where nodes find the local image registry."""
        return f"{self.root_address}:{self.ports.registry}"

    def node_folder(self, node: Node) -> Path:
        return self.folder / "nodes" / node.name

    def scoped(self, node: Node) -> str:
        """The node's name on this machine, where several clusters may have a `node-1`."""
        return f"{self.name}-{node.name}"


def file_of(folder: Path) -> Path:
    return folder / "cluster.json"


def save(settings: Settings) -> None:
    content = json.dumps({"format": FORMAT, **dataclasses.asdict(settings)}, indent=1, default=str) + "\n"
    files.write(file_of(settings.folder), content.encode())


def load(folder: Path) -> Settings:
    """The settings of the cluster in `folder`. Raises NoCluster, or ClusterError when the file is not understood."""
    path = file_of(folder)
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise errors.NoCluster(f"there is no cluster in {folder}: start one with `minictl up`") from error
    except (OSError, ValueError) as error:
        raise errors.ClusterError(f"{path} cannot be read: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise errors.ClusterError(
            f"{path} is not of this version: take that cluster down with the version that made it"
        )
    return _parse(data, path)


def _parse(data: dict[str, Any], path: Path) -> Settings:
    try:
        data.pop("format")
        data["folder"], data["sockets"] = Path(data["folder"]), Path(data["sockets"])
        data["ports"] = Ports(**data["ports"])
        data["nodes"] = tuple(Node(**node) for node in data["nodes"])
        settings = Settings(**data)
    except (TypeError, KeyError) as error:
        raise errors.ClusterError(f"{path} is damaged: {error}") from error
    if settings.folder != path.parent:
        raise errors.ClusterError(
            f"{path} belongs to {settings.folder}: a cluster's folder cannot be moved or copied while it exists"
        )
    return settings


def default_name(folder: Path) -> str:
    """A name of its own for every folder, so that clusters run side by side without being named."""
    return "armillary-" + hashlib.sha256(str(folder).encode()).hexdigest()[:6]


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise errors.ClusterError(
            f"--name {name!r}: at most 32 lower-case letters, digits and dashes, starting with a letter"
        )
    return name


def socket_folder(folder: Path, temporary: Path) -> Path:
    """DIR/run, or a folder below `temporary` where DIR's path is too long for a unix socket."""
    near = folder / "run"
    if len(str(near)) + len("/a-longish-node-name.sock") <= MAX_SOCKET_PATH:
        return near
    return temporary / ("armillary-" + hashlib.sha256(str(folder).encode()).hexdigest()[:12])
