"""`/healthz`, `/livez`, `/readyz`: named checks, `?verbose`, `?exclude=`, and each check under its own path.

The output is upstream's: `ok`, or a line a check. Why a check fails is for the log, not for whoever may ask.
Source: https://kubernetes.io/docs/reference/using-api/health-checks/
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from apimachinery import errors
from apiserver import responses
from apiserver.asgi import Send
from apiserver.request import Request

_log = logging.getLogger("apiserver.health")

Check = Callable[[], Awaitable[str]]
"""Gives "" when all is well, else what is not."""

_HEADERS = [(b"x-content-type-options", b"nosniff")]


async def ping() -> str:
    return ""


class Health:
    """The three endpoints, each with its checks, in order."""

    def __init__(self, checks: Mapping[str, Mapping[str, Check]]) -> None:
        self._checks = checks

    def paths(self) -> list[str]:
        """The endpoints, and each check's own place."""
        return [
            path
            for endpoint, checks in self._checks.items()
            for path in (f"/{endpoint}", *(f"/{endpoint}/{name}" for name in checks))
        ]

    async def handle(self, request: Request, send: Send) -> None:
        """Answers `/readyz` or `/readyz/NAME`."""
        _, endpoint, *rest = request.info.path.split("/")
        checks, name = self._checks[endpoint], "/".join(rest).strip("/")
        if name:
            text, failed = await self._one(checks, name)
        else:
            excluded = set(request.query.get("exclude", ()))
            text, failed = await self._all(endpoint, checks, excluded, verbose="verbose" in request.query)
        await responses.send_text(request, send, 500 if failed else 200, text, list(_HEADERS))

    async def _one(self, checks: Mapping[str, Check], name: str) -> tuple[str, bool]:
        check = checks.get(name)
        if check is None:
            raise errors.NotFound("the server could not find the requested resource")
        problem = await check()
        return (f"internal server error: {problem}\n", True) if problem else ("ok", False)

    async def _all(
        self, endpoint: str, checks: Mapping[str, Check], excluded: set[str], *, verbose: bool
    ) -> tuple[str, bool]:
        problems = {name: await check() for name, check in checks.items() if name not in excluded}
        failed = {name: problem for name, problem in problems.items() if problem}
        for name, problem in failed.items():
            _log.info("%s: %s failed: %s", endpoint, name, problem)
        if not failed and not verbose:
            return "ok", False
        return report(endpoint, checks, excluded, failed), bool(failed)


def report(endpoint: str, names: Mapping[str, object], excluded: set[str], failed: Mapping[str, str]) -> str:
    """A line a check, then a warning of exclusions that mean nothing, then the result."""
    lines = [_line(name, excluded, failed) for name in names]
    unknown = sorted(excluded - set(names))
    if unknown:
        listed = ", ".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}")
    return "\n".join([*lines, f"{endpoint} check {'failed' if failed else 'passed'}"]) + "\n"


def _line(name: str, excluded: set[str], failed: Mapping[str, str]) -> str:
    if name in excluded:
        return f"[+]{name} excluded: ok"
    return f"[-]{name} failed: reason withheld" if name in failed else f"[+]{name} ok"
