from __future__ import annotations

import pytest

from controllers import intorpercent


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [(3, 10, 3, 3), ("25%", 10, 3, 2), ("25%", 4, 1, 1), ("0%", 10, 0, 0), ("100%", 7, 7, 7), (None, 10, 0, 0)],
)
def test_percentages_round_as_asked(value: int | str | None, total: int, up: int, down: int) -> None:
    assert intorpercent.resolve(value, total, round_up=True) == up
    assert intorpercent.resolve(value, total, round_up=False) == down


def test_other_text_is_refused() -> None:
    with pytest.raises(ValueError, match="neither an integer nor a percentage"):
        intorpercent.resolve("many", 10, round_up=True)
