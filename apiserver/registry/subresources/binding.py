"""`pods/binding` (S4): gives a pod its node, once; with it the annotations of the binding and `PodScheduled=True`."""

from __future__ import annotations

from apimachinery import clock, errors, objects
from apimachinery.clock import Clock
from apimachinery.objects import Object
from apiserver.registry.answers import success
from apiserver.registry.call import Call
from apiserver.registry.strategies import pods
from apiserver.registry.validation import causes
from apiserver.registry.writing import OPEN, Writer
from apiserver.storage.types import Stored


class Bindings:
    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock

    async def create(self, call: Call, binding: Object) -> Stored:
        """Raises Conflict when the pod already has a node, is going, or is held by scheduling gates."""
        _check(call, binding)
        await self._writer.admit(call, "CREATE", binding, None)
        metadata = binding.get("metadata") or {}
        now = clock.rfc3339(self._clock.now())

        async def assign(current: Object) -> Object:
            problem = _problem(current)
            if problem:
                raise errors.conflict("", "pods/binding", call.name, problem)
            pod = objects.copied(current)
            pods.bind(pod, binding["target"]["name"], metadata.get("annotations") or {}, now)
            return pod

        given = {"uid": metadata.get("uid"), "version": metadata.get("resourceVersion")}
        await self._writer.rewrite(call, assign, **given, gate=OPEN, tracks=False)
        return success()


def _check(call: Call, binding: Object) -> None:
    if ((binding.get("metadata") or {}).get("name") or call.name) != call.name:
        raise errors.BadRequest("name in URL does not match name in Binding object")
    target = binding.get("target") or {}
    found = []
    if target.get("kind") not in (None, "", "Node"):
        found.append(causes.unsupported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        found.append(causes.required("target.name"))
    if found:
        raise errors.invalid("", "Binding", call.name, found)


def _problem(pod: Object) -> str | None:
    """Why the pod cannot be given a node."""
    name = objects.name_of(pod)
    if objects.is_deleting(pod):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    node = pod["spec"].get("nodeName")
    if node:
        return f'pod {name} is already assigned to node "{node}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return None
