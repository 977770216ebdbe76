"""Deployments, ReplicaSets and Jobs, from the object a user writes to the pods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from apimachinery import gvr, objects
from apimachinery.objects import Object
from client.rest import Client
from controllers.endpoints.controllers import ENDPOINT_SLICES
from tests.component.controllers import workloads
from tests.component.controllers.conftest import condition_becomes, items, set_phase, until

pytestmark = pytest.mark.usefixtures("kubelet")


async def rolled_out(client: Client, namespace: str, name: str = "web") -> Object:
    """The Deployment, once `kubectl rollout status` would be content."""
    found: list[Object] = []

    async def check() -> bool:
        deployment = await client.get(gvr.DEPLOYMENTS, name, namespace)
        found[:] = [deployment]
        status, wanted = deployment.get("status") or {}, deployment["spec"]["replicas"]
        counts = [status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas")]
        return status.get("observedGeneration") == deployment["metadata"]["generation"] and counts == [wanted] * 3

    await until(check, f"{name} is rolled out")
    return found[0]


async def images(client: Client, namespace: str) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in await items(client, gvr.PODS, namespace))


async def test_a_deployment_becomes_a_replicaset_and_pods(client: Client, namespace: str) -> None:
    await client.create(gvr.DEPLOYMENTS, workloads.deployment(), namespace)
    deployment = await rolled_out(client, namespace)
    assert objects.condition(deployment, "Available")["reason"] == "MinimumReplicasAvailable"  # type: ignore[index]
    [replicaset] = await items(client, gvr.REPLICA_SETS, namespace)
    digest = objects.labels_of(replicaset)["pod-template-hash"]
    assert objects.name_of(replicaset) == f"web-{digest}"
    pods = await items(client, gvr.PODS, namespace)
    assert len(pods) == 3
    assert all(objects.controller_of(pod)["uid"] == objects.uid_of(replicaset) for pod in pods)  # type: ignore[index]
    assert all(objects.labels_of(pod) == {"app": "web", "pod-template-hash": digest} for pod in pods)


async def test_a_new_image_rolls_out_and_an_undo_brings_the_old_one_back(client: Client, namespace: str) -> None:
    created = await client.create(gvr.DEPLOYMENTS, workloads.deployment(), namespace)
    await rolled_out(client, namespace)
    body = {"spec": {"template": workloads.template("web", "nginx:2")}}
    await client.patch(gvr.DEPLOYMENTS, "web", body, namespace)
    second = await rolled_out(client, namespace)
    assert await images(client, namespace) == ["nginx:2"] * 3
    assert objects.annotations_of(second)["deployment.kubernetes.io/revision"] == "2"
    await client.patch(gvr.DEPLOYMENTS, "web", {"spec": {"template": created["spec"]["template"]}}, namespace)
    third = await rolled_out(client, namespace)
    assert await images(client, namespace) == ["nginx:1"] * 3
    assert objects.annotations_of(third)["deployment.kubernetes.io/revision"] == "3"
    assert len(await items(client, gvr.REPLICA_SETS, namespace)) == 2


async def test_a_deployment_is_resized(client: Client, namespace: str) -> None:
    await client.create(gvr.DEPLOYMENTS, workloads.deployment(replicas=1), namespace)
    await rolled_out(client, namespace)
    for replicas in (6, 2):
        await client.patch(gvr.DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, namespace)
        await rolled_out(client, namespace)
        assert len(await items(client, gvr.PODS, namespace)) == replicas


async def test_a_deleted_pod_is_replaced(client: Client, namespace: str) -> None:
    await client.create(gvr.REPLICA_SETS, workloads.replicaset(), namespace)
    await condition_replicas(client, namespace, 2)
    victim = (await items(client, gvr.PODS, namespace))[0]
    await client.delete(gvr.PODS, objects.name_of(victim), namespace)

    async def replaced() -> bool:
        uids = {objects.uid_of(pod) for pod in await items(client, gvr.PODS, namespace)}
        return len(uids) == 2 and objects.uid_of(victim) not in uids

    await until(replaced, "another pod in its place")


async def test_an_orphan_that_matches_is_adopted_and_one_that_stops_matching_is_released(
    client: Client, namespace: str
) -> None:
    orphan = {"apiVersion": "v1", "kind": "Pod", **workloads.template("web")}
    orphan["metadata"] = {"name": "orphan", "labels": {"app": "web"}}
    await client.create(gvr.PODS, orphan, namespace)
    replicaset = await client.create(gvr.REPLICA_SETS, workloads.replicaset(), namespace)
    await condition_replicas(client, namespace, 2)
    adopted = await client.get(gvr.PODS, "orphan", namespace)
    assert (objects.controller_of(adopted) or {})["uid"] == objects.uid_of(replicaset)
    await client.patch(gvr.PODS, "orphan", {"metadata": {"labels": {"app": "debug"}}}, namespace)

    async def released() -> bool:
        pod = await client.get(gvr.PODS, "orphan", namespace)
        return objects.controller_of(pod) is None and len(await items(client, gvr.PODS, namespace)) == 3

    await until(released, "the pod is released, and replaced")


async def test_a_refused_creation_is_told_in_condition_and_event(client: Client, namespace: str) -> None:
    subject = workloads.replicaset()
    subject["spec"]["template"]["spec"]["priorityClassName"] = "nobody-made-it"
    await client.create(gvr.REPLICA_SETS, subject, namespace)
    failing = await condition_becomes(client, gvr.REPLICA_SETS, "web", namespace, "ReplicaFailure", "True")
    assert objects.condition(failing, "ReplicaFailure")["reason"] == "FailedCreate"  # type: ignore[index]

    async def told() -> bool:
        return any(event["reason"] == "FailedCreate" for event in await items(client, gvr.EVENTS, namespace))

    await until(told, "an event FailedCreate")


async def test_a_job_runs_its_pods_to_completion_and_counts_each_once(client: Client, namespace: str) -> None:
    await client.create(gvr.JOBS, workloads.job(completions=4, parallelism=2), namespace)

    async def complete() -> bool:
        for pod in await items(client, gvr.PODS, namespace):
            if pod["status"].get("phase") == "Running":
                await set_phase(client, pod, "Succeeded")
        return objects.is_condition_true(await client.get(gvr.JOBS, "pi", namespace), "Complete")

    await until(complete, "the Job is complete")
    job = await client.get(gvr.JOBS, "pi", namespace)
    assert job["status"]["succeeded"] == 4
    pods = await items(client, gvr.PODS, namespace)
    assert len(pods) == 4
    assert not any(pod["metadata"].get("finalizers") for pod in pods)


async def test_a_job_that_fails_too_often_fails(client: Client, namespace: str) -> None:
    await client.create(gvr.JOBS, workloads.job(backoffLimit=0), namespace)

    async def failed() -> bool:
        for pod in await items(client, gvr.PODS, namespace):
            if pod["status"].get("phase") == "Running":
                await set_phase(client, pod, "Failed")
        return objects.is_condition_true(await client.get(gvr.JOBS, "pi", namespace), "Failed")

    await until(failed, "the Job has failed")
    job = await client.get(gvr.JOBS, "pi", namespace)
    assert objects.condition(job, "Failed")["reason"] == "BackoffLimitExceeded"  # type: ignore[index]
    assert job["status"]["failed"] == 1


async def condition_replicas(client: Client, namespace: str, ready: int) -> None:
    async def check() -> bool:
        replicaset = await client.get(gvr.REPLICA_SETS, "web", namespace)
        return (replicaset.get("status") or {}).get("readyReplicas", 0) == ready

    await until(check, f"{ready} replicas are ready")


async def test_a_finished_job_goes_when_its_time_to_live_is_over(client: Client, namespace: str) -> None:
    await client.create(gvr.JOBS, workloads.job(backoffLimit=0, ttlSecondsAfterFinished=1), namespace)

    async def cleared() -> bool:
        pods = await items(client, gvr.PODS, namespace)
        for pod in pods:
            if pod["status"].get("phase") == "Running":
                await set_phase(client, pod, "Failed")
        return not pods and not await items(client, gvr.JOBS, namespace)

    await until(jobless(client, namespace, False), "the Job exists")
    await until(cleared, "the Job and its pods are gone")


async def test_a_service_lists_the_pods_behind_it(client: Client, namespace: str) -> None:
    await client.create(gvr.REPLICA_SETS, workloads.replicaset(), namespace)
    await condition_replicas(client, namespace, 2)
    for number, pod in enumerate(await items(client, gvr.PODS, namespace)):
        status = {"status": {"podIP": f"10.9.0.{number + 1}", "podIPs": [{"ip": f"10.9.0.{number + 1}"}]}}
        await client.patch(gvr.PODS, objects.name_of(pod), status, namespace, subresource="status")
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    await client.create(gvr.SERVICES, service, namespace)

    async def addresses() -> set[str]:
        slices = await items(client, ENDPOINT_SLICES, namespace)
        return {endpoint["addresses"][0] for entry in slices for endpoint in entry.get("endpoints") or []}

    async def both() -> bool:
        return await addresses() == {"10.9.0.1", "10.9.0.2"}

    async def one() -> bool:
        return len(await addresses()) == 1

    await until(both, "both addresses are listed")
    [endpoints] = [e for e in await items(client, gvr.ENDPOINTS, namespace) if objects.name_of(e) == "web"]
    assert endpoints["subsets"][0]["ports"] == [{"port": 8080, "protocol": "TCP"}]
    await client.patch(gvr.REPLICA_SETS, "web", {"spec": {"replicas": 1}}, namespace)
    await until(one, "one address is left")


def jobless(client: Client, namespace: str, wanted: bool) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return bool(await items(client, gvr.JOBS, namespace)) is not wanted

    return check
