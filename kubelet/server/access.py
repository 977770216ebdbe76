"""Who may use the node's port: client certificates and bearer tokens, then the cluster's own authorization.

`system:masters` (the API server's client certificate) may do all; for others the API server is asked: TokenReview for
who they are, SubjectAccessReview on the node's subresources for what they may. Answers are remembered for a short
while.
Source: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
"""

from __future__ import annotations

from typing import Any

from apimachinery import errors as api_errors
from apimachinery.clock import Clock
from apimachinery.gvr import GVR
from client.rest import Client, ConnectionFailed
from kubelet.server.http import Peer, Request

TOKEN_REVIEWS = GVR("authentication.k8s.io", "v1", "tokenreviews")
ACCESS_REVIEWS = GVR("authorization.k8s.io", "v1", "subjectaccessreviews")
ADMINISTRATORS = "system:masters"
REMEMBER_SECONDS = 30.0  # upstream: 5 min for yes, 30 s for no
REMEMBER_MAX = 1000
_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCES = (("/stats", "stats"), ("/metrics", "metrics"), ("/logs", "log"))


class Access:
    def __init__(self, client: Client, clock: Clock, node_name: str) -> None:
        self._client = client
        self._clock = clock
        self._node_name = node_name
        self._remembered: dict[tuple[str, ...], tuple[float, Any]] = {}

    async def refusal(self, request: Request) -> tuple[int, str] | None:
        """None: the request may pass; else the status and what to say."""
        peer = request.peer
        if not peer.user:
            peer = await self._by_token(request)
        if not peer.user:
            return 401, "Unauthorized"
        if ADMINISTRATORS in peer.groups:
            return None
        verb, subresource = _VERBS.get(request.method, "get"), subresource_of(request.path)
        if await self._may(peer, verb, subresource):
            return None
        attributes = f"user={peer.user}, verb={verb}, resource=nodes, subresource={subresource}"
        return 403, f"Forbidden ({attributes})"

    async def _by_token(self, request: Request) -> Peer:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return Peer()
        known = self._recall(("token", token))
        if known is None:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
            status = (await self._ask(TOKEN_REVIEWS, body)).get("status") or {}
            user = status.get("user") or {}
            peer = (
                Peer(user.get("username") or "", tuple(user.get("groups") or ()))
                if status.get("authenticated")
                else Peer()
            )
            known = self._remember(("token", token), peer)
        return known if isinstance(known, Peer) else Peer()

    async def _may(self, peer: Peer, verb: str, subresource: str) -> bool:
        key = ("access", peer.user, *peer.groups, verb, subresource)
        known = self._recall(key)
        if known is None:
            attributes = {
                "verb": verb,
                "resource": "nodes",
                "subresource": subresource,
                "name": self._node_name,
                "version": "v1",
            }
            spec = {"user": peer.user, "groups": list(peer.groups), "resourceAttributes": attributes}
            body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
            status = (await self._ask(ACCESS_REVIEWS, body)).get("status") or {}
            known = self._remember(key, bool(status.get("allowed")))
        return bool(known)

    async def _ask(self, gvr: GVR, body: dict[str, Any]) -> dict[str, Any]:
        """An API server that cannot be asked allows nothing."""
        try:
            return await self._client.create(gvr, body)
        except (api_errors.APIError, ConnectionFailed):
            return {}

    def _recall(self, key: tuple[str, ...]) -> Any:
        until, value = self._remembered.get(key, (0.0, None))
        return value if self._clock.monotonic() < until else None

    def _remember(self, key: tuple[str, ...], value: Any) -> Any:
        if len(self._remembered) >= REMEMBER_MAX:
            self._remembered.clear()
        self._remembered[key] = (self._clock.monotonic() + REMEMBER_SECONDS, value)
        return value


def subresource_of(path: str) -> str:
    return next((name for prefix, name in _SUBRESOURCES if path == prefix or path.startswith(f"{prefix}/")), "proxy")
