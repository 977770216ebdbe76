"""dryRun=All at every kind of write: the answer is the real one's, and nothing is kept."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
DRY = {"dryRun": "All", "fieldManager": "dry"}

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        },
    },
}


@pytest.fixture
def path(admin: httpx.Client, namespace: str) -> str:
    """The collection of Deployments, with one in it."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    admin.post(path, json=DEPLOYMENT).raise_for_status()
    return path


def test_a_create_is_answered_and_forgotten(admin: httpx.Client, path: str) -> None:
    metadata = {"generateName": "x-"}
    made = admin.post(path, json=DEPLOYMENT | {"metadata": metadata}, params=DRY)
    assert made.status_code == 201
    answer = made.json()["metadata"]
    assert answer["name"].startswith("x-")
    assert answer["uid"]
    assert "resourceVersion" not in answer
    assert [entry["manager"] for entry in answer["managedFields"]] == ["dry"]
    assert len(admin.get(path).json()["items"]) == 1
    assert admin.post(path, json=DEPLOYMENT, params=DRY).status_code == 409, "what would not work does not"


@pytest.mark.parametrize(
    ("method", "where", "headers", "body"),
    [
        ("PUT", "/d", {}, DEPLOYMENT | {"spec": DEPLOYMENT["spec"] | {"replicas": 7}}),
        ("PATCH", "/d", MERGE, {"spec": {"replicas": 7}}),
        ("PATCH", "/d", {"content-type": "application/strategic-merge-patch+json"}, {"spec": {"replicas": 7}}),
        (
            "PATCH",
            "/d",
            {"content-type": "application/json-patch+json"},
            [{"op": "replace", "path": "/spec/replicas", "value": 7}],
        ),
        ("PATCH", "/d/scale", MERGE, {"spec": {"replicas": 7}}),
        ("PUT", "/d/scale", {}, {"metadata": {"name": "d"}, "spec": {"replicas": 7}}),
        ("PATCH", "/d/status", MERGE, {"status": {"replicas": 7}}),
    ],
)
def test_changes_are_answered_and_forgotten(
    admin: httpx.Client, path: str, method: str, where: str, headers: dict[str, str], body: Any
) -> None:
    before = admin.get(f"{path}/d").json()
    response = admin.request(method, path + where, json=body, headers=headers, params=DRY)
    assert response.status_code == 200
    answer = response.json()
    part = "status" if where.endswith("status") else "spec"
    assert answer[part]["replicas"] == 7
    assert answer["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert admin.get(f"{path}/d").json() == before


def test_applies_are_answered_and_forgotten(admin: httpx.Client, path: str) -> None:
    before = admin.get(f"{path}/d").json()
    changed = DEPLOYMENT | {"spec": DEPLOYMENT["spec"] | {"replicas": 7}}
    refused = admin.patch(f"{path}/d", json=changed, headers=APPLY, params=DRY)
    assert (refused.status_code, refused.json()["reason"]) == (409, "Conflict")
    typed = {"content-type": APPLY["content-type"] + "; charset=utf-8"}
    forced = admin.patch(f"{path}/d", json=changed, headers=typed, params=DRY | {"force": "true"})
    assert (forced.status_code, forced.json()["spec"]["replicas"]) == (200, 7)
    new = DEPLOYMENT | {"metadata": {"name": "new"}}
    assert admin.patch(f"{path}/new", json=new, headers=APPLY, params=DRY).status_code == 201
    assert admin.get(f"{path}/new").status_code == 404
    assert admin.get(f"{path}/d").json() == before


def test_what_happens_to_pods_is_answered_and_forgotten(admin: httpx.Client, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    admin.post(f"/api/v1/namespaces/{namespace}/serviceaccounts", json={"metadata": {"name": "default"}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    admin.post(pods, json=pod).raise_for_status()
    before = admin.get(f"{pods}/p").json()
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"name": "n"}}
    assert admin.post(f"{pods}/p/binding", json=binding, params=DRY).status_code == 201
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert admin.post(f"{pods}/p/eviction", json=eviction, params=DRY).status_code == 201
    assert admin.delete(f"{pods}/p", params={"dryRun": "All"}).status_code == 200
    assert admin.get(f"{pods}/p").json() == before


def test_a_dry_run_of_anything_else_is_refused(admin: httpx.Client, path: str) -> None:
    response = admin.patch(f"{path}/d", json={}, headers=MERGE, params={"dryRun": "Server"})
    assert (response.status_code, response.json()["message"]) == (
        422,
        'PatchOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Server"]: supported values: "All"',
    )
