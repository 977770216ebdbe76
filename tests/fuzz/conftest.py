"""One server for all fuzzers of a process; after each it must be unharmed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.target import Target


@pytest.fixture(scope="session")
def running() -> Iterator[Target]:
    with Target() as target:
        yield target


@pytest.fixture
def target(running: Target) -> Iterator[Target]:
    yield running
    running.assert_unharmed()
