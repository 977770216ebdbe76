"""Who is asking (A4): authenticators tried in order, the first one that recognises somebody decides.

An authenticator returns a user, or None when the request carries nothing for it; it raises `Unauthorized` when there is
a credential of its kind that it refuses. A refusal does not stop the others, but where nobody succeeds it makes the
whole request fail, so that a wrong token never turns into an anonymous user.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from apimachinery import errors
from apiserver.authentication import groups
from apiserver.registry.call import ANONYMOUS, User
from apiserver.request import Request


class Authenticator(Protocol):
    async def authenticate(self, request: Request) -> User | None:
        """The user, or None for "not mine". Raises Unauthorized for a bad credential."""
        ...


class Union:
    """All authenticators of a server, the anonymous one last."""

    def __init__(self, authenticators: Sequence[Authenticator], *, anonymous: bool) -> None:
        self._authenticators = tuple(authenticators)
        self._anonymous = anonymous

    async def authenticate(self, request: Request) -> User | None:
        refused = False
        for authenticator in self._authenticators:
            try:
                user = await authenticator.authenticate(request)
            except errors.Unauthorized:
                refused = True
                continue
            if user is not None:
                return groups.with_authenticated(user)
        if refused or not self._anonymous:
            raise errors.Unauthorized("Unauthorized")
        return ANONYMOUS
