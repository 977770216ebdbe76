"""Store and informer: indexes stay exact, handlers are told of real differences only."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import objects
from apimachinery.gvr import PODS
from apimachinery.objects import Key
from client.informer import Informer, InformerFactory
from client.store import Store
from tests.unit.client import server

pod = server.pod


def by_node(obj: Any) -> list[str]:
    node = obj.get("spec", {}).get("nodeName")
    return [node] if node else []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["n1", "n2", ""]), st.booleans())))
def test_an_index_holds_exactly_what_the_store_holds(changes: list[tuple[str, str, bool]]) -> None:
    store = Store({"node": by_node})
    for name, node, remove in changes:
        if remove:
            store.remove(Key("default", name))
        else:
            store.put(pod(name, "1", spec={"nodeName": node}))
    for node in ("n1", "n2"):
        expected = {objects.name_of(obj) for obj in store.list() if by_node(obj) == [node]}
        assert {objects.name_of(obj) for obj in store.by_index("node", node)} == expected
    assert len(store.list("default")) == len(store)


def test_an_index_added_late_holds_what_was_there() -> None:
    store = Store()
    store.put(pod("a", "1", spec={"nodeName": "n1"}))
    store.add_index("node", by_node)
    assert len(store.by_index("node", "n1")) == 1


def test_an_index_that_nobody_added_is_an_error() -> None:
    with pytest.raises(KeyError):
        Store().by_index("node", "n1")


class Told:
    def __init__(self, informer: Informer) -> None:
        self.seen: list[Any] = []
        informer.add_handler(
            on_add=lambda obj: self.seen.append(("add", obj["metadata"]["name"])),
            on_update=lambda old, new: self.seen.append(
                ("update", old["metadata"]["resourceVersion"], new["metadata"]["resourceVersion"])
            ),
            on_delete=lambda obj: self.seen.append(("delete", obj["metadata"]["name"])),
        )


async def informer() -> Informer:
    return Informer(server.client(server.Script()), PODS)


async def test_a_relist_tells_only_differences() -> None:
    subject = await informer()
    told = Told(subject)
    subject.replace([pod("a", "1"), pod("b", "2"), pod("c", "3")])
    told.seen.clear()
    subject.replace([pod("a", "1"), pod("b", "5")])
    assert told.seen == [("update", "2", "5"), ("delete", "c")]


async def test_an_object_made_again_under_its_name_is_a_deletion_and_an_addition() -> None:
    subject = await informer()
    subject.replace([pod("a", "1")])
    told = Told(subject)
    told.seen.clear()
    again = pod("a", "9")
    again["metadata"]["uid"] = "another"
    subject.replace([again])
    assert told.seen == [("delete", "a"), ("add", "a")]


async def test_a_handler_added_late_is_told_what_is_there() -> None:
    subject = await informer()
    subject.replace([pod("a", "1")])
    assert Told(subject).seen == [("add", "a")]


async def test_a_handler_that_fails_does_not_keep_others_from_being_told(caplog: pytest.LogCaptureFixture) -> None:
    subject = await informer()
    subject.add_handler(on_add=lambda obj: obj["no such field"])
    told = Told(subject)
    subject.apply(pod("a", "1"))
    assert told.seen == [("add", "a")]
    assert "KeyError: 'no such field'" in caplog.text


async def test_the_store_has_changed_before_handlers_are_told() -> None:
    subject = await informer()
    seen: list[bool] = []
    subject.add_handler(on_add=lambda obj: seen.append(objects.key_of(obj) in subject.store))
    subject.apply(pod("a", "1"))
    assert seen == [True]


@pytest.mark.looptime
async def test_a_factory_shares_one_informer_and_starts_late_ones() -> None:
    script = server.Script(server.listing("5", pod("a", "1")))
    async with server.client(script) as client:
        factory = InformerFactory(client)
        running = asyncio.ensure_future(factory.run())
        await asyncio.sleep(1)
        first = factory.informer(PODS)
        second = factory.informer(PODS, indexers={"node": by_node})
        await factory.wait_synced()
        assert first is second
        assert first.store.by_index("node", "n1") == []
        assert len(first.store) == 1
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
    assert len(script.asked) == 2  # one list, one watch
