"""`/healthz`, `/livez`, `/readyz`: named checks, `?verbose`, `?exclude=`, and each check under its own path.

The output is upstream's: `ok`, or a line a check. Source: https://kubernetes.io/docs/reference/using-api/health-checks/
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from apimachinery import errors
from apiserver import responses
from apiserver.asgi import Send
from apiserver.request import Request

Check = Callable[[], Awaitable[str]]
"""Gives "" when all is well, else what is not (for the log and for `?verbose`)."""


async def ping() -> str:
    return ""


class Health:
    """The three endpoints, each with its checks, in order."""

    def __init__(self, checks: Mapping[str, Mapping[str, Check]]) -> None:
        self._checks = checks

    async def handle(self, request: Request, send: Send) -> None:
        """Answers `/readyz` or `/readyz/NAME`."""
        _, endpoint, *rest = request.info.path.split("/")
        checks = dict(self._checks[endpoint])
        single = "/".join(rest).strip("/")
        if single:
            if single not in checks:
                raise errors.NotFound("the server could not find the requested resource")
            checks = {single: checks[single]}
        excluded = set(request.query.get("exclude", ()))
        results = {name: "" if name in excluded else await check() for name, check in checks.items()}
        failed = [name for name, problem in results.items() if problem]
        verbose = bool(failed) or "verbose" in request.query
        text = _report(endpoint, results, excluded, failed) if verbose and not single else "ok"
        if single and failed:
            text = f"internal server error: {results[single]}\n"
        await responses.send_text(request, send, 500 if failed else 200, text)


def _report(endpoint: str, results: Mapping[str, str], excluded: set[str], failed: list[str]) -> str:
    lines = []
    for name, problem in results.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        else:
            lines.append(f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok")
    return "\n".join(lines) + f"\n{endpoint} check {'failed' if failed else 'passed'}\n"
