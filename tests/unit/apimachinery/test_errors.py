"""Errors and the Status that carries them."""

from __future__ import annotations

import pytest

from apimachinery import errors


def _all(cls: type[errors.APIError] = errors.APIError) -> list[type[errors.APIError]]:
    return [cls, *(sub for child in cls.__subclasses__() for sub in _all(child))]


@pytest.mark.parametrize("cls", _all()[1:])
def test_a_status_comes_back_as_the_error_it_was(cls: type[errors.APIError]) -> None:
    sent = cls("why", details={"name": "a"}, retry_after_seconds=3).to_status()
    back = errors.from_status(sent, 0)
    assert type(back) is cls
    assert (back.message, back.status_code, back.status_reason) == ("why", cls.code, cls.reason)
    assert back.retry_after_seconds == 3
    assert back.to_status() == sent


def test_unknown_reasons_fall_back_to_the_code() -> None:
    assert type(errors.from_status({"reason": "New", "code": 409}, 0)) is errors.Conflict
    assert type(errors.from_status({}, 418)) is errors.APIError
    assert errors.from_status({}, 503).message == "HTTP 503"


def test_messages_name_the_resource_and_its_group() -> None:
    assert errors.not_found("apps", "deployments", "a").message == 'deployments.apps "a" not found'
    assert errors.not_found("", "pods", "a").message == 'pods "a" not found'
    assert errors.forbidden("", "pods", "", "no").message == "pods is forbidden: no"


def test_causes_are_joined_and_listed() -> None:
    causes = [errors.Cause("FieldValueRequired", "Required value", "spec.a"), errors.Cause("X", "bad", "spec.b")]
    error = errors.invalid("apps", "Deployment", "d", causes)
    assert error.message == 'Deployment.apps "d" is invalid: [spec.a: Required value, spec.b: bad]'
    assert [cause["field"] for cause in error.to_status()["details"]["causes"]] == ["spec.a", "spec.b"]


def test_an_expired_list_offers_to_go_on() -> None:
    error = errors.Expired("old")
    assert error.to_status()["metadata"] == {}
    error.continue_token = "t"
    assert error.to_status()["metadata"] == {"continue": "t"}
