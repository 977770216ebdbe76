"""Service accounts by their tokens (A4): `system:serviceaccount:NAMESPACE:NAME`, in the groups of all of them.

Guarantees: a token works only while the account and the object that it is bound to are there, the same ones by uid, and
for a minute after their deletion began (so that pods can end in order). Asked of the watch cache, at each request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from apimachinery import clock, errors
from apimachinery.clock import Clock
from apimachinery.objects import Object
from apiserver.registry.call import User
from apiserver.serviceaccounts import claims
from apiserver.serviceaccounts.tokens import Checker, Refused

# As upstream: how long a token outlives the beginning of a deletion
_LEEWAY = timedelta(seconds=60)
_CREDENTIAL = "authentication.kubernetes.io/credential-id"
_KEYS = {
    "serviceaccount": "/registry/serviceaccounts/{namespace}/{name}",
    "pod": "/registry/pods/{namespace}/{name}",
    "secret": "/registry/secrets/{namespace}/{name}",
    "node": "/registry/minions/{name}",
}

Lookup = Callable[[str], Object | None]
"""The object at a key of etcd, as the watch cache has it."""


class ServiceAccounts:
    """`audiences` are the server's own; a token for none of them is for somebody else."""

    def __init__(self, checker: Checker, audiences: Sequence[str], lookup: Lookup, clock: Clock) -> None:
        self._checker = checker
        self._audiences = tuple(audiences)
        self._lookup = lookup
        self._clock = clock

    async def authenticate_token(self, token: str, audiences: Sequence[str] = ()) -> User | None:
        """Raises Unauthorized."""
        try:
            statement = self._checker.check(token)
            if statement is None:
                return None
            self._check(statement, audiences or self._audiences)
        except Refused as error:
            raise errors.Unauthorized(f"[invalid bearer token, {error}]") from error
        return _user(statement)

    def _check(self, statement: claims.Statement, audiences: Sequence[str]) -> None:
        if not set(statement.audiences) & set(audiences):
            raise Refused(f"token audiences {list(statement.audiences)} is invalid for the target audiences")
        namespace = statement.namespace
        self._check_there("serviceaccount", namespace, statement.name, statement.uid, "service account")
        for bound in statement.bound:
            # A pod's token names its node as well, which is told but does not hold it
            if bound.kind != "node" or len(statement.bound) == 1:
                self._check_there(bound.kind, namespace, bound.name, bound.uid, bound.kind)

    def _check_there(self, kind: str, namespace: str, name: str, uid: str, what: str) -> None:
        found = self._lookup(_KEYS[kind].format(namespace=namespace, name=name))
        if found is None:
            raise Refused(f"service account token has been invalidated: the {what} is gone")
        metadata = found["metadata"]
        if metadata.get("uid") != uid:
            raise Refused(f"the {what} UID ({metadata.get('uid')}) does not match claim ({uid})")
        deleted = metadata.get("deletionTimestamp")
        if deleted and self._clock.now() >= clock.parse_rfc3339(deleted) + _LEEWAY:
            raise Refused(f"service account token has been invalidated: the {what} is being deleted")


def _user(statement: claims.Statement) -> User:
    extra: dict[str, tuple[str, ...]] = {}
    if statement.token_id:
        extra[_CREDENTIAL] = (f"JTI={statement.token_id}",)
    for bound in statement.bound:
        if bound.kind != "secret":
            extra[f"authentication.kubernetes.io/{bound.kind}-name"] = (bound.name,)
            if bound.uid:
                extra[f"authentication.kubernetes.io/{bound.kind}-uid"] = (bound.uid,)
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{statement.namespace}")
    name = claims.user_name(statement.namespace, statement.name)
    return User(name, statement.uid, groups, extra, authenticator="serviceaccount", audiences=statement.audiences)
