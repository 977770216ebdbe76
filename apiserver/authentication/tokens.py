"""Secrets in the Authorization header (A4): bearer tokens from a file, and passwords when a file of them is given."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Protocol

from apimachinery import errors
from apiserver.authentication.csvfile import UserFile
from apiserver.registry.call import User
from apiserver.request import Request


class TokenAuthenticator(Protocol):
    async def authenticate_token(self, token: str, audiences: Sequence[str] = ()) -> User | None:
        """The token's user, or None for a token that is not of this kind. Raises Unauthorized for a bad one.

        `audiences` are those of whom the token was shown to, by default this server's; kinds without any ignore them.
        """
        ...


class TokenFile:
    """`--token-auth-file`."""

    def __init__(self, users: UserFile) -> None:
        self._users = users

    async def authenticate_token(self, token: str, audiences: Sequence[str] = ()) -> User | None:
        return self._users.find(token)


class Bearer:
    """`Authorization: Bearer TOKEN`, checked by each kind of token in turn. A token that nobody knows is refused."""

    def __init__(self, kinds: Sequence[TokenAuthenticator]) -> None:
        self._kinds = tuple(kinds)

    async def authenticate(self, request: Request) -> User | None:
        token = _credential(request, "bearer")
        if not token:
            return None
        return await self.user_of(token)

    async def user_of(self, token: str, audiences: Sequence[str] = ()) -> User:
        """Raises Unauthorized for a token that nobody knows."""
        for kind in self._kinds:
            user = await kind.authenticate_token(token, audiences)
            if user is not None:
                return user
        raise errors.Unauthorized("invalid bearer token")


class Basic:
    """`Authorization: Basic …` against `--basic-auth-file`. Upstream removed it in 1.19; off unless asked for."""

    def __init__(self, passwords: UserFile) -> None:
        self._passwords = passwords

    async def authenticate(self, request: Request) -> User | None:
        encoded = _credential(request, "basic")
        if not encoded:
            return None
        try:
            name, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise errors.Unauthorized("invalid basic credentials") from None
        user = self._passwords.find(password, name) if colon else None
        if user is None:
            raise errors.Unauthorized("invalid username/password combination")
        return user


def _credential(request: Request, scheme: str) -> str:
    """What follows the scheme in the Authorization header; "" when the header is of another scheme."""
    given, _, credential = request.header(b"authorization").strip().partition(" ")
    return credential.strip() if given.lower() == scheme else ""
