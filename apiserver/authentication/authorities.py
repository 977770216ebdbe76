"""Which of several certificate authorities vouches for a client: the TLS handshake only says that one of them does.

Users' certificates and front proxies' ones must not be taken for each other: the latter may name anybody.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from pathlib import Path

from apiserver.server import Connection

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class Authority:
    """The certificates of one file."""

    def __init__(self, path: str) -> None:
        """Raises ValueError when there are none in it."""
        try:
            blocks = _PEM.findall(Path(path).read_text())
            self._roots = {hashlib.sha256(ssl.PEM_cert_to_DER_cert(block)).hexdigest() for block in blocks}
        except (OSError, ValueError) as error:
            raise ValueError(f"cannot read the certificates in {path}: {error}") from error
        if not self._roots:
            raise ValueError(f"there are no certificates in {path}")

    def issued(self, connection: Connection) -> bool:
        """Whether the chain of the client's certificate ends in one of them."""
        return connection.root in self._roots
