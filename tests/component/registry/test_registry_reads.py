"""Lists, pages, selectors and watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.registry import continuation
from apiserver.registry.options import ListOptions
from tests import etcd as etcds
from tests.component.registry.conftest import Api, Watched, config_map, pod, started


def labelled(name: str, **labels: str) -> Object:
    obj = config_map(name)
    obj["metadata"]["labels"] = labels
    return obj


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)


async def test_pages_are_of_one_revision(api: Api) -> None:
    for index in range(5):
        await api.create("configmaps", config_map(f"c{index}"))
    first = await api.list("configmaps", limit="2")
    assert first.remaining == 3
    await api.create("configmaps", config_map("c9"))
    await api.delete("configmaps", "c3")
    second = await api.list("configmaps", limit="2", **{"continue": first.continue_token})
    third = await api.list("configmaps", limit="2", **{"continue": second.continue_token})
    pages = [[item.object["metadata"]["name"] for item in page.items] for page in (first, second, third)]
    assert pages == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert first.revision == second.revision == third.revision
    assert third.continue_token == ""


async def test_pages_hold_as_many_as_match(api: Api) -> None:
    for index in range(9):
        await api.create("configmaps", labelled(f"c{index}", even=str(index % 2 == 0).lower()))
    names: list[str] = []
    token = ""
    for _ in range(3):
        page = await api.list("configmaps", limit="2", labelSelector="even=true", **{"continue": token})
        assert page.remaining is None
        names += [item.object["metadata"]["name"] for item in page.items]
        token = page.continue_token
    assert names == ["c0", "c2", "c4", "c6", "c8"]
    assert token == ""


async def test_a_token_whose_revision_is_gone_offers_one_that_goes_on(api: Api, registry_etcd: etcds.Cluster) -> None:
    for index in range(3):
        await api.create("configmaps", config_map(f"c{index}"))
    first = await api.list("configmaps", limit="1")
    newest = await api.create("configmaps", config_map("c9"))
    await api.store.compact(int(newest["metadata"]["resourceVersion"]))
    async with started(api.registry.scheme, registry_etcd, api.namespace) as fresh:  # remembers nothing older
        with pytest.raises(errors.Expired) as caught:
            await fresh.list("configmaps", limit="1", **{"continue": first.continue_token})
        token = caught.value.to_status()["metadata"]["continue"]
        assert await fresh.names("configmaps", **{"continue": token}) == ["c1", "c2", "c9"]


@pytest.mark.parametrize("token", ["x", continuation.encode("../../secrets/", 1), continuation.encode("/a", 1)])
async def test_a_token_of_somebody_elses_making_is_refused(api: Api, token: str) -> None:
    with pytest.raises(errors.BadRequest):
        await api.list("configmaps", **{"continue": token})


async def test_a_version_not_yet_reached_is_too_large(api: Api) -> None:
    with pytest.raises(errors.Timeout) as caught:
        await api.list("configmaps", resourceVersion=str(api.store.revision + 1_000_000))
    assert "Too large resource version" in caught.value.message


async def test_labels_and_fields_select(api: Api) -> None:
    await api.create("pods", pod("a", nodeName="n1"))
    await api.create("pods", pod("b", nodeName="n2"))
    await api.create("pods", pod("c"))
    assert await api.names("pods", fieldSelector="spec.nodeName=n1") == ["a"]
    assert await api.names("pods", fieldSelector="spec.nodeName=") == ["c"]
    assert await api.names("pods", fieldSelector="spec.nodeName!=n1") == ["b", "c"]
    assert await api.names("pods", fieldSelector="metadata.name=b,status.phase=Pending") == ["b"]
    with pytest.raises(errors.BadRequest) as caught:
        await api.names("pods", fieldSelector="spec.foo=1")
    assert caught.value.message == "field label not supported: spec.foo"
    with pytest.raises(errors.BadRequest) as caught:
        await api.names("configmaps", fieldSelector="data.k=1")
    assert "is not a known field selector" in caught.value.message


async def test_a_watch_sees_objects_enter_and_leave_its_selection(api: Api) -> None:
    watched = Watched()
    options = ListOptions.from_query({"labelSelector": "tier=web"})
    await api.create("configmaps", labelled("before", tier="web"))
    watch = await api.registry.watch(api.call("watch", "configmaps"), options, watched, lambda error: None)
    await api.create("configmaps", labelled("a", tier="web"))
    await api.create("configmaps", labelled("b", tier="db"))
    await api.patch("configmaps", "b", {"metadata": {"labels": {"tier": "web"}}})
    left = await api.patch("configmaps", "a", {"metadata": {"labels": {"tier": "db"}}})
    await api.patch("configmaps", "b", {"data": {"k": "v"}})
    await api.delete("configmaps", "b")
    await eventually(lambda: len(watched.events) == 6)
    assert watched.seen == [
        ("ADDED", "before"),
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("DELETED", "a"),
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ]
    gone = watched.events[3].stored
    assert gone.object["metadata"]["labels"] == {"tier": "web"}, "the last that belonged to the selection"
    assert str(gone.revision) == left["metadata"]["resourceVersion"]
    watch.close()
    await api.create("configmaps", labelled("late", tier="web"))
    await api.list("configmaps")
    assert len(watched.events) == 6


async def test_a_watch_from_a_version_sees_only_what_follows(api: Api) -> None:
    first = await api.create("configmaps", config_map("a"))
    await api.create("configmaps", config_map("b"))
    watched = Watched()
    options = ListOptions.from_query({"resourceVersion": first["metadata"]["resourceVersion"]})
    watch = await api.registry.watch(api.call("watch", "configmaps"), options, watched, lambda error: None)
    await eventually(lambda: len(watched.events) == 1)
    assert watched.seen == [("ADDED", "b")]
    watch.close()


async def test_a_watch_of_one_object_sees_no_other(api: Api) -> None:
    watched = Watched()
    await api.create("configmaps", config_map("a"))
    options = ListOptions.from_query({"fieldSelector": "metadata.name=a"})
    watch = await api.registry.watch(api.call("watch", "configmaps"), options, watched, lambda error: None)
    for name in ("ab", "a.b", "b"):
        await api.create("configmaps", config_map(name))
    await api.delete("configmaps", "a")
    await eventually(lambda: len(watched.events) == 2)
    assert watched.seen == [("ADDED", "a"), ("DELETED", "a")]
    watch.close()


async def test_streaming_lists_end_with_a_bookmark(api: Api) -> None:
    await api.create("configmaps", config_map("a"))
    watched = Watched()
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    options = ListOptions.from_query(query)
    watch = await api.registry.watch(api.call("watch", "configmaps"), options, watched, lambda error: None)
    assert [event.type for event in watched.events] == ["ADDED", "BOOKMARK"]
    mark = watched.events[1].stored.object
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert mark["kind"] == "ConfigMap"
    watch.close()


async def test_a_watch_from_before_what_is_kept_is_expired(api: Api, registry_etcd: etcds.Cluster) -> None:
    first = await api.create("configmaps", config_map("a"))
    newest = await api.create("configmaps", config_map("b"))
    await api.store.compact(int(newest["metadata"]["resourceVersion"]))
    options = ListOptions.from_query({"resourceVersion": first["metadata"]["resourceVersion"]})
    async with started(api.registry.scheme, registry_etcd, api.namespace) as fresh:  # it has no window of its own yet
        with pytest.raises(errors.Expired, match="too old resource version"):
            await fresh.registry.watch(fresh.call("watch", "configmaps"), options, Watched(), lambda error: None)


async def test_events_are_one_collection_in_two_groups(api: Api) -> None:
    made = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": api.namespace},
        "note": "hi",
    }
    await api.create("events", made | {"reportingController": "me"}, group="events.k8s.io")
    core = await api.get("events", "e")
    assert (core["apiVersion"], core["message"], core["involvedObject"]["name"]) == ("v1", "hi", "p")
    assert core["reportingComponent"] == "me"
    assert await api.names("events", fieldSelector="involvedObject.name=p") == ["e"]
    listed = await api.registry.list(
        api.call("list", "events", group="events.k8s.io"), ListOptions.from_query({"fieldSelector": "regarding.name=p"})
    )
    assert [item.object["note"] for item in listed.items] == ["hi"]
    changed = await api.patch("events", "e", {"note": "ho"}, group="events.k8s.io")
    assert changed["note"] == "ho"
    assert (await api.get("events", "e"))["message"] == "ho"
