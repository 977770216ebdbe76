"""What a custom resource's row carries (`scheme.resources.Custom`): its strategy, its defaults, its conversion."""

from __future__ import annotations

from apimachinery import errors
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apimachinery.schema import Node
from apiserver.apiextensions import conditions
from apiserver.apiextensions.conversion import Conversion, Converter
from apiserver.apiextensions.version import Version
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import Strategy, keep

_NOT_INTENT = frozenset({"metadata", "status"})


class Custom:
    def __init__(self, version: Version, converter: Converter) -> None:
        self.version = version
        self.strategy = WithStatus(version) if version.has_status else Plain(version)
        self.conversion = Conversion(version, converter)
        self.scale = version.scale
        self.schema = version.schema

    @property
    def node(self) -> Node:
        return self.version.node

    def default(self, obj: Object) -> None:
        self.version.default(obj)


class Plain(Strategy):
    """Custom resources without a status of its own: every change beside metadata starts a new generation."""

    counts_generations = True
    unconditional_update = False

    def __init__(self, version: Version) -> None:
        self._version = version

    def prepare_create(self, obj: Object, call: Call) -> None:
        if conditions.is_true(self._version.definition, conditions.TERMINATING):
            raise errors.MethodNotAllowed("create not allowed while custom resource definition is terminating")
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def intent_differs(self, new: Object, old: Object) -> bool:
        ignored = _NOT_INTENT if self.has_status else {"metadata"}
        names = (new.keys() | old.keys()) - ignored
        return any(new.get(name) != old.get(name) for name in names)

    def validate_create(self, obj: Object, call: Call) -> list[Cause]:
        return self._version.problems(obj, None, call.warnings)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return self._version.problems(new, old, call.warnings)


_METADATA = frozenset({"annotations", "finalizers", "generateName", "labels", "ownerReferences"})


class WithStatus(Plain):
    """With `/status`, which alone writes the status and writes nothing else."""

    has_status = True

    @property
    def kept_by_status(self) -> frozenset[str]:
        return _METADATA

    def prepare_status(self, new: Object, old: Object, call: Call) -> None:
        for name in (new.keys() | old.keys()) - {"apiVersion", "kind", "metadata", "status"}:
            keep(new, old, name)
        metadata, before = new["metadata"], old["metadata"]
        for name in (metadata.keys() | before.keys()) - {"managedFields", "resourceVersion"}:
            keep(metadata, before, name)

    def validate_status(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return self._version.problems(new, old, call.warnings)
