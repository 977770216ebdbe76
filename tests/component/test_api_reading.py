"""What reads give: discovery, OpenAPI, tables, pages, compression, health, metrics, the version."""

from __future__ import annotations

import json

import httpx
import pytest
import yaml

from tests import harness

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def test_discovery_lists_groups_versions_and_resources(admin: httpx.Client) -> None:
    assert admin.get("/api").json()["versions"] == ["v1"]
    groups = admin.get("/apis").json()["groups"]
    assert {"apps", "batch", "rbac.authorization.k8s.io", "coordination.k8s.io"} <= {group["name"] for group in groups}
    apps = admin.get("/apis/apps").json()
    assert apps["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    listed = {entry["name"]: entry for entry in admin.get("/apis/apps/v1").json()["resources"]}
    assert listed["deployments"]["shortNames"] == ["deploy"]
    assert listed["deployments/scale"]["group"] == "autoscaling"
    assert set(listed["deployments"]["verbs"]) == {
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"
    }  # fmt: skip


def test_aggregated_discovery_is_one_document_with_an_etag(admin: httpx.Client) -> None:
    response = admin.get("/apis", headers={"accept": AGGREGATED})
    assert response.headers["content-type"] == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    apps = next(item for item in response.json()["items"] if item["metadata"]["name"] == "apps")
    deployments = next(entry for entry in apps["versions"][0]["resources"] if entry["resource"] == "deployments")
    assert [sub["subresource"] for sub in deployments["subresources"]] == ["scale", "status"]
    again = admin.get("/apis", headers={"accept": AGGREGATED, "if-none-match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_openapi_v3_has_an_index_and_a_document_a_group_version(admin: httpx.Client) -> None:
    index = admin.get("/openapi/v3").json()["paths"]
    document = admin.get(index["apis/apps/v1"]["serverRelativeURL"])
    assert document.status_code == 200
    body = document.json()
    post = body["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"]
    assert {parameter["name"] for parameter in post["parameters"]} >= {"fieldValidation", "dryRun", "fieldManager"}
    patch = body["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    schemas = body["components"]["schemas"]
    text = json.dumps(body)
    for reference in set(text.split('"$ref": "#/components/schemas/')[1:]):
        assert reference.partition('"')[0] in schemas
    cached = admin.get("/openapi/v3/apis/apps/v1", headers={"if-none-match": document.headers["etag"]})
    assert cached.status_code == 304


def test_a_table_has_the_columns_that_kubectl_prints(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "a"}, "data": {"x": "1"}})
    table = admin.get(path, headers={"accept": TABLE}).json()
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["a", 1]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    whole = admin.get(path, headers={"accept": TABLE}, params={"includeObject": "Object"}).json()
    assert whole["rows"][0]["object"]["data"] == {"x": "1"}
    bare = admin.get(path, headers={"accept": TABLE}, params={"includeObject": "None"}).json()
    assert bare["rows"][0]["object"] is None


def test_metadata_alone_can_be_asked_for(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "a"}, "data": {"x": "1"}})
    accept = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    listed = admin.get(path, headers=accept).json()
    assert listed["kind"] == "PartialObjectMetadataList"
    assert set(listed["items"][0]) == {"kind", "apiVersion", "metadata"}


def test_pages_make_up_the_whole_list(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    names = [f"c{number}" for number in range(7)]
    for name in names:
        admin.post(path, json={"metadata": {"name": name}})
    first = admin.get(path, params={"limit": "3"}).json()
    assert first["metadata"]["remainingItemCount"] == 4
    admin.post(path, json={"metadata": {"name": "c33"}})  # not in a list that began before
    seen = [item["metadata"]["name"] for item in first["items"]]
    token = first["metadata"]["continue"]
    while token:
        page = admin.get(path, params={"limit": "3", "continue": token}).json()
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        seen += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue")
    assert seen == names


def test_a_large_list_is_compressed_when_the_client_takes_it(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(3):
        admin.post(path, json={"metadata": {"name": f"c{number}"}, "data": {"fill": "x" * 60_000}})
    plain = admin.get(path, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = admin.get(path, headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < 10_000
    assert packed.json() == plain.json()


def test_yaml_goes_in_and_out(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    created = admin.post(
        path,
        content="metadata: {name: a}\ndata: {answer: 'yes', number: '010'}\n",
        headers={"content-type": "application/yaml", "accept": "application/yaml"},
    )
    assert created.status_code == 201
    assert created.headers["content-type"] == "application/yaml"
    assert yaml.safe_load(created.text)["data"] == {"answer": "yes", "number": "010"}


def test_pretty_indents(admin: httpx.Client) -> None:
    assert admin.get("/api/v1/namespaces/default", params={"pretty": "true"}).text.startswith('{\n  "')


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/livez/etcd", "/readyz/ping"])
def test_health_is_ok(admin: httpx.Client, path: str) -> None:
    assert (admin.get(path).status_code, admin.get(path).text) == (200, "ok")


def test_verbose_health_lists_the_checks(admin: httpx.Client) -> None:
    text = admin.get("/readyz", params={"verbose": ""}).text
    assert "[+]etcd ok\n" in text
    assert text.endswith("readyz check passed\n")
    assert "[+]etcd excluded: ok" in admin.get("/readyz", params={"verbose": "", "exclude": "etcd"}).text
    assert admin.get("/readyz/nothing").status_code == 404


def test_metrics_count_requests_by_kind_and_outcome(server: harness.Server, admin: httpx.Client) -> None:
    admin.get("/api/v1/namespaces/default/configmaps/ghost")
    text = admin.get("/metrics").text
    series = (
        'apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",'
        'subresource="",verb="GET",version="v1"}'
    )
    assert any(line.startswith(series) for line in text.splitlines())
    assert "# TYPE apiserver_request_duration_seconds histogram" in text
    for path in ("made-up", "other-made-up"):
        admin.get(f"/api/v1/namespaces/default/{path}")
    assert "made-up" not in admin.get("/metrics").text


def test_the_version_is_the_one_of_the_served_api(admin: httpx.Client) -> None:
    version = admin.get("/version").json()
    assert (version["major"], version["minor"]) == ("1", "37")
    assert version["gitVersion"].startswith("v1.37.0+armillary")


def test_a_request_keeps_its_audit_id_and_trace(admin: httpx.Client) -> None:
    assert admin.get("/api", headers={"audit-id": "mine-1"}).headers["audit-id"] == "mine-1"
    assert len(admin.get("/api", headers={"audit-id": "x" * 500}).headers["audit-id"]) == 36


def test_the_cluster_begins_with_its_namespaces_and_its_service(admin: httpx.Client) -> None:
    names = {item["metadata"]["name"] for item in admin.get("/api/v1/namespaces").json()["items"]}
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= names
    service = admin.get("/api/v1/namespaces/default/services/kubernetes").json()
    assert service["spec"]["clusterIP"] == "10.96.0.1"
    assert [entry["manager"] for entry in service["metadata"]["managedFields"]] == ["kube-apiserver"]
