"""RBAC, disruption budgets, priority classes, admission and certificate kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import Strategy, WithStatus, keep
from apiserver.registry.validation import policy as validation

_VERDICTS = ("Approved", "Denied")


class Roles(Strategy):
    create_on_update = True

    def name_problems(self, name: str) -> list[str]:
        return names.path_segment(name)

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.role(obj, namespaced=call.resource.namespaced)


class RoleBindings(Strategy):
    create_on_update = True

    def name_problems(self, name: str) -> list[str]:
        return names.path_segment(name)

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.role_binding(obj, namespaced=call.resource.namespaced)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.role_binding_update(new, old)


class DisruptionBudgets(WithStatus):
    unconditional_update = False

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.disruption_budget(obj)


class PriorityClasses(Strategy):
    counts_generations = True

    def intent_differs(self, new: Object, old: Object) -> bool:
        return False

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.priority_class(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.priority_class_update(new, old)


class Webhooks(Strategy):
    counts_generations = True
    unconditional_update = False

    def __init__(self, *, mutating: bool) -> None:
        self._mutating = mutating

    def intent_differs(self, new: Object, old: Object) -> bool:
        return new.get("webhooks") != old.get("webhooks")

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.webhooks(obj, mutating=self._mutating)

    def validate_create(self, obj: Object, call: Call) -> list[Cause]:
        return super().validate_create(obj, call) + validation.webhook_conditions(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return [] if _conditions(new) == _conditions(old) else validation.webhook_conditions(new)


def _conditions(obj: Object) -> list[Any]:
    return [webhook.get("matchConditions") for webhook in obj.get("webhooks") or ()]


class WithGeneration(Strategy):
    """A spec and generations, but no status of its own."""

    counts_generations = True


class SigningRequests(WithStatus):
    """Who asks is written by the server; a verdict comes by `/approval`, the certificate by `/status`."""

    counts_generations = False

    def name_problems(self, name: str) -> list[str]:
        return names.path_segment(name)

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        spec = obj.setdefault("spec", {})
        spec["username"] = call.user.name
        spec["groups"] = list(call.user.groups)
        for field in ("uid", "extra"):
            spec.pop(field, None)
        if call.user.uid:
            spec["uid"] = call.user.uid
        if call.user.extra:
            spec["extra"] = {key: list(values) for key, values in call.user.extra.items()}

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_update(new, old, call)
        keep(new, old, "spec")

    def prepare_status(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_status(new, old, call)
        _merge_conditions(new, old, from_new=lambda kind: kind not in _VERDICTS)

    def prepare_subresource(self, new: Object, old: Object, call: Call) -> None:
        if call.subresource != "approval":
            super().prepare_subresource(new, old, call)
            return
        asked = new.get("status") or {}
        new.update({"spec": old.get("spec"), "status": dict(old.get("status") or {})})
        new["status"]["conditions"] = asked.get("conditions") or []
        _merge_conditions(new, old, from_new=lambda kind: kind in _VERDICTS)


def _merge_conditions(new: Object, old: Object, *, from_new: Callable[[str], bool]) -> None:
    """Conditions of the types that this request may write from `new`, the others from `old`."""
    status = new.setdefault("status", {})
    ours = [item for item in status.get("conditions") or () if from_new(item.get("type"))]
    theirs = [item for item in (old.get("status") or {}).get("conditions") or () if not from_new(item.get("type"))]
    if ours or theirs:
        status["conditions"] = theirs + ours
    else:
        status.pop("conditions", None)
