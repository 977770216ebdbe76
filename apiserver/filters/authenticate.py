"""Finds out who is asking (A4) and drops the credential, so that nothing further in can leak or forward it."""

from __future__ import annotations

import logging

from apimachinery import errors
from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring

_log = logging.getLogger("apiserver.authentication")


class Authenticate:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        self._authenticator = wiring.authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        user = await self._authenticator.authenticate(request)
        if user is None:
            raise errors.Unauthorized("Unauthorized")
        request.user = user
        if request.headers.pop(b"authorization", None) is not None:
            scope["headers"] = [item for item in scope["headers"] if item[0] != b"authorization"]
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("A4 %s is %r (%s) in %s", request.id, user.name, user.authenticator, ", ".join(user.groups))
        await self._app(scope, receive, send)
