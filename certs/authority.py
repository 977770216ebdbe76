"""A certificate authority that issues what a cluster needs: server and client certificates with EC P-256 keys.

Pure: values in, PEM out; only `load` reads files. A client certificate carries the identity the apiserver sees (A4):
CN is the user, each O a group. Certificates hold key identifiers of themselves and of their issuer, because strict
verifiers refuse chains without them.

Does not guarantee: revocation. A leaked key stays good until it expires, as with upstream's client certificates.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.files import Pair

__all__ = ["Authority", "Pair", "new_signing_key", "private_pem"]

CA_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=365)  # upstream's kubeadm issues for a year
CLOCK_SKEW = timedelta(minutes=5)  # a verifier whose clock is a little behind still accepts a new certificate


class Authority:
    """A CA: its certificate and the key that signs."""

    def __init__(self, cert: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.cert = cert
        self._key = key

    @classmethod
    def create(cls, common_name: str, *, now: datetime | None = None) -> Authority:
        """A new self-signed authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        builder = _builder(name, name, key.public_key(), now or datetime.now(UTC), CA_LIFETIME)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, cert_path: Path, key_path: Path) -> Authority:
        """The authority kept in two PEM files. Raises ValueError when they are not an EC pair that belongs together."""
        cert = x509.load_pem_x509_certificate(cert_path.read_bytes())
        key = serialization.load_pem_private_key(key_path.read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{key_path}: not an EC key")
        if key.public_key() != cert.public_key():
            raise ValueError(f"{key_path}: not the key of {cert_path}")
        return cls(cert, key)

    @property
    def pair(self) -> Pair:
        return Pair(self.cert_pem, private_pem(self._key))

    @property
    def cert_pem(self) -> bytes:
        return self.cert.public_bytes(serialization.Encoding.PEM)

    def issue_server(
        self,
        common_name: str,
        dns_names: Iterable[str],
        ip_addresses: Iterable[str],
        *,
        groups: Iterable[str] = (),
        also_client: bool = False,
        now: datetime | None = None,
    ) -> Pair:
        """A serving certificate. `also_client` is for servers that call themselves with it (etcd's gateway does)."""
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in dns_names]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ip_addresses]
        usages = [ExtendedKeyUsageOID.SERVER_AUTH] + [ExtendedKeyUsageOID.CLIENT_AUTH] * also_client
        return self._issue(_subject(common_name, groups), usages, names, now)

    def issue_client(self, user: str, groups: Iterable[str] = (), *, now: datetime | None = None) -> Pair:
        """A client certificate: the apiserver takes CN as the user and each O as a group."""
        return self._issue(_subject(user, groups), [ExtendedKeyUsageOID.CLIENT_AUTH], [], now)

    def _issue(
        self,
        subject: x509.Name,
        usages: list[x509.ObjectIdentifier],
        names: list[x509.GeneralName],
        now: datetime | None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self.cert.subject, key.public_key(), now or datetime.now(UTC), LEAF_LIFETIME)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        builder = builder.add_extension(self._authority_key_identifier(), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        cert = builder.sign(self._key, hashes.SHA256())
        return Pair(cert.public_bytes(serialization.Encoding.PEM), private_pem(key))

    def _authority_key_identifier(self) -> x509.AuthorityKeyIdentifier:
        own = self.cert.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own.value)


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def new_signing_key() -> Pair:
    """A key pair for service-account tokens; `cert_pem` holds the bare public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Pair(public, private_pem(key))


def _subject(common_name: str, groups: Iterable[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
