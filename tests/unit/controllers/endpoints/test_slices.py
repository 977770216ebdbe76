from __future__ import annotations

from typing import Any

from apimachinery.objects import Object
from controllers.endpoints import backends, slices, subsets
from tests.unit.controllers import builders

PORTS = [{"name": "http", "port": 80, "targetPort": "web"}]


def service(**spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default", "uid": "s", "labels": {"team": "a"}},
        "spec": {"selector": {"app": "web"}, "ports": PORTS} | spec,
    }


def pod(number: int, *, port: int = 8080, ready: bool = True, **metadata: Any) -> Object:
    made = builders.pod(f"p{number:03}", ready_for=60 if ready else None, **metadata)
    made["spec"]["containers"] = [{"name": "c", "ports": [{"name": "web", "containerPort": port}]}]
    made["status"]["podIP"] = f"10.0.{number // 250}.{number % 250 + 1}"
    return made


def plan(pods: list[Object], present: list[Object] | None = None, **spec: Any) -> slices.Plan:
    subject = service(**spec)
    found = backends.backends(subject, pods, "IPv4")
    return slices.plan_slices(subject, found, "IPv4", present or [])


def stored(planned: list[Object]) -> list[Object]:
    return [
        {**entry, "metadata": {**entry["metadata"], "name": f"web-{number}", "uid": f"u{number}"}}
        for number, entry in enumerate(planned)
    ]


def names(entry: Object) -> list[str]:
    return [endpoint["targetRef"]["name"] for endpoint in entry["endpoints"]]


def test_a_service_without_backends_has_one_empty_slice() -> None:
    [empty] = plan([]).create
    assert (empty["endpoints"], empty["ports"]) == ([], [])
    assert plan([], stored([empty])) == slices.Plan()


def test_backends_go_into_slices_of_a_hundred() -> None:
    planned = plan([pod(number) for number in range(250)])
    assert [len(entry["endpoints"]) for entry in planned.create] == [100, 100, 50]
    first = planned.create[0]
    assert first["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert first["metadata"]["labels"] == {
        "team": "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }


def test_what_is_right_already_is_not_written() -> None:
    pods = [pod(number) for number in range(150)]
    assert plan(pods, stored(plan(pods).create)) == slices.Plan()


def test_one_changed_pod_rewrites_one_slice() -> None:
    pods = [pod(number) for number in range(150)]
    present = stored(plan(pods).create)
    pods[3] = pod(3, ready=False)
    planned = plan(pods, present)
    assert [entry["metadata"]["name"] for entry in planned.update] == ["web-0"]
    assert not planned.create and not planned.delete
    assert planned.update[0]["endpoints"][3]["conditions"] == {"ready": False, "serving": False, "terminating": False}


def test_a_new_pod_fills_a_gap_and_a_slice_that_empties_goes() -> None:
    pods = [pod(number) for number in range(101)]
    present = stored(plan(pods).create)
    planned = plan(pods[:50], present)
    assert [len(entry["endpoints"]) for entry in planned.update] == [50]
    assert [entry["metadata"]["name"] for entry in planned.delete] == ["web-1"]


def test_pods_with_another_number_for_a_named_port_get_their_own_slice() -> None:
    planned = plan([pod(1), pod(2, port=9090)])
    assert sorted((entry["ports"][0]["port"], names(entry)) for entry in planned.create) == [
        (8080, ["p001"]),
        (9090, ["p002"]),
    ]


def test_a_pod_that_is_being_deleted_serves_but_is_not_ready() -> None:
    [entry] = plan([pod(1, deletionTimestamp=builders.ago(1))]).create
    assert entry["endpoints"][0]["conditions"] == {"ready": False, "serving": True, "terminating": True}


def test_pods_without_an_address_or_at_their_end_are_no_backends() -> None:
    waiting, ended = pod(1), pod(2, phase="Succeeded")
    del waiting["status"]["podIP"]
    assert names(plan([waiting, ended]).create[0]) == []


def test_publishing_not_ready_addresses_makes_all_ready() -> None:
    [entry] = plan([pod(1, ready=False)], publishNotReadyAddresses=True).create
    assert entry["endpoints"][0]["conditions"]["ready"] is True


def test_a_headless_service_names_its_pods() -> None:
    named = pod(1)
    named["spec"] |= {"hostname": "db-0", "subdomain": "web"}
    [entry] = plan([named], clusterIP="None").create
    assert entry["endpoints"][0]["hostname"] == "db-0"
    assert entry["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_endpoints_list_ready_and_unready_addresses_apart() -> None:
    subject = service()
    found = backends.backends(subject, [pod(1), pod(2, ready=False), pod(3, deletionTimestamp=builders.ago(1))], "IPv4")
    wanted = subsets.wanted(subject, found, None)
    [subset] = wanted["subsets"]
    assert [address["ip"] for address in subset["addresses"]] == ["10.0.0.2"]
    assert [address["ip"] for address in subset["notReadyAddresses"]] == ["10.0.0.3"]
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP", "name": "http"}]
    assert subsets.wanted(subject, found, wanted) == wanted


def test_a_service_without_a_selector_is_left_to_others() -> None:
    assert not backends.has_selector(service(selector=None))
    assert not backends.has_selector(service(type="ExternalName"))
    assert backends.has_selector(service())
