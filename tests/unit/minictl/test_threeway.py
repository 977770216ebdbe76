"""The patch of apply: applied as the server applies it, it brings what is wanted and leaves the rest."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apimachinery import patch, strategic
from apimachinery.gvr import GVK
from apimachinery.schemas import Schemas
from minictl import threeway

NODE = Schemas.load().of(GVK("apps", "v1", "Deployment"))
assert NODE is not None


def deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": spec | {"template": {"spec": {"containers": list(containers)}}}}


def test_nothing_to_do_is_no_patch() -> None:
    wanted = deployment({"name": "a", "image": "x"}, replicas=1)
    current = deployment({"name": "a", "image": "x", "imagePullPolicy": "Always"}, replicas=1, paused=False)
    assert threeway.strategic_patch(wanted, wanted, current, NODE) == {}


def test_what_controllers_and_defaults_wrote_is_left_alone() -> None:
    original = deployment({"name": "a", "image": "x"})
    wanted = deployment({"name": "a", "image": "y"})
    current = deployment({"name": "a", "image": "x", "imagePullPolicy": "Always"}, replicas=7)
    assert threeway.strategic_patch(original, wanted, current, NODE) == {
        "spec": {
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "a"}],
                    "containers": [{"name": "a", "image": "y"}],
                }
            }
        }
    }


def test_what_was_applied_and_is_wanted_no_more_is_removed() -> None:
    original = deployment({"name": "a", "image": "x", "env": [{"name": "A", "value": "1"}]}, paused=True)
    wanted = deployment({"name": "a", "image": "x"})
    assert threeway.strategic_patch(original, wanted, original, NODE) == {
        "spec": {
            "paused": None,
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "a"}],
                    "containers": [{"name": "a", "env": None}],
                }
            },
        }
    }


def test_an_item_wanted_no_more_is_deleted_and_one_that_others_added_stays() -> None:
    a, b, c = ({"name": name, "image": "x"} for name in "abc")
    found = threeway.strategic_patch(deployment(a, b), deployment(a), deployment(a, b, c), NODE)
    assert found["spec"]["template"]["spec"]["containers"] == [{"$patch": "delete", "name": "b"}]
    after = strategic.merge(deployment(a, b, c), found, NODE)
    assert [item["name"] for item in after["spec"]["template"]["spec"]["containers"]] == ["a", "c"]


def test_one_kind_of_a_union_replaces_the_other() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    found = threeway.strategic_patch(
        deployment(strategy={"type": "RollingUpdate"}), deployment(strategy={"type": "Recreate"}),
        deployment(strategy=rolling), NODE,
    )  # fmt: skip
    assert found == {"spec": {"strategy": {"type": "Recreate", "$retainKeys": ["type"]}}}
    assert strategic.merge(deployment(strategy=rolling), found, NODE)["spec"]["strategy"] == {"type": "Recreate"}


def test_without_a_schema_a_list_is_one_value() -> None:
    original = {"spec": {"items": [{"name": "a"}], "old": 1}}
    wanted = {"spec": {"items": [{"name": "b"}]}}
    found = threeway.merge_patch(original, wanted, original | {"status": {"x": 1}})
    assert found == {"spec": {"items": [{"name": "b"}], "old": None}}


names = st.sampled_from("abc")
env = st.lists(
    st.builds(lambda n, v: {"name": n, "value": v}, names, st.sampled_from("12")),
    max_size=3,
    unique_by=lambda e: e["name"],
)
container = st.builds(
    lambda n, i, e, c: {"name": n, "image": i} | ({"env": e} if e else {}) | ({"command": c} if c else {}),
    names, st.sampled_from(["x", "y"]), env, st.lists(names, max_size=2),
)  # fmt: skip
spec = st.builds(
    lambda containers, replicas, labels: {
        "metadata": {"name": "d"} | ({"labels": labels} if labels else {}),
        "spec": {"template": {"spec": {"containers": containers}}} | ({"replicas": replicas} if replicas else {}),
    },
    st.lists(container, min_size=1, max_size=3, unique_by=lambda c: c["name"]),
    st.integers(0, 2),
    st.dictionaries(names, st.sampled_from("12"), max_size=2),
)


@settings(deadline=None, max_examples=60)
@given(spec, spec)
def test_applying_the_patch_gives_what_is_wanted(original: dict[str, Any], wanted: dict[str, Any]) -> None:
    """When nobody else wrote: the server's object becomes the wanted one, and a second apply has nothing to do."""
    found = threeway.strategic_patch(original, wanted, original, NODE)
    after = strategic.merge(copy.deepcopy(original), found, NODE)
    assert pruned(after) == pruned(wanted)
    assert threeway.strategic_patch(wanted, wanted, after, NODE) == {}


@settings(deadline=None, max_examples=60)
@given(spec, spec)
def test_a_merge_patch_gives_what_is_wanted_too(original: dict[str, Any], wanted: dict[str, Any]) -> None:
    found = threeway.merge_patch(original, wanted, original)
    assert pruned(patch.merge_patch(original, found)) == pruned(wanted)


@settings(deadline=None, max_examples=60)
@given(spec, spec, spec)
def test_whatever_others_wrote_the_wanted_fields_are_there(
    original: dict[str, Any], wanted: dict[str, Any], current: dict[str, Any]
) -> None:
    found = threeway.strategic_patch(original, wanted, current, NODE)
    after = strategic.merge(copy.deepcopy(current), found, NODE)
    assert threeway.strategic_patch(original, wanted, after, NODE) == {}


def pruned(value: Any) -> Any:
    """Without empty maps and lists, which removals may leave."""
    if isinstance(value, dict):
        return {key: child for key, child in ((k, pruned(v)) for k, v in value.items()) if child not in ({}, [])}
    return [pruned(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("wanted", [["a"], ["b", "a"], []])
def test_a_list_of_plain_values_is_a_set(wanted: list[str]) -> None:
    original = {"metadata": {"finalizers": ["a", "b"]}}
    current = {"metadata": {"finalizers": ["a", "b", "others"]}}
    found = threeway.strategic_patch(original, {"metadata": {"finalizers": wanted}}, current, NODE)
    after = strategic.merge(current, found, NODE)["metadata"]["finalizers"]
    assert set(after) == {*wanted, "others"}
