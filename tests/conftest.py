"""What all tests share."""

from __future__ import annotations

import asyncio


def pytest_configure() -> None:
    # looptime asks for "the" event loop before synchronous tests too; asyncio would make one that nobody closes.
    # With None set explicitly it is told that there is none.
    asyncio.set_event_loop(None)
