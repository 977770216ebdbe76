"""How an extension server learns who asks: headers that name the user, and a client certificate to believe them by.

Guarantees: what a client itself sent under these names never gets through.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Iterable
from urllib.parse import quote

from apimachinery import errors
from apiserver.aggregation.remotes import Remote
from apiserver.aggregation.services import Services
from apiserver.backend import Target
from apiserver.config import Config, ConfigError
from apiserver.registry.call import User

Headers = list[tuple[bytes, bytes]]

AGGREGATOR = User("system:kube-aggregator", groups=("system:masters",))
_PREFIX = b"x-remote-"
_UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
# Distinct ways to check a server whose contexts are kept
_CONTEXTS_MAX = 64


class FrontProxy:
    """Targets at extension servers."""

    def __init__(self, config: Config, services: Services) -> None:
        self._cert, self._key = config.proxy_client_cert_file, config.proxy_client_key_file
        self._services = services
        self._contexts: dict[tuple[str, bool], ssl.SSLContext] = {}
        self._believed = believed_names(config)
        self._context("", insecure=True)  # a certificate that cannot be used is found at the start

    def target(self, remote: Remote, method: str, path: str, *, insecure: bool = False) -> Target:
        """Raises services.Unresolved; ValueError for a CA bundle that cannot be read."""
        host, port = self._services.address(remote.service)
        tls = self._context(remote.ca_bundle, insecure=insecure or remote.insecure)
        return Target(host, port, tls, method, path, f"{remote.service.name}.{remote.service.namespace}.svc")

    def passed(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """A client's headers without those that an extension server would believe from us."""
        return [header for header in headers if not header[0].lower().startswith(self._believed)]

    def _context(self, bundle: str, *, insecure: bool) -> ssl.SSLContext:
        key = ("" if insecure else bundle, insecure)
        context = self._contexts.get(key)
        if context is None:
            if len(self._contexts) >= _CONTEXTS_MAX:
                self._contexts.pop(next(iter(self._contexts)))
            context = self._contexts[key] = self._make(bundle, insecure=insecure)
        return context

    def _make(self, bundle: str, *, insecure: bool) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif bundle:
            context.load_verify_locations(cadata=base64.b64decode(bundle).decode())
        else:
            context.load_default_certs()
        if self._cert:
            try:
                context.load_cert_chain(self._cert, self._key or None)
            except (OSError, ssl.SSLError) as error:
                raise ConfigError(f"--proxy-client-cert-file cannot be used: {error}") from error
        return context


def identity(user: User) -> Headers:
    """The user, as headers. An extra's name may hold what a header's may not, so it is percent-encoded.

    Raises InternalError for a user whose name or groups no header can hold: a line break would begin another header.
    """
    headers = [(b"X-Remote-User", user.name.encode())]
    if user.uid:
        headers.append((b"X-Remote-Uid", user.uid.encode()))
    headers += [(b"X-Remote-Group", group.encode()) for group in user.groups]
    for key, values in user.extra.items():
        name = b"X-Remote-Extra-" + quote(key.lower(), safe="").encode()
        headers += [(name, value.encode()) for value in values]
    for name, value in headers:
        if _UNFIT.search(value):
            raise errors.InternalError(f'net/http: invalid header field value for "{name.decode()}"')
    return headers


def believed_names(config: Config) -> tuple[bytes, ...]:
    """How headers begin that name a user: as we send them, and as extension servers are told that others may."""
    told = (
        *config.requestheader_username_headers,
        *config.requestheader_uid_headers,
        *config.requestheader_group_headers,
        *config.requestheader_extra_headers_prefix,
    )
    return (_PREFIX, *(name.lower().encode() for name in told))
