"""The groups that everybody is in: those who proved who they are, and those who did not."""

from __future__ import annotations

from dataclasses import replace

from apiserver.registry.call import User

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"


def with_authenticated(user: User) -> User:
    """The user in group system:authenticated, which all but anonymous ones are in; the same one if it is already."""
    if AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))
