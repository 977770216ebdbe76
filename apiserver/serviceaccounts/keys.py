"""Keys of `--service-account-signing-key-file` and `--service-account-key-file`, and the key set that others read.

Guarantees: a key is used with its own algorithm only, whatever a token's header says; a key's id is the digest of its
public half, so that rotated keys tell themselves apart (RFC 7517, RFC 7518).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_CURVES = {
    "secp256r1": ("ES256", "P-256", 32),
    "secp384r1": ("ES384", "P-384", 48),
    "secp521r1": ("ES512", "P-521", 66),
}
_PRIVATE = b"PRIVATE KEY-----"
_BEGIN = b"-----BEGIN "


class KeyFileError(ValueError):
    """A file holds no key that tokens can be signed or checked with; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Key:
    """A public key with its id and its one algorithm."""

    public: PublicKey
    id: str
    algorithm: str


@dataclass(frozen=True, slots=True)
class SigningKey:
    private: PrivateKey
    key: Key


def signing(path: str) -> SigningKey:
    """The one private key of a file. Raises KeyFileError."""
    private = _private(path, _read(path))
    return SigningKey(private, _key(path, private.public_key()))


def checking(paths: Sequence[str]) -> list[Key]:
    """All keys of the files, each once; a private key stands for its public half. Raises KeyFileError."""
    found: dict[str, Key] = {}
    for path in paths:
        for block in _blocks(_read(path)):
            public = _private(path, block).public_key() if _PRIVATE in block else _public(path, block)
            key = _key(path, public)
            found[key.id] = key
    if paths and not found:
        raise KeyFileError(f"no public keys in {', '.join(paths)}")
    return list(found.values())


def key_set(keys: Sequence[Key]) -> dict[str, Any]:
    """The JSON Web Key Set."""
    listed = [{"use": "sig", "kid": key.id, "alg": key.algorithm} | _numbers(key.public) for key in keys]
    return {"keys": listed}


def _numbers(public: PublicKey) -> dict[str, str]:
    if isinstance(public, rsa.RSAPublicKey):
        rsa_numbers = public.public_numbers()
        size = (rsa_numbers.n.bit_length() + 7) // 8
        exponent = (rsa_numbers.e.bit_length() + 7) // 8
        return {"kty": "RSA", "n": _encoded(rsa_numbers.n, size), "e": _encoded(rsa_numbers.e, exponent)}
    _, curve, size = _CURVES[public.curve.name]
    numbers = public.public_numbers()
    return {"kty": "EC", "crv": curve, "x": _encoded(numbers.x, size), "y": _encoded(numbers.y, size)}


def _encoded(number: int, size: int) -> str:
    return _base64(number.to_bytes(size, "big"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _key(path: str, public: Any) -> Key:
    if isinstance(public, rsa.RSAPublicKey):
        algorithm = "RS256"
    elif isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in _CURVES:
        algorithm = _CURVES[public.curve.name][0]
    else:
        raise KeyFileError(f"{path}: neither an RSA key nor an ECDSA key of a known curve")
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return Key(public, _base64(hashlib.sha256(der).digest()), algorithm)


def _private(path: str, pem: bytes) -> PrivateKey:
    try:
        private = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"{path} has no private key that can be read: {error}") from error
    if not isinstance(private, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise KeyFileError(f"{path}: neither an RSA key nor an ECDSA key")
    return private


def _public(path: str, pem: bytes) -> Any:
    try:
        return load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"{path} has no public key that can be read: {error}") from error


def _blocks(pem: bytes) -> list[bytes]:
    return [_BEGIN + block for block in pem.split(_BEGIN)[1:]]


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise KeyFileError(f"cannot read {path}: {error.strerror}") from error
