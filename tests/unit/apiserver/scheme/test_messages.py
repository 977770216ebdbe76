"""Every built-in kind has a protobuf form, with a field for each that its schema has."""

from __future__ import annotations

import pytest

from apimachinery import protobuf, schemas
from apimachinery.protobuf import layout
from apiserver.scheme import table
from apiserver.scheme.resources import Resource

# In the envelope, not in the message
_ENVELOPE = {"apiVersion", "kind"}
# Read by no client in protobuf: a field that is younger than the numbers known here
_YOUNGER = {
    "apiextensions.v1.CustomResourceDefinitionCondition.observedGeneration",
    "apiextensions.v1.CustomResourceDefinitionStatus.observedGeneration",
}


@pytest.fixture(scope="module")
def known() -> schemas.Schemas:
    return schemas.Schemas.load()


@pytest.mark.parametrize("row", table.BUILTIN, ids=lambda row: f"{row.resource}.{row.version}.{row.group}")
def test_a_kind_has_a_message_with_all_of_its_fields(row: Resource, known: schemas.Schemas) -> None:
    message = protobuf.message_of(row.gvk.api_version, row.kind)
    assert message, "add it to apimachinery/wire"
    name = known.name_of(row.gvk)
    assert name
    definitions = known.definitions([name])
    missing: list[str] = []
    _compare(message, name, definitions, missing, set())
    assert set(missing) <= _YOUNGER


def _compare(
    message: str, name: str, definitions: dict[str, dict[str, object]], missing: list[str], seen: set[str]
) -> None:
    if message in seen:
        return
    seen.add(message)
    fields = _fields(message)
    properties = definitions[name].get("properties") or {}
    assert isinstance(properties, dict)
    for field, described in properties.items():
        kind = fields.get(field)
        if kind is None:
            if field not in _ENVELOPE:
                missing.append(f"{message}.{field}")
            continue
        inner = _reference(described)
        if inner in definitions and definitions[inner].get("properties") and "." in kind and kind[0] != "!":
            _compare(kind, inner, definitions, missing, seen)


def _fields(message: str) -> dict[str, str]:
    """JSON name → kind; what is inlined is the parent's own."""
    found: dict[str, str] = {}
    for field in layout.of(message).values():
        found |= _fields(field.kind) if field.inline else {field.name: field.kind}
    return found


def _reference(described: dict[str, object]) -> str:
    """The definition of a field, of its items, or of its values."""
    for place in (described, described.get("items"), described.get("additionalProperties")):
        if isinstance(place, dict) and isinstance(place.get("$ref"), str):
            return str(place["$ref"]).rpartition("/")[2]
    return ""
