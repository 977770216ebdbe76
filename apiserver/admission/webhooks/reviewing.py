"""What both plugins share: which webhooks a write concerns, the request they get, what a failed call means."""

from __future__ import annotations

import logging
import uuid
from typing import Protocol

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.conditions import ConditionsFailed, Decide, Inputs
from apiserver.admission.webhooks import matching
from apiserver.admission.webhooks.calling import CallFailed, Verdict
from apiserver.admission.webhooks.configuration import Webhook, Webhooks
from apiserver.registry.call import User
from apiserver.storage.store import Store

_log = logging.getLogger("apiserver.admission")

_NAMESPACES = "/registry/namespaces/"


class Calls(Protocol):
    async def call(self, webhook: Webhook, request: Object) -> Verdict: ...


class Reviewer:
    """Asks webhooks about writes."""

    def __init__(self, store: Store, webhooks: Webhooks, caller: Calls, decide: Decide) -> None:
        self._store = store
        self._webhooks = webhooks
        self._caller = caller
        self._decide = decide

    def concerned(self, review: Review) -> list[Webhook]:
        """The webhooks whose rules and selectors match, in order."""
        if not self._webhooks:
            return []
        namespace = self._namespace(review)
        return [webhook for webhook in self._webhooks if matching.wants(webhook, review, namespace)]

    async def ask(self, webhook: Webhook, review: Review) -> Verdict | None:
        """The verdict; None when its conditions leave the webhook out, or when the call failed and its policy is to
        ignore that. Raises BadRequest for a dry run that it would not survive."""
        request = admission_request(review)
        if webhook.conditions and not self._matches(webhook, review, request):
            return None
        if review.call.dry_run and webhook.has_side_effects:
            raise errors.BadRequest(f'admission webhook "{webhook.name}" does not support dry run')
        try:
            verdict = await self._caller.call(webhook, request)
        except CallFailed as error:
            self._failed(webhook, f"failed to call webhook: {error}")
            return None
        review.call.warnings += verdict.warnings
        review.call.audit_annotations.update({f"{webhook.name}/{k}": v for k, v in verdict.annotations.items()})
        return verdict

    def _matches(self, webhook: Webhook, review: Review, request: Object) -> bool:
        """Raises Forbidden when the conditions fail and the webhook's policy is to fail with them."""
        inputs = Inputs(review, request, self._namespace(review), self._decide)
        try:
            return webhook.conditions.match(inputs.bindings)
        except ConditionsFailed as error:
            if webhook.fails_open:
                _log.warning("A6 webhook %s is left out: %s", webhook.name, error)
                return False
            row = review.call.resource
            raise errors.forbidden(row.group, row.resource, review.name, str(error)) from error

    def _failed(self, webhook: Webhook, why: str) -> None:
        """Returns when the failure does not matter, else raises InternalError."""
        text = f'failed calling webhook "{webhook.name}": {why}'
        if webhook.fails_open:
            _log.warning("A6 %s; going on, as its failurePolicy says", text)
            return
        raise errors.InternalError(f"Internal error occurred: {text}")

    def _namespace(self, review: Review) -> Object | None:
        if not review.call.namespace:
            return None
        stored = self._store.cached(_NAMESPACES + review.call.namespace)
        return stored.object if stored is not None else None


def admission_request(review: Review) -> Object:
    """`admission.k8s.io/v1 AdmissionRequest`."""
    call, row = review.call, review.call.resource
    sub = row.subresource(call.subresource) if call.subresource else None
    kind = (sub.kind if sub is not None else None) or row.gvk
    named_kind = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    resource = {"group": row.group, "version": row.version, "resource": row.resource}
    request: Object = {
        "uid": str(uuid.uuid4()),
        "kind": named_kind,
        "resource": resource,
        "requestKind": named_kind,
        "requestResource": resource,
        "name": review.name,
        "operation": review.operation,
        "userInfo": _user_info(call.user),
        "object": review.obj,
        "oldObject": review.old,
        "dryRun": call.dry_run,
        "options": {"kind": _OPTIONS.get(review.operation, ""), "apiVersion": "meta.k8s.io/v1"}
        if review.operation in _OPTIONS
        else None,
    }
    if call.subresource:
        request |= {"subResource": call.subresource, "requestSubResource": call.subresource}
    namespace = call.namespace or (review.name if row.resource == "namespaces" and row.group == "" else "")
    if namespace:
        request["namespace"] = namespace
    return request


_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def _user_info(user: User) -> Object:
    info: Object = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info
