"""What others need to check our tokens: OpenID Connect discovery and the keys; RBAC says who may read them.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#service-account-issuer-discovery
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from apiserver import responses
from apiserver.asgi import Send
from apiserver.handlers.discovery import not_found
from apiserver.request import Request
from apiserver.serviceaccounts import keys
from apiserver.serviceaccounts.keys import Key

CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/openid/v1/jwks"
_HEADERS = [(b"cache-control", b"public, max-age=3600")]


class Issuer:
    """Both documents, made once; an issuer that is no https URL has none (as upstream)."""

    def __init__(self, issuer: str, jwks_uri: str, listed: Sequence[Key]) -> None:
        self._documents: dict[str, tuple[bytes, str]] = {}
        if not issuer.startswith("https://") or not listed:
            return
        configuration: dict[str, Any] = {
            "issuer": issuer,
            "jwks_uri": jwks_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key.algorithm for key in listed}),
        }
        self._documents = {
            CONFIGURATION: (orjson.dumps(configuration), "application/json"),
            KEYS: (orjson.dumps(keys.key_set(listed)), "application/jwk-set+json"),
        }

    async def handle(self, request: Request, send: Send) -> None:
        found = self._documents.get(request.info.path)
        if found is None:
            raise not_found()
        await responses.send_bytes(request, send, 200, found[0], found[1], _HEADERS)
