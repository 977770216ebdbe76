"""What a request asks for, read from its method, path and query."""

from __future__ import annotations

from urllib.parse import parse_qs, quote

import pytest

from apiserver import request as requests


def info_of(method: str, target: str) -> requests.RequestInfo:
    path, _, query = target.partition("?")
    return requests.parse_info(method, path, quote(path, safe="/%").encode(), parse_qs(query, keep_blank_values=True))


@pytest.mark.parametrize(
    ("method", "target", "verb", "place"),
    [
        ("GET", "/api/v1/pods", "list", ("", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/namespaces/a/pods", "list", ("", "v1", "a", "pods", "", "")),
        ("GET", "/api/v1/namespaces/a/pods/p", "get", ("", "v1", "a", "pods", "p", "")),
        ("HEAD", "/api/v1/namespaces/a/pods/p", "get", ("", "v1", "a", "pods", "p", "")),
        ("GET", "/api/v1/namespaces/a/pods/p/log", "get", ("", "v1", "a", "pods", "p", "log")),
        ("POST", "/apis/apps/v1/namespaces/a/deployments", "create", ("apps", "v1", "a", "deployments", "", "")),
        (
            "PUT",
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            "update",
            ("apps", "v1", "a", "deployments", "d", "scale"),
        ),
        ("PATCH", "/api/v1/nodes/n/status", "patch", ("", "v1", "", "nodes", "n", "status")),
        ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection", ("", "v1", "a", "pods", "", "")),
        ("DELETE", "/api/v1/namespaces/a", "delete", ("", "v1", "a", "namespaces", "a", "")),
        ("PUT", "/api/v1/namespaces/a/finalize", "update", ("", "v1", "a", "namespaces", "a", "finalize")),
        ("GET", "/api/v1/namespaces", "list", ("", "v1", "", "namespaces", "", "")),
        ("GET", "/api/v1/pods?watch=true", "watch", ("", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/pods?watch", "watch", ("", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/pods?watch=false", "list", ("", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/watch/namespaces/a/pods/p", "watch", ("", "v1", "a", "pods", "p", "")),
        ("GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp", "list", ("", "v1", "a", "pods", "p", "")),
        ("POST", "/api/v1/watch/pods", "create", ("", "v1", "", "watch", "pods", "")),
    ],
)
def test_a_resource_path_names_verb_and_place(method: str, target: str, verb: str, place: tuple[str, ...]) -> None:
    info = info_of(method, target)
    assert info.is_resource
    assert info.verb == verb
    assert (info.group, info.version, info.namespace, info.resource, info.name, info.subresource) == place


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version"]
)
def test_other_paths_name_no_resource(path: str) -> None:
    info = info_of("GET", path)
    assert not info.is_resource
    assert (info.verb, info.path) == ("get", path)


@pytest.mark.parametrize("selector", ["status.phase!=x\\,metadata.name=p", "metadata.name!=p", "metadata.name=p,("])
def test_a_selector_that_does_not_demand_a_name_gives_none(selector: str) -> None:
    assert info_of("GET", f"/api/v1/namespaces/a/pods?fieldSelector={quote(selector)}").name == ""


def test_an_escaped_slash_belongs_to_the_name() -> None:
    info = requests.parse_info("GET", "/api/v1/nodes/a/b", b"/api/v1/nodes/a%2Fb", {})
    assert (info.name, info.subresource) == ("a/b", "")


def test_what_follows_a_proxy_is_its_own() -> None:
    info = info_of("GET", "/api/v1/nodes/n/proxy/stats/summary")
    assert (info.subresource, info.tail) == ("proxy", "stats/summary")


@pytest.mark.parametrize(
    ("method", "target", "lasts"),
    [
        ("GET", "/api/v1/pods?watch=1", True),
        ("POST", "/api/v1/namespaces/a/pods/p/exec", True),
        ("GET", "/api/v1/namespaces/a/pods/p/log", True),
        ("GET", "/api/v1/pods", False),
        ("GET", "/healthz", False),
    ],
)
def test_streams_are_long_running(method: str, target: str, lasts: bool) -> None:
    assert info_of(method, target).long_running is lasts
