"""Server-side apply on a real etcd: it creates, merges, conflicts, and keeps its peace with other writers."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
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


async def scale(api: Api, replicas: int, manager: str = "hpa", *, force: bool = False) -> Object:
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": replicas}}
    return await api.patch("deployments/scale", "d", body, patch.APPLY, field_manager=manager, force=force)


async def test_a_scale_can_be_applied(api: Api) -> None:
    await apply(api, "d", replicas=2)
    with pytest.raises(errors.Conflict, match=r'conflict with "ci": \.spec\.replicas'):
        await scale(api, 5)
    assert (await scale(api, 5, force=True))["spec"] == {"replicas": 5}
    entries = {entry["manager"]: entry for entry in (await api.get("deployments", "d"))["metadata"]["managedFields"]}
    assert entries["hpa"]["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
    assert (entries["hpa"]["subresource"], entries["hpa"]["apiVersion"]) == ("scale", "apps/v1")
    assert "f:replicas" not in entries["ci"]["fieldsV1"]["f:spec"]
    with pytest.raises(errors.BadRequest, match="invalid object type: apps/v1, Kind=Deployment"):
        await api.patch("deployments/scale", "d", deployment("d") | HEAD, patch.APPLY, field_manager="hpa")


HEAD = {"apiVersion": "apps/v1", "kind": "Deployment"}


async def test_an_object_without_owners_was_there_before_the_first_apply(api: Api) -> None:
    made = await api.create("deployments", deployment("d", replicas=1))
    stripped = await api.update("deployments", made | {"metadata": made["metadata"] | {"managedFields": [{}]}})
    assert "managedFields" not in stripped["metadata"]
    updated = await api.patch("deployments", "d", {"spec": {"paused": True}})
    assert "managedFields" not in updated["metadata"], "what nobody owns stays so"
    with pytest.raises(errors.Conflict, match=r'"before-first-apply" using apps/v1: \.spec\.replicas'):
        await apply(api, "d", replicas=3)
    after = await apply(api, "d", replicas=1)
    assert [entry["manager"] for entry in after["metadata"]["managedFields"]] == ["ci", "before-first-apply"]


async def test_kubectl_goes_on_from_the_server_with_what_it_applied_from_its_side(api: Api) -> None:
    last = deployment("d", replicas=1) | HEAD
    note = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": orjson.dumps(last).decode()}}
    body = deployment("d", replicas=1)
    await api.create("deployments", body | {"metadata": body["metadata"] | note}, field_manager="kubectl-create")
    with pytest.raises(errors.Conflict):
        await apply(api, "d", replicas=3)
    after = await apply(api, "d", replicas=3, manager="kubectl")
    assert after["spec"]["replicas"] == 3
    noted = orjson.loads(after["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    assert noted["spec"]["replicas"] == 3, "and old kubectls see what the new one did"


async def test_many_updaters_become_one_ancient(api: Api) -> None:
    await api.create("configmaps", {"metadata": {"name": "m"}, "data": {"own": "0"}}, field_manager="m00")
    for index in range(1, 13):
        await api.patch("configmaps", "m", {"data": {f"k{index}": "1"}}, field_manager=f"m{index:02}")
    entries = (await api.get("configmaps", "m"))["metadata"]["managedFields"]
    managers = [entry["manager"] for entry in entries]
    assert len(managers) == 10
    ancient = next(entry for entry in entries if entry["manager"] == "ancient-changes")
    assert {"f:own", "f:k1", "f:k2", "f:k3"} <= set(ancient["fieldsV1"]["f:data"])


async def test_an_apply_may_demand_the_object_that_it_saw(api: Api) -> None:
    body = deployment("d") | HEAD
    uid = "8d1b1c8e-0000-4000-8000-000000000000"
    absent = body | {"metadata": {"name": "d", "uid": uid}}
    with pytest.raises(
        errors.Conflict, match=f"uid mismatch: the provided object specified uid {uid}, and no existing"
    ):
        await api.patch("deployments", "d", absent, patch.APPLY, field_manager="ci")
    made = await apply(api, "d", replicas=1)
    stale = body | {"metadata": {"name": "d", "resourceVersion": "1"}}
    with pytest.raises(errors.Conflict, match="the object has been modified"):
        await api.patch("deployments", "d", stale, patch.APPLY, field_manager="ci", force=True)
    seen = {"name": "d", "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]}
    after = await api.patch("deployments", "d", body | {"metadata": seen}, patch.APPLY, field_manager="ci")
    assert after["spec"]["replicas"] == 1, "un-applied, and then by default again"


async def test_lists_are_applied_by_their_kind(api: Api) -> None:
    """A set, a list of items with keys, and an atomic list."""

    async def one(manager: str, **metadata: Any) -> Object:
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"} | metadata, "spec": specs[manager]}
        return await api.patch("services", "s", body, patch.APPLY, field_manager=manager)

    specs: dict[str, Object] = {
        "x": {"ports": [{"name": "a", "port": 1}], "externalIPs": ["192.0.2.1"]},
        "y": {"ports": [{"name": "b", "port": 2, "protocol": "UDP"}]},
    }
    await one("x", finalizers=["example.com/x"])
    after = await one("y", finalizers=["example.com/y"])
    assert sorted(after["metadata"]["finalizers"]) == ["example.com/x", "example.com/y"]
    assert {port["name"] for port in after["spec"]["ports"]} == {"a", "b"}
    specs["y"] = {"externalIPs": ["192.0.2.2"]}
    with pytest.raises(errors.Conflict, match=r"\.spec\.externalIPs$"):
        await one("y", finalizers=["example.com/y"])
    specs["x"] = {"ports": [{"name": "c", "port": 1}]}
    after = await one("x", finalizers=["example.com/z"])
    assert sorted(after["metadata"]["finalizers"]) == ["example.com/y", "example.com/z"]
    assert "externalIPs" not in after["spec"]
    assert [port["name"] for port in after["spec"]["ports"]] == ["c", "b"]
