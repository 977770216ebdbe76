from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.authentication.serviceaccounts import ServiceAccounts
from apiserver.serviceaccounts import claims, keys, tokens
from apiserver.serviceaccounts.claims import Bound

ISSUER = "https://kubernetes.default.svc"
ACCOUNT: Object = {"metadata": {"namespace": "ns", "name": "robot", "uid": "u-1"}}
START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


class Issuing:
    """A key in a file, who signs with it and who checks."""

    def __init__(self, folder: Path, private: Any = None) -> None:
        self.private = private or ec.generate_private_key(ec.SECP256R1())
        pem = self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path = folder / "sa.key"
        path.write_bytes(pem)
        self.key = keys.signing(str(path))
        self.listed = keys.checking([str(path)])
        self.clock = Clock()
        self.checker = tokens.Checker(self.listed, [ISSUER, "https://old"], self.clock)
        self.objects: dict[str, Object] = {"/registry/serviceaccounts/ns/robot": ACCOUNT}
        self.accounts = ServiceAccounts(self.checker, ["api"], self.objects.get, self.clock)

    def claims(self, *bound: Bound, seconds: int = 600, **changed: Any) -> dict[str, Any]:
        made = claims.made(ACCOUNT, ["api"], seconds, bound, issuer=ISSUER, token_id="t", now=self.clock.now())
        return made | changed

    def token(self, *bound: Bound, **changed: Any) -> str:
        return tokens.Signer(self.key).sign(self.claims(*bound, **changed))


@pytest.fixture
def issuing(tmp_path: Path) -> Issuing:
    return Issuing(tmp_path)


@pytest.mark.parametrize("kind", ["P-256", "P-384", "P-521", "RSA"])
async def test_a_token_tells_who_it_is_of(tmp_path: Path, kind: str) -> None:
    curves = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}
    private = ec.generate_private_key(curves[kind]) if kind in curves else rsa.generate_private_key(65537, 2048)
    issuing = Issuing(tmp_path, private)
    user = await issuing.accounts.authenticate_token(issuing.token())
    assert user is not None
    assert (user.name, user.uid) == ("system:serviceaccount:ns:robot", "u-1")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns")
    assert user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=t",)}


def test_the_key_set_checks_what_the_key_signs(issuing: Issuing) -> None:
    [described] = keys.key_set(issuing.listed)["keys"]
    key = jwt.PyJWK(described)
    assert described["kid"] == jwt.get_unverified_header(issuing.token())["kid"]
    assert jwt.decode(issuing.token(), key, algorithms=["ES256"], audience="api", options={"verify_exp": False})


def test_a_token_of_another_issuer_is_somebody_elses(issuing: Issuing) -> None:
    assert issuing.checker.check(issuing.token(iss="https://other")) is None
    assert issuing.checker.check(_unsigned({"iss": ["x"]}, {"alg": "ES256"})) is None
    assert issuing.checker.check(_unsigned({"iss": {}}, {"alg": "ES256"})) is None
    assert issuing.checker.check("no token at all") is None
    assert issuing.checker.check("a.b.c") is None
    assert issuing.checker.check("x" * 20000 + ".b.c") is None
    assert issuing.checker.check(issuing.token(iss="https://old")) is not None


def _unsigned(stated: dict[str, Any], header: dict[str, Any], signature: bytes = b"") -> str:
    parts = [json.dumps(header).encode(), json.dumps(stated).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


async def test_forged_tokens_are_refused(issuing: Issuing, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other, key_id = Issuing(tmp_path / "b"), issuing.key.key.id
    public = issuing.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    head, body, signature = issuing.token().split(".")
    forged = [
        other.token(),
        jwt.encode(issuing.claims(), other.private, "ES256", headers={"kid": key_id}),
        _unsigned(issuing.claims(), {"alg": "none", "kid": key_id}),
        jwt.encode(issuing.claims(), public * 2, "HS256", headers={"kid": key_id}),
        f"{head}.{body[:-2]}AA.{signature}",
        f"{head}.{body}.{signature[:-4]}AAAA",
        f"{head}.{body}.",
        issuing.token(sub="system:serviceaccount:kube-system:admin"),
        issuing.token(aud=5),
        issuing.token(exp="soon"),
        issuing.token(**{"kubernetes.io": {"namespace": "ns"}}),
    ]
    for token in forged:
        try:
            user = await issuing.accounts.authenticate_token(token)
        except errors.Unauthorized:
            continue
        assert user is None, token


async def test_a_token_works_from_its_beginning_to_its_end_only(issuing: Issuing) -> None:
    token = issuing.token()
    assert await issuing.accounts.authenticate_token(token)
    issuing.clock.moment += timedelta(seconds=600)
    with pytest.raises(errors.Unauthorized, match="has expired"):
        await issuing.accounts.authenticate_token(token)
    with pytest.raises(errors.Unauthorized, match="has expired"):  # nor when it is no longer remembered
        await issuing.accounts.authenticate_token(token)
    later = issuing.token(nbf=int(issuing.clock.now().timestamp()) + 5)
    with pytest.raises(errors.Unauthorized, match="not valid yet"):
        await issuing.accounts.authenticate_token(later)


async def test_a_token_is_for_its_audiences(issuing: Issuing) -> None:
    token = issuing.token(aud=["vault", "db"])
    with pytest.raises(errors.Unauthorized, match="invalid for the target audiences"):
        await issuing.accounts.authenticate_token(token)
    assert await issuing.accounts.authenticate_token(token, ["db"])


@pytest.mark.parametrize("kind", ["pod", "secret", "node"])
async def test_a_token_dies_with_what_it_is_bound_to(issuing: Issuing, kind: str) -> None:
    key = {"pod": "/registry/pods/ns/x", "secret": "/registry/secrets/ns/x", "node": "/registry/minions/x"}[kind]
    token = issuing.token(Bound(kind, "x", "u-x"))
    with pytest.raises(errors.Unauthorized, match=f"the {kind} is gone"):
        await issuing.accounts.authenticate_token(token)
    issuing.objects[key] = {"metadata": {"name": "x", "uid": "u-x"}}
    assert await issuing.accounts.authenticate_token(token)
    issuing.objects[key] = {"metadata": {"name": "x", "uid": "another"}}
    with pytest.raises(errors.Unauthorized, match="does not match claim"):
        await issuing.accounts.authenticate_token(token)
    issuing.objects[key] = {"metadata": {"uid": "u-x", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert await issuing.accounts.authenticate_token(token), "within a minute a pod may still end in order"
    issuing.clock.moment += timedelta(seconds=61)
    with pytest.raises(errors.Unauthorized, match="is being deleted"):
        await issuing.accounts.authenticate_token(token)


async def test_a_token_dies_with_its_account(issuing: Issuing) -> None:
    token = issuing.token()
    assert await issuing.accounts.authenticate_token(token)
    issuing.objects["/registry/serviceaccounts/ns/robot"] = {"metadata": ACCOUNT["metadata"] | {"uid": "new"}}
    with pytest.raises(errors.Unauthorized, match="service account UID"):
        await issuing.accounts.authenticate_token(token)
    issuing.objects.clear()
    with pytest.raises(errors.Unauthorized, match="the service account is gone"):
        await issuing.accounts.authenticate_token(token)


async def test_a_pods_token_tells_its_node_but_does_not_die_with_it(issuing: Issuing) -> None:
    issuing.objects["/registry/pods/ns/x"] = {"metadata": {"name": "x", "uid": "p"}}
    user = await issuing.accounts.authenticate_token(issuing.token(Bound("pod", "x", "p"), Bound("node", "n", "gone")))
    assert user is not None
    assert user.extra["authentication.kubernetes.io/node-name"] == ("n",)
    assert user.extra["authentication.kubernetes.io/pod-uid"] == ("p",)


def test_a_token_of_a_pod_lives_on_for_programs_that_do_not_reload_it() -> None:
    made = claims.made(ACCOUNT, [], claims.WARN_ONLY_SECONDS, [], issuer=ISSUER, token_id="t", now=START)
    assert made["exp"] - made["iat"] == claims.EXTENDED_SECONDS
    assert made["kubernetes.io"]["warnafter"] - made["iat"] == claims.WARN_ONLY_SECONDS
    short = claims.made(ACCOUNT, [], claims.WARN_ONLY_SECONDS, [], issuer=ISSUER, token_id="t", now=START, extend=False)
    assert short["exp"] - short["iat"] == claims.WARN_ONLY_SECONDS


def test_a_file_without_a_usable_key_says_so(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("hello")
    for read in (keys.signing, lambda path: keys.checking([path])):
        with pytest.raises(keys.KeyFileError, match=r"bad\.pem"):
            read(str(bad))
    with pytest.raises(keys.KeyFileError, match="cannot read"):
        keys.signing(str(tmp_path / "absent"))
