"""Create, read, update, patch and delete of any kind: identity, conflicts, finalizers, propagation."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from apimachinery import errors, patch
from apimachinery.clock import SystemClock
from apiserver.registry.options import ListOptions
from apiserver.registry.registry import Registry
from apiserver.registry.writing import OPEN
from apiserver.scheme.scheme import Scheme
from tests.component.registry.conftest import Api, config_map, deployment, pod


async def test_a_created_object_has_an_identity_of_its_own(api: Api) -> None:
    asked = config_map("a", k="v")
    asked["metadata"] |= {"uid": "mine", "creationTimestamp": "1999-01-01T00:00:00Z", "selfLink": "/x"}
    made = await api.create("configmaps", asked)
    assert made["metadata"]["uid"] != "mine"
    assert not made["metadata"]["creationTimestamp"].startswith("1999")
    assert "selfLink" not in made["metadata"]
    assert made["metadata"]["namespace"] == api.namespace
    assert await api.get("configmaps", "a") == made


async def test_a_new_object_has_no_version_yet(api: Api) -> None:
    made = await api.create("configmaps", config_map("a"))
    made["metadata"]["name"] = "b"
    with pytest.raises(errors.BadRequest, match="resourceVersion should not be set on objects to be created"):
        await api.create("configmaps", made)


async def test_a_name_that_is_taken_is_already_exists(api: Api) -> None:
    await api.create("configmaps", config_map("a"))
    with pytest.raises(errors.AlreadyExists) as caught:
        await api.create("configmaps", config_map("a"))
    assert caught.value.message == 'configmaps "a" already exists'
    assert caught.value.code == 409


async def test_generated_names_differ(api: Api) -> None:
    made = [await api.create("configmaps", {"metadata": {"generateName": "job-"}}) for _ in range(5)]
    names = {obj["metadata"]["name"] for obj in made}
    assert len(names) == 5
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


class Stuck(random.Random):
    """A source whose choices are always the same; it counts them."""

    chosen = 0

    def choices(self, population: Any, *args: Any, k: int = 1, **more: Any) -> list[Any]:
        self.chosen += 1
        return ["a"] * k


async def test_a_generated_name_that_is_taken_again_and_again_is_told(api: Api, scheme: Scheme) -> None:
    source = Stuck()
    stuck = Api(Registry(scheme, api.store, OPEN, SystemClock(), source=source), api.store, api.namespace)
    body = {"metadata": {"generateName": "gen-"}}
    assert (await stuck.create("configmaps", body))["metadata"]["name"] == "gen-aaaaa"
    source.chosen = 0
    with pytest.raises(errors.AlreadyExists) as caught:
        await stuck.create("configmaps", body)
    assert caught.value.message == (
        'configmaps "gen-aaaaa" already exists, the server was not able to generate a unique name for the object'
    )
    assert caught.value.retry_after_seconds == 1
    assert source.chosen == 8


async def test_a_dry_run_writes_nothing(api: Api) -> None:
    made = await api.create("configmaps", config_map("a"), dry_run=True)
    assert "resourceVersion" not in made["metadata"]
    assert await api.names("configmaps") == []
    await api.create("configmaps", config_map("a", k="1"))
    changed = await api.patch("configmaps", "a", {"data": {"k": "2"}}, dry_run=True)
    assert changed["data"] == {"k": "2"}
    assert (await api.get("configmaps", "a"))["data"] == {"k": "1"}
    assert await api.delete("configmaps", "a", dry_run=True)
    assert await api.names("configmaps") == ["a"]


async def test_an_update_from_an_old_version_conflicts(api: Api) -> None:
    old = await api.create("configmaps", config_map("a", k="1"))
    await api.update("configmaps", old | {"data": {"k": "2"}})
    with pytest.raises(errors.Conflict) as caught:
        await api.update("configmaps", old | {"data": {"k": "3"}})
    assert "the object has been modified; please apply your changes to the latest version" in caught.value.message
    assert (await api.get("configmaps", "a"))["data"] == {"k": "2"}


async def test_an_update_without_a_version_takes_the_newest(api: Api) -> None:
    await api.create("configmaps", config_map("a", k="1"))
    await api.update("configmaps", config_map("a", k="2"))
    assert (await api.update("configmaps", config_map("a", k="3")))["data"] == {"k": "3"}


async def test_leases_must_be_updated_from_a_version_and_may_be_created_so(api: Api) -> None:
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}
    made = await api.update("leases", lease)
    assert made["spec"]["holderIdentity"] == "a"
    with pytest.raises(errors.Invalid) as caught:
        await api.update("leases", lease)
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in caught.value.message


async def test_an_update_of_another_uid_conflicts(api: Api) -> None:
    await api.create("configmaps", config_map("a"))
    other = config_map("a")
    other["metadata"]["uid"] = "another"
    with pytest.raises(errors.Conflict) as caught:
        await api.update("configmaps", other)
    assert "Precondition failed: UID in precondition: another" in caught.value.message


async def test_an_update_that_changes_nothing_keeps_the_version(api: Api) -> None:
    made = await api.create("configmaps", config_map("a", k="1"))
    assert await api.update("configmaps", made) == made
    assert await api.patch("configmaps", "a", {"data": {"k": "1"}}) == made


async def test_concurrent_patches_of_several_servers_are_all_kept(api: Api, elsewhere: Api) -> None:
    await api.create("configmaps", config_map("a"))
    servers = [api, elsewhere]
    await asyncio.gather(
        *(servers[index % 2].patch("configmaps", "a", {"data": {f"k{index}": "v"}}) for index in range(20))
    )
    assert len((await elsewhere.get("configmaps", "a"))["data"]) == 20


async def test_a_json_patch_that_does_not_fit_is_refused_whole(api: Api) -> None:
    await api.create("configmaps", config_map("a", k="1"))
    operations = [
        {"op": "replace", "path": "/data/k", "value": "2"},
        {"op": "test", "path": "/data/k", "value": "3"},
    ]
    with pytest.raises(errors.Invalid) as caught:
        await api.patch("configmaps", "a", operations, patch.JSON)
    assert caught.value.message == "the server rejected our request due to an error in our request"
    assert (await api.get("configmaps", "a"))["data"] == {"k": "1"}


async def test_a_strategic_patch_merges_containers_by_name(api: Api) -> None:
    await api.create("deployments", deployment("d"))
    change = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}}
    changed = await api.patch("deployments", "d", change, patch.STRATEGIC)
    [container] = changed["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "nginx:2"
    assert container["terminationMessagePath"] == "/dev/termination-log"
    assert changed["metadata"]["generation"] == 2


async def test_a_patch_with_an_old_version_conflicts(api: Api) -> None:
    old = await api.create("configmaps", config_map("a"))
    await api.patch("configmaps", "a", {"data": {"k": "1"}})
    with pytest.raises(errors.Conflict):
        await api.patch(
            "configmaps", "a", {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "data": {"k": "2"}}
        )


async def test_finalizers_keep_a_deleted_object_until_the_last_is_gone(api: Api) -> None:
    made = config_map("a")
    made["metadata"]["finalizers"] = ["example.com/one", "example.com/two"]
    await api.create("configmaps", made)
    assert not await api.delete("configmaps", "a")
    held = await api.get("configmaps", "a")
    assert held["metadata"]["deletionTimestamp"]
    with pytest.raises(errors.Invalid) as caught:
        await api.patch("configmaps", "a", {"metadata": {"finalizers": ["example.com/three"]}})
    assert "no new finalizers can be added if the object is being deleted" in caught.value.message
    await api.patch("configmaps", "a", {"metadata": {"finalizers": ["example.com/two"]}})
    await api.patch("configmaps", "a", {"metadata": {"finalizers": []}})
    with pytest.raises(errors.NotFound):
        await api.get("configmaps", "a")


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"orphanDependents": True}, ["orphan"]),
    ],
)
async def test_propagation_policies_become_finalizers(
    api: Api, options: dict[str, object], finalizers: list[str]
) -> None:
    await api.create("deployments", deployment("d"))
    assert not await api.delete("deployments", "d", options)
    held = await api.get("deployments", "d")
    assert held["metadata"]["finalizers"] == finalizers
    assert held["metadata"]["generation"] == 2


async def test_background_deletion_is_immediate(api: Api) -> None:
    await api.create("deployments", deployment("d"))
    assert await api.delete("deployments", "d", {"propagationPolicy": "Background"})


async def test_jobs_orphan_their_pods_unless_told_otherwise(api: Api) -> None:
    spec = {"template": {"spec": pod("x")["spec"] | {"restartPolicy": "Never"}}}
    await api.create("jobs", {"metadata": {"name": "j"}, "spec": spec})
    assert not await api.delete("jobs", "j")
    assert (await api.get("jobs", "j"))["metadata"]["finalizers"] == ["orphan"]


async def test_preconditions_guard_a_deletion(api: Api) -> None:
    made = await api.create("configmaps", config_map("a"))
    with pytest.raises(errors.Conflict) as caught:
        await api.delete("configmaps", "a", {"preconditions": {"uid": "other"}})
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    assert caught.value.message == (
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match '
        f"the UID in record ({uid}). The object might have been deleted and then recreated"
    )
    with pytest.raises(errors.Conflict) as caught:
        await api.delete("configmaps", "a", {"preconditions": {"uid": uid, "resourceVersion": "1"}})
    assert caught.value.message == (
        f'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match '
        f"the ResourceVersion in record ({version}). The object might have been modified"
    )
    assert await api.delete("configmaps", "a", {"preconditions": {"uid": made["metadata"]["uid"]}})


async def test_a_running_pod_dies_with_grace_and_then_at_once(api: Api) -> None:
    await api.create("pods", pod("p", nodeName="n1", terminationGracePeriodSeconds=20))
    assert not await api.delete("pods", "p")
    dying = await api.get("pods", "p")
    assert dying["metadata"]["deletionGracePeriodSeconds"] == 20
    assert not await api.delete("pods", "p", {"gracePeriodSeconds": 5})
    assert (await api.get("pods", "p"))["metadata"]["deletionGracePeriodSeconds"] == 5
    assert not await api.delete("pods", "p", {"gracePeriodSeconds": 60}), "grace is only shortened"
    assert (await api.get("pods", "p"))["metadata"]["deletionGracePeriodSeconds"] == 5
    assert await api.delete("pods", "p", {"gracePeriodSeconds": 0})


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_finished_pod_dies_at_once(api: Api, phase: str) -> None:
    await api.create("pods", pod("p", nodeName="n1"))
    await api.patch("pods/status", "p", {"status": {"phase": phase}})
    assert await api.delete("pods", "p")


async def test_a_pod_without_a_node_dies_at_once(api: Api) -> None:
    await api.create("pods", pod("p"))
    assert await api.delete("pods", "p")


async def test_delete_collection_takes_what_the_selector_says(api: Api) -> None:
    for name, tier in [("a", "x"), ("b", "x"), ("c", "y")]:
        obj = config_map(name)
        obj["metadata"]["labels"] = {"tier": tier}
        await api.create("configmaps", obj)
    call = api.call("deletecollection", "configmaps")
    await api.registry.delete_collection(call, {}, ListOptions.from_query({"labelSelector": "tier=x"}))
    assert await api.names("configmaps") == ["c"]


async def test_a_namespace_goes_when_its_finalizer_went(api: Api) -> None:
    name = api.namespace
    made = await api.create("namespaces", {"metadata": {"name": name}})
    assert made["spec"]["finalizers"] == ["kubernetes"]
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
    assert made["status"]["phase"] == "Active"
    assert not await api.delete("namespaces", name)
    held = await api.get("namespaces", name)
    assert held["status"]["phase"] == "Terminating"
    await api.update("namespaces/finalize", held | {"spec": {}})
    with pytest.raises(errors.NotFound):
        await api.get("namespaces", name)


async def test_the_namespace_of_the_body_must_be_that_of_the_path(api: Api) -> None:
    obj = config_map("a")
    obj["metadata"]["namespace"] = "elsewhere"
    with pytest.raises(errors.BadRequest) as caught:
        await api.create("configmaps", obj)
    assert "does not match the namespace sent on the request" in caught.value.message


async def test_status_and_spec_are_written_apart(api: Api) -> None:
    made = await api.create("deployments", deployment("d") | {"status": {"replicas": 9}})
    assert made["status"] == {}
    made["spec"]["replicas"] = 7
    made["status"] = {"replicas": 3, "observedGeneration": 1}
    stored = await api.update("deployments/status", made)
    assert stored["status"]["replicas"] == 3
    assert stored["spec"]["replicas"] == 1
    assert stored["metadata"]["generation"] == 1
    stored["status"], stored["spec"]["replicas"] = {}, 2
    stored = await api.update("deployments", stored)
    assert stored["status"]["replicas"] == 3
    assert stored["metadata"]["generation"] == 2


async def test_a_selector_never_changes(api: Api) -> None:
    await api.create("deployments", deployment("d"))
    change = {
        "spec": {
            "selector": {"matchLabels": {"app": "e"}},
            "template": {"metadata": {"labels": {"app": "e"}}},
        }
    }
    with pytest.raises(errors.Invalid) as caught:
        await api.patch("deployments", "d", change)
    assert "field is immutable" in caught.value.message
    assert caught.value.details["causes"][0]["field"] == "spec.selector"


async def test_a_signing_request_names_who_asks(api: Api) -> None:
    spec = {"request": "eA==", "signerName": "example.com/s", "usages": ["client auth"], "username": "somebody-else"}
    name = f"csr-{api.namespace}"
    made = await api.create("certificatesigningrequests", {"metadata": {"name": name}, "spec": spec})
    assert made["spec"]["username"] == "tester"
    approved = {"status": {"conditions": [{"type": "Approved", "status": "True"}], "certificate": "eA=="}}
    made = await api.patch("certificatesigningrequests/approval", name, approved)
    assert [item["type"] for item in made["status"]["conditions"]] == ["Approved"]
    assert "certificate" not in made["status"]
