"""The names that admission gives to expressions: `object`, `oldObject`, `request`, `params`, `namespaceObject`,
`authorizer`, `variables.*`.

Objects are dynamic, as upstream's are here; `request` and `namespaceObject` are typed, so that a wrong field of theirs
is found when the expression is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from apiserver.cel import library, schematypes, types
from apiserver.cel.declarations import Environment
from apiserver.cel.issues import CompileError
from apiserver.cel.library.authorization import AUTHORIZER, RESOURCE
from apiserver.cel.programs import Program
from apiserver.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Field, Type

MATCH_BUDGET = 2_500_000
"""Units that the match conditions of one webhook may cost for one request: upstream's."""


def admission(
    *,
    params: bool = False,
    authorizer: bool = True,
    variables: Mapping[str, Type] | None = None,
    patches: bool = False,
) -> Environment:
    """`variables` are those of a policy, by the names they have after `variables.`. `patches` are for mutations."""
    names: dict[str, Type] = {
        "object": DYN,
        "oldObject": DYN,
        "request": request_type(),
        "namespaceObject": namespace_type(),
    }
    if params:
        names["params"] = DYN
    if authorizer:
        names |= {"authorizer": types.opaque(AUTHORIZER), "authorizer.requestResource": types.opaque(RESOURCE)}
    if variables is not None:
        names["variables"] = _object("kubernetes.variables", {})
        names |= {f"variables.{name}": found for name, found in variables.items()}
    return Environment(library.kubernetes(), names, patch_type if patches else lambda name: None)


OBJECT = Type("object", "Object", (), {"*": Field(DYN, "*")})
JSON_PATCH = Type(
    "object",
    "JSONPatch",
    (),
    {**{name: Field(STRING, name) for name in ("op", "path", "from")}, "value": Field(DYN, "value")},
)


def patch_type(name: str) -> Type | None:
    """What a mutation may build: `Object{…}`, with `Object.spec{…}` below it by path, and `JSONPatch{…}`."""
    if name == "JSONPatch":
        return JSON_PATCH
    if name == "Object" or name.startswith("Object."):
        return Type("object", name, (), OBJECT.fields)
    return None


def compiled(text: str, environment: Environment, *wanted: Type) -> Program:
    """A program of one of the types. Raises ValueError with what upstream says of an expression that is none."""
    try:
        program = Program(text, environment)
    except CompileError as error:
        raise ValueError(f"compilation failed: {error}") from error
    if wanted and program.type not in wanted:
        if len(wanted) == 1:
            raise ValueError(f"must evaluate to {wanted[0]} but got {program.type}")
        raise ValueError(f"must evaluate to one of [{' '.join(map(str, wanted))}] but got {program.type}")
    return program


@cache
def request_type() -> Type:
    kind = _object("kubernetes.GroupVersionKind", dict.fromkeys(("group", "version", "kind"), STRING))
    resource = _object("kubernetes.GroupVersionResource", dict.fromkeys(("group", "version", "resource"), STRING))
    texts = types.list_of(STRING)
    user = {"username": STRING, "uid": STRING, "groups": texts, "extra": types.map_of(STRING, texts)}
    return _object(
        "kubernetes.AdmissionRequest",
        {
            "kind": kind,
            "resource": resource,
            "subResource": STRING,
            "requestKind": kind,
            "requestResource": resource,
            "requestSubResource": STRING,
            "name": STRING,
            "namespace": STRING,
            "operation": STRING,
            "userInfo": _object("kubernetes.UserInfo", user),
            "dryRun": BOOL,
            "options": DYN,
        },
    )


@cache
def namespace_type() -> Type:
    labels = types.map_of(STRING, STRING)
    condition = {**dict.fromkeys(("status", "type", "message", "reason"), STRING), "lastTransitionTime": TIMESTAMP}
    status = {"conditions": types.list_of(_object("kubernetes.NamespaceCondition", condition)), "phase": STRING}
    texts = ("name", "generateName", "namespace", "UID", "resourceVersion")
    metadata = {
        **dict.fromkeys(texts, STRING),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "labels": labels,
        "annotations": labels,
        "finalizers": types.list_of(STRING),
    }
    fields = {
        "metadata": _object("kubernetes.NamespaceMetadata", metadata),
        "spec": _object("kubernetes.NamespaceSpec", {"finalizers": types.list_of(STRING)}),
        "status": _object("kubernetes.NamespaceStatus", status),
    }
    return _object("kubernetes.Namespace", fields)


@cache
def _namespace_converter() -> Any:
    return schematypes.converter(namespace_type())


def namespace(obj: dict[str, Any] | None) -> Any:
    """A namespace as `namespaceObject` has it."""
    return None if obj is None else _namespace_converter()(obj)


def _object(name: str, fields: Mapping[str, Type]) -> Type:
    return Type("object", name, (), {field: Field(found, field) for field, found in fields.items()})
