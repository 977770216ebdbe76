from __future__ import annotations

from apimachinery.gvr import GVR
from controllers import discovery
from controllers.discovery import ApiResource
from controllers.garbagecollector import monitors
from tests.unit.client import server
from tests.unit.client.server import Answer, Script

VERBS = ["create", "delete", "get", "list", "watch"]


def group(name: str, *versions: tuple[str, str, list[tuple[str, str]]]) -> object:
    """A group of the aggregated form; each version with its freshness and its (plural, kind) pairs."""
    return {
        "metadata": {"name": name},
        "versions": [
            {
                "version": version,
                "freshness": freshness,
                "resources": [
                    {"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": VERBS}
                    for plural, kind in resources
                ],
            }
            for version, freshness, resources in versions
        ],
    }


def aggregated(*groups: object) -> Answer:
    return server.answer({"kind": "APIGroupDiscoveryList", "items": list(groups)})


async def discovered(*answers: Answer) -> discovery.Discovered:
    async with server.client(Script(*answers)) as client:
        return await discovery.discover(client)


async def test_one_version_of_each_collection_is_chosen_and_every_kind_is_found() -> None:
    core = group("", ("v1", "Current", [("pods", "Pod")]))
    apps = group(
        "apps",
        ("v1", "Current", [("deployments", "Deployment")]),
        ("v1beta1", "Current", [("deployments", "Deployment"), ("scales", "Scale")]),
    )
    found = await discovered(aggregated(core), aggregated(apps))
    assert [resource.gvr for resource in found.resources] == [
        GVR("", "v1", "pods"),
        GVR("apps", "v1", "deployments"),
        GVR("apps", "v1beta1", "scales"),
    ]
    assert found.kinds["apps/v1beta1", "Deployment"].gvr == GVR("apps", "v1beta1", "deployments")
    assert found.failures == {}


async def test_a_group_that_does_not_answer_is_a_failure() -> None:
    found = await discovered(aggregated(), aggregated(group("metrics.k8s.io", ("v1", "Stale", []))))
    assert found.failures == {"metrics.k8s.io/v1": "stale discovery"}


async def test_a_server_without_the_aggregated_form_is_asked_group_by_group() -> None:
    core = server.answer({"kind": "APIVersions", "versions": ["v1"]})
    groups = server.answer(
        {
            "kind": "APIGroupList",
            "groups": [
                {
                    "name": "batch",
                    "versions": [{"version": "v2"}, {"version": "v1"}],
                    "preferredVersion": {"version": "v1"},
                }
            ],
        }
    )
    jobs = {"name": "jobs", "kind": "Job", "namespaced": True, "verbs": VERBS}
    status = {"name": "jobs/status", "kind": "Job", "namespaced": True, "verbs": ["get"]}
    listed = server.answer({"kind": "APIResourceList", "resources": [jobs, status]})
    nothing = server.answer({"kind": "APIResourceList", "resources": []})
    found = await discovered(core, groups, nothing, listed, listed)
    assert [resource.gvr for resource in found.resources] == [GVR("batch", "v1", "jobs")]


def test_events_and_what_cannot_be_watched_are_not_collected() -> None:
    def resource(group: str, plural: str, verbs: list[str]) -> ApiResource:
        return ApiResource(GVR(group, "v1", plural), "X", True, frozenset(verbs))

    assert monitors.is_collectable(resource("apps", "deployments", VERBS))
    assert not monitors.is_collectable(resource("", "events", VERBS))
    assert not monitors.is_collectable(resource("", "bindings", ["create"]))
