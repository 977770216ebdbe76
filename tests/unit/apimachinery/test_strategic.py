"""Strategic merge patch, by the schema of pods and Deployments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import schemas, strategic
from apimachinery.gvr import GVK
from apimachinery.patch import PatchError
from apimachinery.schema import Node


@pytest.fixture(scope="module")
def pod() -> Node:
    node = schemas.Schemas.load().of(GVK("", "v1", "Pod"))
    assert node is not None
    return node


@pytest.fixture(scope="module")
def deployment() -> Node:
    node = schemas.Schemas.load().of(GVK("apps", "v1", "Deployment"))
    assert node is not None
    return node


def spec(pod: Node, before: Any, change: Any) -> Any:
    return strategic.merge({"spec": before}, {"spec": change}, pod)["spec"]


def test_containers_merge_by_name(pod: Node) -> None:
    before = {"containers": [{"name": "a", "image": "1", "tty": True}, {"name": "b", "image": "1"}]}
    after = spec(pod, before, {"containers": [{"name": "a", "image": "2"}, {"name": "c", "image": "3"}]})
    assert after["containers"] == [
        {"name": "a", "image": "2", "tty": True},
        {"name": "c", "image": "3"},
        {"name": "b", "image": "1"},
    ], "in the patch's order, which goes before the server's"
    assert before["containers"][0]["image"] == "1", "the argument stays as it was"


def test_lists_without_a_merge_key_are_replaced(pod: Node) -> None:
    before = {"containers": [{"name": "a", "args": ["1", "2"]}], "tolerations": [{"key": "x"}, {"key": "y"}]}
    change = {"containers": [{"name": "a", "args": ["3"]}], "tolerations": [{"key": "z"}]}
    after = spec(pod, before, change)
    assert after == {"containers": [{"name": "a", "args": ["3"]}], "tolerations": [{"key": "z"}]}


def test_null_removes_a_field(pod: Node) -> None:
    assert spec(pod, {"nodeName": "n", "hostname": "h"}, {"nodeName": None}) == {"hostname": "h"}


def test_maps_merge(pod: Node) -> None:
    after = strategic.merge({"metadata": {"labels": {"a": "1", "b": "2"}}}, {"metadata": {"labels": {"a": None}}}, pod)
    assert after == {"metadata": {"labels": {"b": "2"}}}


def test_delete_directive_takes_an_item(pod: Node) -> None:
    before = {"containers": [{"name": "a"}, {"name": "b"}]}
    assert spec(pod, before, {"containers": [{"$patch": "delete", "name": "a"}]}) == {"containers": [{"name": "b"}]}


def test_replace_directive_replaces_a_list(pod: Node) -> None:
    before = {"containers": [{"name": "a"}, {"name": "b"}]}
    after = spec(pod, before, {"containers": [{"$patch": "replace"}, {"name": "c"}]})
    assert after == {"containers": [{"name": "c"}]}


def test_replace_directive_replaces_an_object(deployment: Node) -> None:
    before = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, "replicas": 1}}
    change = {"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}}
    after = strategic.merge(before, change, deployment)
    assert after == {"spec": {"strategy": {"type": "Recreate"}, "replicas": 1}}


def test_retain_keys_drops_what_it_does_not_name(deployment: Node) -> None:
    before = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    change = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic.merge(before, change, deployment) == {"spec": {"strategy": {"type": "Recreate"}}}
    with pytest.raises(PatchError, match="retainKeys"):
        strategic.merge(before, {"spec": {"strategy": {"$retainKeys": [], "type": "Recreate"}}}, deployment)


def test_volumes_change_their_source_by_retain_keys(pod: Node) -> None:
    before = {"volumes": [{"name": "v", "emptyDir": {}}]}
    change = {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]}
    assert spec(pod, before, change) == {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}


def test_primitive_lists_merge_and_lose_what_is_named(pod: Node) -> None:
    before = {"metadata": {"finalizers": ["a", "b"]}}
    added = strategic.merge(before, {"metadata": {"finalizers": ["c", "a"]}}, pod)
    assert added["metadata"]["finalizers"] == ["c", "a", "b"]
    change = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert strategic.merge(before, change, pod)["metadata"]["finalizers"] == ["b"]


@pytest.mark.parametrize(
    ("server", "patched", "order", "result"),
    [
        (["a", "b", "c"], [], ["c", "a"], ["b", "c", "a"]),  # b stood before c
        (["a", "b", "c"], [], ["c", "b", "a"], ["c", "b", "a"]),
        (["a", "x", "b"], [], ["a", "b"], ["a", "x", "b"]),
        (["x", "a", "b"], [], ["b", "a"], ["x", "b", "a"]),
        (["a", "b"], ["n"], ["n", "a", "b"], ["n", "a", "b"]),
        (["a", "x"], ["n"], ["a", "n"], ["a", "n", "x"]),
    ],
)
def test_items_come_in_the_asked_order(
    pod: Node, server: list[str], patched: list[str], order: list[str], result: list[str]
) -> None:
    def named(names: list[str]) -> list[dict[str, str]]:
        return [{"name": name} for name in names]

    change: dict[str, Any] = {"$setElementOrder/containers": named(order)}
    if patched:
        change["containers"] = named(patched)
    after = spec(pod, {"containers": named(server)}, change)
    assert [item["name"] for item in after["containers"]] == result


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"containers": [{"image": "x"}]}, "map: map[image:x] does not contain declared merge key: name"),
        ({"containers": ["x"]}, "list element types are not identical: [x]"),
        ({"$patch": "sideways"}, "unknown patch type: sideways in map: map[]"),
        ({"$setElementOrder/containers": "a"}, "invalid patch format of setElementOrder list"),
        (
            {"containers": [{"name": "a"}], "$setElementOrder/containers": [{"name": "b"}]},
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        ({"$retainKeys": "x"}, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList/x": "y"}, "invalid patch format of primitive list"),
    ],
)
def test_malformed_patches_are_refused_in_upstreams_words(pod: Node, change: Any, why: str) -> None:
    with pytest.raises(PatchError) as caught:
        spec(pod, {"containers": [{"name": "a"}]}, change)
    assert str(caught.value) == why


def test_delete_of_an_object_leaves_an_empty_one(deployment: Node) -> None:
    before = {"spec": {"strategy": {"type": "Recreate"}, "replicas": 1}}
    after = strategic.merge(before, {"spec": {"strategy": {"$patch": "delete"}}}, deployment)
    assert after == {"spec": {"strategy": {}, "replicas": 1}}


def test_a_new_item_stands_where_the_patch_has_it(pod: Node) -> None:
    after = spec(pod, {"containers": [{"name": "a"}]}, {"containers": [{"name": "sidecar"}]})
    assert [item["name"] for item in after["containers"]] == ["sidecar", "a"]


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from("abcdef"), unique=True))
def test_a_merge_keeps_the_patchs_order_and_then_the_servers(pod: Node, server: list[str], patched: list[str]) -> None:
    def names(items: list[Any]) -> list[str]:
        return [item["name"] for item in items]

    change = {"containers": [{"name": name, "image": "new"} for name in patched]}
    after = spec(pod, {"containers": [{"name": name} for name in server]}, change)["containers"]
    assert sorted(names(after)) == sorted({*server, *patched})
    assert [name for name in names(after) if name in patched] == patched
    rest = [name for name in server if name not in patched]
    assert [name for name in names(after) if name in rest] == rest
    assert all(item.get("image") == ("new" if item["name"] in patched else None) for item in after)
