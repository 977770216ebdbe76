"""Which objects a list or watch gives: a name, label and field selectors, compiled once a request.

Decoding is what costs, so each equality is first looked for in the object's bytes: what does not hold the text cannot
match. Fields are the metadata's two and those of the resource's row; an unknown one is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from apimachinery import errors
from apimachinery.objects import Object
from apimachinery.selectors import FieldSelector, Selector
from apiserver.registry import conversion
from apiserver.registry.options import ListOptions
from apiserver.scheme import fields
from apiserver.scheme.resources import Resource
from apiserver.storage.types import Stored

Matcher = Callable[[Stored], bool]


def matcher(resource: Resource, options: ListOptions) -> Matcher | None:
    """A test of stored objects, or None when everything is selected. Raises BadRequest."""
    labels, wanted = options.label_selector, options.field_selector
    _check_fields(resource, wanted)
    converter = conversion.TABLE.get(resource.gvk)
    if converter is not None:
        wanted = tuple(replace(item, field=converter.stored_field(item.field)) for item in wanted)
    if not labels and not wanted:
        return None
    needles = _label_needles(labels)
    if resource.custom is None:  # a custom resource's selectable fields may be numbers, which stand there unquoted
        needles += _field_needles(wanted)

    def matches(stored: Stored) -> bool:
        held = stored.held
        for needle in needles:
            if needle not in held:
                return False
        obj = stored.object
        return labels.matches(obj["metadata"].get("labels")) and _fields_match(obj, wanted)

    return matches


def single_name(selector: FieldSelector) -> str | None:
    """The name that `metadata.name=x` asks for."""
    return next((item.value for item in selector if item.field == "metadata.name" and item.equal), None)


def _fields_match(obj: Object, selector: FieldSelector) -> bool:
    return all((fields.value_of(obj, item.field) == item.value) is item.equal for item in selector)


def _check_fields(resource: Resource, selector: FieldSelector) -> None:
    for item in selector:
        if item.field in ("metadata.name", "metadata.namespace") or item.field in resource.selectable_fields:
            continue
        if resource.selectable_fields:
            raise errors.BadRequest(f"field label not supported: {item.field}")
        raise errors.BadRequest(
            f'"{item.field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        )


def _label_needles(selector: Selector) -> list[bytes]:
    """`"key":"value"` of each requirement that allows one value only; keys of those that need the label."""
    needles: list[bytes] = []
    for requirement in selector.requirements:
        key = orjson.dumps(requirement.key)
        if requirement.operator == "in" and len(requirement.values) == 1:
            needles.append(key + b":" + orjson.dumps(next(iter(requirement.values))))
        elif requirement.operator in ("in", "exists", "gt", "lt"):
            needles.append(key)
    return needles


def _field_needles(selector: FieldSelector) -> list[bytes]:
    return [_text(item.value) for item in selector if item.equal and item.value and fields.is_plain(item.field)]


def _text(value: Any) -> bytes:
    return orjson.dumps(value)
