"""K3: discovery documents, aggregated or not, the cache on disk, and names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from apimachinery.gvr import GVK, GVR
from client import kubeconfig, rest
from minictl import discovery, mapper
from minictl.failures import Refused
from minictl.mapper import Mapper


def entry(resource: str, kind: str, *short: str, scope: str = "Namespaced", **more: Any) -> dict[str, Any]:
    return {
        "resource": resource,
        "responseKind": {"kind": kind},
        "scope": scope,
        "singularResource": kind.lower(),
        "verbs": ["get", "list"],
        "shortNames": list(short),
    } | more


def group(name: str, *versions: tuple[str, list[Any]]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "versions": [{"version": v, "resources": r} for v, r in versions]}


CORE = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        group(
            "",
            (
                "v1",
                [
                    entry("pods", "Pod", "po", categories=["all"]),
                    entry("events", "Event", "ev"),
                    entry("nodes", "Node", "no", scope="Cluster"),
                ],
            ),
        )
    ],
}
GROUPS = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        group("apps", ("v1", [entry("deployments", "Deployment", "deploy", categories=["all"])])),
        group("events.k8s.io", ("v1", [entry("events", "Event", "ev")])),
        group(
            "autoscaling",
            ("v2", [entry("scalers", "Scaler")]),
            ("v1", [entry("scalers", "Scaler", "old"), entry("gauges", "Gauge", categories=["old"])]),
        ),
    ],
}
RESOURCES = list(discovery.parse({"/api": CORE, "/apis": GROUPS}))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pods", GVR("", "v1", "pods")),
        ("pod", GVR("", "v1", "pods")),
        ("po", GVR("", "v1", "pods")),
        ("Pod", GVR("", "v1", "pods")),
        ("deploy", GVR("apps", "v1", "deployments")),
        ("deployments.apps", GVR("apps", "v1", "deployments")),
        ("deploy.v1.apps", GVR("apps", "v1", "deployments")),
        ("events", GVR("", "v1", "events")),  # core before groups
        ("events.events.k8s.io", GVR("events.k8s.io", "v1", "events")),
        ("scalers", GVR("autoscaling", "v2", "scalers")),  # the preferred version
        ("scalers.v1.autoscaling", GVR("autoscaling", "v1", "scalers")),
        ("deploy.v2.apps", None),
        ("deployments.batch", None),
        ("poo", None),
    ],
)
def test_a_resource_is_found_by_any_of_its_names(name: str, expected: GVR | None) -> None:
    found = mapper.find(RESOURCES, name)
    assert (found.gvr if found else None) == expected


def test_a_category_is_its_members() -> None:
    assert [r.gvr.resource for r in mapper.in_category(RESOURCES, "all")] == ["pods", "deployments"]


def test_an_objects_kind_leads_to_its_resource() -> None:
    found = mapper.by_kind(RESOURCES, GVK("autoscaling", "v1", "Scaler"))
    assert found is not None
    assert found.gvr.version == "v1"
    assert mapper.by_kind(RESOURCES, GVK("apps", "v2", "Deployment")) is None


def test_messages_name_an_object_by_singular_and_group() -> None:
    names = {resource.gvr.resource: resource.noun for resource in RESOURCES if resource.preferred}
    assert (names["pods"], names["deployments"]) == ("pod", "deployment.apps")


def test_a_server_without_aggregated_discovery_is_read_too() -> None:
    old = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {
            "kind": "APIGroupList",
            "groups": [
                {
                    "name": "apps",
                    "versions": [{"groupVersion": "apps/v1"}, {"groupVersion": "apps/v1beta1"}],
                    "preferredVersion": {"groupVersion": "apps/v1"},
                }
            ],
        },
    }
    paths = list(discovery.legacy_paths(old))
    assert paths == ["/api/v1", "/apis/apps/v1", "/apis/apps/v1beta1"]
    row = {"name": "deployments", "kind": "Deployment", "singularName": "deployment", "namespaced": True, "verbs": []}
    bodies = old | {
        "/api/v1": {"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod", "namespaced": True}]},
        "/apis/apps/v1": {
            "groupVersion": "apps/v1",
            "resources": [row, {"name": "deployments/scale", "kind": "Scale"}],
        },
        "/apis/apps/v1beta1": {"groupVersion": "apps/v1beta1", "resources": [row]},
    }
    found = list(discovery.parse(bodies))
    assert [(str(r.gvr), r.preferred) for r in found] == [
        ("pods.v1", True),
        ("deployments.v1.apps", True),
        ("deployments.v1beta1.apps", False),
    ]


class Api:
    """Discovery documents with ETags; counts what was asked and how it was answered."""

    def __init__(self) -> None:
        self.groups: dict[str, Any] = GROUPS
        self.answered: list[tuple[str, int]] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        body = json.dumps(CORE if path == "/api" else self.groups).encode()
        etag = f'"{hash(body)}"'
        status = 304 if request.headers.get("if-none-match") == etag else 200
        self.answered.append((path, status))
        return httpx.Response(status, headers={"etag": etag}, content=b"" if status == 304 else body)


def a_mapper(api: Api, folder: Path, warnings: list[str] | None = None) -> Mapper:
    warnings = [] if warnings is None else warnings
    config = kubeconfig.ClientConfig("http://api.test")
    client = rest.Client(config, make_transport=lambda _: httpx.MockTransport(api))
    return Mapper(discovery.Discovery(client, discovery.Cache(folder, config)), warnings.append)


def test_a_resource_that_only_an_older_version_has_is_not_hidden() -> None:
    preferred = [r.gvr for r in RESOURCES if r.preferred and r.gvr.group == "autoscaling"]
    assert preferred == [GVR("autoscaling", "v2", "scalers"), GVR("autoscaling", "v1", "gauges")]
    assert [r.kind for r in mapper.in_category(RESOURCES, "old")] == ["Gauge"]


async def test_the_second_run_asks_nobody(tmp_path: Path) -> None:
    api = Api()
    await a_mapper(api, tmp_path).find("po")
    await a_mapper(api, tmp_path).find("po")
    assert api.answered == [("/api", 200), ("/apis", 200)]


async def test_an_unknown_name_is_looked_for_once_more_at_the_server(tmp_path: Path) -> None:
    api = Api()
    await a_mapper(api, tmp_path).find("po")
    api.groups = GROUPS | {"items": [*GROUPS["items"], group("x.dev", ("v1", [entry("widgets", "Widget")]))]}
    found = await a_mapper(api, tmp_path).find("widget")
    assert found.gvr.group == "x.dev"
    assert api.answered[2:] == [("/api", 304), ("/apis", 200)]  # only what has changed is sent again


async def test_a_name_that_nobody_knows_is_refused_after_one_try(tmp_path: Path) -> None:
    api = Api()
    subject = a_mapper(api, tmp_path)
    for _ in range(2):
        with pytest.raises(Refused, match='the server doesn\'t have a resource type "poo"'):
            await subject.find("poo")
    assert len(api.answered) == 4


async def test_a_broken_cache_is_no_cache(tmp_path: Path) -> None:
    api = Api()
    await a_mapper(api, tmp_path).find("po")
    (file,) = tmp_path.iterdir()
    file.write_text("{broken")
    assert (await a_mapper(api, tmp_path).find("po")).kind == "Pod"


async def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert (await a_mapper(Api(), tmp_path / "file" / "cache").find("po")).kind == "Pod"


async def test_a_short_name_of_several_groups_is_said_to_be(tmp_path: Path) -> None:
    warnings: list[str] = []
    subject = a_mapper(Api(), tmp_path, warnings)
    assert (await subject.find("ev")).gvr.group == ""
    await subject.find("events")
    assert warnings == ['Warning: short name "ev" could also match lower priority resource events.events.k8s.io']
