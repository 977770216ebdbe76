"""Conversion by webhook: a ConversionReview out, the objects in the other version in.

Guarantees: objects come back in order, each with the metadata that it had but for labels and annotations; whatever the
webhook does wrong is an InternalError in upstream's words.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

from __future__ import annotations

import uuid
from typing import Any, Protocol

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.apiextensions.clientconfigs import REVIEW_VERSIONS

_GROUP = "apiextensions.k8s.io"
# As upstream
TIMEOUT_SECONDS = 30


class PostFailed(Exception):
    """The webhook could not be reached, or did not answer with JSON; the message says why."""


class Post(Protocol):
    async def __call__(self, config: Object, body: Object, timeout_seconds: int) -> Any:
        """Raises PostFailed."""
        ...


class Webhooks:
    """`post` sends a body to what a `clientConfig` names, and gives the decoded answer."""

    def __init__(self, post: Post) -> None:
        self._post = post

    async def convert(self, definition: Object, found: list[Object], api_version: str) -> list[Object]:
        """Raises InternalError."""
        foreign = [obj for obj in found if obj["apiVersion"] != api_version]
        if not foreign:
            return found
        try:
            converted = iter(await self._convert(definition, foreign, api_version))
        except _Failure as error:
            first = foreign[0]
            group, _, version = str(first["apiVersion"]).rpartition("/")
            kind = f"{group}/{version}, Kind={first['kind']}"
            raise errors.InternalError(f"conversion webhook for {kind} {error}") from error
        return [obj if obj["apiVersion"] == api_version else next(converted) for obj in found]

    async def _convert(self, definition: Object, found: list[Object], api_version: str) -> list[Object]:
        webhook = definition["spec"]["conversion"]["webhook"]
        accepted = webhook.get("conversionReviewVersions") or ()
        version = next((name for name in accepted if name in REVIEW_VERSIONS), "v1")
        uid = str(uuid.uuid4())
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"{_GROUP}/{version}",
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": found},
        }
        try:
            answer = await self._post(webhook["clientConfig"], review, TIMEOUT_SECONDS)
        except PostFailed as error:
            raise _Failure(f"failed: {error}") from error
        converted = _objects(answer, uid, version)
        if len(converted) != len(found):
            raise _Failure(f"returned {len(converted)} objects, expected {len(found)}")
        return [
            _checked(before, after, index, api_version)
            for index, (before, after) in enumerate(zip(found, converted, strict=True))
        ]


class _Failure(Exception):
    """What follows `conversion webhook for KIND` in the error."""


def _objects(answer: Any, uid: str, version: str) -> list[Any]:
    answer = answer if isinstance(answer, dict) else {}
    response = answer.get("response")
    if version == "v1":
        group, _, found = str(answer.get("apiVersion") or "").rpartition("/")
        wanted = f"{_GROUP}/v1, Kind=ConversionReview"
        got = f"{group}/{found}, Kind={answer.get('kind') or ''}"
        if got != wanted:
            raise _Failure(f"failed: expected webhook response of {wanted}, got {got}")
        if isinstance(response, dict) and response.get("uid") != uid:
            raise _Failure(f'failed: expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    if not isinstance(response, dict):
        raise _Failure("failed: no response provided")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        told = result.get("message")
        raise _Failure(f"failed: {told or _unsuccessful(result)}")
    return response.get("convertedObjects") or []


def _unsuccessful(result: Object) -> str:
    return f"response.result.status was '{result.get('status') or ''}', not 'Success'"


def _checked(before: Object, after: Any, index: int, api_version: str) -> Object:
    """The converted object with the metadata that conversion may not change."""
    invalid = f"returned invalid converted object at index {index}"
    if not isinstance(after, dict):
        raise _Failure(f"{invalid}: not an object")
    if after.get("apiVersion") != api_version:
        got = after.get("apiVersion") or ""
        raise _Failure(f"{invalid}: invalid groupVersion (expected {api_version}, received {got})")
    if after.get("kind") != before["kind"]:
        raise _Failure(f"{invalid}: invalid kind (expected {before['kind']}, received {after.get('kind') or ''})")
    old, new = before["metadata"], after.get("metadata")
    if not isinstance(new, dict):
        raise _Failure(f"returned invalid metadata in object at index {index}: missing metadata")
    for field in ("name", "namespace", "uid"):
        if (new.get(field) or "") != (old.get(field) or ""):
            what = "UID" if field == "uid" else field
            raise _Failure(f"{invalid}: must have the same {what}: {old.get(field, '')} != {new.get(field, '')}")
    kept = {name: value for name, value in old.items() if name not in ("labels", "annotations")}
    for field in ("labels", "annotations"):
        if new.get(field):
            kept[field] = new[field]
    return after | {"metadata": kept}
