"""Small pure parts: back-off, credentials, admission, routes, access, heads of requests."""

from __future__ import annotations

import base64
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import orjson
import pytest

from apimachinery.objects import Object
from kubelet import errors, images
from kubelet.backoff import Backoff
from kubelet.network import cni, routes
from kubelet.network.routes import Route
from kubelet.node import status as node_status
from kubelet.pods import admit
from kubelet.server import access, http
from tests.unit.kubelet.builders import START, pod


def test_delays_double_up_to_five_minutes_and_are_forgotten_after_ten() -> None:
    backoff, now = Backoff(), START
    delays = []
    for _ in range(7):
        backoff.failed("a", now)
        delays.append(backoff.delay("a"))
        now += timedelta(seconds=1)
    assert delays == [10, 20, 40, 80, 160, 300, 300]
    backoff.failed("a", now + timedelta(seconds=601))
    assert backoff.delay("a") == 10
    assert backoff.delay("b") == 0


def test_what_is_left_of_a_delay_counts_from_the_failure() -> None:
    backoff = Backoff()
    backoff.failed("a", START)
    assert backoff.left("a", START + timedelta(seconds=4)) == 6
    assert backoff.left("a", START + timedelta(seconds=40)) == 0


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1", "nginx:1"),
        ("host:5000/a/b", "host:5000/a/b:latest"),
        ("a@sha256:" + "0" * 64, "a@sha256:" + "0" * 64),
    ],
)
def test_an_image_without_a_tag_means_latest(image: str, full: str) -> None:
    assert images.with_default_tag(image) == full


def test_a_name_that_is_no_image_is_said_to_be_invalid() -> None:
    with pytest.raises(errors.StartRefused) as raised:
        images.with_default_tag("NGINX:")
    assert raised.value.reason == "InvalidImageName"


def pull_secret(**auths: Object) -> Object:
    content = orjson.dumps({"auths": {name.replace("__", "/"): entry for name, entry in auths.items()}})
    return {"data": {".dockerconfigjson": base64.b64encode(content).decode()}}


@pytest.mark.parametrize(
    ("server", "reference", "fits"),
    [
        ("reg.example:5000", "reg.example:5000/a:1", True),
        ("https://reg.example:5000", "reg.example:5000/a:1", True),
        ("reg.example", "reg.example:5000/a:1", False),
        ("https://index.docker.io/v1/", "nginx:latest", True),
        ("docker.io", "library/nginx:latest", True),
        ("*.example", "reg.example/a:1", True),
        ("reg.example/team", "reg.example/team/a:1", True),
        ("reg.example/team", "reg.example/other/a:1", False),
    ],
)
def test_credentials_are_sent_only_to_their_registry(server: str, reference: str, fits: bool) -> None:
    entry = {"auth": base64.b64encode(b"me:pass:word").decode()}
    found = images.credentials_of(pull_secret(**{server: entry}), reference)
    assert [(auth.username, auth.password) for auth in found] == ([("me", "pass:word")] if fits else [])


def test_a_broken_pull_secret_gives_no_credentials() -> None:
    assert images.credentials_of({"data": {".dockerconfigjson": "e30="}}, "a:1") == []
    assert images.credentials_of({"data": {".dockerconfigjson": base64.b64encode(b"no").decode()}}, "a:1") == []


NODE: Object = {"metadata": {"name": "n", "labels": {"disk": "ssd"}}, "spec": {}}
SIZE = {"cpu": Decimal(2), "memory": Decimal(1000), "pods": Decimal(2)}


def with_cpu(cpu: str, **fields: Object) -> Object:
    return pod({"name": "a", "resources": {"requests": {"cpu": cpu}}}, **fields)


OTHER = with_cpu("1500m", metadata={"uid": "u2"})


@pytest.mark.parametrize(
    ("a_pod", "others", "reason"),
    [
        (with_cpu("500m"), [OTHER], None),
        (with_cpu("501m"), [OTHER], "OutOfcpu"),
        (with_cpu("1"), [OTHER, with_cpu("0", metadata={"uid": "u3"})], "OutOfcpu"),
        (with_cpu("0"), [OTHER, with_cpu("0", metadata={"uid": "u3"})], "OutOfpods"),
        (pod("a", nodeSelector={"disk": "ssd"}), [], None),
        (pod("a", nodeSelector={"disk": "hdd"}), [], "NodeAffinity"),
        (pod("a", os={"name": "windows"}), [], "PodOSNotSupported"),
        (
            pod({"name": "a", "ports": [{"containerPort": 1, "hostPort": 80}]}),
            [pod({"name": "b", "ports": [{"containerPort": 2, "hostPort": 80}]}, metadata={"uid": "u2"})],
            "NodePorts",
        ),
    ],
)
def test_a_pod_is_let_in_or_refused_with_upstreams_reason(
    a_pod: Object, others: list[Object], reason: str | None
) -> None:
    verdict = admit.admit(a_pod, NODE, others, SIZE)
    assert (verdict.reason if verdict else None) == reason


def test_a_refusal_for_lack_of_resources_says_the_numbers() -> None:
    verdict = admit.admit(with_cpu("501m"), NODE, [OTHER], SIZE)
    assert verdict is not None
    wanted = "Pod was rejected: Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000"
    assert verdict.message == wanted


def test_a_taint_that_does_not_let_pods_run_refuses_them() -> None:
    tainted = NODE | {"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]}}
    assert admit.admit(pod("a"), tainted, [], SIZE) is not None
    assert admit.admit(pod("a", tolerations=[{"operator": "Exists"}]), tainted, [], SIZE) is None


def a_node(name: str, cidr: str | None, address: str) -> Object:
    addresses = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": address}]
    return {"metadata": {"name": name}, "spec": {"podCIDR": cidr} if cidr else {}, "status": {"addresses": addresses}}


def test_there_is_one_route_for_every_other_node_that_has_a_range() -> None:
    nodes = [
        a_node("me", "10.0.0.0/24", "1.1.1.1"),
        a_node("b", "10.0.1.0/24", "1.1.1.2"),
        a_node("c", None, "1.1.1.3"),
    ]
    wanted = routes.wanted_routes(nodes, "me")
    assert wanted == {Route("10.0.1.0/24", "1.1.1.2")}
    plan = routes.plan_routes(wanted, {Route("10.0.9.0/24", "1.1.1.9")})
    assert plan.add == (Route("10.0.1.0/24", "1.1.1.2"),)
    assert plan.remove == (Route("10.0.9.0/24", "1.1.1.9"),)


def test_the_conflist_gives_pods_the_nodes_range() -> None:
    bridge, portmap = cni.conflist("net", "10.0.1.0/24", Path("/data"))["plugins"]
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.0.1.0/24"}]]
    assert bridge["ipMasq"] is False, "else pods of other nodes would see the node's address"
    assert portmap["type"] == "portmap"


@pytest.mark.parametrize(
    ("path", "subresource"),
    [
        ("/metrics", "metrics"),
        ("/metrics/x", "metrics"),
        ("/stats/summary", "stats"),
        ("/exec/a/b/c", "proxy"),
        ("/statsx", "proxy"),
    ],
)
def test_paths_stand_for_subresources_of_the_node(path: str, subresource: str) -> None:
    assert access.subresource_of(path) == subresource


def test_a_certificate_names_user_and_groups() -> None:
    subject = ((("organizationName", "g1"),), (("organizationName", "g2"),), (("commonName", "me"),))
    assert http.peer_of({"subject": subject}) == http.Peer("me", ("g1", "g2"))
    assert http.peer_of(None) == http.Peer()


def test_a_node_says_why_it_is_not_ready() -> None:
    health = node_status.Health(runtime_problem="gone", network_problem="no cni")
    facts = node_status.Facts(
        "n", ("1.1.1.1",), 10250, SIZE, SIZE, {"architecture": "amd64", "operatingSystem": "linux"}, "c://1"
    )
    status = node_status.node_status(facts, health, [], {}, START)
    ready = next(entry for entry in status["conditions"] if entry["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "KubeletNotReady")
    assert ready["message"] == "[container runtime is down: gone, container runtime network not ready: no cni]"
    later = node_status.node_status(facts, health, [], {"status": status}, START + timedelta(minutes=1))
    assert node_status.is_same(status, later), "a heartbeat alone is no news"
