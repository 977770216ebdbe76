"""What leads through the apiserver to a kubelet: logs, exec by both upgrades, a node's own paths, refusals."""

from __future__ import annotations

import socket
import ssl
import uuid
from collections.abc import Iterator

import httpx
import pytest

from tests import harness
from tests.component import peers


@pytest.fixture
def kubelet(server: harness.Server, admin: httpx.Client, namespace: str) -> Iterator[peers.Kubelet]:
    """A kubelet with a pod `p` of two containers on it."""
    name = f"node-{uuid.uuid4().hex[:6]}"
    pki = server.pki
    with peers.Kubelet(pki.cert("kubelet-node-1"), pki.key("kubelet-node-1"), pki.ca) as kubelet:
        node = admin.post("/api/v1/nodes", json={"metadata": {"name": name}}).json()
        node["status"] = {
            "addresses": [{"type": "Hostname", "address": "nowhere"}, {"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
        }
        assert admin.put(f"/api/v1/nodes/{name}/status", json=node).status_code == 200
        containers = [{"name": "main", "image": "x"}, {"name": "side", "image": "x"}]
        pod = {"metadata": {"name": "p"}, "spec": {"nodeName": name, "containers": containers}}
        assert admin.post(f"/api/v1/namespaces/{namespace}/pods", json=pod).status_code == 201
        yield kubelet
        admin.delete(f"/api/v1/nodes/{name}")


def test_logs_are_relayed_as_they_come(kubelet: peers.Kubelet, admin: httpx.Client, namespace: str) -> None:
    kubelet.answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    kubelet.stream = [b"6\r\nfirst\n\r\n", b"7\r\nsecond\n\r\n", b"0\r\n\r\n"]
    query = {"container": "main", "follow": "true", "tailLines": "5"}
    with admin.stream("GET", f"/api/v1/namespaces/{namespace}/pods/p/log", params=query) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/plain"
        assert list(response.iter_lines()) == ["first", "second"]
    assert kubelet.requests[0].startswith(f"GET /containerLogs/{namespace}/p/main?follow=true&tailLines=5 HTTP/1.1\r\n")
    assert kubelet.clients == ["kube-apiserver-kubelet-client"]


def test_a_kubelets_refusal_becomes_a_status(kubelet: peers.Kubelet, admin: httpx.Client, namespace: str) -> None:
    text = b'container "main" in pod "p" is waiting to start: ContainerCreating'
    kubelet.answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text)
    refused = admin.get(f"/api/v1/namespaces/{namespace}/pods/p/log", params={"container": "main"})
    assert refused.status_code == 400
    assert refused.json()["message"] == text.decode()


def test_the_container_must_be_named_when_there_are_several(
    kubelet: peers.Kubelet, admin: httpx.Client, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods/p/log"
    unnamed = admin.get(path)
    assert unnamed.status_code == 400
    assert unnamed.json()["message"] == ("a container name must be specified for pod p, choose one of: [main side]")
    wrong = admin.get(path, params={"container": "other"})
    assert wrong.json()["message"] == "container other is not valid for pod p"


@pytest.mark.parametrize(("method", "protocol"), [("POST", "SPDY/3.1"), ("GET", "websocket")])
def test_exec_is_spliced_for_both_protocols(
    server: harness.Server, kubelet: peers.Kubelet, namespace: str, method: str, protocol: str
) -> None:
    kubelet.answer = f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: {protocol}\r\nConnection: Upgrade\r\n\r\n".encode()
    path = f"/api/v1/namespaces/{namespace}/pods/p/exec?container=main&command=sh&command=-c&stdin=true&stdout=true"
    context = ssl.create_default_context(cafile=str(server.pki.ca))
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as client,
    ):
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\n"
            f"Connection: Upgrade\r\nUpgrade: {protocol}\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n"
        )
        client.sendall(head.encode() + b"early ")  # a client need not wait before it speaks
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += client.recv(4096)
        assert answer.startswith(kubelet.answer)
        big = b"x" * 300_000
        client.sendall(big)
        got = answer.partition(b"\r\n\r\n")[2]
        while len(got) < len(big) + 6:
            got += client.recv(65536)
        assert got == b"EARLY " + big.upper()
    request = kubelet.requests[0]
    assert request.startswith(f"{method} /exec/{namespace}/p/main?input=1&output=1&command=sh&command=-c HTTP/1.1\r\n")
    assert f"upgrade: {protocol}" in request
    assert "admin-token" not in request


def test_a_refused_upgrade_reaches_the_client_as_it_is(
    server: harness.Server, kubelet: peers.Kubelet, admin: httpx.Client, namespace: str
) -> None:
    kubelet.answer = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"
    headers = {"connection": "Upgrade", "upgrade": "websocket"}
    path = f"/api/v1/namespaces/{namespace}/pods/p/attach"
    refused = admin.get(path, params={"container": "main", "stdout": "true"}, headers=headers)
    assert (refused.status_code, refused.text) == (403, "no")
    plain = admin.post(path, params={"container": "main"})
    assert plain.json()["message"] == "Upgrade request required"


def test_a_kubelet_that_is_gone_is_said(
    server: harness.Server, kubelet: peers.Kubelet, admin: httpx.Client, namespace: str
) -> None:
    kubelet.__exit__()
    failed = admin.get(f"/api/v1/namespaces/{namespace}/pods/p/log", params={"container": "main"})
    assert failed.status_code == 500
    assert failed.json()["message"].startswith("error dialing backend: Connect")


def test_a_nodes_own_paths_are_proxied(kubelet: peers.Kubelet, admin: httpx.Client, namespace: str) -> None:
    pod = admin.get(f"/api/v1/namespaces/{namespace}/pods/p").json()
    kubelet.answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
    response = admin.get(f"/api/v1/nodes/{pod['spec']['nodeName']}/proxy/stats/summary", params={"only": "cpu"})
    assert response.text == "ok"
    assert kubelet.requests[0].startswith("GET /stats/summary?only=cpu HTTP/1.1\r\n")


def test_a_pod_without_a_node_has_no_logs_and_no_exec(admin: httpx.Client, namespace: str) -> None:
    pod = {"metadata": {"name": "q"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    admin.post(f"/api/v1/namespaces/{namespace}/pods", json=pod)
    assert admin.get(f"/api/v1/namespaces/{namespace}/pods/q/log").text == ""
    headers = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
    refused = admin.post(f"/api/v1/namespaces/{namespace}/pods/q/exec?command=sh", headers=headers)
    assert refused.json()["message"] == "pod q does not have a host assigned"
