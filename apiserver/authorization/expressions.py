"""What CEL expressions ask of the authorizer (`authorizer.group('').resource('pods').check('get')`), answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from apiserver.authorization.attributes import Attributes, Authorizer
from apiserver.registry.call import User

if TYPE_CHECKING:
    from apiserver.cel.library.authorization import Answer, Check


def decider(authorizer: Authorizer) -> Callable[[User, Check], Answer]:
    """Answers for the user who makes the request, or the service account that the expression names."""

    def decide(user: User, check: Check) -> Answer:
        from apiserver.cel.library.authorization import Answer  # whoever asks has it loaded

        decision = authorizer.decide(_attributes(user, check))
        return Answer(decision.allowed, decision.reason)

    return decide


def _attributes(user: User, check: Check) -> Attributes:
    subject = _service_account(*check.service_account) if check.service_account is not None else user
    if check.path:
        return Attributes(subject, check.verb, path=check.path)
    return Attributes(
        subject,
        check.verb,
        resource=check.resource,
        subresource=check.subresource,
        group=check.group,
        version="*",
        namespace=check.namespace,
        name=check.name,
    )


def _service_account(namespace: str, name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups=groups)
