from __future__ import annotations

import pytest

from apimachinery import errors
from controllers import slowstart


@pytest.mark.parametrize(
    ("count", "fails_at", "tried"),
    [
        (0, None, 0),
        (7, None, 7),
        (10, 0, 1),  # the very first fails: nothing else is tried
        (10, 1, 3),  # in the second batch of two
        (10, 5, 7),  # in the third, of four
    ],
)
async def test_batches_double_until_one_fails(count: int, fails_at: int | None, tried: int) -> None:
    seen: list[int] = []

    async def write(index: int) -> None:
        seen.append(index)
        if index == fails_at:
            raise errors.Forbidden("exceeded quota")

    failure = await slowstart.run(count, write)
    assert seen == list(range(tried))
    assert isinstance(failure, errors.Forbidden) == (fails_at is not None)
