"""`x-kubernetes-validations`: the rules of a schema, compiled once and run after all else is right.

The engine is imported when a schema first has rules: most servers never see one, and it is 5 MB and many modules.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.apiextensions.structural import VALIDATIONS, Schema

if TYPE_CHECKING:
    from apiserver.apiextensions.ruleruns import Runner


class Rules:
    """The rules of one version of a definition."""

    def __init__(self, schema: Schema) -> None:
        self.any = has_rules(schema)
        self._schema = schema

    def check(self, new: Object, old: Object | None, warnings: list[str] | None = None) -> list[Cause]:
        """What rules say against `new`; `old` is what it was before. What is said of unchanged parts goes to
        `warnings`."""
        return self._runner.check(new, old, warnings) if self.any else []

    @cached_property
    def _runner(self) -> Runner:
        from apiserver.apiextensions.ruleruns import Runner

        return Runner(self._schema)


def problems(schema: Schema, path: str, stored: frozenset[str] = frozenset()) -> list[Cause]:
    """What is wrong with the rules of a schema, which stands at `path`. The costs of rules in `stored` are not held
    against a definition: they were let in before."""
    if not has_rules(schema):
        return []
    from apiserver.apiextensions import ruleschecks

    return ruleschecks.problems(schema, path, stored)


def has_rules(schema: Schema) -> bool:
    if schema.get(VALIDATIONS):
        return True
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return any(has_rules(below) for below in [*inner, *(schema.get("allOf") or ())] if isinstance(below, dict))
