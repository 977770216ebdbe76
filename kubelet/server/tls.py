"""The TLS context of the node's port."""

from __future__ import annotations

import ssl
from pathlib import Path


def context(certificate: Path, key: Path, client_ca: Path | None) -> ssl.SSLContext:
    """Client certificates of `client_ca` are verified; who has none may still bring a token."""
    result = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    result.load_cert_chain(certificate, key)
    result.set_alpn_protocols(["http/1.1"])
    if client_ca is not None:
        result.load_verify_locations(client_ca)
        result.verify_mode = ssl.CERT_OPTIONAL
    return result
