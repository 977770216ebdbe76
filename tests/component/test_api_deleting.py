"""Deleting over HTTP: where options may stand, which status answers, what a collection's deletion takes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

Json = dict[str, Any]


def made(admin: httpx.Client, namespace: str, name: str = "m", **metadata: Any) -> str:
    """The path of a new ConfigMap."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": name} | metadata}).raise_for_status()
    return f"{path}/{name}"


def delete(admin: httpx.Client, path: str, options: Json | None = None) -> httpx.Response:
    return admin.request("DELETE", path, json=options)


def test_a_finished_deletion_is_a_status(admin: httpx.Client, namespace: str) -> None:
    path = made(admin, namespace)
    uid = admin.get(path).json()["metadata"]["uid"]
    response = delete(admin, path)
    assert response.status_code == 200
    assert response.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "m", "kind": "configmaps", "uid": uid},
    }
    assert delete(admin, path).status_code == 404


@pytest.mark.parametrize(
    ("options", "finalizers", "code"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"], 202),
        ({"propagationPolicy": "Orphan"}, ["orphan"], 200),
        ({"orphanDependents": True}, ["orphan"], 200),
        ({"orphanDependents": False}, None, 200),
        ({"propagationPolicy": "Background"}, None, 200),
    ],
)
def test_policies_in_the_body_and_in_the_query_are_the_same(
    admin: httpx.Client, namespace: str, options: Json, finalizers: list[str] | None, code: int
) -> None:
    query = "&".join(
        f"{name}={str(value).lower() if value in (True, False) else value}" for name, value in options.items()
    )
    for in_body in (True, False):
        path = made(admin, namespace)
        response = delete(admin, path, options) if in_body else delete(admin, f"{path}?{query}")
        assert response.status_code == code
        if finalizers is None:
            assert admin.get(path).status_code == 404
            continue
        assert response.json()["metadata"]["finalizers"] == finalizers
        admin.patch(
            path, json={"metadata": {"finalizers": None}}, headers={"content-type": "application/merge-patch+json"}
        ).raise_for_status()
        assert admin.get(path).status_code == 404


def test_a_deletion_that_waits_for_dependents_is_accepted(admin: httpx.Client, namespace: str) -> None:
    path = made(admin, namespace, finalizers=["example.com/wait"])
    assert delete(admin, path, {"orphanDependents": False}).status_code == 202
    assert delete(admin, path).status_code == 200, "who asks for nothing more is answered as ever"
    assert delete(admin, path, {"propagationPolicy": "Foreground"}).status_code == 202


def test_the_body_goes_before_the_query(admin: httpx.Client, namespace: str) -> None:
    path = made(admin, namespace)
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    assert delete(admin, f"{path}?propagationPolicy=Orphan", options).json()["kind"] == "Status"
    assert admin.get(path).status_code == 404


@pytest.mark.parametrize("api_version", ["v1", "meta.k8s.io/v1", "apps/v1"])
def test_delete_options_of_any_version_are_taken(admin: httpx.Client, namespace: str, api_version: str) -> None:
    path = made(admin, namespace)
    assert delete(admin, path, {"kind": "DeleteOptions", "apiVersion": api_version}).status_code == 200


def test_both_ways_to_say_a_policy_are_one_too_many(admin: httpx.Client, namespace: str) -> None:
    path = made(admin, namespace)
    response = delete(admin, path, {"propagationPolicy": "Orphan", "orphanDependents": True})
    assert (response.status_code, response.json()["message"]) == (
        422,
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": '
        "orphanDependents and deletionPropagation cannot be both set",
    )


@pytest.mark.parametrize("where", ["body", "query"])
def test_a_dry_run_deletes_nothing(admin: httpx.Client, namespace: str, where: str) -> None:
    path = made(admin, namespace)
    response = delete(admin, path, {"dryRun": ["All"]}) if where == "body" else delete(admin, f"{path}?dryRun=All")
    assert (response.status_code, response.json()["status"]) == (200, "Success")
    assert "deletionTimestamp" not in admin.get(path).json()["metadata"]
    collection = path.rpartition("/")[0]
    delete(admin, collection, {"dryRun": ["All"]}).raise_for_status()
    assert admin.get(path).status_code == 200


def test_a_collections_deletion_takes_what_is_selected(admin: httpx.Client, namespace: str) -> None:
    for index in range(4):
        made(admin, namespace, f"m{index}", labels={"tier": "x" if index else "y"})
    made(admin, namespace, "held", labels={"tier": "x"}, finalizers=["example.com/wait"])
    collection = f"/api/v1/namespaces/{namespace}/configmaps"
    response = delete(admin, f"{collection}?labelSelector=tier%3Dx&fieldSelector=metadata.name!%3Dm3")
    assert response.json()["kind"] == "ConfigMapList"
    assert {item["metadata"]["name"] for item in response.json()["items"]} == {"m1", "m2", "held"}
    left = {item["metadata"]["name"]: item["metadata"] for item in admin.get(collection).json()["items"]}
    assert set(left) >= {"m0", "m3", "held"}
    assert "deletionTimestamp" in left["held"]
    assert delete(admin, f"{collection}?labelSelector=tier+of+x").status_code == 400


def test_a_collections_deletion_keeps_to_its_limit(admin: httpx.Client, namespace: str) -> None:
    for index in range(3):
        made(admin, namespace, f"m{index}")
    collection = f"/api/v1/namespaces/{namespace}/configmaps"
    delete(admin, f"{collection}?limit=2").raise_for_status()
    names = {item["metadata"]["name"] for item in admin.get(collection).json()["items"]}
    assert "m2" in names
    assert not names & {"m0", "m1"}


def test_options_of_another_kind_delete_nothing(admin: httpx.Client, namespace: str) -> None:
    path = made(admin, namespace)
    response = delete(admin, path, {"kind": "Eviction", "apiVersion": "policy/v1"})
    assert response.status_code == 400
    assert admin.get(path).status_code == 200
