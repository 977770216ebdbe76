"""L14: postStart and preStop: a command in the container, an HTTP request to it, or a pause.

A hook has no say in how long it may take beyond what its caller grants; a failure is an exception with the reason.
Source: https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/
"""

from __future__ import annotations

import asyncio

from apimachinery.clock import Clock
from apimachinery.objects import Object
from kubelet import errors
from kubelet.cri import Runtime
from kubelet.probes import checks


class HookFailed(errors.NodeError):
    pass


class Hooks:
    def __init__(self, runtime: Runtime, checker: checks.Checker, clock: Clock) -> None:
        self._runtime = runtime
        self._checker = checker
        self._clock = clock

    async def run(
        self, handler: Object, container: Object, container_id: str, pod_ip: str, *, timeout_seconds: float | None
    ) -> None:
        """To its end. Raises HookFailed; TimeoutError when `timeout_seconds` pass."""
        async with asyncio.timeout(timeout_seconds):
            if handler.get("exec"):
                await self._exec(handler["exec"]["command"], container_id, timeout_seconds)
            elif handler.get("httpGet"):
                await self._http(handler["httpGet"], container, pod_ip)
            elif handler.get("sleep"):
                await self._clock.sleep(handler["sleep"]["seconds"])
            elif handler.get("tcpSocket"):
                raise HookFailed("tcpSocket hooks are not supported")  # as upstream: accepted by the API, never run

    async def _exec(self, command: list[str], container_id: str, timeout_seconds: float | None) -> None:
        try:
            result = await self._runtime.exec_sync(container_id, command, int(timeout_seconds or 0))
        except errors.RuntimeRefused as error:
            raise HookFailed(error.message) from error
        if result.exit_code != 0:
            output = (result.stdout + result.stderr).decode(errors="replace").strip()
            ended = f"error: command exited with {result.exit_code}, message: {output!r}"
            said = f"Exec lifecycle hook ({command}) failed - {ended}"
            raise HookFailed(said)

    async def _http(self, action: Object, container: Object, pod_ip: str) -> None:
        result = await self._checker.http(action, container, pod_ip, timeout_seconds=checks.HOOK_HTTP_SECONDS)
        if not result.passed:
            raise HookFailed(result.output)
