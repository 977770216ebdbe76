"""One API call as the registry sees it: who, what, how; free of HTTP, so that tests can make one too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from apimachinery.objects import Object
from apiserver.scheme.resources import Resource


@dataclass(frozen=True, slots=True)
class User:
    """Who was authenticated (`authentication.k8s.io/v1 UserInfo`). `authenticator` names which one said so.

    `audiences` are those of the credential, where it has any.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)
    authenticator: str = ""
    audiences: tuple[str, ...] = ()


ANONYMOUS = User("system:anonymous", groups=("system:unauthenticated",), authenticator="anonymous")
LOOPBACK = User("system:apiserver", groups=("system:masters",), authenticator="loopback")


@dataclass(slots=True)
class Call:
    """One request for a resource, decoded. `name` is "" for a collection, `namespace` "" for cluster scope."""

    user: User
    resource: Resource
    verb: str  # create, get, list, watch, update, patch, delete, deletecollection
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    dry_run: bool = False
    field_manager: str = ""
    user_agent: str = ""  # its first word stands for a field manager that was not given
    field_validation: str = "Warn"  # Ignore, Warn, Strict
    force: bool = False  # server-side apply takes fields from their owners
    warnings: list[str] = field(default_factory=list)  # become Warning headers
    audit_annotations: dict[str, str] = field(default_factory=dict)
    traceparent: str = ""  # kept in an annotation of what is created; "" unless the request asked for it
    created: bool = False  # set by the registry when a PATCH or PUT created the object


class Admission(Protocol):
    """What the registry asks of the admission chain. One refusal (an APIError) fails the request (step A6)."""

    async def mutate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> Object | None:
        """The object after all mutating plugins. `operation` is CREATE, UPDATE, DELETE or CONNECT."""
        ...

    async def validate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> None: ...
