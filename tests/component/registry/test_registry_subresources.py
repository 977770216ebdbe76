"""Scale, binding, eviction, and the addresses of services."""

from __future__ import annotations

import asyncio

import pytest

from apimachinery import errors
from apimachinery.objects import Object
from tests.component.registry.conftest import Api, deployment, pod


def binding(node: str) -> Object:
    return {"metadata": {"annotations": {"from": "scheduler"}}, "target": {"kind": "Node", "name": node}}


async def test_a_binding_gives_a_pod_its_node_once(api: Api) -> None:
    await api.create("pods", pod("p"))
    answer = await api.create("pods/binding", binding("n1"), "p")
    assert answer["status"] == "Success"
    bound = await api.get("pods", "p")
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"from": "scheduler"}
    [condition] = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    with pytest.raises(errors.Conflict) as caught:
        await api.create("pods/binding", binding("n2"), "p")
    assert caught.value.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    )


async def test_of_many_schedulers_one_binds(api: Api) -> None:
    await api.create("pods", pod("p"))
    results = await asyncio.gather(
        *(api.create("pods/binding", binding(f"n{index}"), "p") for index in range(10)), return_exceptions=True
    )
    assert sum(isinstance(result, dict) for result in results) == 1
    assert all(isinstance(result, dict | errors.Conflict) for result in results)


async def test_a_gated_pod_is_not_bound(api: Api) -> None:
    made = await api.create("pods", pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"
    with pytest.raises(errors.Conflict) as caught:
        await api.create("pods/binding", binding("n1"), "p")
    assert "non-empty .spec.schedulingGates" in caught.value.message
    await api.patch("pods", "p", {"spec": {"schedulingGates": None}})
    await api.create("pods/binding", binding("n1"), "p")


async def test_a_scale_reads_and_writes_replicas_only(api: Api) -> None:
    made = await api.create("deployments", deployment("d", replicas=2))
    scale = await api.get("deployments/scale", "d")
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 0, "selector": "app=d"}
    assert scale["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    scaled = await api.update("deployments/scale", scale | {"spec": {"replicas": 5}})
    assert scaled["spec"] == {"replicas": 5}
    after = await api.get("deployments", "d")
    assert after["spec"] == made["spec"] | {"replicas": 5}
    assert after["metadata"]["generation"] == 2
    with pytest.raises(errors.Conflict):
        await api.update("deployments/scale", scale | {"spec": {"replicas": 6}})
    patched = await api.patch("deployments/scale", "d", {"spec": {"replicas": 0}})
    assert patched["spec"] == {}
    assert (await api.get("deployments", "d"))["spec"]["replicas"] == 0
    with pytest.raises(errors.Invalid) as caught:
        await api.patch("deployments/scale", "d", {"spec": {"replicas": -1}})
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in caught.value.message


async def ready_pod(api: Api, name: str) -> None:
    made = pod(name, nodeName="n1")
    made["metadata"]["labels"] = {"app": "web"}
    await api.create("pods", made)
    conditions = [{"type": "Ready", "status": "True"}]
    await api.patch("pods/status", name, {"status": {"phase": "Running", "conditions": conditions}})


async def budget(api: Api, name: str, allowed: int) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await api.create("poddisruptionbudgets", {"metadata": {"name": name}, "spec": spec})
    status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 1}
    await api.patch("poddisruptionbudgets/status", name, {"status": status})


async def test_an_eviction_spends_its_budget(api: Api) -> None:
    await ready_pod(api, "a")
    await ready_pod(api, "b")
    await budget(api, "pdb", 1)
    await api.list("poddisruptionbudgets")
    results = await asyncio.gather(
        *(api.create("pods/eviction", {"metadata": {"name": name}}, name) for name in "ab"), return_exceptions=True
    )
    [refused] = [result for result in results if isinstance(result, errors.APIError)]
    assert isinstance(refused, errors.TooManyRequests)
    assert refused.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.details["causes"][0]["reason"] == "DisruptionBudget"
    status = (await api.get("poddisruptionbudgets", "pdb"))["status"]
    assert status["disruptionsAllowed"] == 0
    [evicted] = status["disruptedPods"]
    dying = await api.get("pods", evicted)
    assert dying["metadata"]["deletionTimestamp"]
    assert any(item["type"] == "DisruptionTarget" for item in dying["status"]["conditions"])


async def test_an_eviction_without_a_budget_is_a_deletion(api: Api) -> None:
    await ready_pod(api, "a")
    await api.create("pods/eviction", {"metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 0}}, "a")
    with pytest.raises(errors.NotFound):
        await api.get("pods", "a")


def service(name: str, **spec: object) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "selector": {"app": name}} | spec}


async def test_services_get_addresses_that_nobody_else_has(api: Api) -> None:
    made = await asyncio.gather(*(api.create("services", service(f"s{index}")) for index in range(20)))
    ips = [obj["spec"]["clusterIP"] for obj in made]
    assert len(set(ips)) == 20
    assert all(ip.startswith("10.96.0.") for ip in ips)
    assert made[0]["spec"]["clusterIPs"] == [ips[0]]
    assert made[0]["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    for index in range(20):
        await api.delete("services", f"s{index}")
    claims = [name for name in await api.names("ipaddresses") if name in ips]
    assert claims == []


async def test_an_address_can_be_asked_for_and_not_twice(api: Api) -> None:
    made = await api.create("services", service("a", clusterIP="10.96.0.7"))
    assert made["spec"]["clusterIP"] == "10.96.0.7"
    with pytest.raises(errors.Invalid) as caught:
        await api.create("services", service("b", clusterIP="10.96.0.7"))
    assert "provided IP is already allocated" in caught.value.message
    with pytest.raises(errors.Invalid) as caught:
        await api.create("services", service("b", clusterIP="10.1.0.7"))
    assert "not in the valid range" in caught.value.message
    with pytest.raises(errors.Invalid) as caught:
        await api.patch("services", "a", {"spec": {"clusterIP": "10.96.0.8", "clusterIPs": ["10.96.0.8"]}})
    assert "may not change once set" in caught.value.message
    await api.delete("services", "a")
    await api.create("services", service("b", clusterIP="10.96.0.7"))
    await api.delete("services", "b")


async def test_a_manifest_can_be_applied_again_without_its_address(api: Api) -> None:
    made = await api.create("services", service("a"))
    again = await api.update("services", service("a", ports=[{"port": 81}]))
    assert again["spec"]["clusterIP"] == made["spec"]["clusterIP"]
    await api.delete("services", "a")


async def test_node_ports_come_and_go_with_the_type(api: Api) -> None:
    made = await api.create("services", service("a", type="NodePort"))
    [port] = made["spec"]["ports"]
    assert 30000 <= port["nodePort"] <= 30015
    with pytest.raises(errors.Invalid) as caught:
        await api.create("services", service("b", type="NodePort", ports=[{"port": 80, "nodePort": port["nodePort"]}]))
    assert caught.value.details["causes"][0]["field"] == "spec.ports[0].nodePort"
    assert "provided port is already allocated" in caught.value.message
    plain = await api.update("services", made | {"spec": made["spec"] | {"type": "ClusterIP"}})
    assert "nodePort" not in plain["spec"]["ports"][0]
    taken = [{"port": 80, "nodePort": port["nodePort"]}]
    other = await api.create("services", service("b", type="NodePort", ports=taken))
    assert other["spec"]["ports"][0]["nodePort"] == port["nodePort"]
    await api.delete("services", "b")
    await api.delete("services", "a")


async def test_a_refused_service_keeps_no_address(api: Api) -> None:
    await api.create("services", service("a"))
    before = await api.names("ipaddresses")
    with pytest.raises(errors.AlreadyExists):
        await api.create("services", service("a"))
    assert await api.names("ipaddresses") == before
    await api.delete("services", "a")


async def test_headless_and_external_services_have_no_address(api: Api) -> None:
    headless = await api.create("services", service("a", clusterIP="None"))
    assert headless["spec"]["clusterIPs"] == ["None"]
    external = {"metadata": {"name": "b"}, "spec": {"type": "ExternalName", "externalName": "example.com"}}
    assert "clusterIP" not in (await api.create("services", external))["spec"]
