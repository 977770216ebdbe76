"""Policies and bindings of `admissionregistration.k8s.io`."""

from __future__ import annotations

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import Strategy, WithStatus
from apiserver.registry.validation import policies as validation


class AdmissionPolicies(WithStatus):
    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.admission_policy(obj)


class AdmissionPolicyBindings(Strategy):
    counts_generations = True

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.admission_policy_binding(obj)


class MutatingPolicies(Strategy):
    counts_generations = True

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.mutating_policy(obj)


class MutatingPolicyBindings(Strategy):
    counts_generations = True

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.mutating_policy_binding(obj)
