"""APIServices: named after their group-version; one that is served here is available from the first."""

from __future__ import annotations

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import Strategy
from apiserver.registry.validation import apiservices as validation


class APIServices(Strategy):
    has_status = True

    def name_problems(self, name: str) -> list[str]:
        return names.path_segment(name)

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        if not (obj.get("spec") or {}).get("service"):
            obj["status"] = {"conditions": [_local(obj["metadata"].get("creationTimestamp") or "")]}

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.api_service(obj)

    def validate_status(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.api_service_status(new)


def _local(now: str) -> Object:
    return {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
