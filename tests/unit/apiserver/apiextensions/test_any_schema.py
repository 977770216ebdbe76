"""Whatever users write: a schema is judged without failing, and one that is accepted judges any value."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apimachinery import schema as types
from apimachinery import schemas as known
from apiserver.apiextensions import schemas
from apiserver.apiextensions.version import Version

_KNOWN = known.Schemas.load()
_NAMES = st.sampled_from(["a", "b", "kind", "metadata"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)
_TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", ""])
_LEAF = {
    "type": _TYPES,
    "nullable": st.booleans(),
    "default": _JSON,
    "enum": st.lists(_JSON, max_size=3),
    "minimum": st.integers(-5, 5),
    "multipleOf": st.sampled_from([0.5, 2, 1e-300]),
    "maxLength": st.integers(0, 4),
    "pattern": st.sampled_from(["^a", "(", "(?=a)", "[[:alpha:]]"]),
    "format": st.sampled_from(["date-time", "uri", "odd"]),
    "required": st.lists(_NAMES, max_size=2),
    "x-kubernetes-preserve-unknown-fields": st.booleans(),
    "x-kubernetes-int-or-string": st.booleans(),
    "x-kubernetes-embedded-resource": st.booleans(),
    "x-kubernetes-list-type": st.sampled_from(["set", "map", "atomic"]),
    "x-kubernetes-list-map-keys": st.lists(_NAMES, max_size=2),
    "x-kubernetes-map-type": st.sampled_from(["atomic", "granular"]),
}


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    branches = {
        "properties": st.dictionaries(_NAMES, inner, max_size=3),
        "items": inner,
        "additionalProperties": inner | st.booleans(),
        "anyOf": st.lists(inner, max_size=2),
        "oneOf": st.lists(inner, max_size=2),
        "allOf": st.lists(inner, max_size=2),
        "not": inner,
    }
    return st.fixed_dictionaries({}, optional=_LEAF | branches)


_SCHEMAS = st.recursive(st.fixed_dictionaries({}, optional=_LEAF), _grown, max_leaves=6)


def _typed(kind: str, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    extra = {"nullable": st.booleans(), "enum": st.lists(_JSON, min_size=1, max_size=3)}
    return st.fixed_dictionaries({"type": st.just(kind)}, optional=extra | optional)


_STRUCTURAL: st.SearchStrategy[Any] = st.deferred(
    lambda: (
        _typed("string", pattern=st.just("^a"), maxLength=st.integers(0, 4), format=st.sampled_from(["uri", "date"]))
        | _typed("integer", minimum=st.integers(-5, 5), default=st.integers(0, 9), multipleOf=st.integers(1, 3))
        | _typed("number", maximum=st.integers(-5, 5), multipleOf=st.sampled_from([0.5, 1e-300]))
        | _typed("boolean", default=st.booleans())
        | st.fixed_dictionaries({"x-kubernetes-int-or-string": st.just(True)})
        | _typed("object", properties=st.dictionaries(_NAMES, _STRUCTURAL, max_size=3), required=_LEAF["required"])
        | _typed("object", additionalProperties=_STRUCTURAL)
        | st.builds(
            lambda item, kind: {"type": "array", "items": item, "x-kubernetes-list-type": kind},
            _STRUCTURAL,
            st.sampled_from(["set", "atomic"]),
        )
        | st.just({"type": "object", "x-kubernetes-preserve-unknown-fields": True, "oneOf": [{"required": ["a"]}]})
        | st.just(
            {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "x-kubernetes-embedded-resource": True,
            }
        )
    )
)
"""Schemas of which most are accepted, so that they come to judge values."""


def _compiled(root: dict[str, Any]) -> Version:
    spec = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    definition = {"spec": {"group": "example.com", "names": {"kind": "Lamp"}, "versions": [spec]}}
    return Version(definition, spec, _KNOWN)


@settings(deadline=None)
@given(_SCHEMAS | _STRUCTURAL, _JSON)
def test_any_schema_is_judged_and_an_accepted_one_judges_any_value(field: dict[str, Any], value: Any) -> None:
    root = {"type": "object", "properties": {"spec": field}}
    if schemas.problems(root, "schema"):
        return
    version = _compiled(root)
    obj = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}, "spec": value}
    try:
        version.node.check(obj, types.Walk())
    except types.TypeMismatch:
        return  # metadata of an embedded object
    version.default(obj)
    found = version.problems(obj, None)
    assert all(cause.field and cause.message for cause in found)
    assert version.validator.check(obj, "", obj) == []
