"""A serving certificate of the node's own, for a kubelet that was given none. Imported only then: it takes its time."""

from __future__ import annotations

import ipaddress
import os
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apimachinery.clock import Clock

LIFE = timedelta(days=365)


def self_signed(folder: Path, name: str, address: str, clock: Clock) -> tuple[Path, Path]:
    """A pair in `folder`, made if it is not there."""
    certificate, key = folder / "kubelet.crt", folder / "kubelet.key"
    if certificate.exists() and key.exists():
        return certificate, key
    folder.mkdir(parents=True, exist_ok=True)
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name}@self-signed")])
    names = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ipaddress.ip_address(address))])
    now = clock.now()
    made = (
        x509.CertificateBuilder(subject, subject, private.public_key(), x509.random_serial_number(), now, now + LIFE)
        .add_extension(names, critical=False)
        .sign(private, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    content = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    certificate.write_bytes(made.public_bytes(pem))
    return certificate, key
