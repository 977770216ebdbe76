"""What can go wrong with an API call, as one tree: the apiserver raises it, clients raise it again.

`Status` carries it between them.

    APIError
    ├── BadRequest 400        ├── Invalid 422
    ├── Unauthorized 401      ├── TooManyRequests 429
    ├── Forbidden 403         ├── InternalError 500
    ├── NotFound 404          ├── ServiceUnavailable 503
    ├── MethodNotAllowed 405  └── Timeout 504
    ├── NotAcceptable 406         └── ServerTimeout 504 (try again)
    ├── Conflict 409
    │   └── AlreadyExists 409
    ├── Gone 410
    │   └── Expired 410 (the resourceVersion is too old)
    ├── RequestEntityTooLarge 413
    └── UnsupportedMediaType 415

Code, reason and class belong together in this one place. Wording follows upstream's `apimachinery/pkg/api/errors`.
Source: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

Status = dict[str, Any]


class Cause(NamedTuple):
    """One entry of `Status.details.causes`: what is wrong with which field."""

    reason: str  # FieldValueRequired, FieldValueInvalid, FieldValueNotSupported, FieldValueForbidden, ...
    message: str
    field: str


class APIError(Exception):
    """A `Status` with `status: Failure`. `code` is HTTP's, `reason` the machine's word, `message` the person's."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "Unknown"

    def __init__(
        self,
        message: str,
        *,
        details: Status | None = None,
        causes: Iterable[Cause] = (),
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: Status = dict(details or {})
        self.retry_after_seconds = retry_after_seconds
        if retry_after_seconds is not None:
            self.details["retryAfterSeconds"] = retry_after_seconds
        listed = [{name: text for name, text in c._asdict().items() if text} for c in causes]
        if listed:
            self.details["causes"] = listed
        self.status_code = self.code
        self.status_reason = self.reason

    def to_status(self) -> Status:
        """The `Status` object to send."""
        status: Status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.status_reason,
            "code": self.status_code,
        }
        if self.details:
            status["details"] = self.details
        return status


class BadRequest(APIError):
    code, reason = 400, "BadRequest"


class Unauthorized(APIError):
    code, reason = 401, "Unauthorized"


class Forbidden(APIError):
    code, reason = 403, "Forbidden"


class NotFound(APIError):
    code, reason = 404, "NotFound"


class MethodNotAllowed(APIError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(APIError):
    code, reason = 406, "NotAcceptable"


class Conflict(APIError):
    code, reason = 409, "Conflict"


class AlreadyExists(Conflict):
    reason = "AlreadyExists"


class Gone(APIError):
    code, reason = 410, "Gone"


class Expired(Gone):
    """`continue_token`, if set, goes on with a list whose consistent rest is gone."""

    reason = "Expired"
    continue_token = ""

    def to_status(self) -> Status:
        status = super().to_status()
        if self.continue_token:
            status["metadata"] = {"continue": self.continue_token}
        return status


class RequestEntityTooLarge(APIError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(APIError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(APIError):
    code, reason = 422, "Invalid"


class TooManyRequests(APIError):
    code, reason = 429, "TooManyRequests"


class InternalError(APIError):
    code, reason = 500, "InternalError"


class ServiceUnavailable(APIError):
    code, reason = 503, "ServiceUnavailable"


class Timeout(APIError):
    code, reason = 504, "Timeout"


class ServerTimeout(Timeout):
    reason = "ServerTimeout"


def qualified(group: str, resource: str) -> str:
    """`deployments.apps`, `pods`: how messages name a resource."""
    return f"{resource}.{group}" if group else resource


def not_found(group: str, resource: str, name: str) -> NotFound:
    return NotFound(f'{qualified(group, resource)} "{name}" not found', details=_details(group, resource, name))


def already_exists(group: str, resource: str, name: str) -> AlreadyExists:
    return AlreadyExists(
        f'{qualified(group, resource)} "{name}" already exists', details=_details(group, resource, name)
    )


def conflict(group: str, resource: str, name: str, why: str | None = None) -> Conflict:
    """A write that lost: by default, one whose resourceVersion was no longer the newest."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    return Conflict(
        f'Operation cannot be fulfilled on {qualified(group, resource)} "{name}": {why}',
        details=_details(group, resource, name),
    )


def forbidden(group: str, resource: str, name: str, why: str) -> Forbidden:
    """With a name: `pods "a" is forbidden: why`; without: `pods is forbidden: why`."""
    subject = f'{qualified(group, resource)} "{name}"' if name else qualified(group, resource)
    return Forbidden(f"{subject} is forbidden: {why}", details=_details(group, resource, name))


def invalid(group: str, kind: str, name: str, causes: list[Cause]) -> Invalid:
    """A well-formed object with wrong values. The message joins the causes as upstream's aggregate does."""
    lines = list(dict.fromkeys(f"{c.field}: {c.message}" for c in causes))
    text = lines[0] if len(lines) == 1 else "[" + ", ".join(lines) + "]"
    return Invalid(
        f'{qualified(group, kind)} "{name}" is invalid: {text}',
        details={"name": name, "group": group, "kind": kind} if group else {"name": name, "kind": kind},
        causes=causes,
    )


def too_old(requested: int, oldest: int) -> Expired:
    """A watch or list from a revision that is no longer kept."""
    return Expired(f"too old resource version: {requested} ({oldest})")


def from_status(status: Status, fallback_code: int) -> APIError:
    """The exception that `status` stands for; unknown reasons fall back to the code's class, then to APIError."""
    code = int(status.get("code") or fallback_code)
    reason = str(status.get("reason") or "")
    cls = _BY_REASON.get(reason) or _BY_CODE.get(code) or APIError
    details = dict(status.get("details") or {})
    error = cls(str(status.get("message") or reason or f"HTTP {code}"), details=details)
    retry_after = details.get("retryAfterSeconds")
    error.retry_after_seconds = int(retry_after) if retry_after else None
    error.status_code = code
    error.status_reason = reason or cls.reason
    return error


def _details(group: str, resource: str, name: str) -> Status:
    # Upstream puts the resource into `kind` here; clients rely on the field's name, not on its sense.
    details: Status = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = resource
    return details


def _subclasses(cls: type[APIError]) -> Iterable[type[APIError]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


_BY_REASON: dict[str, type[APIError]] = {cls.reason: cls for cls in _subclasses(APIError)}
_BY_CODE: dict[int, type[APIError]] = {cls.code: cls for cls in reversed(list(_subclasses(APIError)))}
_BY_CODE |= {409: Conflict, 410: Gone, 504: Timeout}
