"""OpenAPI: both versions, in JSON and protobuf, as real kubectls of two ages read them."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx

from tests import harness

BINARY = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def test_version_3_has_an_index_whose_addresses_may_be_kept(admin: httpx.Client) -> None:
    index = admin.get("/openapi/v3")
    paths = index.json()["paths"]
    assert {"api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "version"} <= set(paths)
    assert admin.get("/openapi/v3", headers={"if-none-match": index.headers["etag"]}).status_code == 304
    address = paths["apis/apps/v1"]["serverRelativeURL"]
    document = admin.get(address)
    assert document.status_code == 200
    assert document.headers.get_list("cache-control") == ["public, immutable"]
    stale = admin.get("/openapi/v3/apis/apps/v1?hash=0")
    assert (stale.status_code, stale.headers["location"]) == (301, address)
    plain = admin.get("/openapi/v3/apis/apps/v1")
    assert (plain.status_code, plain.headers["cache-control"]) == (200, "no-cache, private")
    assert admin.get(address, headers={"if-none-match": document.headers["etag"]}).status_code == 304


def test_every_reference_of_every_document_leads_somewhere(admin: httpx.Client) -> None:
    for place, entry in admin.get("/openapi/v3").json()["paths"].items():
        document = admin.get(entry["serverRelativeURL"]).json()
        known = document["components"]["schemas"]
        for reference in set(json.dumps(document).split('"$ref": "#/components/schemas/')[1:]):
            assert reference.partition('"')[0] in known, place


def test_version_2_is_one_document_in_which_names_are_unique(admin: httpx.Client) -> None:
    document = admin.get("/openapi/v2", headers={"accept": "application/json"}).json()
    assert document["swagger"] == "2.0"
    identifiers = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(identifiers) == len(set(identifiers))
    assert "readCoreV1NamespacedPodLog" in identifiers
    assert "connectCoreV1PostNamespacedPodExec" in identifiers
    for reference in set(json.dumps(document).split('"$ref": "#/definitions/')[1:]):
        assert reference.partition('"')[0] in document["definitions"]


def test_version_2_is_also_had_in_protobuf_and_in_nothing_else(admin: httpx.Client) -> None:
    binary = admin.get("/openapi/v2", headers={"accept": BINARY})
    assert binary.headers["content-type"] == BINARY.replace("@", ".")  # no kubectl can parse what it asks for
    assert binary.content.startswith(b"\x0a\x032.0")
    assert admin.get("/openapi/v2", headers={"accept": "text/html"}).status_code == 406
    again = admin.get("/openapi/v2", headers={"accept": BINARY, "if-none-match": binary.headers["etag"]})
    assert again.status_code == 304


def test_kubectl_1_20_explains_from_the_protobuf_form(old_kubectl: Callable[..., str]) -> None:
    explained = old_kubectl("explain", "deployment.spec.replicas")
    assert "VERSION:  apps/v1" in explained
    assert "FIELD:    replicas <integer>" in explained
    assert "Number of desired pods" in explained
    recursive = old_kubectl("explain", "pod.spec", "--recursive")
    assert "livenessProbe\t<Object>" in recursive
    assert "nodeSelector\t<map[string]string>" in recursive


def test_kubectl_1_20_validates_before_it_sends(old_kubectl: Callable[..., str], namespace: str) -> None:
    bad = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: many}], colour: red}\n"
    refused = old_kubectl("-n", namespace, "create", "-f", "-", stdin=bad, fails=True)
    assert 'unknown field "colour" in io.k8s.api.core.v1.ServiceSpec' in refused
    assert 'invalid type for io.k8s.api.core.v1.ServicePort.port: got "string", expected "integer"' in refused


def test_kubectl_1_20_creates_applies_and_lists(old_kubectl: Callable[..., str], namespace: str) -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"
    assert old_kubectl("-n", namespace, "apply", "-f", "-", stdin=manifest) == "configmap/c created\n"
    assert old_kubectl("-n", namespace, "apply", "-f", "-", stdin=manifest) == "configmap/c unchanged\n"
    applied = old_kubectl("-n", namespace, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)
    assert applied == "configmap/c serverside-applied\n"
    assert old_kubectl("-n", namespace, "get", "configmap", "-o", "name") == "configmap/c\n"
    assert "deployments" in old_kubectl("api-resources", "--api-group=apps", "-o", "name")
    assert "apps/v1\n" in old_kubectl("api-versions")


def test_kubectl_1_37_finds_all_of_it_in_version_3(server: harness.Server) -> None:
    assert "FIELD: replicas <integer>" in server.kubectl("explain", "deployment.spec.replicas")
    assert "GROUP:      batch" in server.kubectl("explain", "cronjob.spec.jobTemplate", "--recursive")
    assert "livenessProbe" in server.kubectl("explain", "pods", "--output=plaintext-openapiv2", "--recursive")


def test_the_hash_of_a_storage_version_is_upstreams(admin: httpx.Client) -> None:
    def hashes(path: str) -> dict[str, str]:
        return {item["name"]: item.get("storageVersionHash", "") for item in admin.get(path).json()["resources"]}

    core = hashes("/api/v1")
    assert core["pods"] == "xPOwRZ+Yhw8="
    assert core["pods/status"] == ""
    assert hashes("/apis/apps/v1")["deployments"] == "8aSe+NMegvE="
    assert hashes("/apis/events.k8s.io/v1")["events"] == core["events"] == "r2yiGXH7wu8="


def test_the_index_lists_every_path_that_leads_somewhere(admin: httpx.Client) -> None:
    paths = admin.get("/").json()["paths"]
    assert paths == sorted(paths)
    assert {"/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz/etcd", "/readyz/shutdown", "/openapi/v3"} <= set(paths)
    for path in paths:
        assert admin.get(path).status_code == 200, path
