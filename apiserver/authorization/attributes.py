"""May this user do that (A5): the question as `Attributes`, the answer as a `Decision`.

An authorizer without an opinion says so, and the next one is asked; where none
allows, the request is refused in upstream's words (`forbidden`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from apimachinery import errors
from apiserver.registry.call import User
from apiserver.request import Request


@dataclass(frozen=True, slots=True)
class Attributes:
    """One thing that somebody wants to do. `resource` is "" for a path that is no resource."""

    user: User
    verb: str
    resource: str = ""
    subresource: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def is_resource(self) -> bool:
        return bool(self.resource)

    @property
    def combined_resource(self) -> str:
        """`pods/exec`: how rules name a subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Verdict(Enum):
    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class Decision(NamedTuple):
    verdict: Verdict
    reason: str = ""

    @property
    def allowed(self) -> bool:
        return self.verdict is Verdict.ALLOW


class Authorizer(Protocol):
    def decide(self, attributes: Attributes) -> Decision: ...


def of_request(request: Request, verb: str = "") -> Attributes:
    """The question that a request asks, or would ask with another verb."""
    info = request.info
    if not info.is_resource:
        return Attributes(request.user, info.verb, path=info.path)
    return Attributes(
        request.user,
        verb or info.verb,
        info.resource,
        info.subresource,
        info.group,
        info.version,
        info.namespace,
        info.name,
        info.path,
    )


def forbidden(attributes: Attributes, reason: str = "") -> errors.Forbidden:
    """The refusal, in upstream's sentence."""
    user, verb = attributes.user.name, attributes.verb
    if not attributes.is_resource:
        return errors.Forbidden(f'forbidden: User "{user}" cannot {verb} path "{attributes.path}"{_because(reason)}')
    scope = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
    why = (
        f'User "{user}" cannot {verb} resource "{attributes.combined_resource}" '
        f'in API group "{attributes.group}" {scope}{_because(reason)}'
    )
    return errors.forbidden(attributes.group, attributes.resource, attributes.name, why)


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""
