"""One policy's expressions, compiled when they are first asked, and what they say of one write. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from apimachinery.objects import Object
from apiserver.admission.conditions import Conditions, ConditionsFailed

if TYPE_CHECKING:
    from apiserver.cel.frames import Frame
    from apiserver.cel.programs import Program

BUDGET = 10_000_000  # upstream's, for all expressions of a policy with one binding and one parameter


@dataclass(frozen=True, slots=True)
class Decision:
    """What one validation says. `failed` is for one that could not be evaluated, which the failure policy judges."""

    index: int
    message: str
    reason: str = ""
    failed: bool = False


@dataclass(slots=True)
class Outcome:
    """What is said against the write, and what is to be noted of it."""

    denials: list[Decision] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Compiled:
    spec: Object
    program: Program | ValueError
    message: Program | None = None


@dataclass(frozen=True, slots=True)
class Mutation:
    """What a mutation gives: part of an object, or operations of a JSON patch."""

    kind: str  # ApplyConfiguration, JSONPatch
    value: Any


class MutationFailed(Exception):
    """The failure policy says what this means."""


def mutation_expression(spec: Object) -> str:
    field = "jsonPatch" if spec.get("patchType") == "JSONPatch" else "applyConfiguration"
    return str((spec.get(field) or {}).get("expression") or "")


class Evaluator:
    """A policy. `params` are there when it has a paramKind."""

    def __init__(self, spec: Object) -> None:
        self._spec = spec
        self._params = bool(spec.get("paramKind"))
        self._conditions = Conditions(spec.get("matchConditions") or (), params=self._params)

    def evaluate(self, bindings: dict[str, Any]) -> Outcome:
        outcome = Outcome()
        try:
            if self._conditions and not self._conditions.match(bindings):
                return outcome
        except ConditionsFailed as error:
            return Outcome([Decision(0, str(error), failed=True)])
        run = _Run(bindings)
        run.define(self._variables)
        for index, validation in enumerate(self._validations):
            outcome.denials += run.validate(index, validation)
        for annotation in self._annotations:
            run.annotate(annotation, outcome)
        return outcome

    def mutations(self, bindings: dict[str, Any]) -> Iterator[Mutation]:
        """Those of a mutating policy, in order; none when its conditions leave it out. The caller changes `object` in
        `bindings` between them. Raises MutationFailed."""
        try:
            if self._conditions and not self._conditions.match(bindings):
                return
        except ConditionsFailed as error:
            raise MutationFailed(str(error)) from error
        for mutation in self._mutations:
            run = _Run(bindings)
            run.define(self._variables)
            yield Mutation(mutation.spec["patchType"], run.mutation(mutation))

    @cached_property
    def _mutations(self) -> list[_Compiled]:
        environment = self._environment(patches=True)
        listed = self._spec.get("mutations") or ()
        return [_Compiled(spec, _program(mutation_expression(spec), environment)) for spec in listed]

    @cached_property
    def _variables(self) -> list[_Compiled]:
        return list(self._compiled_variables())

    def _compiled_variables(self) -> Iterator[_Compiled]:
        from apiserver.cel import environments

        known: dict[str, Any] = {}
        for spec in self._spec.get("variables") or ():
            program = _program(spec["expression"], environments.admission(params=self._params, variables=known))
            if not isinstance(program, ValueError):
                known[spec["name"]] = program.type
            yield _Compiled(spec, program)

    def _environment(self, *, authorizer: bool = True, patches: bool = False) -> Any:
        from apiserver.cel import environments

        known = {each.spec["name"]: each.program.type for each in self._variables if hasattr(each.program, "type")}
        return environments.admission(params=self._params, authorizer=authorizer, variables=known, patches=patches)

    @cached_property
    def _validations(self) -> list[_Compiled]:
        environment, for_messages = self._environment(), self._environment(authorizer=False)
        found = []
        for spec in self._spec.get("validations") or ():
            message = _program(spec["messageExpression"], for_messages) if spec.get("messageExpression") else None
            program = _program(spec["expression"], environment)
            found.append(_Compiled(spec, program, message if not isinstance(message, ValueError) else None))
        return found

    @cached_property
    def _annotations(self) -> list[_Compiled]:
        environment = self._environment()
        listed = self._spec.get("auditAnnotations") or ()
        return [_Compiled(spec, _program(spec["valueExpression"], environment)) for spec in listed]


class _Run:
    """One evaluation of a policy: its variables are computed once, when they are first read."""

    def __init__(self, bindings: dict[str, Any]) -> None:
        self._bindings = dict(bindings)
        self._budget = BUDGET

    def define(self, variables: list[_Compiled]) -> None:
        from apiserver.cel.programs import deferred

        for variable in variables:
            self._bindings[f"variables.{variable.spec['name']}"] = deferred(self._variable(variable))

    def _variable(self, variable: _Compiled) -> Any:
        from apiserver.cel.issues import CostExceeded, EvaluationError

        name, program = variable.spec["name"], variable.program

        def compute(frame: Frame) -> Any:
            if isinstance(program, ValueError):
                raise EvaluationError(f'composited variable "{name}" fails to compile: {program}')
            try:
                value, cost = program.evaluate(self._bindings, max(frame.limit - frame.cost, 0))
            except CostExceeded:
                frame.exhausted = True
                raise
            except EvaluationError as error:
                raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from error
            frame.spend(cost)
            return value

        return compute

    def validate(self, index: int, validation: _Compiled) -> list[Decision]:
        from apiserver.cel.issues import EvaluationError

        text = validation.spec["expression"]
        try:
            holds = self._value(validation.program)
        except EvaluationError as error:
            return [Decision(index, f"expression '{text}' resulted in error: {error}", failed=True)]
        if holds is True:
            return []
        return [Decision(index, self._message(validation), validation.spec.get("reason") or "Invalid")]

    def mutation(self, mutation: _Compiled) -> Any:
        from apiserver.cel import values
        from apiserver.cel.issues import EvaluationError

        try:
            return values.json(self._value(mutation.program))
        except EvaluationError as error:
            text = mutation_expression(mutation.spec)
            raise MutationFailed(f"expression '{text}' resulted in error: {error}") from error

    def _message(self, validation: _Compiled) -> str:
        from apiserver.cel.issues import EvaluationError
        from apiserver.cel.rules import MAX_MESSAGE_BYTES

        spec, text = validation.spec, ""
        if validation.message is not None:
            try:
                value = self._value(validation.message)
                text = value.strip() if isinstance(value, str) else ""
            except EvaluationError:
                text = ""  # as if there were no such expression
        if "\n" in text or len(text.encode()) > MAX_MESSAGE_BYTES:
            text = ""
        return text or (spec.get("message") or "").strip() or f"failed expression: {spec['expression'].strip()}"

    def annotate(self, annotation: _Compiled, outcome: Outcome) -> None:
        from apiserver.cel.issues import EvaluationError

        text = annotation.spec["valueExpression"]
        try:
            value = self._value(annotation.program)
        except EvaluationError as error:
            outcome.denials.append(Decision(0, f"expression '{text}' resulted in error: {error}", failed=True))
            return
        if isinstance(value, str) and value.strip():
            outcome.annotations[annotation.spec["key"]] = value.strip()

    def _value(self, program: Program | ValueError) -> Any:
        from apiserver.cel.issues import CostExceeded, EvaluationError
        from apiserver.cel.programs import CALL_LIMIT

        if isinstance(program, ValueError):
            raise EvaluationError(f"compilation error: {program}")
        try:
            value, cost = program.evaluate(self._bindings, min(CALL_LIMIT, self._budget))
        except CostExceeded as error:
            if self._budget > CALL_LIMIT:
                self._budget -= error.cost
                raise
            text = "validation failed due to running out of cost budget, no further validation rules will be run"
            self._budget = 0
            raise EvaluationError(text) from error
        except EvaluationError as error:
            self._budget -= error.cost
            raise
        self._budget -= cost
        return value


def _program(text: str, environment: Any) -> Program | ValueError:
    """An expression that does not compile fails whenever it is asked: it was written past our validation."""
    from apiserver.cel import environments

    try:
        return environments.compiled(text, environment)
    except ValueError as error:
        return error
