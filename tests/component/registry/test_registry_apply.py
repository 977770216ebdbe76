"""Server-side apply on a real etcd: it creates, merges, conflicts, and keeps its peace with other writers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apimachinery import errors, patch
from apimachinery.objects import Object
from tests.component.registry.conftest import Api, deployment


async def apply(api: Api, name: str, resource: str = "deployments", *, manager: str = "ci", **spec: Any) -> Object:
    force = spec.pop("force", False)
    body = {"apiVersion": "apps/v1", "kind": "Deployment"} | deployment(name, **spec)
    if resource.endswith("/status"):
        body = {key: body[key] for key in ("apiVersion", "kind", "metadata")} | {"status": {"replicas": 4}}
    return await api.patch(resource, name, body, patch.APPLY, field_manager=manager, force=force)


async def test_an_apply_creates_and_a_second_one_changes_nothing(api: Api) -> None:
    made = await apply(api, "d", replicas=2)
    assert made["metadata"]["uid"]
    assert made["spec"]["revisionHistoryLimit"] == 10, "defaults are filled in"
    [entry] = made["metadata"]["managedFields"]
    assert "f:revisionHistoryLimit" not in entry["fieldsV1"]["f:spec"], "and owned by nobody"
    assert await apply(api, "d", replicas=2) == made


async def test_many_applies_at_once_create_once(api: Api) -> None:
    made = await asyncio.gather(*(apply(api, "d", manager=f"m{index}") for index in range(8)))
    assert len({obj["metadata"]["uid"] for obj in made}) == 1
    managers = {entry["manager"] for entry in (await api.get("deployments", "d"))["metadata"]["managedFields"]}
    assert managers == {f"m{index}" for index in range(8)}


async def test_a_conflict_is_told_and_force_wins(api: Api) -> None:
    await apply(api, "d", replicas=2)
    with pytest.raises(errors.Conflict, match=r'conflict with "ci": \.spec\.replicas'):
        await apply(api, "d", manager="ops", replicas=3)
    assert (await apply(api, "d", manager="ops", replicas=3, force=True))["spec"]["replicas"] == 3


async def test_a_scaler_takes_the_replicas(api: Api) -> None:
    await apply(api, "d", replicas=2)
    await api.patch("deployments/scale", "d", {"spec": {"replicas": 5}}, field_manager="scaler")
    with pytest.raises(errors.Conflict, match='conflict with "scaler" with subresource "scale"'):
        await apply(api, "d", replicas=2)
    assert (await apply(api, "d"))["spec"]["replicas"] == 5, "who says nothing of it leaves it"


async def test_status_is_applied_at_its_own_path(api: Api) -> None:
    await apply(api, "d")
    after = await apply(api, "d", "deployments/status", manager="controller")
    assert after["status"] == {"replicas": 4}
    assert after["metadata"]["generation"] == 1
    assert (await apply(api, "d"))["status"] == {"replicas": 4}


async def test_every_write_is_kept_with_its_manager(api: Api) -> None:
    made = await api.create("deployments", deployment("d"), user_agent="kubectl/v1.37.0 (linux/amd64)")
    [entry] = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], entry["apiVersion"]) == ("kubectl", "Update", "apps/v1")
    assert "f:revisionHistoryLimit" in entry["fieldsV1"]["f:spec"], "defaults are owned by who creates"
    after = await api.patch("deployments", "d", {"spec": {"replicas": 2}}, field_manager="ops")
    owners = {item["manager"]: item["fieldsV1"] for item in after["metadata"]["managedFields"]}
    assert owners["ops"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owners["kubectl"]["f:spec"]
    again = await api.patch("deployments", "d", {"spec": {"replicas": 2}}, field_manager="other")
    assert again == after, "who changes nothing is not kept, and nothing is written"


@pytest.mark.parametrize(
    ("body", "manager", "error"),
    [
        ({"kind": "Deployment"}, "ci", errors.BadRequest),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "other"}}, "ci", errors.BadRequest),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"managedFields": [{}]}}, "ci", errors.BadRequest),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "x"}}, "ci", errors.BadRequest),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "", errors.Invalid),
        ([], "ci", errors.BadRequest),
    ],
)
async def test_what_cannot_be_applied_is_told(api: Api, body: Any, manager: str, error: type[errors.APIError]) -> None:
    with pytest.raises(error):
        await api.patch("deployments", "d", body, patch.APPLY, field_manager=manager)
