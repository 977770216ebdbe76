"""Asking whether somebody may do something: `authorizer.group('apps').resource('replicasets').check('get').allowed()`.

Who decides is the host's: a callback that takes a `Check` and gives an `Answer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from apiserver.cel.declarations import Library

AUTHORIZER, PATH, GROUP = (
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck",
)
RESOURCE, DECISION = "kubernetes.authorization.ResourceCheck", "kubernetes.authorization.Decision"
CHECK_COST = 350_000  # upstream's: two checks for an expression, not three


@dataclass(frozen=True, slots=True)
class Answer:
    allowed: bool
    reason: str = ""
    error: str = ""
    cel_type = DECISION


@dataclass(frozen=True, slots=True)
class Check:
    """What is asked. `service_account` is (namespace, name) for another subject than the one who makes the request."""

    decide: Callable[[Check], Answer]
    cel_type: str = AUTHORIZER
    service_account: tuple[str, str] | None = None
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


def _check(wanted: Check, verb: str) -> Answer:
    return wanted.decide(replace(wanted, verb=verb))


LIBRARY = Library()
LIBRARY.method(f"path({AUTHORIZER}, string) -> {PATH}", lambda it, path: replace(it, path=path, cel_type=PATH))
LIBRARY.method(f"group({AUTHORIZER}, string) -> {GROUP}", lambda it, group: replace(it, group=group, cel_type=GROUP))
LIBRARY.method(
    f"serviceAccount({AUTHORIZER}, string, string) -> {AUTHORIZER}",
    lambda it, namespace, name: replace(it, service_account=(namespace, name)),
)
LIBRARY.method(
    f"resource({GROUP}, string) -> {RESOURCE}", lambda it, resource: replace(it, resource=resource, cel_type=RESOURCE)
)
LIBRARY.method(f"subresource({RESOURCE}, string) -> {RESOURCE}", lambda it, value: replace(it, subresource=value))
LIBRARY.method(f"namespace({RESOURCE}, string) -> {RESOURCE}", lambda it, value: replace(it, namespace=value))
LIBRARY.method(f"name({RESOURCE}, string) -> {RESOURCE}", lambda it, value: replace(it, name=value))
LIBRARY.method(f"fieldSelector({RESOURCE}, string) -> {RESOURCE}", lambda it, value: replace(it, field_selector=value))
LIBRARY.method(f"labelSelector({RESOURCE}, string) -> {RESOURCE}", lambda it, value: replace(it, label_selector=value))
for checkable in (PATH, RESOURCE):
    LIBRARY.method(f"check({checkable}, string) -> {DECISION}", _check, lambda args, result: CHECK_COST)
LIBRARY.method(f"allowed({DECISION}) -> bool", lambda answer: answer.allowed)
LIBRARY.method(f"reason({DECISION}) -> string", lambda answer: answer.reason)
LIBRARY.method(f"errored({DECISION}) -> bool", lambda answer: bool(answer.error))
LIBRARY.method(f"error({DECISION}) -> string", lambda answer: answer.error)
