"""Certificates that OpenSSL accepts: each test ends in a real TLS handshake or in the parsed certificate."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import files
from certs.authority import Authority, Pair


def stored(folder: Path, stem: str, pair: Pair) -> tuple[str, str]:
    files.write_pair(folder / f"{stem}.crt", folder / f"{stem}.key", pair)
    return str(folder / f"{stem}.crt"), str(folder / f"{stem}.key")


def handshake(folder: Path, trusted: Authority, server: Pair, client: Pair, host: str) -> ssl.SSLObject:
    """Shake hands in memory, both sides checking the other; the server's side is returned."""
    (folder / "ca.crt").write_bytes(trusted.cert_pem)
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.crt"))
    server_context.verify_mode = ssl.CERT_REQUIRED
    server_context.load_cert_chain(*stored(folder, "server", server))
    client_context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    client_context.load_cert_chain(*stored(folder, "client", client))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_side = client_context.wrap_bio(to_client, to_server, server_hostname=host)
    server_side = server_context.wrap_bio(to_server, to_client, server_side=True)
    done: set[ssl.SSLObject] = set()
    for _ in range(10):  # TLS 1.3 needs three flights; more means a loop
        for side in (client_side, server_side):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                continue
    assert done == {client_side, server_side}
    return server_side


def test_server_and_client_of_one_authority_accept_each_other(tmp_path: Path) -> None:
    ca = Authority.create("kubernetes")
    server = ca.issue_server("kube-apiserver", ["localhost"], ["127.0.0.1"])
    client = ca.issue_client("jane", ["developers", "system:masters"])
    side = handshake(tmp_path, ca, server, client, "127.0.0.1")
    seen = side.getpeercert()
    assert seen is not None
    subject = [(pair[0], pair[1]) for rdn in seen["subject"] for pair in rdn]
    assert ("commonName", "jane") in subject
    assert [value for name, value in subject if name == "organizationName"] == ["developers", "system:masters"]


def test_a_server_is_refused_under_a_name_it_does_not_have(tmp_path: Path) -> None:
    ca = Authority.create("kubernetes")
    server, client = ca.issue_server("s", ["localhost"], []), ca.issue_client("jane")
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(tmp_path, ca, server, client, "example.com")


def test_a_client_of_another_authority_is_refused(tmp_path: Path) -> None:
    ca, stranger = Authority.create("kubernetes"), Authority.create("kubernetes")
    with pytest.raises(ssl.SSLError):
        handshake(tmp_path, ca, ca.issue_server("s", ["localhost"], []), stranger.issue_client("jane"), "localhost")


def test_a_client_certificate_does_not_serve(tmp_path: Path) -> None:
    cert = x509.load_pem_x509_certificate(Authority.create("kubernetes").issue_client("jane").cert_pem)
    usage = cert.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_an_authority_read_back_issues_certificates_of_the_same_issuer(tmp_path: Path) -> None:
    made = Authority.create("kubernetes")
    cert_path, key_path = stored(tmp_path, "ca", made.pair)
    loaded = Authority.load(Path(cert_path), Path(key_path))
    cert = x509.load_pem_x509_certificate(loaded.issue_client("jane").cert_pem)
    cert.verify_directly_issued_by(made.cert)
    assert cert.issuer.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "kubernetes"


def test_a_key_of_another_certificate_is_refused_when_loading(tmp_path: Path) -> None:
    one, other = Authority.create("one"), Authority.create("other")
    cert_path, key_path = stored(tmp_path, "ca", Pair(one.cert_pem, other.pair.key_pem))
    with pytest.raises(ValueError, match="not the key of"):
        Authority.load(Path(cert_path), Path(key_path))


def test_a_new_certificate_is_good_for_a_clock_a_little_behind() -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    cert = x509.load_pem_x509_certificate(Authority.create("ca", now=now).issue_client("jane", now=now).cert_pem)
    assert cert.not_valid_before_utc < now - timedelta(minutes=1)
    assert cert.not_valid_after_utc == now + timedelta(days=365)
