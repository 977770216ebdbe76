"""ValidatingAdmissionPolicy: expressions that refuse writes, warn of them, or note them, as their bindings say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.conditions import Decide, Inputs
from apiserver.admission.plugins import Parts
from apiserver.admission.policies.definitions import Binding, Policies, Policy
from apiserver.admission.policies.evaluating import Decision, Outcome
from apiserver.admission.policies.parameters import Parameters, ParametersMissing
from apiserver.admission.webhooks.reviewing import admission_request
from apiserver.storage.store import Store

_NAMESPACES = "/registry/namespaces/"
GROUP = "admissionregistration.k8s.io"
# Policies are never asked about policies, or one could make itself irremovable
EXEMPT = frozenset(
    {
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    }
)
_REASONS: dict[str, type[errors.APIError]] = {
    "Forbidden": errors.Forbidden,
    "Unauthorized": errors.Unauthorized,
    "RequestEntityTooLarge": errors.RequestEntityTooLarge,
}
MAX_ANNOTATION = 10 * 1024  # characters of an audit annotation that are kept


@dataclass(frozen=True, slots=True)
class _Denial:
    """Why a policy refuses; `binding` is None where it could not even be asked with one."""

    policy: Policy
    binding: Binding | None
    decision: Decision


class ValidatingAdmissionPolicy:
    name = "ValidatingAdmissionPolicy"

    def __init__(self, store: Store, policies: Policies, parameters: Parameters, decide: Decide) -> None:
        self._store = store
        self._policies = policies
        self._parameters = parameters
        self._decide = decide

    def handles(self, operation: str) -> bool:
        return True

    async def validate(self, review: Review) -> None:
        row = review.call.resource
        if not self._policies or (row.group == GROUP and row.resource in EXEMPT):
            return
        namespace = namespace_of(self._store, review)
        denials: list[_Denial] = []
        for policy, binding in self._policies.concerned(review, namespace):
            denials += self._asked(policy, binding, review, namespace)
        if denials:
            raise _refusal(review, denials[0])

    def _asked(self, policy: Policy, binding: Binding, review: Review, namespace: Object | None) -> Iterator[_Denial]:
        try:
            kind, reference = policy.spec.get("paramKind"), binding.spec.get("paramRef")
            parameters = self._parameters.collect(kind, reference, review.call.namespace)
        except ParametersMissing as error:
            if not policy.fails_open:
                yield _Denial(policy, binding, Decision(0, f"failed to configure binding: {error}"))
            return
        shown = None if review.call.resource.resource == "namespaces" else namespace
        inputs = Inputs(review, admission_request(review), shown, self._decide)
        for parameter in parameters:
            outcome = policy.evaluator.evaluate(inputs.bindings | {"params": parameter})
            yield from self._judged(policy, binding, review, outcome)

    def _judged(self, policy: Policy, binding: Binding, review: Review, outcome: Outcome) -> Iterator[_Denial]:
        actions = binding.spec.get("validationActions") or ()
        for decision in outcome.denials:
            if decision.failed and policy.fails_open:
                continue
            if "Deny" in actions:
                yield _Denial(policy, binding, decision)
            if "Audit" in actions:
                _note(policy, binding, review, decision)
            if "Warn" in actions:
                told = f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
                review.call.warnings.append(f"{told}: {decision.message}")
        for key, value in outcome.annotations.items():
            _annotate(review, f"{policy.name}/{key}", value[:MAX_ANNOTATION])


def namespace_of(store: Store, review: Review) -> Object | None:
    if not review.call.namespace:
        return None
    stored = store.cached(_NAMESPACES + review.call.namespace)
    return stored.object if stored is not None else None


def _annotate(review: Review, key: str, value: str) -> None:
    """Several bindings may say different things; each is kept once."""
    said = review.call.audit_annotations.get(key)
    if said is None:
        review.call.audit_annotations[key] = value
    elif value not in said.split(", "):
        review.call.audit_annotations[key] = f"{said}, {value}"


def _note(policy: Policy, binding: Binding, review: Review, decision: Decision) -> None:
    failure = {
        "message": decision.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": decision.index,
        "validationActions": binding.spec.get("validationActions"),
    }
    key = "validation.policy.admission.k8s.io/validation_failure"
    review.call.audit_annotations[key] = orjson.dumps([failure]).decode()


def _refusal(review: Review, denial: _Denial) -> errors.APIError:
    row = review.call.resource
    bound = f" with binding '{denial.binding.name}'" if denial.binding is not None else ""
    why = f"ValidatingAdmissionPolicy '{denial.policy.name}'{bound} denied request: {denial.decision.message}"
    forbidden = errors.forbidden(row.group, row.resource, review.name, why)
    kind = _REASONS.get(denial.decision.reason, errors.Invalid)
    return kind(forbidden.message, details={**forbidden.details, "causes": [{"message": why}]})


def make(parts: Parts) -> ValidatingAdmissionPolicy:
    return ValidatingAdmissionPolicy(parts.store, parts.policies, Parameters(parts.store, parts.scheme), parts.decide)
