"""What custom resources show of themselves: discovery, OpenAPI in both versions, APIServices; and nothing after."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from apimachinery import protobuf
from tests import harness

GROUP = "docs.example.com"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "plural": "gadgets",
            "singular": "gadget",
            "kind": "Gadget",
            "listKind": "GadgetList",
            "shortNames": ["gg"],
        },
        "versions": [
            {
                "name": version,
                "served": True,
                "storage": version == "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": f"A gadget of {version}.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "description": "How big it is.", "minimum": 1},
                                    "port": {"x-kubernetes-int-or-string": True},
                                },
                            }
                        },
                    }
                },
            }
            for version in ("v1beta1", "v1")
        ],
    },
}
_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def until(check: Callable[[], Any], seconds: float = 5.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def defined(server: harness.Server) -> Iterator[httpx.Client]:
    """A client of a server that has gadgets."""
    with server.admin() as admin:
        made = admin.post(_PATH, json=CRD)
        assert made.status_code == 201, made.text
        until(lambda: admin.get(f"/apis/{GROUP}/v1").status_code == 200)
        yield admin
        admin.delete(f"{_PATH}/gadgets.{GROUP}")
        until(lambda: admin.get(f"/apis/{GROUP}").status_code == 404)
        until(lambda: admin.get(f"{_APISERVICES}/v1.{GROUP}").status_code == 404)
        assert f"apis/{GROUP}/v1" not in admin.get("/openapi/v3").json()["paths"]


def test_the_better_version_is_preferred_whatever_the_order(defined: httpx.Client) -> None:
    group = defined.get(f"/apis/{GROUP}").json()
    assert [item["version"] for item in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"
    hashes = {
        version: defined.get(f"/apis/{GROUP}/{version}").json()["resources"][0]["storageVersionHash"]
        for version in ("v1", "v1beta1")
    }
    assert hashes["v1"] == hashes["v1beta1"]


def test_each_version_has_a_local_api_service(defined: httpx.Client) -> None:
    for version in ("v1", "v1beta1"):
        found = until(
            lambda name=version: (answer := defined.get(f"{_APISERVICES}/{name}.{GROUP}")).is_success and answer
        )
        body = found.json()
        assert (body["spec"]["groupPriorityMinimum"], body["spec"]["versionPriority"]) == (1000, 100)
        assert body["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
        assert body["status"]["conditions"][0]["reason"] == "Local"


def test_kubectl_explains_it_from_version_3(defined: httpx.Client, server: harness.Server) -> None:
    assert "How big it is." in server.kubectl("explain", "gadget.spec.size")
    recursive = server.kubectl("explain", "gg", "--recursive", f"--api-version={GROUP}/v1beta1")
    assert "A gadget of v1beta1." in recursive
    assert "metadata\t<ObjectMeta>" in recursive
    assert "size\t<integer> -required-" in recursive


def test_openapi_knows_its_patches_and_its_kind(defined: httpx.Client) -> None:
    address = defined.get("/openapi/v3").json()["paths"][f"apis/{GROUP}/v1"]["serverRelativeURL"]
    document = defined.get(address).json()
    one = document["paths"][f"/apis/{GROUP}/v1/namespaces/{{namespace}}/gadgets/{{name}}"]
    assert "application/strategic-merge-patch+json" not in one["patch"]["requestBody"]["content"]
    assert one["get"]["x-kubernetes-group-version-kind"] == {"group": GROUP, "kind": "Gadget", "version": "v1"}
    whole = defined.get("/openapi/v2").json()["definitions"]["com.example.docs.v1.Gadget"]
    assert whole["properties"]["spec"]["properties"]["size"]["minimum"] == 1


def test_kubectl_validates_and_applies_it(defined: httpx.Client, server: harness.Server, namespace: str) -> None:
    good = f"apiVersion: {GROUP}/v1\nkind: Gadget\nmetadata: {{name: g}}\nspec: {{size: 3, port: web}}\n"
    at = ("-n", namespace)
    assert server.kubectl(*at, "apply", "-f", "-", stdin=good) == f"gadget.{GROUP}/g created\n"
    assert server.kubectl(*at, "apply", "-f", "-", stdin=good) == f"gadget.{GROUP}/g unchanged\n"
    assert server.kubectl(*at, "get", "gg", "-o", "name") == f"gadget.{GROUP}/g\n"
    refused = server.try_kubectl(*at, "apply", "-f", "-", stdin=good.replace("size", "sise"))
    assert 'unknown field "spec.sise"' in refused.stderr


def test_custom_resources_have_no_protobuf_but_their_metadata_has(defined: httpx.Client, namespace: str) -> None:
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}/gadgets"
    made = {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": {"name": "p"}, "spec": {"size": 1}}
    assert defined.post(path, json=made).status_code == 201
    binary = "application/vnd.kubernetes.protobuf"
    partial = defined.get(path, headers={"accept": f"{binary};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"})
    assert partial.headers["content-type"] == binary
    (item,) = protobuf.decode(partial.content)["items"]
    assert item["metadata"]["name"] == "p"
    refused = defined.get(path, headers={"accept": binary})
    assert refused.status_code == 406
    assert (
        refused.json()["message"] == "only the following media types are accepted: application/json, application/yaml"
    )


def test_kubectl_1_20_explains_and_validates_it_from_the_protobuf_form(
    defined: httpx.Client, old_kubectl: Callable[..., str], namespace: str
) -> None:
    assert "How big it is." in old_kubectl("explain", "gadget.spec.size")
    good = f"apiVersion: {GROUP}/v1\nkind: Gadget\nmetadata: {{name: o}}\nspec: {{size: 3, port: web}}\n"
    assert old_kubectl("-n", namespace, "apply", "-f", "-", stdin=good) == f"gadget.{GROUP}/o created\n"
    refused = old_kubectl("-n", namespace, "apply", "-f", "-", stdin=good.replace("size: 3", "size: big"), fails=True)
    assert 'invalid type for com.example.docs.v1.Gadget.spec.size: got "string", expected "integer"' in refused


def test_workers_agree_on_what_there_is() -> None:
    """Each learns of definitions by itself; a client that meets them in turn must not see its caches go stale."""

    def definition(plural: str) -> dict[str, Any]:
        names = {"plural": plural, "kind": plural.capitalize()}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        spec = {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]}
        return {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}

    def seen(server: harness.Server) -> tuple[str, ...]:
        accept = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
        with server.admin() as client:  # a connection of its own, to either worker
            return client.get("/openapi/v3").headers["etag"], client.get("/apis", headers=accept).headers["etag"]

    with harness.Server(workers=2) as server:
        with server.admin() as admin:
            for plural in ("zebras", "antelopes", "gnus"):
                assert admin.post(_PATH, json=definition(plural)).status_code == 201
            for pid in server.worker_pids()[:1]:  # its successor finds all of them at once, in another order
                os.kill(pid, signal.SIGKILL)
        until(lambda: len(server.worker_pids()) == 2)
        until(lambda: len({seen(server) for _ in range(8)}) == 1, 10)
        with server.admin() as admin:
            assert f"apis/{GROUP}/v1" in admin.get("/openapi/v3").json()["paths"]
