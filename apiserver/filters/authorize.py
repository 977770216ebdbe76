"""Asks the authorizers whether the user may (A5); where none allows, 403 with upstream's sentence."""

from __future__ import annotations

import logging

from apiserver import request as requests
from apiserver.asgi import App, Receive, Scope, Send
from apiserver.authorization import attributes as questions
from apiserver.authorization.attributes import Verdict
from apiserver.filters.chain import Wiring

_log = logging.getLogger("apiserver.authorization")


class Authorize:
    def __init__(self, app: App, wiring: Wiring) -> None:
        self._app = app
        self._authorizer = wiring.authorizer
        attempts = wiring.metrics.outcomes("authorization_attempts_total", "[ALPHA] Counter of authorization attempts.")
        self._counts = {
            Verdict.ALLOW: attempts.cell('result="allowed"'),
            Verdict.DENY: attempts.cell('result="denied"'),
            Verdict.NO_OPINION: attempts.cell('result="no-opinion"'),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        question = questions.of_request(request)
        decision = self._authorizer.decide(question)
        self._counts[decision.verdict][0] += 1
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("A5 %s %s: %s", request.id, decision.verdict.value, decision.reason or "no reason given")
        if not decision.allowed:
            raise questions.forbidden(question, decision.reason)
        await self._app(scope, receive, send)
