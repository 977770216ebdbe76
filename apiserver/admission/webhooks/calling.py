"""One call of a webhook: an AdmissionReview out, a verdict in; every way it can fail has its name.

Guarantees: a call takes no longer than its timeout; a response that is no valid review is a failed call, not a verdict.
"""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.admission.webhooks.configuration import Webhook
from apiserver.storage.store import Store

if TYPE_CHECKING:
    import httpx

_SERVICES = "/registry/services/specs/"
# A webhook's answer is a patch at most; more is refused, as upstream does
_MAX_RESPONSE_BYTES = 5 * 1024 * 1024
# Distinct CA bundles whose connections are kept
_CLIENTS_MAX = 64


class CallFailed(Exception):
    """The webhook gave no verdict: unreachable, too slow, or not making sense."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook said."""

    allowed: bool
    status: Object = field(default_factory=dict)
    patch: list[Object] | None = None
    warnings: tuple[str, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)


class Caller:
    """Calls webhooks; keeps a client for each CA bundle."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def call(self, webhook: Webhook, request: Object) -> Verdict:
        """Raises CallFailed."""
        review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
        config = webhook.spec.get("clientConfig") or {}
        return parse(await self.post(config, review, webhook.timeout_seconds), request["uid"])

    async def post(self, config: Object, review: Object, timeout: int) -> bytes:
        """The answer of the server that a `clientConfig` names. Raises CallFailed."""
        import httpx  # a quarter of a second and 10 MB that only clusters with webhooks pay

        url, host = self._address(config)
        try:
            response = await self._client(config).post(
                url,
                params={"timeout": f"{timeout}s"},
                content=orjson.dumps(review),
                headers={"content-type": "application/json", "accept": "application/json", **_host_header(host)},
                timeout=timeout,
                extensions={"sni_hostname": host} if host else {},
            )
        except httpx.TimeoutException as error:
            raise CallFailed(f'Post "{url}?timeout={timeout}s": context deadline exceeded') from error
        except httpx.HTTPError as error:
            raise CallFailed(f'Post "{url}?timeout={timeout}s": {_reason(error)}') from error
        if response.status_code != 200:
            raise CallFailed(f"the server rejected our request for an unknown reason (status {response.status_code})")
        return response.content[:_MAX_RESPONSE_BYTES]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    def _client(self, config: Object) -> httpx.AsyncClient:
        import httpx

        bundle = config.get("caBundle") or ""
        client = self._clients.get(bundle)
        if client is None:
            if len(self._clients) >= _CLIENTS_MAX:
                self._clients.pop(next(iter(self._clients)))
            client = self._clients[bundle] = httpx.AsyncClient(verify=_context(bundle), trust_env=False)
        return client

    def _address(self, config: Object) -> tuple[str, str]:
        """The URL to call and, for a Service, the name that its certificate must have."""
        url = config.get("url")
        if url:
            return str(url), ""
        service = config.get("service") or {}
        namespace, name = service.get("namespace", ""), service.get("name", "")
        stored = self._store.cached(f"{_SERVICES}{namespace}/{name}")
        if stored is None:
            raise CallFailed(f'service "{name}" not found')
        host = f"{name}.{namespace}.svc"
        address = stored.object.get("spec", {}).get("clusterIP") or ""
        if address in ("", "None"):
            address = host
        path = (service.get("path") or "/").lstrip("/")
        return f"https://{_bracketed(address)}:{service.get('port') or 443}/{path}", host


def parse(body: bytes, uid: str) -> Verdict:
    """The verdict in a response. Raises CallFailed."""
    try:
        review: Any = orjson.loads(body)
        response = review["response"]
        if review.get("kind") != "AdmissionReview" or review.get("apiVersion") != "admission.k8s.io/v1":
            raise CallFailed(
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
                f"got {review.get('apiVersion')}, Kind={review.get('kind')}"
            )
        if response.get("uid") != uid:
            raise CallFailed(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
        return Verdict(
            allowed=response.get("allowed") is True,
            status=response.get("status") or {},
            patch=_patch(response),
            warnings=tuple(str(warning) for warning in response.get("warnings") or ()),
            annotations={str(k): str(v) for k, v in (response.get("auditAnnotations") or {}).items()},
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise CallFailed(f"invalid response: {error}") from error


def denial(webhook: Webhook, verdict: Verdict) -> errors.APIError:
    """A refusal as the client sees it, in upstream's words."""
    status = verdict.status
    denied = f'admission webhook "{webhook.name}" denied the request'
    reason = str(status.get("reason") or "")
    message = status.get("message") or reason
    text = f"{denied}: {message}" if message else f"{denied} without explanation"
    code = max(int(status.get("code") or 0), 400)
    error = errors.from_status({**status, "message": text, "code": code}, code)
    error.status_reason = reason
    return error


def _patch(response: Object) -> list[Object] | None:
    encoded = response.get("patch")
    if not encoded:
        return None
    if response.get("patchType") != "JSONPatch":
        raise CallFailed(f'invalid response.patchType "{response.get("patchType", "")}": expected "JSONPatch"')
    try:
        patch = orjson.loads(base64.b64decode(encoded, validate=True))
    except ValueError as error:
        raise CallFailed(f"invalid response.patch: {error}") from error
    if not isinstance(patch, list):
        raise CallFailed("invalid response.patch: not a list of operations")
    return patch


def _context(bundle: str) -> ssl.SSLContext:
    if not bundle:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
    except (ValueError, ssl.SSLError) as error:
        raise CallFailed(f"unable to load root certificates: {error}") from error


def _host_header(host: str) -> dict[str, str]:
    return {"host": host} if host else {}


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _reason(error: Exception) -> str:
    cause = error.__cause__ or error.__context__
    return str(error) or str(cause) or type(error).__name__
