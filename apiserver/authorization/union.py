"""Authorizers in the order of `--authorization-mode` (A5): the first that allows or denies decides."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.authorization.attributes import Attributes, Authorizer, Decision, Verdict

MASTERS = "system:masters"


class Union:
    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def decide(self, attributes: Attributes) -> Decision:
        reasons = []
        for authorizer in self._authorizers:
            decision = authorizer.decide(attributes)
            if decision.verdict is not Verdict.NO_OPINION:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(Verdict.NO_OPINION, "\n".join(reasons))


class PrivilegedGroup:
    """Whoever is in system:masters may do everything. Always first, so that no broken role locks the owner out."""

    def decide(self, attributes: Attributes) -> Decision:
        if MASTERS in attributes.user.groups:
            return Decision(Verdict.ALLOW)
        return Decision(Verdict.NO_OPINION)


class AlwaysAllow:
    def decide(self, attributes: Attributes) -> Decision:
        return Decision(Verdict.ALLOW)


class AlwaysDeny:
    def decide(self, attributes: Attributes) -> Decision:
        return Decision(Verdict.NO_OPINION, "Everything is forbidden.")
