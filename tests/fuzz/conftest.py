"""One server for all fuzzers of a process; after each it must be unharmed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.fuzz.target import Target

_ANSWERS = pytest.StashKey[Counter[int]]()


@pytest.fixture(scope="session")
def running(request: pytest.FixtureRequest) -> Iterator[Target]:
    with Target() as target:
        request.config.stash[_ANSWERS] = target.answers
        yield target


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """How much was asked, and what the answers were."""
    answers = config.stash.get(_ANSWERS, None)
    if answers:
        codes = ", ".join(f"{code or 'closed'}: {count:,}" for code, count in sorted(answers.items()))
        terminalreporter.write_line(f"fuzzers: {answers.total():,} requests ({codes})")


@pytest.fixture
def target(running: Target) -> Iterator[Target]:
    yield running
    running.assert_unharmed()
