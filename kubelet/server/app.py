"""L15: what the node's port answers, as one table of routes.

    /healthz                                   the kubelet lives and its runtime answers
    /pods, /runningpods/                       the pods of this node
    /metrics                                   Prometheus
    /stats/summary                             CPU and memory of pods, for `kubectl top` and autoscalers
    /containerLogs/NAMESPACE/POD/CONTAINER     logs
    /exec/… /attach/… /portForward/…           handed over to the runtime's streaming server
    /run/NAMESPACE/POD/CONTAINER               a command to its end

Errors are text with a status, as upstream's kubelet answers; the API server wraps them in a `Status`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
from cri_api.v1 import api_pb2 as pb
from prometheus_client import generate_latest

from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.objects import Object
from kubelet import errors
from kubelet.cri import Runtime
from kubelet.metrics import Metrics
from kubelet.observed import Container, Observed
from kubelet.pods import spec
from kubelet.server import logs, stats
from kubelet.server.access import Access
from kubelet.server.http import Request, Response, Splice

log = logging.getLogger(__name__)
FindPod = Callable[[str, str], Object | None]


class Refused(Exception):
    """An answer that is not 200."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class App:
    """One handler for all requests. `find` gives a pod by namespace and name, `pods` all of them."""

    def __init__(
        self,
        runtime: Runtime,
        access: Access,
        metrics: Metrics,
        clock: Clock,
        node_name: str,
        find: FindPod,
        pods: Callable[[], list[Object]],
        problem: Callable[[], str],
        follow: Callable[[str, str], Callable[[], bool]],
    ) -> None:
        self._runtime = runtime
        self._access = access
        self._metrics = metrics
        self._clock = clock
        self._node_name = node_name
        self._find = find
        self._pods = pods
        self._problem = problem
        self._follow = follow  # (pod uid, container id) → whether it still runs
        self._routes: tuple[tuple[str, Callable[[Request, list[str]], Awaitable[Response | Splice]]], ...] = (
            ("healthz", self._healthz),
            ("pods", self._list_pods),
            ("runningpods", self._list_pods),
            ("metrics", self._show_metrics),
            ("stats", self._stats),
            ("containerLogs", self._logs),
            ("exec", self._exec),
            ("attach", self._attach),
            ("portForward", self._port_forward),
            ("run", self._run),
        )

    async def __call__(self, request: Request) -> Response | Splice:
        """Access, then the route; the one place where errors become answers."""
        refusal = await self._access.refusal(request)
        if refusal is not None:
            return Response(refusal[0], refusal[1].encode())
        parts = request.path.strip("/").split("/")
        route = next((handler for name, handler in self._routes if parts[0] == name), None)
        if route is None:
            return Response(404, b"404 page not found\n")
        try:
            return await route(request, parts[1:])
        except Refused as error:
            return Response(error.status, str(error).encode())
        except errors.NoSuchThing as error:
            return Response(404, error.message.encode())
        except errors.NodeError as error:
            return Response(500, error.message.encode())

    async def _healthz(self, request: Request, parts: list[str]) -> Response:
        problem = self._problem()
        return Response(500, f"[-]runtime failed: {problem}\n".encode()) if problem else Response(body=b"ok")

    async def _list_pods(self, request: Request, parts: list[str]) -> Response:
        listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": self._pods()}
        return Response(body=orjson.dumps(listed), content_type="application/json")

    async def _show_metrics(self, request: Request, parts: list[str]) -> Response:
        return Response(
            body=generate_latest(self._metrics.registry), content_type="text/plain; version=0.0.4; charset=utf-8"
        )

    async def _stats(self, request: Request, parts: list[str]) -> Response:
        if parts[:1] != ["summary"]:
            raise Refused(404, "404 page not found\n")
        summary = stats.summary(self._node_name, self._pods(), await self._runtime.container_stats(), self._clock.now())
        return Response(body=orjson.dumps(summary), content_type="application/json")

    # --- one container

    async def _logs(self, request: Request, parts: list[str]) -> Response:
        pod, observed, name = await self._container_of(parts)
        try:
            query = {key: values[0] for key, values in request.query.items()}
            options = logs.Options.parse(query, self._clock.now())
        except ValueError as error:
            raise Refused(422, str(error)) from error
        run = _run_for_logs(pod, observed, name, previous=request.first("previous").lower() in ("true", "1"))
        path = Path(run.log_path)
        if not path.exists():
            raise Refused(404, f"failed to try resolving symlinks in path {str(path)!r}: no such file or directory")
        uid = objects.uid_of(pod)
        is_running = self._follow(uid, run.id) if run.state == "running" else lambda: False
        return Response(body=logs.read(path, options, is_running, self._clock))

    async def _exec(self, request: Request, parts: list[str]) -> Splice:
        _, observed, name = await self._container_of(parts)
        run = _running(observed, name)
        command = request.query.get("command") or []
        if not command:
            raise Refused(400, "you must specify at least 1 command")
        wants = _streams(request)
        if not wants["stdin"] and not wants["stdout"] and not wants["stderr"]:
            raise Refused(400, "you must specify at least 1 of stdin, stdout, stderr")
        return Splice(await self._runtime.exec_url(pb.ExecRequest(container_id=run.id, cmd=command, **wants)))

    async def _attach(self, request: Request, parts: list[str]) -> Splice:
        _, observed, name = await self._container_of(parts)
        run = _running(observed, name)
        wants = _streams(request)
        return Splice(await self._runtime.attach_url(pb.AttachRequest(container_id=run.id, **wants)))

    async def _port_forward(self, request: Request, parts: list[str]) -> Splice:
        pod = self._pod(parts)
        observed = await self._runtime.observe(objects.uid_of(pod))
        if observed.ready_sandbox is None:
            raise Refused(404, f'not able to find pod "{objects.name_of(pod)}": its sandbox is not ready')
        ports = [int(part) for value in request.query.get("port") or [] for part in value.split(",") if part.isdigit()]
        return Splice(await self._runtime.port_forward_url(observed.ready_sandbox.id, ports))

    async def _run(self, request: Request, parts: list[str]) -> Response:
        _, observed, name = await self._container_of(parts)
        command = request.query.get("cmd") or []
        result = await self._runtime.exec_sync(_running(observed, name).id, " ".join(command).split(), 0)
        return Response(body=result.stdout + result.stderr)

    async def _container_of(self, parts: list[str]) -> tuple[Object, Observed, str]:
        if len(parts) < 3:
            raise Refused(404, "404 page not found\n")
        pod = self._pod(parts)
        name = parts[-1]
        if spec.container(pod, name) is None:
            raise Refused(404, f'container "{name}" not found in pod "{objects.name_of(pod)}"')
        return pod, await self._runtime.observe(objects.uid_of(pod)), name

    def _pod(self, parts: list[str]) -> Object:
        if len(parts) < 2:
            raise Refused(404, "404 page not found\n")
        pod = self._find(parts[0], parts[1])
        if pod is None:
            raise Refused(404, f'pod "{parts[1]}" does not exist')
        return pod


def _running(observed: Observed, name: str) -> Container:
    run = next((c for c in observed.running() if c.name == name), None)
    if run is None:
        raise Refused(404, f"container not found ({name!r})")
    return run


def _run_for_logs(pod: Object, observed: Observed, name: str, *, previous: bool) -> Container:
    runs = [c for c in observed.runs(name) if c.state != "created"]
    if previous:
        # A container that waits for its next start has its last run as the newest: that one is the previous
        dead = [
            c for c in (runs[1:] if runs and runs[0].state == "running" else runs[1:] or runs) if c.state == "exited"
        ]
        if not dead or (len(runs) == 1 and not _is_restarting(pod, name)):
            raise Refused(400, f'previous terminated container "{name}" in pod "{objects.name_of(pod)}" not found')
        return dead[0]
    if not runs:
        raise Refused(400, f'container "{name}" in pod "{objects.name_of(pod)}" is waiting to start')
    return runs[0]


def _is_restarting(pod: Object, name: str) -> bool:
    entries = (pod.get("status") or {}).get("containerStatuses") or []
    return any(entry["name"] == name and (entry.get("lastState") or {}).get("terminated") for entry in entries)


def _streams(request: Request) -> dict[str, bool]:
    """The API's names and the kubelet's: `stdin` and `input`, …"""

    def wants(*names: str) -> bool:
        return any(request.first(name).lower() in ("1", "true") for name in names)

    tty = wants("tty")
    return {
        "stdin": wants("stdin", "input"),
        "stdout": wants("stdout", "output"),
        "stderr": wants("stderr", "error") and not tty,  # a terminal has one output
        "tty": tty,
    }
