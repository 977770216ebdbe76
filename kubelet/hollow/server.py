"""One hollow runtime on a Unix socket: the services put together, and errors turned into gRPC's codes in one place."""

from __future__ import annotations

import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from cri_api.v1 import api_pb2_grpc

from apimachinery.clock import Clock
from kubelet.hollow import addresses, commands, images, world
from kubelet.hollow.image_service import ImageService
from kubelet.hollow.logs import LogFiles
from kubelet.hollow.runtime_service import RuntimeService
from kubelet.hollow.streaming import Streams

# At shutdown calls in flight get this long; nothing here takes longer than a pull.
STOP_SECONDS = 2.0
_MESSAGE_BYTES_MAX = 64 << 20  # a list of many pods passes gRPC's 4 MB

_CODES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (world.NotFound, grpc.StatusCode.NOT_FOUND),
    (images.NoSuchImage, grpc.StatusCode.NOT_FOUND),
    (images.BadReference, grpc.StatusCode.INVALID_ARGUMENT),
    (world.Refused, grpc.StatusCode.FAILED_PRECONDITION),
    (addresses.NoAddress, grpc.StatusCode.UNKNOWN),
    (commands.CannotRun, grpc.StatusCode.UNKNOWN),
)


@dataclass(frozen=True)
class Settings:
    """What the flags say. `pod_cidr` None: the kubelet will tell."""

    pod_cidr: str | None = None
    pull_seconds: float = 0.05
    missing_images: tuple[str, ...] = images.MISSING


class HollowRuntime:
    """A runtime for one kubelet, while the context lasts."""

    def __init__(self, socket: Path, clock: Clock, settings: Settings) -> None:
        self._socket = socket
        self._clock = clock
        self._settings = settings
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> HollowRuntime:
        logs, streams = LogFiles(self._clock), await self._stack.enter_async_context(Streams())
        store = images.Images(self._settings.missing_images)
        pool = addresses.Pool(self._settings.pod_cidr)
        things = world.World(self._clock, _new_id, logs.write, store, pool)
        options = [("grpc.max_receive_message_length", _MESSAGE_BYTES_MAX)]
        server = grpc.aio.server(interceptors=[ErrorCodes()], options=options)
        runtime = RuntimeService(things, streams, logs.reopen, self._clock)
        pictures = ImageService(store, self._clock, self._settings.pull_seconds, str(self._socket.parent))
        api_pb2_grpc.add_RuntimeServiceServicer_to_server(runtime, server)  # type: ignore[no-untyped-call]  # generated
        api_pb2_grpc.add_ImageServiceServicer_to_server(pictures, server)  # type: ignore[no-untyped-call]  # generated
        self._socket.parent.mkdir(parents=True, exist_ok=True)
        self._socket.unlink(missing_ok=True)  # left by one that was killed
        server.add_insecure_port(f"unix:{self._socket}")
        await server.start()
        os.chmod(self._socket, 0o600)
        self._stack.push_async_callback(server.stop, STOP_SECONDS)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


class ErrorCodes(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # untyped library
    """Every call's errors become gRPC's codes here, and nowhere else."""

    async def intercept_service(self, go_on: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        handler = await go_on(details)
        if handler is None or handler.unary_unary is None:
            return handler
        inner = handler.unary_unary

        async def guarded(request: Any, context: Any) -> Any:
            try:
                return await inner(request, context)
            except tuple(kind for kind, _ in _CODES) as error:
                code = next(code for kind, code in _CODES if isinstance(error, kind))
                return await context.abort(code, str(error))
            except NotImplementedError:  # raised by the generated base class
                return await context.abort(grpc.StatusCode.UNIMPLEMENTED, "a hollow runtime does not do this")

        return grpc.unary_unary_rpc_method_handler(
            guarded,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def _new_id() -> str:
    return secrets.token_hex(32)
