"""MutatingAdmissionPolicy: expressions that change writes, by a part of an object that is applied or by a JSON patch.

Policies are asked in the order of their bindings' names; one with `reinvocationPolicy: IfNeeded` is asked once more
when a later one changed the object.
"""

from __future__ import annotations

import copy

from apimachinery import errors, ownership, patch
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.conditions import Decide, Inputs
from apiserver.admission.plugins import Parts
from apiserver.admission.policies.definitions import Binding, Policies, Policy
from apiserver.admission.policies.evaluating import Mutation, MutationFailed
from apiserver.admission.policies.parameters import Parameters, ParametersMissing
from apiserver.admission.policies.validating import EXEMPT, GROUP, namespace_of
from apiserver.admission.webhooks.reviewing import admission_request
from apiserver.registry import decoding
from apiserver.registry.call import Call
from apiserver.scheme.scheme import Scheme
from apiserver.storage.store import Store


class MutatingAdmissionPolicy:
    name = "MutatingAdmissionPolicy"

    def __init__(
        self, store: Store, scheme: Scheme, policies: Policies, parameters: Parameters, decide: Decide
    ) -> None:
        self._store = store
        self._scheme = scheme
        self._policies = policies
        self._parameters = parameters
        self._decide = decide

    def handles(self, operation: str) -> bool:
        return operation in ("CREATE", "UPDATE", "CONNECT")

    async def mutate(self, review: Review) -> Object | None:
        row = review.call.resource
        if review.obj is None or not self._policies or (row.group == GROUP and row.resource in EXEMPT):
            return review.obj
        obj: Object = review.obj
        asked: list[tuple[Policy, Binding]] = []
        again: list[tuple[Policy, Binding]] = []
        for policy, binding in self._policies.concerned(review, namespace_of(self._store, review)):
            changed = self._changed(policy, binding, review, obj)
            if changed is not obj:
                again += [each for each in asked if each not in again]
                obj = changed
            asked.append((policy, binding))
        for policy, binding in again:
            if policy.spec.get("reinvocationPolicy") == "IfNeeded":
                obj = self._changed(policy, binding, review, obj)
        return obj

    def _changed(self, policy: Policy, binding: Binding, review: Review, obj: Object) -> Object:
        """The object after the policy: the same one when it changed nothing. Raises Invalid."""
        try:
            return self._applied(policy, binding, review, obj)
        except (MutationFailed, ParametersMissing, patch.PatchError) as error:
            if policy.fails_open:
                return obj
            row = review.call.resource
            why = f"policy '{policy.name}' with binding '{binding.name}' denied request: {error}"
            told = errors.forbidden(row.group, row.resource, review.name, why)
            raise errors.Invalid(told.message, details={**told.details, "causes": [{"message": why}]}) from error

    def _applied(self, policy: Policy, binding: Binding, review: Review, obj: Object) -> Object:
        reference = binding.spec.get("paramRef")
        namespace = namespace_of(self._store, review)
        for parameter in self._parameters.collect(policy.spec.get("paramKind"), reference, review.call.namespace):
            current = Review(review.call, review.operation, obj, review.old)
            bindings = Inputs(current, admission_request(current), namespace, self._decide).bindings
            bindings = {**bindings, "params": parameter}
            for mutation in policy.evaluator.mutations(bindings):
                obj = bindings["object"] = self._mutated(review.call, obj, mutation)
        return obj

    def _mutated(self, call: Call, obj: Object, mutation: Mutation) -> Object:
        sub = call.resource.subresource(call.subresource) if call.subresource else None
        kind = (sub.kind if sub is not None else None) or call.resource.gvk
        if mutation.kind == "JSONPatch":
            changed = patch.json_patch(obj, mutation.value)
            if not isinstance(changed, dict):
                raise MutationFailed("the patch removed the object")
        else:
            node = self._scheme.schemas.of(kind)
            if node is None:
                raise MutationFailed(f"no type is known for {kind.kind}")
            changed = ownership.merged(copy.deepcopy(obj), mutation.value, node)
        return obj if changed == obj else decoding.typed(self._scheme, call, changed, kind)


def make(parts: Parts) -> MutatingAdmissionPolicy:
    parameters = Parameters(parts.store, parts.scheme)
    return MutatingAdmissionPolicy(parts.store, parts.scheme, parts.mutating_policies, parameters, parts.decide)
