"""RBAC, disruption budgets, priority classes, webhook configurations."""

from __future__ import annotations

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, expressions, scalars

_RBAC = "rbac.authorization.k8s.io"
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SYSTEM_PRIORITY = 1_000_000_000
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def role(obj: Object, *, namespaced: bool) -> list[Cause]:
    found: list[Cause] = []
    for index, rule in enumerate(obj.get("rules") or ()):
        found += _rule(rule, f"rules[{index}]", namespaced=namespaced)
    return found if namespaced else found + _aggregation(obj.get("aggregationRule"))


def _aggregation(rule: Object | None) -> list[Cause]:
    field = "aggregationRule.clusterRoleSelectors"
    if rule is None:
        return []
    chosen = rule.get("clusterRoleSelectors") or []
    if not chosen:
        return [causes.required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
    return [
        cause
        for index, selector in enumerate(chosen)
        for cause in scalars.label_selector(selector, f"{field}[{index}]")
    ]


def _rule(rule: Object, field: str, *, namespaced: bool) -> list[Cause]:
    found = []
    if not rule.get("verbs"):
        found.append(causes.required(f"{field}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs") or []
    if urls:
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            found.append(causes.invalid(f"{field}.nonResourceURLs", urls, why))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            found.append(causes.invalid(f"{field}.nonResourceURLs", urls, why))
        return found
    if not rule.get("apiGroups"):
        found.append(causes.required(f"{field}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        found.append(causes.required(f"{field}.resources", "resource rules must supply at least one resource"))
    return found


def role_binding(obj: Object, *, namespaced: bool) -> list[Cause]:
    reference = obj.get("roleRef") or {}
    found: list[Cause] = []
    if reference.get("apiGroup") != _RBAC:
        found.append(causes.unsupported("roleRef.apiGroup", reference.get("apiGroup"), (_RBAC,)))
    kinds = ("ClusterRole", "Role") if namespaced else ("ClusterRole",)
    if reference.get("kind") not in kinds:
        found.append(causes.unsupported("roleRef.kind", reference.get("kind"), kinds))
    if not reference.get("name"):
        found.append(causes.required("roleRef.name"))
    for index, subject in enumerate(obj.get("subjects") or ()):
        found += _subject(subject, f"subjects[{index}]", namespaced=namespaced)
    return found


def _subject(subject: Object, field: str, *, namespaced: bool) -> list[Cause]:
    found = [] if subject.get("name") else [causes.required(f"{field}.name")]
    group = subject.get("apiGroup") or ""
    match subject.get("kind"):
        case "ServiceAccount":
            found += scalars.dns_subdomain(subject["name"], f"{field}.name") if subject.get("name") else []
            if group:
                found.append(causes.unsupported(f"{field}.apiGroup", group, ("",)))
            if not namespaced and not subject.get("namespace"):
                found.append(causes.required(f"{field}.namespace"))
        case "User" | "Group":
            if group != _RBAC:
                found.append(causes.unsupported(f"{field}.apiGroup", group, (_RBAC,)))
        case other:
            found.append(causes.unsupported(f"{field}.kind", other, ("Group", "ServiceAccount", "User")))
    return found


def role_binding_update(new: Object, old: Object) -> list[Cause]:
    if new.get("roleRef") == old.get("roleRef"):
        return []
    return [causes.invalid("roleRef", new.get("roleRef"), "cannot change roleRef")]


def disruption_budget(obj: Object) -> list[Cause]:
    spec = obj.get("spec") or {}
    found: list[Cause] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        found.append(causes.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if spec.get(name) is not None:
            found += scalars.count_or_percent(spec[name], f"spec.{name}")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        found += scalars.one_of(policy, ("AlwaysAllow", "IfHealthyBudget"), "spec.unhealthyPodEvictionPolicy")
    return found + scalars.label_selector(spec.get("selector"), "spec.selector")


def priority_class(obj: Object) -> list[Cause]:
    found: list[Cause] = []
    name, value = obj["metadata"].get("name") or "", obj.get("value") or 0
    if name.startswith("system-") and name not in _SYSTEM_CLASSES:
        why = "priority class names with 'system-' prefix are reserved for system use only"
        found.append(causes.forbidden("metadata.name", why))
    elif value > _SYSTEM_PRIORITY and name not in _SYSTEM_CLASSES:
        why = f"maximum allowed value of a user defined priority is {_SYSTEM_PRIORITY}"
        found.append(causes.forbidden("value", why))
    return found + scalars.one_of(obj.get("preemptionPolicy"), ("Never", "PreemptLowerPriority"), "preemptionPolicy")


def priority_class_update(new: Object, old: Object) -> list[Cause]:
    found = []
    if new.get("value", 0) != old.get("value", 0):
        found.append(causes.forbidden("value", "may not be changed in an update."))
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        found.append(causes.immutable("preemptionPolicy", new.get("preemptionPolicy")))
    return found


def webhooks(obj: Object, *, mutating: bool) -> list[Cause]:
    """All but the match conditions, which are checked only where they change."""
    found: list[Cause] = []
    seen: set[str] = set()
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        here = f"webhooks[{index}]"
        found += _webhook(webhook, here)
        if mutating:
            policy = webhook.get("reinvocationPolicy")
            found += scalars.one_of(policy, ("IfNeeded", "Never"), f"{here}.reinvocationPolicy")
        name = webhook.get("name") or ""
        if name in seen:
            found.append(causes.duplicate(f"{here}.name", name))
        seen.add(name)
    return found


def _webhook(webhook: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    name = webhook.get("name") or ""
    if not name:
        found.append(causes.required(f"{field}.name"))
    else:
        found += scalars.dns_subdomain(name, f"{field}.name")
        if len(name.split(".")) < 3:
            why = "should be a domain with at least three segments separated by dots"
            found.append(causes.invalid(f"{field}.name", name, why))
    if not webhook.get("admissionReviewVersions"):
        why = "must specify one of v1, v1beta1"
        found.append(causes.required(f"{field}.admissionReviewVersions", why))
    elif not {"v1", "v1beta1"} & set(webhook["admissionReviewVersions"]):
        why = "must include at least one of v1, v1beta1"
        found.append(causes.invalid(f"{field}.admissionReviewVersions", webhook["admissionReviewVersions"], why))
    found += scalars.one_of(webhook.get("failurePolicy"), ("Fail", "Ignore"), f"{field}.failurePolicy")
    found += scalars.one_of(webhook.get("matchPolicy"), ("Equivalent", "Exact"), f"{field}.matchPolicy")
    effects = webhook.get("sideEffects")
    if not effects:
        found.append(causes.required(f"{field}.sideEffects", "must specify one of None, NoneOnDryRun"))
    elif effects not in ("None", "NoneOnDryRun"):
        found.append(causes.unsupported(f"{field}.sideEffects", effects, ("None", "NoneOnDryRun")))
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        found.append(causes.invalid(f"{field}.timeoutSeconds", seconds, why))
    found += _client(webhook.get("clientConfig") or {}, f"{field}.clientConfig")
    for index, rule in enumerate(webhook.get("rules") or ()):
        found += webhook_rule(rule, f"{field}.rules[{index}]")
    found += scalars.label_selector(webhook.get("namespaceSelector"), f"{field}.namespaceSelector")
    return found + scalars.label_selector(webhook.get("objectSelector"), f"{field}.objectSelector")


def webhook_conditions(obj: Object) -> list[Cause]:
    found: list[Cause] = []
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        found += expressions.match_conditions(webhook.get("matchConditions"), f"webhooks[{index}].matchConditions")
    return found


def _client(client: Object, field: str) -> list[Cause]:
    url, service = client.get("url"), client.get("service") or {}
    if (url is None) == (client.get("service") is None):
        return [causes.required(field, "exactly one of url or service is required")]
    if url is not None:
        if not url.startswith("https://"):
            why = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
            return [causes.invalid(f"{field}.url", url, why)]
        return []
    found = [causes.required(f"{field}.service.{name}") for name in ("name", "namespace") if not service.get(name)]
    path = service.get("path")
    if path and not path.startswith("/"):
        found.append(causes.invalid(f"{field}.service.path", path, "must start with a '/'"))
    return found


def webhook_rule(rule: Object, field: str) -> list[Cause]:
    found = [
        causes.required(f"{field}.{name}") for name in ("apiGroups", "apiVersions", "resources") if not rule.get(name)
    ]
    operations = rule.get("operations") or []
    if not operations:
        found.append(causes.required(f"{field}.operations"))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            found.append(causes.unsupported(f"{field}.operations[{index}]", operation, _OPERATIONS))
    if len(operations) > 1 and "*" in operations:
        why = "if '*' is present, must not specify other operations"
        found.append(causes.invalid(f"{field}.operations", operations, why))
    scope = rule.get("scope")
    if scope is not None:
        found += scalars.one_of(scope, ("*", "Cluster", "Namespaced"), f"{field}.scope")
    return found
