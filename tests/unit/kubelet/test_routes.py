"""L12: routes are set one by one, in a kernel that may refuse some."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from pyroute2 import NetlinkError

from kubelet.network import routes
from kubelet.network.routes import Route
from tests.unit.kubelet.test_parts import a_node as node


class Kernel:
    """A routing table that can reach only some gateways."""

    def __init__(self, *reachable: str) -> None:
        self.reachable = reachable
        self.table: set[Route] = set()

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None: ...

    def get_routes(self, **_: object) -> list[Any]:
        return [
            {
                "proto": routes.PROTOCOL,
                "dst_len": route.destination.partition("/")[2],
                "attrs": [("RTA_DST", route.destination.partition("/")[0]), ("RTA_GATEWAY", route.gateway)],
            }
            for route in self.table
        ]

    def route(self, action: str, *, dst: str, gateway: str, proto: int) -> None:
        if gateway not in self.reachable:
            raise NetlinkError(errno.ENETUNREACH, "Network is unreachable")
        assert (action, proto) == ("replace", routes.PROTOCOL)
        self.table.add(Route(dst, gateway))


async def test_a_route_that_the_kernel_refuses_is_set_once_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel("1.1.1.1")
    monkeypatch.setattr("pyroute2.IPRoute", lambda: kernel)
    nodes = [node("a", "10.0.1.0/24", "1.1.1.1"), node("b", "10.0.2.0/24", "1.1.1.2")]
    assert (await routes.Routes().sync(nodes, "me")).add == (Route("10.0.1.0/24", "1.1.1.1"),)
    kernel.reachable = ("1.1.1.1", "1.1.1.2")
    assert (await routes.Routes().sync(nodes, "me")).add == (Route("10.0.2.0/24", "1.1.1.2"),)
