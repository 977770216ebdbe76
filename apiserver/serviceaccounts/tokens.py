"""Signs and checks tokens (RFC 7515, 7519).

Guarantees: only algorithms of our own keys count, `none` is none of them; a token of another issuer is not ours and not
refused, so that others may know it; expiry has no leeway. A checked token is remembered until it expires: its
signature cannot change, all else is asked again each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import jwt
import jwt.types

from apimachinery.clock import Clock
from apiserver.serviceaccounts import claims
from apiserver.serviceaccounts.keys import Key, SigningKey

# Longer ones are not ours: an audience list of a few kilobytes fits
_LENGTH_MAX = 16 * 1024
_REMEMBERED_MAX = 4096
# Times are checked by our own clock, audiences by who asks
_SIGNATURE_ONLY: jwt.types.Options = {
    "verify_aud": False,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}


class Refused(ValueError):
    """A token of our issuer that does not hold; the message says why, and nothing of the token."""


class Signer:
    def __init__(self, key: SigningKey) -> None:
        self._key = key

    def sign(self, stated: dict[str, Any]) -> str:
        own = self._key.key
        return jwt.encode(stated, self._key.private, own.algorithm, headers={"kid": own.id, "typ": None})


class Checker:
    """`issuers`: the first is that of new tokens, the others are still believed."""

    def __init__(self, keys: Sequence[Key], issuers: Sequence[str], clock: Clock) -> None:
        self._keys = {key.id: key for key in keys}
        self._issuers = frozenset(issuers)
        self._clock = clock
        self._remembered: OrderedDict[str, tuple[float, claims.Statement]] = OrderedDict()

    def check(self, token: str) -> claims.Statement | None:
        """What the token states; None for a token of another issuer. Raises Refused."""
        if len(token) > _LENGTH_MAX or token.count(".") != 2:
            return None
        now = self._clock.now().timestamp()
        known = self._remembered.get(token)
        if known is not None:
            if now < known[0]:
                return known[1]
            del self._remembered[token]
            raise Refused("service account token has expired")
        stated = self._verified(token, now)
        if stated is None:
            return None
        statement = _read(stated)
        self._remembered[token] = (float(stated["exp"]), statement)
        if len(self._remembered) > _REMEMBERED_MAX:
            self._remembered.popitem(last=False)
        return statement

    def _verified(self, token: str, now: float) -> dict[str, Any] | None:
        try:
            unverified = jwt.decode(token, options={"verify_signature": False})
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            return None
        issuer = unverified.get("iss")
        if not isinstance(issuer, str) or issuer not in self._issuers:
            return None
        key = self._keys.get(str(header.get("kid")))
        if key is None:
            raise Refused("the token was signed with a key that is not known here")
        try:
            stated: dict[str, Any] = jwt.decode(token, key.public, algorithms=[key.algorithm], options=_SIGNATURE_ONLY)
        except jwt.InvalidTokenError as error:
            raise Refused("the token's signature does not hold") from error
        _check_times(stated, now)
        return stated


def _check_times(stated: dict[str, Any], now: float) -> None:
    expires, begins = stated.get("exp"), stated.get("nbf", 0)
    if not isinstance(expires, int | float) or not isinstance(begins, int | float):
        raise Refused("service account token claims could not be validated")
    if now >= expires:
        raise Refused("service account token has expired")
    if now < begins - 1:  # whole seconds are written, rounded down
        raise Refused("service account token is not valid yet")


def _read(stated: dict[str, Any]) -> claims.Statement:
    try:
        return claims.read(stated)
    except claims.Malformed as error:
        raise Refused("service account token claims could not be validated") from error
