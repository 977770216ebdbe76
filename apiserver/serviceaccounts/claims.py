"""What a service account's token states. Pure; names of claims are upstream's, beside RFC 7519's own.

Source: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#token-controller
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apimachinery.objects import Object

PRIVATE = "kubernetes.io"
# The lifetime that kubelets ask for: clients that reload their token have a new one long before, so that who still uses
# it afterwards is only warned of (upstream's WarnOnlyBoundTokenExpiration)
WARN_ONLY_SECONDS = 3607
EXTENDED_SECONDS = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Bound:
    """The object that a token dies with: `kind` is pod, secret or node."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A token's claims, read."""

    namespace: str
    name: str
    uid: str
    audiences: tuple[str, ...]
    token_id: str = ""
    bound: tuple[Bound, ...] = ()


class Malformed(ValueError):
    """Claims that no server of this kind has made."""


def made(
    account: Object,
    audiences: Sequence[str],
    seconds: int,
    bound: Sequence[Bound],
    *,
    issuer: str,
    token_id: str,
    now: datetime,
    extend: bool = True,
) -> dict[str, Any]:
    """The claims of a new token."""
    metadata, moment = account["metadata"], int(now.timestamp())
    private: dict[str, Any] = {
        "namespace": metadata["namespace"],
        "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
    }
    for item in bound:
        private[item.kind] = {"name": item.name, "uid": item.uid} if item.uid else {"name": item.name}
    lifetime = seconds
    if extend and seconds == WARN_ONLY_SECONDS:
        private["warnafter"] = moment + seconds
        lifetime = EXTENDED_SECONDS
    return {
        "aud": list(audiences),
        "exp": moment + lifetime,
        "iat": moment,
        "iss": issuer,
        "jti": token_id,
        PRIVATE: private,
        "nbf": moment,
        "sub": user_name(metadata["namespace"], metadata["name"]),
    }


def read(claims: dict[str, Any]) -> Statement:
    """Raises Malformed."""
    private = claims.get(PRIVATE)
    if not isinstance(private, dict):
        raise Malformed("no private claims")
    namespace, account = _text(private.get("namespace")), private.get("serviceaccount")
    if not namespace or not isinstance(account, dict):
        raise Malformed("no namespace or service account")
    name, uid = _text(account.get("name")), _text(account.get("uid"))
    if claims.get("sub") != user_name(namespace, name):
        raise Malformed("the subject is not the service account")
    audiences = claims.get("aud")
    listed = [audiences] if isinstance(audiences, str) else audiences
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise Malformed("no audiences")
    bound = [_bound(kind, private[kind]) for kind in ("pod", "secret", "node") if kind in private]
    return Statement(namespace, name, uid, tuple(listed), _text(claims.get("jti")), tuple(bound))


def user_name(namespace: str, name: str) -> str:
    return f"system:serviceaccount:{namespace}:{name}"


def _bound(kind: str, value: Any) -> Bound:
    if not isinstance(value, dict):
        raise Malformed(f"{kind} is no reference")
    return Bound(kind, _text(value.get("name")), _text(value.get("uid")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
