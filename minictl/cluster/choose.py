"""The choices of a new cluster: ports and networks that nobody uses, the runtime, names. Made once, then kept
(`settings`).
"""

from __future__ import annotations

import ipaddress
import random
import secrets
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from minictl.cluster import errors, settings, traits
from minictl.cluster.settings import CONTAINERD, HOLLOW, Node, Ports, Settings

# Below the range from which the kernel hands out ports by itself: a port that is free stays free for its restart.
PORT_RANGE = range(20000, 32000)
PORT_TRIES = 200
HTTPS_PORTS = 6  # see `Ports`
FIRST_NODE, ROOT_HOST = 11, 254  # host parts in the fabric's /24
MAX_NODES = {CONTAINERD: 200, HOLLOW: 1000}
KUBELET_PORT = 10250
SERVICE_CIDR = "10.96.0.0/16"
POD_CIDR = "10.244.0.0/16"


@dataclass(frozen=True)
class Wishes:
    """What the command line says; None is: as it is, or as it pleases."""

    folder: Path
    nodes: int | None = None
    runtime: str | None = None  # containerd, hollow, or None for auto
    name: str | None = None
    port: int | None = None


def new(wishes: Wishes, runtime: str) -> Settings:
    """Settings of a cluster that does not exist yet. Raises ClusterError when a wish cannot be met."""
    check_port(wishes.port)
    count = 2 if wishes.nodes is None else wishes.nodes
    check_count(count, runtime)
    name = settings.check_name(wishes.name or settings.default_name(wishes.folder))
    fabric, pods = _networks() if runtime == CONTAINERD else ("", POD_CIDR)
    root_address = str(ipaddress.ip_network(fabric)[ROOT_HOST]) if fabric else "127.0.0.1"
    ports = free_ports(HTTPS_PORTS + (count if runtime == HOLLOW else 0), [])
    chosen = Ports(*ports[:HTTPS_PORTS])
    return Settings(
        name=name,
        token=secrets.token_hex(16),
        folder=wishes.folder,
        runtime=runtime,
        ports=replace(chosen, apiserver=wishes.port or chosen.apiserver),
        nodes=make_nodes(count, fabric, ports[HTTPS_PORTS:]),
        fabric=fabric,
        root_address=root_address,
        pod_cidr=pods,
        service_cidr=SERVICE_CIDR,
        sockets=settings.socket_folder(wishes.folder, Path(tempfile.gettempdir())),
    )


def adjusted(known: Settings, wishes: Wishes) -> Settings:
    """An existing cluster as it is wished now: more nodes, another port. Raises ClusterError for what cannot change."""
    check_port(wishes.port)
    if wishes.name not in (None, known.name):
        raise errors.ClusterError(f"the cluster in {known.folder} is named {known.name}, not {wishes.name}")
    if wishes.runtime not in (None, known.runtime):
        raise errors.ClusterError(
            f"the cluster in {known.folder} runs on {known.runtime}: `minictl down` first, or use another --dir"
        )
    count = len(known.nodes) if wishes.nodes is None else wishes.nodes
    check_count(count, known.runtime)
    if count < len(known.nodes):
        raise errors.ClusterError(f"the cluster has {len(known.nodes)} nodes; fewer need `minictl down` first")
    if count > len(known.nodes):
        used = [node.kubelet_port for node in known.nodes]
        more = free_ports(count - len(known.nodes), used) if known.runtime == HOLLOW else []
        known = replace(known, nodes=make_nodes(count, known.fabric, [*used, *more]))
    if wishes.port:
        known = replace(known, ports=replace(known.ports, apiserver=wishes.port))
    return known


def check_port(port: int | None) -> None:
    if port is not None and not 1 <= port <= 65535:
        raise errors.ClusterError(f"--port {port}: not a port, which is between 1 and 65535")


def check_count(count: int, runtime: str) -> None:
    if not 1 <= count <= MAX_NODES[runtime]:
        raise errors.ClusterError(f"--nodes {count}: between 1 and {MAX_NODES[runtime]} with --runtime {runtime}")


def make_nodes(count: int, fabric: str, kubelet_ports: Sequence[int]) -> tuple[Node, ...]:
    """Nodes with addresses of their own in the fabric, or with ports of their own on loopback. Pure."""
    names = [f"node-{number}" for number in range(1, count + 1)]
    if not fabric:
        return tuple(Node(name, "127.0.0.1", port) for name, port in zip(names, kubelet_ports, strict=True))
    hosts = ipaddress.ip_network(fabric)
    return tuple(Node(name, str(hosts[FIRST_NODE + index]), KUBELET_PORT) for index, name in enumerate(names))


def choose_runtime(wish: str | None, missing: str = "") -> tuple[str, str]:
    """The runtime and the reason in words. `missing` says which tools of containerd cannot be had."""
    why_not = traits.why_no_containerd() or missing
    if wish == CONTAINERD and why_not:
        raise errors.ClusterError(f"--runtime containerd is not possible: {why_not}; --runtime hollow is")
    if wish in (CONTAINERD, HOLLOW):
        return wish, "as asked"
    return (HOLLOW, why_not) if why_not else (CONTAINERD, "root on Linux")


def _networks() -> tuple[str, str]:
    from minictl.cluster import network

    used = network.networks_in_use()
    fabric = network.free_network(network.fabric_candidates(), used)
    pods = network.free_network(network.pod_candidates(), used)
    if not fabric or not pods:
        raise errors.ClusterError(
            "no private network is free for the nodes: other routes of this machine cover them all"
        )
    return fabric, pods


def free_ports(count: int, taken: Sequence[int]) -> list[int]:
    """Ports on which nobody listens, none of them in `taken`."""
    found: list[int] = []
    for port in random.sample(PORT_RANGE, min(len(PORT_RANGE), PORT_TRIES + 2 * count)):
        if len(found) == count:
            break
        if port not in taken and is_free("127.0.0.1", port):
            found.append(port)
    if len(found) < count:
        raise errors.ClusterError(f"no {count} free ports between {PORT_RANGE.start} and {PORT_RANGE.stop}")
    return found


def is_free(address: str, port: int) -> bool:
    """Whether nothing listens there now. Connections still closing do not count, as for the server itself."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
    return True
