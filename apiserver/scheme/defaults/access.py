"""Defaults of RBAC, admission registration and API registration kinds.

Source: upstream's `pkg/apis/{rbac,admissionregistration}/*/defaults.go`, apiextensions and kube-aggregator.
"""

from __future__ import annotations

from apimachinery.objects import Object

RBAC_GROUP = "rbac.authorization.k8s.io"
WEBHOOK_SECONDS = 10
_HTTPS = 443


def role_binding(obj: Object) -> None:
    reference = obj.get("roleRef")
    if reference is not None:
        reference["apiGroup"] = reference.get("apiGroup") or RBAC_GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = subject.get("apiGroup") or RBAC_GROUP


def validating_webhooks(obj: Object) -> None:
    for webhook in obj.get("webhooks") or ():
        _webhook(webhook)


def mutating_webhooks(obj: Object) -> None:
    for webhook in obj.get("webhooks") or ():
        _webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def admission_policy(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    if spec.get("matchConstraints") is not None:
        _match_resources(spec["matchConstraints"])


def admission_policy_binding(obj: Object) -> None:
    matched = (obj.get("spec") or {}).get("matchResources")
    if matched is not None:
        _match_resources(matched)
    parameters = (obj.get("spec") or {}).get("paramRef")
    if parameters is not None:
        parameters.setdefault("parameterNotFoundAction", "Deny")


def resource_definition(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec["scope"] = spec.get("scope") or "Namespaced"
    names = spec.setdefault("names", {})
    kind = names.get("kind") or ""
    names["singular"] = names.get("singular") or kind.lower()
    names["listKind"] = names.get("listKind") or (f"{kind}List" if kind else "")
    conversion = spec.setdefault("conversion", {})
    conversion["strategy"] = conversion.get("strategy") or "None"
    _service((((conversion.get("webhook") or {}).get("clientConfig")) or {}).get("service"))


def api_service(obj: Object) -> None:
    _service((obj.get("spec") or {}).get("service"))


def _webhook(webhook: Object) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    webhook.setdefault("matchPolicy", "Equivalent")
    webhook.setdefault("namespaceSelector", {})
    webhook.setdefault("objectSelector", {})
    webhook.setdefault("timeoutSeconds", WEBHOOK_SECONDS)
    _service((webhook.get("clientConfig") or {}).get("service"))
    for rule in webhook.get("rules") or ():
        rule.setdefault("scope", "*")


def _match_resources(matched: Object) -> None:
    matched.setdefault("matchPolicy", "Equivalent")
    matched.setdefault("namespaceSelector", {})
    matched.setdefault("objectSelector", {})
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in matched.get(field) or ():
            rule.setdefault("scope", "*")


def _service(reference: Object | None) -> None:
    if reference is not None:
        reference.setdefault("port", _HTTPS)
