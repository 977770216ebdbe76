"""The fabric between the nodes: a bridge in a namespace of its own, a link to each node and one to this machine.

    this machine  arm1a2b3c 172.30.0.254 ─┐
                                          br0   (namespace NAME-fabric)
    node-1        eth0      172.30.0.11  ─┤     (namespace NAME-node-1)
    node-2        eth0      172.30.0.12  ─┘     (namespace NAME-node-2)

The bridge is not in this machine's own namespace, so that other software's firewall rules and bridge filters never see
the nodes' traffic. One link with one address is all that the machine itself gets. Needs root; pyroute2 is the only
speaker of netlink here. `ensure` and `remove` may be run at any time and any number of times.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyroute2
from pyroute2 import netns
from pyroute2.netlink.exceptions import NetlinkError

from minictl.cluster.settings import Settings

NETNS_FOLDER = Path("/run/netns")
BRIDGE, UPLINK, NODE_LINK = "br0", "uplink", "eth0"


@dataclass(frozen=True)
class Attachment:
    """A node on the fabric: its namespace, its address, and the name of the fabric's end of its link."""

    namespace: str
    address: str
    port: str


@dataclass(frozen=True)
class Fabric:
    """All that is to be there. Pure."""

    namespace: str
    root_link: str
    root_address: str
    prefix_length: int
    nodes: tuple[Attachment, ...]

    @property
    def namespaces(self) -> tuple[str, ...]:
        return (self.namespace, *(node.namespace for node in self.nodes))


def plan_fabric(settings: Settings) -> Fabric:
    nodes = (
        Attachment(settings.scoped(node), node.address, f"port{number}")
        for number, node in enumerate(settings.nodes, start=1)
    )
    return Fabric(
        namespace=f"{settings.name}-fabric",
        root_link=settings.short,
        root_address=settings.root_address,
        prefix_length=ipaddress.ip_network(settings.fabric).prefixlen,
        nodes=tuple(nodes),
    )


def ensure(fabric: Fabric) -> None:
    """Make what is missing. Raises OSError or NetlinkError when the kernel refuses."""
    for namespace in fabric.namespaces:
        if not _is_namespace(NETNS_FOLDER / namespace):
            (NETNS_FOLDER / namespace).unlink(missing_ok=True)
            netns.create(namespace)
    with pyroute2.NetNS(fabric.namespace) as inside:
        _up(inside, "lo")
        bridge = _index(inside, BRIDGE) or _make_bridge(inside)
        _ensure_root_link(fabric, inside, bridge)
        for node in fabric.nodes:
            _ensure_node_link(fabric, node, inside, bridge)


def _is_namespace(path: Path) -> bool:
    """Not the empty file that stays of one when its mount is gone, as after a reboot with /run on a disk."""
    return path.exists() and path.stat().st_dev == os.stat("/proc/self/ns/net").st_dev


def _make_bridge(inside: Any) -> int:
    inside.link("add", ifname=BRIDGE, kind="bridge")
    _up(inside, BRIDGE)
    return _need(inside, BRIDGE)


def _ensure_root_link(fabric: Fabric, inside: Any, bridge: int) -> None:
    with pyroute2.IPRoute() as root:
        if _index(root, fabric.root_link) is None:
            root.link(
                "add", ifname=fabric.root_link, kind="veth", peer={"ifname": UPLINK, "net_ns_fd": fabric.namespace}
            )
        _address(root, fabric.root_link, fabric.root_address, fabric.prefix_length)
        _up(root, fabric.root_link)
    _plug(inside, UPLINK, bridge)


def _ensure_node_link(fabric: Fabric, node: Attachment, inside: Any, bridge: int) -> None:
    with pyroute2.NetNS(node.namespace) as at_node:
        if _index(at_node, NODE_LINK) is None:
            peer = {"ifname": NODE_LINK, "net_ns_fd": node.namespace}
            inside.link("add", ifname=node.port, kind="veth", peer=peer)
        _up(at_node, "lo")
        _address(at_node, NODE_LINK, node.address, fabric.prefix_length)
        _up(at_node, NODE_LINK)
        with _already_there():
            at_node.route("add", dst="default", gateway=fabric.root_address)
    _plug(inside, node.port, bridge)


def _plug(inside: Any, port: str, bridge: int) -> None:
    inside.link("set", index=_need(inside, port), master=bridge)
    _up(inside, port)


def _index(where: Any, name: str) -> int | None:
    found = where.link_lookup(ifname=name)
    return int(found[0]) if found else None


def _need(where: Any, name: str) -> int:
    index = _index(where, name)
    if index is None:
        raise OSError(f"link {name} is not there although it was made")
    return index


def _up(where: Any, name: str) -> None:
    where.link("set", index=_need(where, name), state="up")


def _address(where: Any, name: str, address: str, prefix_length: int) -> None:
    with _already_there():
        where.addr("add", index=_need(where, name), address=address, prefixlen=prefix_length)


@contextlib.contextmanager
def _already_there() -> Iterator[None]:
    try:
        yield
    except NetlinkError as error:
        if error.code != 17:  # EEXIST
            raise


def remove(fabric: Fabric) -> list[str]:
    """Remove all of it; what is left afterwards is named in the result. Links go with their namespaces."""
    with pyroute2.IPRoute() as root:
        index = _index(root, fabric.root_link)
        if index is not None:
            with contextlib.suppress(NetlinkError):
                root.link("del", index=index)
    for namespace in reversed(fabric.namespaces):
        if (NETNS_FOLDER / namespace).exists():
            with contextlib.suppress(OSError):
                netns.remove(namespace)
            with contextlib.suppress(OSError):
                (NETNS_FOLDER / namespace).unlink()
    _leave_folder()
    return leftovers(fabric)


def _leave_folder() -> None:
    """The first namespace made /run/netns and mounted it on itself; after the last one nobody needs that."""
    with contextlib.suppress(OSError):
        if not os.listdir(NETNS_FOLDER):
            subprocess.run(["umount", str(NETNS_FOLDER)], capture_output=True, check=False)
            NETNS_FOLDER.rmdir()


def leftovers(fabric: Fabric) -> list[str]:
    """What of the fabric exists."""
    left = [f"network namespace {name}" for name in fabric.namespaces if os.path.lexists(NETNS_FOLDER / name)]
    if os.path.exists(f"/sys/class/net/{fabric.root_link}"):
        left.append(f"link {fabric.root_link}")
    return left


def networks_in_use() -> list[ipaddress.IPv4Network]:
    """Every network this machine has an address in or a route to, but the default route."""
    found = []
    with pyroute2.IPRoute() as root:
        for route in root.get_routes(family=2):
            destination = route.get_attr("RTA_DST")
            if destination and route["dst_len"]:
                found.append(ipaddress.ip_network(f"{destination}/{route['dst_len']}", strict=False))
    return [network for network in found if isinstance(network, ipaddress.IPv4Network) and not network.is_loopback]


def free_network(candidates: Iterator[ipaddress.IPv4Network], used: list[ipaddress.IPv4Network]) -> str:
    """The first candidate that overlaps nothing; "" when there is none. Pure."""
    return next((str(network) for network in candidates if not any(network.overlaps(other) for other in used)), "")


def fabric_candidates() -> Iterator[ipaddress.IPv4Network]:
    """Private networks that homes, offices and container engines rarely use, a /24 each."""
    for block in ("172.30.0.0/16", "10.213.0.0/16", "192.168.224.0/20"):
        yield from ipaddress.IPv4Network(block).subnets(new_prefix=24)


def pod_candidates() -> Iterator[ipaddress.IPv4Network]:
    """10.244.0.0/16 is what tutorials show."""
    return (ipaddress.IPv4Network(f"10.{second}.0.0/16") for second in range(244, 256))
