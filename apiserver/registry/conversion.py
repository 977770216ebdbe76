"""Kinds that are served in another version than they are stored in: `events.k8s.io/v1`, `autoscaling/v1`, custom ones.

Custom resources bring their conversion with their row (`apiserver/apiextensions/conversion.py`); it may ask a webhook,
so it can be waited for. Of the built-in kinds events and autoscalers (`autoscaling.py`) have two forms.

A converter is a pair of pure functions on objects and a way to apply them to stored bytes. The names of the two
versions' fields are upstream's conversion (`pkg/apis/events/v1/conversion.go`).
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.registry import autoscaling
from apiserver.scheme.resources import Resource
from apiserver.storage import types
from apiserver.storage.types import Stored

_EVENT_RENAMED = {  # core/v1 → events.k8s.io/v1
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_EVENT_RESTORED = {new: old for old, new in _EVENT_RENAMED.items()}


class Converter:
    """`to_storage` and `from_storage` return new objects; they share parts with what they were given."""

    def __init__(
        self,
        to_storage: Callable[[Object], Object],
        from_storage: Callable[[Object], Object],
        stored_field: Callable[[str], str],
    ) -> None:
        self.to_storage = to_storage
        self.from_storage = from_storage
        self.stored_field = stored_field  # a selectable field's name within the stored version

    def out(self, stored: Stored) -> Stored:
        """A stored object as the served version has it."""
        return Stored(stored.key, types.encode(self.from_storage(stored.object)), stored.revision)


def event_to_storage(event: Object) -> Object:
    renamed = {_EVENT_RESTORED.get(field, field): value for field, value in event.items()}
    return renamed | {"apiVersion": "v1"}


def event_from_storage(event: Object) -> Object:
    renamed = {_EVENT_RENAMED.get(field, field): value for field, value in event.items()}
    return renamed | {"apiVersion": "events.k8s.io/v1"}


def event_stored_field(field: str) -> str:
    head, dot, rest = field.partition(".")
    return _EVENT_RESTORED.get(head, head) + dot + rest


TABLE: dict[GVK, Converter] = {
    GVK("autoscaling", "v1", "HorizontalPodAutoscaler"): Converter(
        autoscaling.to_storage, autoscaling.from_storage, autoscaling.stored_field
    ),
    GVK("events.k8s.io", "v1", "Event"): Converter(event_to_storage, event_from_storage, event_stored_field),
}


async def served(resource: Resource, stored: Stored) -> Stored:
    """A stored object as the row's version has it. Raises InternalError when a webhook fails."""
    if resource.custom is not None:
        shown: list[Stored] = await resource.custom.conversion.out([stored])
        return shown[0]
    converter = TABLE.get(resource.gvk)
    return stored if converter is None else converter.out(stored)


async def written(resource: Resource, obj: Object) -> bytes:
    """What to store of an object in the row's version. Raises InternalError when a webhook fails."""
    if resource.custom is not None:
        return types.encode(await resource.custom.conversion.to_storage(obj))
    converter = TABLE.get(resource.gvk)
    return types.encode(obj if converter is None else converter.to_storage(obj))


def is_current(resource: Resource, raw: bytes, stored: Stored) -> bool:
    """Whether an unchanged object is kept as it would be written now: in the storage version, pruned and defaulted.

    Who migrates stored objects writes each as it is; then the form must change though the object does not.
    """
    return resource.custom is None or orjson.loads(raw) == orjson.loads(stored.raw)


async def answered(resource: Resource, obj: Object, stored: Stored) -> Stored:
    """The answer to a write of `obj`, which is now stored: in the version that it was written in."""
    if resource.custom is not None:
        return Stored(stored.key, types.encode(obj), stored.revision)
    return await served(resource, stored)
