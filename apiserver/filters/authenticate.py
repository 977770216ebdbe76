"""Finds out who is asking (A4) and drops the credential, so that nothing further in can leak or forward it."""

from __future__ import annotations

import logging

from apimachinery import errors
from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.filters.chain import Wiring
from apiserver.registry.call import User

_log = logging.getLogger("apiserver.authentication")


class Authenticate:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        self._authenticator = wiring.authenticator
        attempts = wiring.metrics.outcomes("authentication_attempts", "[ALPHA] Counter of authenticated attempts.")
        self._succeeded, self._failed = attempts.cell('result="success"'), attempts.cell('result="failure"')

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        request.user = await self._authenticated(request)
        if request.headers.pop(b"authorization", None) is not None:
            scope["headers"] = [item for item in scope["headers"] if item[0] != b"authorization"]
        if _log.isEnabledFor(logging.DEBUG):
            user = request.user
            _log.debug("A4 %s is %r (%s) in %s", request.id, user.name, user.authenticator, ", ".join(user.groups))
        await self._app(scope, receive, send)

    async def _authenticated(self, request: requests.Request) -> User:
        try:
            user = await self._authenticator.authenticate(request)
            if user is None:
                raise errors.Unauthorized("Unauthorized")
        except errors.Unauthorized:
            self._failed[0] += 1
            raise
        self._succeeded[0] += 1
        return user
