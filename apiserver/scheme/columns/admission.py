"""Webhook configurations, admission policies, API extensions."""

from __future__ import annotations

from datetime import datetime

from apimachinery import objects
from apimachinery.objects import Object
from apiserver.scheme.columns.shared import AGE, CREATED_AT, NAME, count, text
from apiserver.scheme.resources import Column

_UNSET = "<unset>"

WEBHOOKS = (NAME, Column("Webhooks", count("webhooks"), "integer"), AGE)
DEFINITION = (NAME, CREATED_AT)


def _param_kind(obj: Object, now: datetime) -> str:
    kind = (obj.get("spec") or {}).get("paramKind")
    return f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else _UNSET


def _param_reference(obj: Object, now: datetime) -> str:
    reference = (obj.get("spec") or {}).get("paramRef")
    if not reference:
        return _UNSET
    name = reference.get("name") or "*"
    return f"{reference['namespace']}/{name}" if reference.get("namespace") else name


POLICY = (NAME, Column("Validations", count("spec.validations"), "integer"), Column("ParamKind", _param_kind), AGE)
MUTATING_POLICY = (NAME, Column("Mutations", count("spec.mutations"), "integer"), Column("ParamKind", _param_kind), AGE)
POLICY_BINDING = (NAME, text("PolicyName", "spec.policyName"), Column("ParamRef", _param_reference), AGE)


def _service(obj: Object, now: datetime) -> str:
    reference = (obj.get("spec") or {}).get("service")
    return f"{reference.get('namespace')}/{reference.get('name')}" if reference else "Local"


def _available(obj: Object, now: datetime) -> str:
    condition = objects.condition(obj, "Available")
    if condition is None:
        return "Unknown"
    status = str(condition.get("status"))
    return status if status == "True" else f"{status} ({condition.get('reason')})"


API_SERVICE = (NAME, Column("Service", _service), Column("Available", _available), AGE)
