"""Where a connection through the apiserver leads: names, ports, addresses, containers."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery import errors
from apiserver.handlers.connect import kubelets, pods, proxy


def pod(*names: str, ports: tuple[dict[str, Any], ...] = (), init: tuple[str, ...] = ()) -> dict[str, Any]:
    containers = [{"name": name, "ports": list(ports)} for name in names]
    spec = {"containers": containers, "initContainers": [{"name": name} for name in init]}
    return {"metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("web", ("http", "web", "")),
        ("web:80", ("http", "web", "80")),
        ("https:web:metrics", ("https", "web", "metrics")),
        (":web:80", ("http", "web", "80")),
    ],
)
def test_a_name_may_carry_scheme_and_port(text: str, named: tuple[str, str, str]) -> None:
    assert proxy.split(text) == named


@pytest.mark.parametrize("text", ["ftp:web:80", "a:b:c:d"])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(errors.BadRequest):
        proxy.split(text)


@pytest.mark.parametrize(("asked", "port"), [("8443", 8443), ("web", 8080), ("", 9090)])
def test_a_pods_port_is_a_number_a_name_or_the_first(asked: str, port: int) -> None:
    declared = ({"containerPort": 9090}, {"name": "web", "containerPort": 8080})
    assert proxy.port_of_pod(pod("c", ports=declared), asked) == port


def test_an_unknown_port_name_is_refused() -> None:
    with pytest.raises(errors.BadRequest, match="no port"):
        proxy.port_of_pod(pod("c"), "web")


def test_a_service_port_leads_to_ready_endpoints() -> None:
    service = {"spec": {"ports": [{"name": "web", "port": 80}, {"name": "admin", "port": 81}]}}
    assert proxy.name_of_port(service, proxy.split("s:80")) == "web"
    assert proxy.name_of_port(service, proxy.split("s:admin")) == "admin"
    with pytest.raises(errors.ServiceUnavailable):
        proxy.name_of_port(service, proxy.split("s"))
    endpoint_slice = {
        "ports": [{"name": "web", "port": 8080}, {"name": "admin", "port": 8081}],
        "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": True}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
            {"addresses": ["10.0.0.3"]},
        ],
    }
    assert proxy.ready(endpoint_slice, "web") == [("10.0.0.1", 8080), ("10.0.0.3", 8080)]


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("10.0.0.1", True),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("::1", False),
        ("fd00::1", True),
        ("x", False),
    ],
)
def test_the_apiservers_own_neighbourhood_is_out_of_reach(address: str, allowed: bool) -> None:
    assert proxy.is_proxyable(address) is allowed


def test_the_nodes_internal_address_is_preferred() -> None:
    status = {
        "addresses": [
            {"type": "Hostname", "address": "n"},
            {"type": "ExternalIP", "address": "8.8.8.8"},
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "InternalIP", "address": "fd00::1"},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10251}},
    }
    assert kubelets.address_of({"metadata": {"name": "n"}, "status": status}) == ("10.0.0.1", 10251)
    with pytest.raises(errors.BadRequest, match="no preferred addresses found for node n"):
        kubelets.address_of({"metadata": {"name": "n"}})


def test_the_only_container_need_not_be_named() -> None:
    assert pods.container_of(pod("c"), "") == "c"
    assert pods.container_of(pod("c", init=("i",)), "i") == "i"
    with pytest.raises(errors.BadRequest, match=r"choose one of: \[a b\] or one of the init containers: \[i\]"):
        pods.container_of(pod("a", "b", init=("i",)), "")
