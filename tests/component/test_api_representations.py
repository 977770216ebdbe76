"""Forms of answers: Table and partial metadata, of one object, of lists and in watches; how reads are refused."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
BETA = PARTIAL_LIST.replace("v=v1", "v=v1beta1")


@pytest.fixture
def path(admin: httpx.Client, namespace: str) -> str:
    """A collection with two ConfigMaps, a and b."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for name in "ab":
        body = {"metadata": {"name": name, "labels": {"name": name}}, "data": {"x": "1"}}
        admin.post(path, json=body).raise_for_status()
    return path


def get(admin: httpx.Client, path: str, accept: str, **query: str) -> Any:
    response = admin.get(path, headers={"accept": accept}, params={"labelSelector": "name"} | query)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize(
    ("include", "kind", "has_data"),
    [("", "PartialObjectMetadata", False), ("Metadata", "PartialObjectMetadata", False), ("Object", "ConfigMap", True)],
)
def test_a_tables_rows_hold_what_is_asked_for(
    admin: httpx.Client, path: str, include: str, kind: str, has_data: bool
) -> None:
    table = get(admin, path, TABLE, includeObject=include)
    assert [row["cells"][0] for row in table["rows"]] == ["a", "b"]
    for row in table["rows"]:
        assert row["object"]["kind"] == kind
        assert ("data" in row["object"]) is has_data
        assert row["object"]["metadata"]["managedFields"]


def test_a_tables_rows_may_hold_nothing(admin: httpx.Client, path: str) -> None:
    table = get(admin, path, TABLE, includeObject="None")
    assert [row["object"] for row in table["rows"]] == [None, None]


def test_a_table_holds_nothing_else(admin: httpx.Client, path: str) -> None:
    response = admin.get(path, headers={"accept": TABLE}, params={"includeObject": "Some"})
    assert (response.status_code, response.json()["message"]) == (
        400,
        'Unable to convert to Table as requested: includeObject: Invalid value: "Some": '
        "must be 'Metadata', 'Object', 'None', or empty",
    )


def test_one_object_is_a_table_of_one_row(admin: httpx.Client, path: str) -> None:
    one = admin.get(f"{path}/a").json()
    table = get(admin, f"{path}/a", TABLE)
    assert [row["cells"][0] for row in table["rows"]] == ["a"]
    assert table["metadata"] == {"resourceVersion": one["metadata"]["resourceVersion"]}


def test_pages_of_tables_go_on_as_lists_do(admin: httpx.Client, path: str) -> None:
    first = get(admin, path, TABLE, limit="1")
    assert first["metadata"]["continue"]
    second = get(admin, path, TABLE, limit="1", **{"continue": first["metadata"]["continue"]})
    assert [row["cells"][0] for row in second["rows"]] == ["b"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@pytest.mark.parametrize(("accept", "version"), [(PARTIAL_LIST, "v1"), (BETA, "v1beta1")])
def test_partial_metadata_has_its_own_version(admin: httpx.Client, path: str, accept: str, version: str) -> None:
    listed = get(admin, path, accept)
    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", f"meta.k8s.io/{version}")
    for item in listed["items"]:
        assert (item["kind"], item["apiVersion"]) == ("PartialObjectMetadata", f"meta.k8s.io/{version}")
        assert set(item) == {"kind", "apiVersion", "metadata"}
    one = get(admin, f"{path}/a", PARTIAL)
    assert (one["kind"], one["metadata"]["labels"]) == ("PartialObjectMetadata", {"name": "a"})


@pytest.mark.parametrize(
    ("name", "accept", "message"),
    [
        ("", PARTIAL, "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"),
        (
            "/a",
            PARTIAL_LIST,
            "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
        ),
    ],
)
def test_a_list_is_no_object_and_an_object_is_no_list(
    admin: httpx.Client, path: str, name: str, accept: str, message: str
) -> None:
    response = admin.get(path + name, headers={"accept": accept})
    assert (response.status_code, response.json()["reason"], response.json()["message"]) == (
        406,
        "NotAcceptable",
        message,
    )


def test_the_first_form_that_is_served_is_taken(admin: httpx.Client, path: str) -> None:
    assert get(admin, path, f"application/x-odd,{PARTIAL_LIST},application/json")["kind"] == "PartialObjectMetadataList"
    odd = "application/json;as=Odd;g=meta.k8s.io;v=v1"
    assert get(admin, path, f"{odd},application/json")["kind"] == "ConfigMapList"


def events(admin: httpx.Client, path: str, count: int, accept: str = "", **query: str) -> list[Any]:
    """The first events of a watch; all that come within its time when there are fewer."""
    query = {"watch": "1", "timeoutSeconds": "3", "labelSelector": "name"} | query
    with admin.stream("GET", path, params=query, headers={"accept": accept} if accept else {}) as response:
        assert response.status_code == 200, response.read()
        lines = response.iter_lines()
        return [json.loads(line) for _, line in zip(range(count), lines, strict=False)]


def test_a_watch_of_partial_metadata_has_no_more(admin: httpx.Client, path: str) -> None:
    for event in events(admin, path, 2, PARTIAL):
        assert event["object"]["kind"] == "PartialObjectMetadata"
        assert "data" not in event["object"]


def test_the_state_ends_with_a_bookmark_of_the_form_asked_for(admin: httpx.Client, path: str) -> None:
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    for accept, kind in (("", "ConfigMap"), (PARTIAL, "PartialObjectMetadata")):
        *state, last = events(admin, path, 3, accept, **query)
        assert [event["type"] for event in state] == ["ADDED", "ADDED"]
        assert (last["type"], last["object"]["kind"]) == ("BOOKMARK", kind)
        assert last["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(last["object"]["metadata"]["resourceVersion"]) >= int(
            state[-1]["object"]["metadata"]["resourceVersion"]
        )


def test_a_watch_that_cannot_be_is_refused_in_its_stream(admin: httpx.Client, path: str) -> None:
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "resourceVersion": "999999999999"}
    [late] = events(admin, path, 1, **query)
    assert (late["type"], late["object"]["code"], late["object"]["reason"]) == ("ERROR", 504, "Timeout")
    assert late["object"]["details"] == {
        "retryAfterSeconds": 1,
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
    }


def test_a_list_that_comes_too_early_says_when_to_come_again(admin: httpx.Client, path: str) -> None:
    late = admin.get(path, params={"resourceVersion": "999999999999"})
    assert (late.status_code, late.headers["retry-after"]) == (504, "1")


def test_options_that_make_no_sense_are_refused_before_a_stream(admin: httpx.Client, path: str) -> None:
    response = admin.get(path, params={"watch": "1", "sendInitialEvents": "true"})
    assert (response.status_code, response.json()["message"]) == (
        422,
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    )


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("labelSelector=a+b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("fieldSelector=a", "invalid selector: 'a'; can't understand 'a'"),
        (
            "fieldSelector=spec.x%3D1",
            '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_selectors_that_are_none_are_bad_requests(admin: httpx.Client, path: str, selector: str, message: str) -> None:
    response = admin.get(f"{path}?{selector}")
    assert (response.status_code, response.json()["reason"]) == (400, "BadRequest")
    assert message in response.json()["message"]
