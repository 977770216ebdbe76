"""Conversion of stored objects: what is remembered, what is asked of the webhook, and how often."""

from __future__ import annotations

from typing import Any

from apimachinery import schemas
from apimachinery.objects import Object
from apiserver.apiextensions.conversion import Conversion
from apiserver.apiextensions.version import Version
from apiserver.storage import types
from apiserver.storage.types import Event, Stored

_KNOWN = schemas.Schemas.load()
_SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}},
}


class Webhook:
    """Adds nothing but the version, and counts."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def convert(self, definition: Object, objects: list[Object], api_version: str) -> list[Object]:
        self.asked.append(len(objects))
        return [obj | {"apiVersion": api_version} for obj in objects]


def conversion(webhook: Webhook, *, strategy: str = "None", name: str = "v2") -> Conversion:
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}},
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": _SCHEMA}},
    ]
    spec: dict[str, Any] = {"group": "example.com", "names": {"kind": "Lamp"}, "versions": versions}
    definition = {"spec": spec | {"conversion": {"strategy": strategy}}}
    chosen = next(version for version in versions if version["name"] == name)
    return Conversion(Version(definition, chosen, _KNOWN), webhook)


def stored(revision: int, name: str = "a", **spec: Any) -> Stored:
    obj = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": name}, "spec": spec}
    return Stored(f"/registry/example.com/lamps/{name}", types.encode(obj), revision)


async def test_an_object_is_shown_in_the_version_with_its_defaults() -> None:
    [shown] = await conversion(Webhook()).out([stored(5)])
    assert shown.object == {
        "apiVersion": "example.com/v2",
        "kind": "Lamp",
        "metadata": {"name": "a", "resourceVersion": "5"},
        "spec": {"size": 3},
    }


async def test_what_needs_no_change_is_the_stored_object_itself() -> None:
    found = stored(5, size=1)
    assert await conversion(Webhook(), name="v1").out([found]) == [found]


def test_all_watchers_of_an_event_are_shown_the_same_objects() -> None:
    made = conversion(Webhook())
    before, after = stored(5), stored(6, size=7)
    event = Event(False, after, before)
    first = made.event_now(event)
    assert made.event_now(event) is first
    again = made.event_now(Event(False, stored(7), after))
    assert again.previous is first.stored


async def test_a_webhook_is_asked_once_for_all_and_not_again_for_the_same() -> None:
    webhook = Webhook()
    made = conversion(webhook, strategy="Webhook")
    items = [stored(5, "a"), stored(6, "b")]
    first = await made.out(items)
    assert await made.out(items) == first
    await made.event(Event(False, stored(7, "a"), items[0]))
    assert webhook.asked == [2, 1]


async def test_an_answer_that_was_not_stored_is_not_remembered() -> None:
    made = conversion(Webhook())
    real, dry = stored(5, size=1), stored(5, size=9)
    await made.out([dry])
    [shown] = await made.out([real])
    assert shown.object["spec"] == {"size": 1}


async def test_only_another_version_than_the_stored_one_is_converted_when_written() -> None:
    webhook = Webhook()
    obj = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}}
    assert await conversion(webhook, strategy="Webhook", name="v1").to_storage(obj) is obj
    assert webhook.asked == []
    other = obj | {"apiVersion": "example.com/v2"}
    assert await conversion(webhook, strategy="Webhook").to_storage(other) == obj
    assert webhook.asked == [1]
