"""L14: one look at a container: a command, an HTTP request, a TCP connection, a gRPC health call.

A check that cannot be made at all is a failed check with the reason as its output; nothing here raises for what the
container does.
Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

import grpc
import grpc.aio
import httpx

from apimachinery.objects import Object
from kubelet import errors
from kubelet.cri import Runtime

OUTPUT_MAX = 10 * 1024  # upstream reads no more of a body or of a command's output
HOOK_HTTP_SECONDS = 60.0


class Result(NamedTuple):
    passed: bool
    output: str


class Checker:
    """Makes checks; owns one HTTP client, opened at the first HTTP probe."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._http_client: httpx.AsyncClient | None = None

    async def close(self) -> None:
        if self._http_client is not None:
            await self._http_client.aclose()

    async def check(self, probe: Object, container: Object, container_id: str, pod_ip: str) -> Result:
        timeout = float(probe.get("timeoutSeconds") or 1)
        if probe.get("exec"):
            return await self._exec(probe["exec"].get("command") or [], container_id, int(timeout))
        if probe.get("httpGet"):
            return await self.http(probe["httpGet"], container, pod_ip, timeout_seconds=timeout)
        if probe.get("tcpSocket"):
            return await _tcp(probe["tcpSocket"], container, pod_ip, timeout)
        if probe.get("grpc"):
            return await _grpc(probe["grpc"], pod_ip, timeout)
        return Result(False, "missing probe handler")

    async def http(self, action: Object, container: Object, pod_ip: str, *, timeout_seconds: float) -> Result:
        """200 to 399 passes, as upstream has it."""
        try:
            url = httpx.URL(
                scheme=(action.get("scheme") or "HTTP").lower(),
                host=action.get("host") or pod_ip,
                port=port_number(action["port"], container),
                raw_path=_rooted(action.get("path") or "/").encode(),
            )
            headers = [(entry["name"], entry.get("value") or "") for entry in action.get("httpHeaders") or []]
            if not any(name.lower() == "user-agent" for name, _ in headers):
                headers.append(("User-Agent", "kube-probe/1.37"))
            response = await self._client().get(url, headers=headers, timeout=timeout_seconds, follow_redirects=True)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            return Result(False, f'Get "{action.get("path") or "/"}": {error or type(error).__name__}')
        if 200 <= response.status_code < 400:
            return Result(True, response.text[:OUTPUT_MAX])
        return Result(False, f"HTTP probe failed with statuscode: {response.status_code}")

    def _client(self) -> httpx.AsyncClient:
        if self._http_client is None:
            # Probes do not verify certificates, keep nothing alive (each is a fresh connection) and use no proxy
            limits = httpx.Limits(max_keepalive_connections=0)
            self._http_client = httpx.AsyncClient(verify=False, trust_env=False, limits=limits)
        return self._http_client

    async def _exec(self, command: list[str], container_id: str, timeout: int) -> Result:
        try:
            result = await self._runtime.exec_sync(container_id, command, timeout)
        except errors.RuntimeTimeout:
            return Result(False, f"command timed out: {command} timed out after {timeout}s")
        except errors.NodeError as error:
            return Result(False, error.message)
        output = (result.stdout + result.stderr)[:OUTPUT_MAX].decode(errors="replace")
        return Result(result.exit_code == 0, output)


def port_number(port: int | str, container: Object) -> int:
    """A number, or the name of one of the container's ports. Raises ValueError."""
    if isinstance(port, int):
        return port
    for entry in container.get("ports") or []:
        if entry.get("name") == port:
            return int(entry["containerPort"])
    if port.isdigit():
        return int(port)
    raise ValueError(f"couldn't find port: {port}")


def _rooted(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


async def _tcp(action: Object, container: Object, pod_ip: str, timeout: float) -> Result:
    try:
        port = port_number(action["port"], container)
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(action.get("host") or pod_ip, port)
    except (OSError, ValueError, TimeoutError) as error:
        return Result(False, str(error) or "dial tcp: i/o timeout")
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return Result(True, "")


async def _grpc(action: Object, pod_ip: str, timeout: float) -> Result:
    """grpc.health.v1.Health/Check, its two one-field messages written by hand: 1 is SERVING."""
    service = (action.get("service") or "").encode()
    request = b"\x0a" + bytes([len(service)]) + service if service else b""
    async with grpc.aio.insecure_channel(f"{pod_ip}:{action['port']}") as channel:
        call = channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            reply = await call(request, timeout=timeout)
        except grpc.aio.AioRpcError as error:
            return Result(False, f"error: {error.code().name}: {error.details()}")
    return Result(reply[:2] == b"\x08\x01", "service unhealthy" if reply[:2] != b"\x08\x01" else "")
