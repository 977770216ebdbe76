"""Whether a webhook wants to hear of a write: operations, resources, scope, selectors. Pure.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules
"""

from __future__ import annotations

from typing import Protocol

from apimachinery import selectors
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.webhooks.configuration import Webhook

_GROUP = "admissionregistration.k8s.io"
# Webhooks are never asked about webhooks, or one could make itself irremovable
_EXEMPT = frozenset({"mutatingwebhookconfigurations", "validatingwebhookconfigurations"})


class Selecting(Protocol):
    """What selects objects by their labels, and by those of their namespaces."""

    @property
    def namespaces(self) -> selectors.Selector: ...

    @property
    def objects(self) -> selectors.Selector: ...


def wants(webhook: Webhook, review: Review, namespace: Object | None) -> bool:
    """`namespace` is the object's namespace; None where it has none."""
    row = review.call.resource
    if row.group == _GROUP and row.resource in _EXEMPT:
        return False
    if not any(covers(rule, review) for rule in webhook.spec.get("rules") or ()):
        return False
    return in_namespaces(webhook, review, namespace) and selects(webhook, review)


def covers(rule: Object, review: Review) -> bool:
    row = review.call.resource
    return (
        _has(rule.get("operations"), review.operation)
        and _has(rule.get("apiGroups"), row.group)
        and _has(rule.get("apiVersions"), row.version)
        and _has_scope(rule.get("scope") or "*", review)
        and _has_resource(rule.get("resources") or (), row.resource, review.call.subresource)
    )


def _has(values: list[str] | None, wanted: str) -> bool:
    return bool(values) and ("*" in (values or ()) or wanted in (values or ()))


def _has_scope(scope: str, review: Review) -> bool:
    row = review.call.resource
    # A Namespace counts as cluster-scoped, although its path looks like the other
    return scope == "*" or (scope == "Namespaced") == (row.namespaced and row.resource != "namespaces")


def _has_resource(values: list[str] | tuple[str, ...], resource: str, subresource: str) -> bool:
    for value in values:
        wanted, slash, wanted_sub = value.partition("/")
        if wanted not in ("*", resource):
            continue
        if not slash and not subresource:
            return True
        if slash and (wanted_sub == "*" or wanted_sub == subresource):
            return True
    return False


def in_namespaces(webhook: Selecting, review: Review, namespace: Object | None) -> bool:
    if not webhook.namespaces:
        return True
    if review.call.resource.resource == "namespaces" and review.call.resource.group == "":
        namespace = review.obj or review.old
    return namespace is None or webhook.namespaces.matches(namespace["metadata"].get("labels"))


def selects(webhook: Selecting, review: Review) -> bool:
    if not webhook.objects:
        return True
    candidates = [obj for obj in (review.obj, review.old) if obj is not None]
    return any(webhook.objects.matches((obj.get("metadata") or {}).get("labels")) for obj in candidates)
