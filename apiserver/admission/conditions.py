"""Match conditions (CEL): whether a webhook or a policy is meant, beyond what rules and selectors say.

One condition that is false is enough not to be meant, whatever errors others have; else an error counts as the failure
policy says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.registry.call import User

if TYPE_CHECKING:
    from apiserver.cel.library.authorization import Answer, Check
    from apiserver.cel.programs import Program

# (User, Check) -> Answer: what the authorizer says to an expression
Decide = Callable[[User, "Check"], "Answer"]


class ConditionsFailed(Exception):
    """The conditions could not say whether they match."""


class Inputs:
    """What expressions see of a write. `decide` answers what they ask the authorizer."""

    def __init__(self, review: Review, request: Object, namespace: Object | None, decide: Decide) -> None:
        self._review = review
        self._request = request
        self._namespace = namespace
        self._decide = decide

    @cached_property
    def bindings(self) -> dict[str, Any]:
        from apiserver.cel import environments
        from apiserver.cel.library.authorization import RESOURCE, Check

        call = self._review.call

        def decide(check: Check) -> Answer:
            return self._decide(call.user, check)

        hidden = ("uid", "object", "oldObject")
        row = call.resource
        return {
            "object": self._review.obj,
            "oldObject": self._review.old,
            "request": {key: value for key, value in self._request.items() if key not in hidden},
            "namespaceObject": environments.namespace(self._namespace),
            "authorizer": Check(decide),
            "authorizer.requestResource": Check(
                decide,
                RESOURCE,
                group=row.group,
                resource=row.resource,
                subresource=call.subresource,
                namespace=call.namespace,
                name=self._review.name,
            ),
        }


class Conditions:
    """The conditions of one webhook or policy; compiled when they are first asked."""

    def __init__(self, specs: Sequence[Object], *, params: bool = False) -> None:
        self._specs = specs
        self._params = params

    def __bool__(self) -> bool:
        return bool(self._specs)

    @cached_property
    def _programs(self) -> list[tuple[str, Program | ValueError]]:
        from apiserver.cel import environments, types

        environment = environments.admission(params=self._params)
        found: list[tuple[str, Program | ValueError]] = []
        for spec in self._specs:
            text = spec["expression"].strip()
            try:
                found.append((text, environments.compiled(text, environment, types.BOOL)))
            except ValueError as error:  # written past our validation, or before it: as an expression that fails
                found.append((text, error))
        return found

    def match(self, bindings: dict[str, Any]) -> bool:
        """Raises ConditionsFailed."""
        from apiserver.cel import environments
        from apiserver.cel.issues import EvaluationError
        from apiserver.cel.programs import CALL_LIMIT

        budget, problems = environments.MATCH_BUDGET, []
        for text, program in self._programs:
            try:
                if isinstance(program, ValueError):
                    raise EvaluationError(f"compilation error: {program}")
                value, cost = program.evaluate(bindings, min(budget, CALL_LIMIT))
            except EvaluationError as error:
                budget -= error.cost
                problems.append(f"expression '{text}' resulted in error: {error}")
                continue
            if value is False:
                return False
            budget -= cost
        if problems:
            raise ConditionsFailed(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        return True
