"""Aggregation: a real extension server behind an APIService, over TLS with front-proxy identity."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests import harness
from tests.component.extension import GROUP, ROOT, SERVICE, VERSION, Extension

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAME = f"{VERSION}.{GROUP}"


def until(check: Callable[[], Any], seconds: float = 10.0) -> Any:
    """The first true answer."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.05)
    return found


def available(admin: httpx.Client, name: str = NAME) -> dict[str, Any]:
    status = admin.get(f"{APISERVICES}/{name}").json().get("status") or {}
    return next((item for item in status.get("conditions") or () if item["type"] == "Available"), {})


@contextlib.contextmanager
def registered(admin: httpx.Client, extension: Extension, **spec: Any) -> Iterator[None]:
    service = {"metadata": {"name": SERVICE["name"]}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    made = admin.post("/api/v1/namespaces/default/services", json=service)
    assert made.status_code == 201, made.text
    made = admin.post(APISERVICES, json=extension.api_service(**spec))
    assert made.status_code == 201, made.text
    try:
        yield
    finally:
        admin.delete(f"{APISERVICES}/{NAME}")
        admin.delete(f"/api/v1/namespaces/default/services/{SERVICE['name']}")


@pytest.fixture(scope="module")
def running(server: harness.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extension]:
    """An extension server that is registered and available."""
    folder = tmp_path_factory.mktemp("extension")
    with (
        Extension(server.pki.cert("front-proxy-ca"), folder) as extension,
        server.admin() as admin,
        registered(admin, extension),
    ):
        until(lambda: available(admin).get("status") == "True")
        yield extension


def test_what_is_served_here_has_local_api_services(server: harness.Server, admin: httpx.Client) -> None:
    until(lambda: admin.get(f"{APISERVICES}/v1.apps").status_code == 200)
    assert available(admin, "v1.")["reason"] == "Local"
    spec = admin.get(f"{APISERVICES}/v1.apps").json()["spec"]
    assert spec == {"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15}
    listed = {line.split()[0]: line.split()[1:3] for line in server.kubectl("get", "apiservices").splitlines()}
    assert listed["v1.apps"] == ["Local", "True"]
    assert listed["NAME"] == ["SERVICE", "AVAILABLE"]


def test_requests_reach_the_extension_server_in_the_users_name(running: Extension, server: harness.Server) -> None:
    with server.client("alice-token") as alice, server.admin() as admin:
        refused = alice.get(f"{ROOT}/namespaces/default/flunders")
        assert refused.status_code == 403  # it is we who authorize first
        body = {"metadata": {"name": "a"}, "kind": "Flunder"}
        headers = {"x-remote-user": "system:admin", "x-remote-group": "system:masters", "impersonate-user": "carol"}
        headers |= {"impersonate-group": "system:masters", "impersonate-extra-Reason": "a b"}
        made = admin.post(f"{ROOT}/namespaces/default/flunders?dryRun=All", json=body, headers=headers)
    assert (made.status_code, made.json()) == (201, body)
    seen = next(item for item in reversed(running.seen) if "dryRun" in item["path"][0])
    assert seen["path"] == [f"{ROOT}/namespaces/default/flunders?dryRun=All"]
    assert seen["client"] == ["front-proxy-client"]
    assert seen["x-remote-user"] == ["carol"]
    assert seen["x-remote-group"] == ["system:masters", "system:authenticated"]
    assert seen["x-remote-extra-reason"] == ["a b"]
    assert "authorization" not in seen
    assert "impersonate-user" not in seen


def test_a_watch_is_passed_on_as_it_comes_and_ends_with_its_client(running: Extension, admin: httpx.Client) -> None:
    with admin.stream("GET", f"{ROOT}/namespaces/default/flunders?watch=true") as response:
        lines = response.iter_lines()
        assert [json.loads(next(lines))["object"]["metadata"]["name"] for _ in range(2)] == ["a", "b"]
    until(lambda: any(item["path"] == ["the watch is over"] for item in running.seen))


def test_after_an_upgrade_bytes_pass_both_ways(running: Extension, server: harness.Server) -> None:
    context = ssl.create_default_context(cafile=str(server.pki.ca))
    head = f"GET {ROOT}/namespaces/default/flunders/a/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\n"
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as tls,
    ):
        tls.sendall(f"{head}Connection: Upgrade\r\nUpgrade: echo\r\n\r\nhello".encode())
        received = b""
        while b"HELLO" not in received:
            data = tls.recv(4096)
            assert data, received
            received += data
    assert received.startswith(b"HTTP/1.1 101 ")


def test_discovery_has_both_worlds(running: Extension, server: harness.Server, admin: httpx.Client) -> None:
    accept = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}

    def described() -> dict[str, Any]:
        items = admin.get("/apis", headers=accept).json()["items"]
        version = next(item for item in items if item["metadata"]["name"] == GROUP)["versions"][0]
        return version if version["freshness"] == "Current" else {}

    (flunders,) = until(described)["resources"]
    assert (flunders["resource"], flunders["scope"], flunders["shortNames"]) == ("flunders", "Namespaced", ["fl"])
    assert flunders["subresources"][0]["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    group = admin.get(f"/apis/{GROUP}").json()
    assert group["preferredVersion"] == {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
    assert GROUP in [item["name"] for item in admin.get("/apis").json()["groups"]]
    assert admin.get(ROOT).json()["resources"][0]["kind"] == "Flunder"
    assert server.kubectl("get", "fl", "-n", "default", "-o", "name").splitlines() == [
        f"flunder.{GROUP}/a",
        f"flunder.{GROUP}/b",
    ]


def test_openapi_has_both_worlds(running: Extension, server: harness.Server, admin: httpx.Client) -> None:
    paths = until(lambda: (found := admin.get("/openapi/v3").json()["paths"]) and ROOT[1:] in found and found)
    assert paths[ROOT[1:]] == {"serverRelativeURL": f"/openapi/v3{ROOT}?hash=ABC"}
    assert "What it should be" in server.kubectl("explain", "flunder.spec")
    whole = admin.get("/openapi/v2").json()
    assert any(path.startswith(ROOT) for path in whole["paths"])
    assert "com.example.wardle.v1alpha1.Flunder" in whole["definitions"]
    assert "unused" not in whole["definitions"]
    assert "/apis/other/v1/x" not in whole["paths"]


def test_an_api_service_says_what_is_wrong_with_it(server: harness.Server, tmp_path: Any) -> None:
    with (
        Extension(server.pki.cert("front-proxy-ca"), tmp_path) as extension,
        harness.Server() as other,
        other.admin() as admin,
    ):
        gone = extension.api_service(service={"namespace": "default", "name": "nobody", "port": 443})
        admin.post(APISERVICES, json=gone)
        found = until(lambda: available(admin))
        assert (found["status"], found["reason"]) == ("False", "ServiceNotFound")
        assert found["message"] == 'service/nobody in "default" is not present'
        unavailable = admin.get(f"{ROOT}/flunders")
        assert (unavailable.status_code, unavailable.text) == (503, "service unavailable\n")
        ports = {"clusterIP": "None", "ports": [{"port": 80, "name": "web"}]}
        admin.post("/api/v1/namespaces/default/services", json={"metadata": {"name": "nobody"}, "spec": ports})
        until(lambda: available(admin)["reason"] == "ServicePortError")
        patch = {"spec": {"ports": [{"port": 443, "name": "web"}]}}
        merge = {"content-type": "application/merge-patch+json"}
        admin.patch("/api/v1/namespaces/default/services/nobody", json=patch, headers=merge)
        assert until(lambda: available(admin)["reason"] == "EndpointsNotFound")
        admin.delete(f"{APISERVICES}/{NAME}")
        # another apiserver's front-proxy CA: the extension server refuses the handshake
        with registered(admin, extension):
            found = until(lambda: available(admin))
            assert (found["status"], found["reason"]) == ("False", "FailedDiscoveryCheck")
            assert found["message"].startswith(
                f"failing or missing response from https://localhost:{extension.port}{ROOT}"
            )


def test_a_server_that_fails_is_told_from_one_that_works_again(running: Extension, admin: httpx.Client) -> None:
    def touch(mark: str) -> None:
        merge = {"content-type": "application/merge-patch+json"}
        changed = admin.patch(f"{APISERVICES}/{NAME}", json={"metadata": {"labels": {"mark": mark}}}, headers=merge)
        assert changed.status_code == 200, changed.text

    running.statuses[ROOT] = 500
    touch("one")
    found = until(lambda: (now := available(admin))["status"] == "False" and now)
    assert found["reason"] == "FailedDiscoveryCheck"
    assert "bad status from" in found["message"]
    del running.statuses[ROOT]
    touch("two")
    assert until(lambda: (now := available(admin))["status"] == "True" and now)["reason"] == "Passed"


def test_an_api_service_is_named_after_what_it_serves(admin: httpx.Client) -> None:
    spec = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 0, "versionPriority": 2000}
    refused = admin.post(APISERVICES, json={"metadata": {"name": "v1.other.com"}, "spec": {**spec, "caBundle": "eA=="}})
    assert refused.status_code == 422
    causes = {cause["field"]: cause["message"] for cause in refused.json()["details"]["causes"]}
    assert causes["metadata.name"].endswith('must be `spec.version+"."+spec.group`: "v1.example.com"')
    assert causes["spec.groupPriorityMinimum"] == "Invalid value: 0: must be positive and less than 20000"
    assert causes["spec.versionPriority"] == "Invalid value: 2000: must be positive and less than 1000"
    assert causes["spec.caBundle"].endswith("local APIServices may not have a caBundle")
