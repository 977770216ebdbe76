"""ValidatingAdmissionWebhook: all webhooks at once, after every change is made; one refusal is enough."""

from __future__ import annotations

import asyncio

from apiserver.admission.chain import Review
from apiserver.admission.plugins import Parts
from apiserver.admission.webhooks.calling import denial
from apiserver.admission.webhooks.configuration import Webhook
from apiserver.admission.webhooks.reviewing import Reviewer


class ValidatingAdmissionWebhook:
    name = "ValidatingAdmissionWebhook"

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer = reviewer

    def handles(self, operation: str) -> bool:
        return True

    async def validate(self, review: Review) -> None:
        concerned = self._reviewer.concerned(review)
        if not concerned:
            return
        outcomes = await asyncio.gather(*(self._ask(webhook, review) for webhook in concerned), return_exceptions=True)
        for outcome in outcomes:  # the first in order, so that the answer does not depend on who was faster
            if isinstance(outcome, BaseException):
                raise outcome

    async def _ask(self, webhook: Webhook, review: Review) -> None:
        verdict = await self._reviewer.ask(webhook, review)
        if verdict is not None and not verdict.allowed:
            raise denial(webhook, verdict)


def make(parts: Parts) -> ValidatingAdmissionWebhook:
    return ValidatingAdmissionWebhook(parts.validating)
