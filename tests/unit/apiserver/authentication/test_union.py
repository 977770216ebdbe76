"""Authenticators one after the other."""

from __future__ import annotations

import pytest

from apimachinery import errors
from apiserver.authentication import union
from apiserver.registry.call import User
from apiserver.request import Request, RequestInfo

REQUEST = Request({}, "GET", {}, {}, RequestInfo("/", "get"), None)


class Says:
    """An authenticator with one answer."""

    def __init__(self, answer: User | errors.Unauthorized | None) -> None:
        self._answer = answer

    async def authenticate(self, request: Request) -> User | None:
        if isinstance(self._answer, errors.Unauthorized):
            raise self._answer
        return self._answer


REFUSES = Says(errors.Unauthorized("no"))


async def test_the_first_that_knows_somebody_decides() -> None:
    both = union.Union([Says(None), Says(User("a")), Says(User("b"))], anonymous=True)
    user = await both.authenticate(REQUEST)
    assert user == User("a", groups=("system:authenticated",))


async def test_a_refusal_does_not_stop_the_others() -> None:
    user = await union.Union([REFUSES, Says(User("b"))], anonymous=True).authenticate(REQUEST)
    assert user is not None
    assert user.name == "b"


async def test_a_refused_credential_is_never_anonymous() -> None:
    with pytest.raises(errors.Unauthorized):
        await union.Union([REFUSES, Says(None)], anonymous=True).authenticate(REQUEST)


async def test_without_any_credential_one_is_anonymous_if_that_is_allowed() -> None:
    user = await union.Union([Says(None)], anonymous=True).authenticate(REQUEST)
    assert user is not None
    assert (user.name, user.groups) == ("system:anonymous", ("system:unauthenticated",))
    with pytest.raises(errors.Unauthorized):
        await union.Union([Says(None)], anonymous=False).authenticate(REQUEST)
