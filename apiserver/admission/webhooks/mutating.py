"""MutatingAdmissionWebhook: webhooks one after the other, each sees what those before it changed.

A webhook with `reinvocationPolicy: IfNeeded` is asked once more when a later one changed the object.
"""

from __future__ import annotations

from apimachinery import errors, patch
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.plugins import Parts
from apiserver.admission.webhooks.calling import denial
from apiserver.admission.webhooks.configuration import Webhook
from apiserver.admission.webhooks.reviewing import Reviewer
from apiserver.registry import decoding
from apiserver.registry.call import Call
from apiserver.scheme.scheme import Scheme


class MutatingAdmissionWebhook:
    name = "MutatingAdmissionWebhook"

    def __init__(self, reviewer: Reviewer, scheme: Scheme) -> None:
        self._reviewer = reviewer
        self._scheme = scheme

    def handles(self, operation: str) -> bool:
        return True

    async def mutate(self, review: Review) -> Object | None:
        obj = review.obj
        asked: list[Webhook] = []
        again: list[Webhook] = []
        for webhook in self._reviewer.concerned(review):
            changed = await self._ask(webhook, Review(review.call, review.operation, obj, review.old))
            if changed is not obj:
                again += [earlier for earlier in asked if earlier not in again]
                obj = changed
            asked.append(webhook)
        for webhook in again:
            if webhook.spec.get("reinvocationPolicy") == "IfNeeded":
                obj = await self._ask(webhook, Review(review.call, review.operation, obj, review.old))
        return obj

    async def _ask(self, webhook: Webhook, review: Review) -> Object | None:
        """The object after this webhook: the same one when it changed nothing."""
        verdict = await self._reviewer.ask(webhook, review)
        if verdict is None:
            return review.obj
        if not verdict.allowed:
            raise denial(webhook, verdict)
        if not verdict.patch or review.obj is None:
            return review.obj
        return self._patched(webhook, review.call, review.obj, verdict.patch)

    def _patched(self, webhook: Webhook, call: Call, obj: Object, operations: list[Object]) -> Object:
        sub = call.resource.subresource(call.subresource) if call.subresource else None
        kind = (sub.kind if sub is not None else None) or call.resource.gvk
        try:
            changed = patch.json_patch(obj, operations)
        except patch.PatchError as error:
            raise errors.InternalError(
                f'Internal error occurred: failed calling webhook "{webhook.name}": invalid response.patch: {error}'
            ) from error
        if not isinstance(changed, dict):
            raise errors.InternalError(f'Internal error occurred: webhook "{webhook.name}" patched the object away')
        return decoding.typed(self._scheme, call, changed, kind)


def make(parts: Parts) -> MutatingAdmissionWebhook:
    return MutatingAdmissionWebhook(parts.mutating, parts.scheme)
