"""Which cron schedules hold, and what is said about the others."""

from __future__ import annotations

import pytest

from apiserver.registry.validation import cron


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "0 0 * * SUN",
        "*/5 1-3,5 ? jan,FEB 0-6",
        "@hourly",
        "@every 1h30m",
        "59 23 31 12 6",
        "1-5/2 * * * *",
    ],
)
def test_schedules_that_hold(schedule: str) -> None:
    assert cron.problem_of(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("a * * * *", "failed to parse int from a"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("*/x * * * *", "failed to parse int from x"),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ],
)
def test_schedules_that_do_not(schedule: str, problem: str) -> None:
    assert cron.problem_of(schedule) == problem
