"""A client: its connection, made anew when it broke, and what an answer means for what was asked."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.history import entries as e
from tests.history.connection import Answer, Broken, Connection

# More than HANG_SECONDS of the rules, so that a hang shows as one
PATIENCE_SECONDS = 40.0
# Then another connection, and with luck another worker
REQUESTS_A_CONNECTION = 40
# What says that a write was not done, beyond all of 4xx: storage could not be reached, and knows that nothing was sent
_NOT_DONE = ("ServiceUnavailable",)
NO_ANSWER = 0


@dataclass(frozen=True, slots=True)
class Result:
    """An answer, or none (code 0), and when."""

    start: float
    end: float
    code: int
    body: dict[str, Any]
    outcome: str
    connection: int

    @property
    def reason(self) -> str:
        return str(self.body.get("reason", ""))


class Session:
    """One client at work: one request at a time."""

    def __init__(self, name: str, port: int, context: ssl.SSLContext, now: Callable[[], float]) -> None:
        self.name = name
        self._port = port
        self._context = context
        self._now = now
        self._connection: Connection | None = None
        self._requests_left = 0

    async def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Result:
        start = self._now()
        try:
            connection = await self.connected()
            number = connection.number
            answer = await connection.request(
                method, path, body, content_type=content_type, timeout_seconds=PATIENCE_SECONDS
            )
        except Broken as broken:
            number = self._connection.number if self._connection else 0
            self.close()
            outcome = e.UNKNOWN if broken.sent else e.REFUSED
            return Result(start, self._now(), NO_ANSWER, {"reason": str(broken)}, outcome, number)
        return Result(start, self._now(), answer.code, answer.body, outcome_of(answer), number)

    async def connected(self) -> Connection:
        """The connection at hand, or a new one. Raises Broken."""
        if self._requests_left <= 0:
            self.close()
        if self._connection is None:
            self._connection = await Connection.open(self._port, self._context)
            self._requests_left = REQUESTS_A_CONNECTION
        self._requests_left -= 1
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def outcome_of(answer: Answer) -> str:
    if answer.code < 300:
        return e.OK
    if answer.code < 500 or answer.body.get("reason") in _NOT_DONE:
        return e.REFUSED
    return e.UNKNOWN
