"""Client certificates (A4): common name → user, organisations → groups.

TLS has verified the chain to `--client-ca-file` by then.

A certificate of another CA, or one out of date, fails the TLS handshake; upstream answers 401. One that runs out while
its connection stays open is refused from then on.
"""

from __future__ import annotations

from apimachinery import errors
from apiserver.authentication import groups
from apiserver.authentication.authorities import Authority
from apiserver.registry.call import User
from apiserver.request import Request
from apiserver.server import Connection

_CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class X509:
    """Keeps the user with the connection, so that a certificate is read once."""

    def __init__(self, authority: Authority | None = None) -> None:
        """`authority` where TLS lets certificates of others in, too: front proxies'."""
        self._name = "x509"
        self._authority = authority

    async def authenticate(self, request: Request) -> User | None:
        connection = request.connection
        if connection is None or connection.expires_at is None:
            return None
        if self._authority is not None and connection.user is None and not self._authority.issued(connection):
            return None
        if not connection.certified:
            raise errors.Unauthorized("the client certificate has expired")
        if connection.user is None:
            connection.user = self._user_of(connection)
        return connection.user

    def _user_of(self, connection: Connection) -> User | None:
        names = connection.subject.get("commonName")
        if not names:
            return None
        organizations = tuple(connection.subject.get("organizationName", ()))
        extra: dict[str, tuple[str, ...]] = {_CREDENTIAL_ID: (f"X509SHA256={connection.fingerprint}",)}
        return groups.with_authenticated(User(names[0], groups=organizations, extra=extra, authenticator=self._name))
