"""Lets a user act as another (A4): `Impersonate-User`, `-Group`, `-Uid`, `-Extra-…`, each one authorized by itself.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
"""

from __future__ import annotations

import logging
from urllib.parse import unquote

from apimachinery import errors
from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.authentication import groups as membership
from apiserver.authorization import attributes as questions
from apiserver.authorization.attributes import Attributes
from apiserver.filters.chain import Wiring
from apiserver.registry.call import User

_log = logging.getLogger("apiserver.authentication")

_USER, _UID, _GROUP, _EXTRA = b"impersonate-user", b"impersonate-uid", b"impersonate-group", b"impersonate-extra-"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_ANONYMOUS = "system:anonymous"


class Impersonate:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        self._authorizer = wiring.authorizer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        # One test for all four headers: they are rare, and this filter is on every request's way
        if any(name.startswith(b"impersonate-") for name in request.headers):
            self._impersonate(request, scope)
        await self._app(scope, receive, send)

    def _impersonate(self, request: requests.Request, scope: Scope) -> None:
        headers = scope["headers"]
        user = wanted(headers)
        for question in questions_for(request.user, user):
            decision = self._authorizer.decide(question)
            if not decision.allowed:
                raise questions.forbidden(question, decision.reason)
        _log.info("A4 %s: %r acts as %r", request.id, request.user.name, user.name)
        request.impersonator, request.user = request.user, with_default_groups(user)
        scope["headers"] = [item for item in headers if not item[0].startswith(b"impersonate-")]


def wanted(headers: list[tuple[bytes, bytes]]) -> User:
    """The user that the headers describe. Raises BadRequest when they describe groups or extras of nobody."""
    name, uid, groups, extra = "", "", [], dict[str, tuple[str, ...]]()
    for header, raw in headers:
        value = raw.decode("utf-8", "replace")
        if header == _USER:
            name = value
        elif header == _UID:
            uid = value
        elif header == _GROUP:
            groups.append(value)
        elif header.startswith(_EXTRA):
            key = unquote(header.removeprefix(_EXTRA).decode("latin-1"))
            extra[key] = (*extra.get(key, ()), value)
    if not name:
        asked = ", ".join(part for part in (*groups, *extra, uid) if part)
        raise errors.BadRequest(f"requested [{asked}] without impersonating a user")
    return User(name, uid, tuple(groups), extra, "impersonation")


def questions_for(asking: User, wanted: User) -> list[Attributes]:
    """What `asking` must be allowed for this impersonation."""
    if wanted.name.startswith(_SERVICE_ACCOUNT) and wanted.name.count(":") == 3:
        namespace, name = wanted.name.removeprefix(_SERVICE_ACCOUNT).split(":")
        found = [Attributes(asking, "impersonate", "serviceaccounts", version="v1", namespace=namespace, name=name)]
    else:
        found = [Attributes(asking, "impersonate", "users", version="v1", name=wanted.name)]
    found += [Attributes(asking, "impersonate", "groups", version="v1", name=group) for group in wanted.groups]
    authentication = {"group": "authentication.k8s.io", "version": "v1"}
    if wanted.uid:
        found.append(Attributes(asking, "impersonate", "uids", name=wanted.uid, **authentication))
    for key, values in wanted.extra.items():
        found += [
            Attributes(asking, "impersonate", "userextras", key, name=value, **authentication) for value in values
        ]
    return found


def with_default_groups(user: User) -> User:
    """The groups that this user would have after logging in."""
    groups = user.groups
    if user.name.startswith(_SERVICE_ACCOUNT) and not groups:
        namespace = user.name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    if user.name == _ANONYMOUS:
        return User(user.name, user.uid, groups or (membership.UNAUTHENTICATED,), user.extra, user.authenticator)
    return membership.with_authenticated(User(user.name, user.uid, groups, user.extra, user.authenticator))
