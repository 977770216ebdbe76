"""L7: service-account tokens of projected volumes: requested by TokenRequest, bound to the pod, rotated before they
expire.

Source: KEP-1205, KEP-542. A token is asked for anew once 80 % of its life, or a day, has passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from apimachinery import clock as clocks
from apimachinery import errors as api_errors
from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.gvr import SERVICE_ACCOUNTS
from apimachinery.objects import Object
from client.rest import Client
from kubelet import errors

DEFAULT_SECONDS = 3600
ROTATE_AT = 0.8
ROTATE_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    asked: datetime
    expires: datetime

    def is_fresh(self, now: datetime) -> bool:
        return now < self.asked + min(ROTATE_AT * (self.expires - self.asked), ROTATE_AFTER)


class Tokens:
    """Remembers tokens by pod, audience and life, in memory only."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._tokens: dict[tuple[str, str, int], _Token] = {}

    async def get(self, pod: Object, volume: str, source: Object) -> str:
        """The token for one `serviceAccountToken` source. Raises VolumeNotReady."""
        seconds = int(source.get("expirationSeconds") or DEFAULT_SECONDS)
        key = (objects.uid_of(pod), source.get("audience") or "", seconds)
        token = self._tokens.get(key)
        if token is None or not token.is_fresh(self._clock.now()):
            token = self._tokens[key] = await self._request(pod, volume, key[1], seconds)
        return token.text

    def release(self, uid: str) -> None:
        for key in [key for key in self._tokens if key[0] == uid]:
            del self._tokens[key]

    async def _request(self, pod: Object, volume: str, audience: str, seconds: int) -> _Token:
        account = pod["spec"].get("serviceAccountName") or "default"
        bound = {"apiVersion": "v1", "kind": "Pod", "name": objects.name_of(pod), "uid": objects.uid_of(pod)}
        asked = {"expirationSeconds": seconds, "boundObjectRef": bound} | (
            {"audiences": [audience]} if audience else {}
        )
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []} | asked}
        try:
            reply = await self._client.create(
                SERVICE_ACCOUNTS, body, objects.namespace_of(pod), name=account, subresource="token"
            )
        except api_errors.APIError as error:
            raise errors.VolumeNotReady(volume, f"failed to fetch token: {error.message}") from error
        status = reply["status"]
        return _Token(status["token"], self._clock.now(), clocks.parse_rfc3339(status["expirationTimestamp"]))
