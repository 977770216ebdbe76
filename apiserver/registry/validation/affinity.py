"""Affinity and topology spread constraints."""

from __future__ import annotations

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, scalars

_NODE_OPERATORS = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def affinity(obj: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    node = obj.get("nodeAffinity")
    if node is not None:
        found += _node(node, f"{field}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        if obj.get(kind) is not None:
            found += _pods(obj[kind], f"{field}.{kind}")
    return found


def _node(obj: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    required = obj.get(_REQUIRED)
    if required is not None:
        here = f"{field}.{_REQUIRED}.nodeSelectorTerms"
        if not required.get("nodeSelectorTerms"):
            found.append(causes.required(here, "must have at least one node selector term"))
        for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
            found += _term(term, f"{here}[{index}]")
    for index, preferred in enumerate(obj.get(_PREFERRED) or ()):
        here = f"{field}.{_PREFERRED}[{index}]"
        found += _weight(preferred.get("weight") or 0, f"{here}.weight")
        found += _term(preferred.get("preference") or {}, f"{here}.preference")
    return found


def _term(term: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        here = f"{field}.matchExpressions[{index}]"
        operator, values = expression.get("operator"), expression.get("values") or []
        if operator not in _NODE_OPERATORS:
            found.append(causes.invalid(f"{here}.operator", operator or "", "not a valid selector operator"))
        elif operator in ("In", "NotIn") and not values:
            found.append(causes.required(f"{here}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist") and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(causes.forbidden(f"{here}.values", why))
        elif operator in ("Gt", "Lt") and len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(causes.required(f"{here}.values", why))
        key = expression.get("key") or ""
        found += [causes.invalid(f"{here}.key", key, why) for why in names.qualified_name(key)]
    return found


def _pods(obj: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    for index, term in enumerate(obj.get(_REQUIRED) or ()):
        found += _pod_term(term, f"{field}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(obj.get(_PREFERRED) or ()):
        here = f"{field}.{_PREFERRED}[{index}]"
        found += _weight(weighted.get("weight") or 0, f"{here}.weight")
        found += _pod_term(weighted.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")
    return found


def _pod_term(term: Object, field: str) -> list[Cause]:
    found = scalars.label_selector(term.get("labelSelector"), f"{field}.labelSelector")
    found += scalars.label_selector(term.get("namespaceSelector"), f"{field}.namespaceSelector")
    key = term.get("topologyKey") or ""
    if not key:
        return [*found, causes.required(f"{field}.topologyKey", "can not be empty")]
    return found + [causes.invalid(f"{field}.topologyKey", key, why) for why in names.qualified_name(key)]


def _weight(value: int, field: str) -> list[Cause]:
    return [] if 1 <= value <= 100 else [causes.invalid(field, value, "must be in the range 1-100")]


def spread(constraints: list[Object], field: str) -> list[Cause]:
    found: list[Cause] = []
    for index, constraint in enumerate(constraints):
        here = f"{field}[{index}]"
        skew = constraint.get("maxSkew") or 0
        if skew <= 0:
            found.append(causes.invalid(f"{here}.maxSkew", skew, "must be greater than zero"))
        if not constraint.get("topologyKey"):
            found.append(causes.required(f"{here}.topologyKey", "can not be empty"))
        action = constraint.get("whenUnsatisfiable") or ""
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            found.append(causes.unsupported(f"{here}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway")))
        found += scalars.label_selector(constraint.get("labelSelector"), f"{here}.labelSelector")
    return found
