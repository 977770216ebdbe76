"""A front proxy's word (A4): headers that name a user, believed from who has a certificate of the front proxies' CA.

What the headers are called is for flags to say. Guarantees: without such a certificate, or with a common name that is
not allowed, the headers mean nothing; they are dropped in any case, so that nothing further in can forward them.
Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#authenticating-proxy
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from apimachinery import errors
from apiserver.authentication import groups
from apiserver.authentication.authorities import Authority
from apiserver.registry.call import User
from apiserver.request import Request

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Names:
    """What the headers are called, and whom they are believed from: no name allowed means any."""

    allowed: tuple[str, ...]
    user: tuple[str, ...]
    uid: tuple[str, ...]
    groups: tuple[str, ...]
    extra_prefixes: tuple[str, ...]


class RequestHeader:
    def __init__(self, names: Names, authority: Authority) -> None:
        self._authority = authority
        self._allowed = frozenset(names.allowed)
        self._user = _lower(names.user)
        self._uid = _lower(names.uid)
        self._groups = _lower(names.groups)
        self._extra = _lower(names.extra_prefixes)

    async def authenticate(self, request: Request) -> User | None:
        if not any(name in request.headers for name in self._user):
            return None  # nobody is named, so most requests end here
        sent: Headers = request.scope["headers"]
        request.scope["headers"] = [header for header in sent if not self._is_ours(header[0])]
        connection = request.connection
        if connection is None or connection.expires_at is None or not self._authority.issued(connection):
            return None
        if not connection.certified:
            raise errors.Unauthorized("the front proxy's certificate has expired")
        names = connection.subject.get("commonName") or [""]
        if self._allowed and names[0] not in self._allowed:
            raise errors.Unauthorized(f"x509: subject with cn={names[0]} is not in the allowed list")
        return self._named(sent)

    def _named(self, headers: Headers) -> User | None:
        name = next(iter(_values(headers, self._user)), "")
        if not name:
            return None
        uid = next(iter(_values(headers, self._uid)), "")
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in self._extra:
            for header, value in headers:
                if header.startswith(prefix):
                    key = unquote(header.removeprefix(prefix).decode("latin-1"))
                    extra[key] = (*extra.get(key, ()), value.decode("utf-8", "replace"))
        user = User(name, uid, tuple(_values(headers, self._groups)), extra, "requestheader")
        return groups.with_authenticated(user)

    def _is_ours(self, name: bytes) -> bool:
        return name in (*self._user, *self._uid, *self._groups) or name.startswith(self._extra)


def _lower(names: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(name.lower().encode() for name in names)


def _values(headers: Headers, names: tuple[bytes, ...]) -> list[str]:
    """The values of these headers, in the order of the names."""
    return [value.decode("utf-8", "replace").strip() for wanted in names for name, value in headers if name == wanted]
