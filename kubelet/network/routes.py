"""L12: from this node to the pods of the others: one route a node, its podCIDR by its address, as Node objects say.

`plan_routes` is pure: wanted routes against those present. Only routes marked as ours (protocol number) are ever
removed, so what an administrator or another program set stays. Masquerade is one rule a node: from a pod, to what is
not the cluster. A route that the kernel refuses, as while the uplink is down, is told and tried again with the next
sync, and keeps no other from being set. Does not guarantee: that nodes in different networks reach each other; host
routes need the nodes to be neighbours.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import shutil
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from apimachinery import objects
from apimachinery.objects import Object

log = logging.getLogger(__name__)
PROTOCOL = 201  # marks our routes (`ip route show proto 201`); below 255 and in nobody's list
_SYSCTLS = ("net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet")


class Route(NamedTuple):
    destination: str
    gateway: str


@dataclass(frozen=True, slots=True)
class RoutePlan:
    add: tuple[Route, ...] = ()
    remove: tuple[Route, ...] = ()


def wanted_routes(nodes: Iterable[Object], me: str) -> set[Route]:
    """The podCIDR of every other node that has one, by its first internal address."""
    result: set[Route] = set()
    for node in nodes:
        cidr = (node.get("spec") or {}).get("podCIDR")
        address = internal_address(node)
        if objects.name_of(node) != me and cidr and address:
            result.add(Route(str(ipaddress.ip_network(cidr)), address))
    return result


def internal_address(node: Object) -> str:
    addresses = (node.get("status") or {}).get("addresses") or []
    return next((entry["address"] for entry in addresses if entry["type"] == "InternalIP"), "")


def plan_routes(wanted: set[Route], present: set[Route]) -> RoutePlan:
    return RoutePlan(tuple(sorted(wanted - present)), tuple(sorted(present - wanted)))


class Routes:
    """The kernel's routing table, through netlink. Blocking calls run in a thread: they are few and short."""

    async def sync(self, nodes: Iterable[Object], me: str) -> RoutePlan:
        """Make our routes those that `nodes` want; returns what was done. Raises OSError without netlink."""
        wanted = wanted_routes(nodes, me)
        return await asyncio.to_thread(_apply, wanted)


def _apply(wanted: set[Route]) -> RoutePlan:
    from pyroute2 import IPRoute  # imported late: 200 ms that a node without routes does not need

    with IPRoute() as kernel:
        plan = plan_routes(wanted, set(_present(kernel)))
        removed = tuple(route for route in plan.remove if _set(kernel, "del", route, "no more route"))
        added = tuple(route for route in plan.add if _set(kernel, "replace", route, "route"))
    return RoutePlan(added, removed)


def _set(kernel: Any, action: str, route: Route, words: str) -> bool:
    """One route; False when the kernel refuses."""
    from pyroute2 import NetlinkError

    try:
        kernel.route(action, dst=route.destination, gateway=route.gateway, proto=PROTOCOL)
    except NetlinkError as error:  # no OSError, although it has its numbers
        log.warning("%s to %s via %s is refused: %s", words, *route, error, extra={"step": "L12"})
        return False
    log.info("%s to %s via %s", words, *route, extra={"step": "L12"})
    return True


def _present(kernel: object) -> Iterable[Route]:
    for message in kernel.get_routes(family=socket.AF_INET):  # type: ignore[attr-defined]  # pyroute2 has no types
        attributes = dict(message["attrs"])
        if message["proto"] == PROTOCOL and "RTA_DST" in attributes and "RTA_GATEWAY" in attributes:
            yield Route(f"{attributes['RTA_DST']}/{message['dst_len']}", attributes["RTA_GATEWAY"])


def enable_forwarding(root: Path = Path("/proc/sys")) -> None:
    for name in _SYSCTLS:
        (root / name).write_text("1\n")


async def masquerade(pod_cidr: str, cluster_cidr: str) -> None:
    """Pods that speak to the world do so with the node's address. Without iptables they speak to the cluster only."""
    iptables = shutil.which("iptables")
    if iptables is None:
        log.warning("iptables is missing: pods reach the cluster but not the world beyond it", extra={"step": "L12"})
        return
    rule = [
        "POSTROUTING",
        "-s",
        pod_cidr,
        "!",
        "-d",
        cluster_cidr,
        "-m",
        "comment",
        "--comment",
        "armillary pods",
        "-j",
        "MASQUERADE",
    ]
    if await _iptables(iptables, "-C", rule) != 0 and await _iptables(iptables, "-A", rule) != 0:
        log.warning("iptables refused the masquerade rule", extra={"step": "L12"})


async def _iptables(program: str, action: str, rule: list[str]) -> int:
    process = await asyncio.create_subprocess_exec(
        program,
        "-w",
        "5",
        "-t",
        "nat",
        action,
        *rule,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await process.wait()
