"""One version of one CustomResourceDefinition: all that tells its objects from those of a built-in kind.

Everything is compiled at the first use and then kept: a definition that nobody uses costs nothing but its text, and a
request compiles nothing. A changed definition makes new versions; requests that run keep the one that they began with.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from apimachinery import schemas
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.apiextensions import defaulting, embedded, listtypes, nodes, pruning, rules, validation
from apiserver.apiextensions.structural import Structural
from apiserver.apiextensions.validation import ABSENT, Validator

FREE: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""The schema of a version that has none."""


class Version:
    """`spec` is an entry of the definition's `spec.versions`."""

    def __init__(self, definition: Object, spec: Object, known: schemas.Schemas) -> None:
        self.definition = definition
        self.name: str = spec["name"]
        self.spec = spec
        self.schema: dict[str, Any] = (spec.get("schema") or {}).get("openAPIV3Schema") or FREE
        subresources = spec.get("subresources") or {}
        self.has_status = subresources.get("status") is not None
        self.scale: Object | None = subresources.get("scale")
        self._known = known

    @property
    def kind(self) -> str:
        return str(self.definition["spec"]["names"]["kind"])

    @cached_property
    def structural(self) -> Structural:
        return Structural(self.schema)

    @cached_property
    def node(self) -> nodes.Object:
        return nodes.Object(self.kind, self.structural, self._known.named(schemas.META + "ObjectMeta"))

    @cached_property
    def validator(self) -> Validator:
        return Validator(self.schema, is_resource=True)

    @cached_property
    def rules(self) -> rules.Rules:
        return rules.Rules(self.schema)

    def default(self, obj: Object) -> None:
        """In place."""
        defaulting.default(obj, self.structural)

    def tidy(self, obj: Object) -> None:
        """What a reader of an older object sees: without unknown fields, with defaults; in place."""
        pruning.prune(obj, self.structural, [], [], is_resource=True)
        defaulting.default(obj, self.structural)

    def problems(self, new: Object, old: Object | None, warnings: list[str] | None = None) -> list[Cause]:
        """What is wrong with an object beyond its metadata; `old` is what it was before, if it was.

        `warnings` receives what rules say of the parts that an update leaves alone.
        """
        found = self.validator.check(new, "", ABSENT if old is None else old)
        found += embedded.problems(new, self.structural)
        repeated = listtypes.duplicates(new, self.structural)
        if repeated and (old is None or not listtypes.duplicates(old, self.structural)):
            found += repeated
        if not self.rules.any:
            return found
        if validation.blocks_rules(found):
            return [*found, validation.UNCHECKED]
        return found + self.rules.check(new, old, warnings)
