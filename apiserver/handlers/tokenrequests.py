"""`serviceaccounts/NAME/token`: a token for an audience, a time, and the life of one object (A4).

Source: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from apimachinery import errors
from apimachinery.clock import Clock, rfc3339
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver import responses
from apiserver.asgi import Receive, Send
from apiserver.handlers import bodies
from apiserver.registry.call import Call
from apiserver.registry.registry import Registry
from apiserver.registry.validation import causes
from apiserver.request import Request
from apiserver.serviceaccounts import claims
from apiserver.serviceaccounts.claims import Bound
from apiserver.serviceaccounts.tokens import Signer

KIND = GVK("authentication.k8s.io", "v1", "TokenRequest")
DEFAULT_SECONDS = 3600
MIN_SECONDS = 600
MAX_SECONDS = 1 << 32
_BINDABLE = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}


class TokenRequests:
    """`audiences` are those of tokens that ask for none; `max_seconds` bounds what may be asked, 0 for no bound."""

    def __init__(
        self,
        registry: Registry,
        signer: Signer,
        issuer: str,
        audiences: Sequence[str],
        clock: Clock,
        *,
        max_seconds: int = 0,
        extend: bool = True,
    ) -> None:
        self._registry = registry
        self._signer = signer
        self._issuer = issuer
        self._audiences = list(audiences)
        self._clock = clock
        self._max_seconds = max_seconds
        self._extend = extend

    async def create(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        body, is_yaml = await bodies.read_encoded(request, receive)
        asked = self._registry.decode(call, body, yaml=is_yaml, expected=KIND)
        spec: Object = asked.get("spec") or {}
        seconds = DEFAULT_SECONDS if spec.get("expirationSeconds") is None else spec["expirationSeconds"]
        _check(call, seconds)
        if self._max_seconds and seconds > self._max_seconds:
            seconds = self._max_seconds
        account = (await self._registry.get(_read_call(call, call.resource, call.name))).object
        bound = await self._bound(call, spec.get("boundObjectRef"))
        answer = self._answer(asked, account, spec.get("audiences") or self._audiences, seconds, bound)
        await responses.send_object(request, send, 201, answer)

    def _answer(self, asked: Object, account: Object, audiences: list[str], seconds: int, bound: list[Bound]) -> Object:
        now = self._clock.now()
        stated = claims.made(
            account,
            audiences,
            seconds,
            bound,
            issuer=self._issuer,
            token_id=str(uuid.uuid4()),
            now=now,
            extend=self._extend,
        )
        metadata = {"name": account["metadata"]["name"], "namespace": account["metadata"]["namespace"]}
        spec = (asked.get("spec") or {}) | {"audiences": audiences, "expirationSeconds": seconds}
        return {
            "kind": KIND.kind,
            "apiVersion": KIND.api_version,
            "metadata": metadata | {"creationTimestamp": rfc3339(now)},
            "spec": spec,
            "status": {
                "token": self._signer.sign(stated),
                "expirationTimestamp": rfc3339(now + timedelta(seconds=seconds)),
            },
        }

    async def _bound(self, call: Call, reference: dict[str, Any] | None) -> list[Bound]:
        """The object that the token dies with, checked. Raises BadRequest, NotFound, Conflict."""
        if not reference:
            return []
        version, kind = reference.get("apiVersion") or "v1", reference.get("kind") or ""
        resource = _BINDABLE.get((version, kind))
        if resource is None:
            group, _, short = version.rpartition("/")
            raise errors.BadRequest(f"cannot bind token to object of type {group}/{short}, Kind={kind}")
        row = self._registry.scheme.find("", "v1", resource)
        assert row is not None, "a built-in row"
        name = reference.get("name") or ""
        found = (await self._registry.get(_read_call(call, row, name))).object
        uid = found["metadata"]["uid"]
        if reference.get("uid") and reference["uid"] != uid:
            why = (
                f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise errors.conflict("", kind, name, why)
        bound = [Bound(kind.lower(), name, uid)]
        if kind == "Pod":
            bound += await self._node_of(call, found)
        return bound

    async def _node_of(self, call: Call, pod: Object) -> list[Bound]:
        """The node of a pod, which its token tells. Raises BadRequest when the pod runs as somebody else."""
        spec = pod.get("spec") or {}
        if (spec.get("serviceAccountName") or "") != call.name:
            raise errors.BadRequest(
                f'cannot bind token for serviceaccount "{call.name}" to pod running with different serviceaccount name.'
            )
        name = spec.get("nodeName")
        if not name:
            return []
        row = self._registry.scheme.find("", "v1", "nodes")
        assert row is not None, "a built-in row"
        try:
            node = (await self._registry.get(_read_call(call, row, name))).object
        except errors.NotFound:
            return [Bound("node", name, "")]
        return [Bound("node", name, node["metadata"]["uid"])]


def _read_call(call: Call, row: Any, name: str) -> Call:
    return Call(call.user, row, "get", call.namespace if row.namespaced else "", name)


def _check(call: Call, seconds: int) -> None:
    found = []
    if seconds < MIN_SECONDS:
        found = [causes.invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")]
    elif seconds > MAX_SECONDS:
        found = [
            causes.invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
        ]
    if found:
        raise errors.invalid(KIND.group, KIND.kind, call.name, found)
