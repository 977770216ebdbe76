"""The review APIs (A4, A5): who am I, may I, may they, which rules have I, whose token is this. Answered, never stored.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

from __future__ import annotations

from typing import Any

from apimachinery import errors
from apimachinery.clock import Clock, rfc3339
from apimachinery.objects import Object
from apiserver import responses
from apiserver.asgi import Receive, Send
from apiserver.authentication import groups
from apiserver.authentication.tokens import Bearer
from apiserver.authorization.attributes import Attributes, Authorizer, Decision, Verdict
from apiserver.authorization.rbac import RBAC
from apiserver.handlers import bodies
from apiserver.handlers.resources import Special
from apiserver.registry.call import Call, User
from apiserver.registry.registry import Registry
from apiserver.request import Request

_AUTHENTICATION, _AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"
_EVERYTHING: tuple[Object, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)


class Reviews:
    """`audiences` are this server's own."""

    def __init__(
        self,
        registry: Registry,
        authorizer: Authorizer,
        rbac: RBAC | None,
        bearer: Bearer,
        audiences: tuple[str, ...],
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._audiences = audiences
        self._authorizer = authorizer
        self._rbac = rbac
        self._bearer = bearer
        self._clock = clock

    def handlers(self) -> dict[tuple[str, str, str], Special]:
        return {
            (_AUTHENTICATION, "selfsubjectreviews", ""): self.self_subject,
            (_AUTHENTICATION, "tokenreviews", ""): self.token,
            (_AUTHORIZATION, "selfsubjectaccessreviews", ""): self.self_access,
            (_AUTHORIZATION, "subjectaccessreviews", ""): self.access,
            (_AUTHORIZATION, "localsubjectaccessreviews", ""): self.access,
            (_AUTHORIZATION, "selfsubjectrulesreviews", ""): self.self_rules,
        }

    async def self_subject(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        review = await self._read(request, call, receive)
        review["metadata"]["creationTimestamp"] = rfc3339(self._clock.now())
        review["status"] = {"userInfo": user_info(call.user)}
        await responses.send_object(request, send, 201, review)

    async def token(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        review = await self._read(request, call, receive)
        spec = review.get("spec") or {}
        secret = spec.get("token")
        if not secret:
            raise errors.BadRequest("token is required for TokenReview in authentication")
        review["status"] = await self._token_status(secret, spec.get("audiences") or [])
        await responses.send_object(request, send, 201, review)

    async def self_access(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        review = await self._read(request, call, receive)
        await self._answer(request, send, review, call.user)

    async def access(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        review = await self._read(request, call, receive)
        spec = review.get("spec") or {}
        if not spec.get("user") and not spec.get("groups"):
            raise _invalid(call, "spec.user", 'Invalid value: "": at least one of user or group must be specified')
        if call.namespace and (spec.get("resourceAttributes") or {}).get("namespace") != call.namespace:
            raise errors.BadRequest(f"spec.resourceAttributes.namespace must match namespace: {call.namespace}")
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        user = User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)
        await self._answer(request, send, review, user)

    async def self_rules(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        review = await self._read(request, call, receive)
        namespace = (review.get("spec") or {}).get("namespace")
        if not namespace:
            raise errors.BadRequest("no namespace on request")
        rules, problems = self._rules(call.user, namespace)
        resources = [rule for rule in rules if rule.get("resources")]
        urls = [rule for rule in rules if rule.get("nonResourceURLs")]
        status: Object = {"resourceRules": resources, "nonResourceRules": urls, "incomplete": bool(problems)}
        if problems:
            status["evaluationError"] = "; ".join(problems)
        review["status"] = status
        await responses.send_object(request, send, 201, review)

    async def _answer(self, request: Request, send: Send, review: Object, user: User) -> None:
        decision = self._authorizer.decide(_attributes(review, user))
        review["status"] = _status(decision)
        await responses.send_object(request, send, 201, review)

    async def _read(self, request: Request, call: Call, receive: Receive) -> Object:
        body, is_yaml = await bodies.read_encoded(request, receive)
        return self._registry.decode(call, body, yaml=is_yaml)

    async def _token_status(self, secret: str, audiences: list[str]) -> Object:
        try:
            user = await self._bearer.user_of(secret, audiences)
        except errors.Unauthorized as error:
            return {"user": {}, "error": error.message}
        status: Object = {"authenticated": True, "user": user_info(groups.with_authenticated(user))}
        told = user.audiences or self._audiences
        shown = [audience for audience in told if not audiences or audience in audiences]
        if audiences and not shown:
            return {"user": {}}  # of a kind that is for this server only, which is none of those asked about
        return status | ({"audiences": shown} if shown else {})

    def _rules(self, user: User, namespace: str) -> tuple[list[Object], list[str]]:
        everything = Attributes(user, "*", "*", group="*", namespace=namespace)
        if (
            self._authorizer.decide(everything).allowed
            and self._authorizer.decide(Attributes(user, "*", path="*")).allowed
        ):
            return list(_EVERYTHING), []
        return self._rbac.rules_for(user, namespace) if self._rbac else ([], [])


def user_info(user: User) -> Object:
    """`authentication.k8s.io/v1 UserInfo`."""
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def _attributes(review: Object, user: User) -> Attributes:
    """The question that a review asks. Raises Invalid when it asks none or two."""
    spec: dict[str, Any] = review.get("spec") or {}
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if bool(asked is not None) == bool(path is not None):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = errors.Cause("FieldValueInvalid", f"Invalid value: null: {why}", "spec.resourceAttributes")
        raise errors.invalid(_AUTHORIZATION, review["kind"], "", [cause])
    if asked is None:
        return Attributes(user, (path or {}).get("verb", ""), path=(path or {}).get("path", ""))
    return Attributes(
        user,
        asked.get("verb", ""),
        asked.get("resource", ""),
        asked.get("subresource", ""),
        asked.get("group", ""),
        asked.get("version", ""),
        asked.get("namespace", ""),
        asked.get("name", ""),
    )


def _status(decision: Decision) -> Object:
    status: Object = {"allowed": decision.allowed}
    if decision.verdict is Verdict.DENY:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _invalid(call: Call, field: str, why: str) -> errors.Invalid:
    row = call.resource
    return errors.invalid(row.group, row.kind, "", [errors.Cause("FieldValueInvalid", why, field)])
