"""The channel protocol of exec and attach over WebSocket: each message starts with the number of its channel.

0 stdin, 1 stdout, 2 stderr, 3 the final Status, 4 the terminal's size; 255 (v5) closes the channel named in its body.
A server with only v4 cannot be told that stdin has ended: then `minictl.spdy` is the way.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/ and KEP-4006
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from apimachinery import errors
from client import rest
from minictl.failures import Refused

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
# Servers cut at 32 KiB; larger messages than this would only wait in a buffer
CHUNK = 32 * 1024
CONNECT_SECONDS = 30.0


class Session(Protocol):
    """One open exec session, whatever carries it."""

    async def send(self, channel: int, data: bytes) -> None: ...

    async def close_stdin(self) -> None: ...

    async def resize(self, width: int, height: int) -> None: ...

    async def receive(self, write: Callable[[int, bytes], None]) -> int: ...


class Channels:
    """A session over WebSocket."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket

    @property
    def can_close_stdin(self) -> bool:
        return bool(self._socket.subprotocol == PROTOCOLS[0])

    async def send(self, channel: int, data: bytes) -> None:
        for start in range(0, len(data), CHUNK):
            await self._socket.send(bytes([channel]) + data[start : start + CHUNK])

    async def close_stdin(self) -> None:
        if self.can_close_stdin:
            await self._socket.send(bytes([CLOSE, STDIN]))

    async def resize(self, width: int, height: int) -> None:
        await self.send(RESIZE, json.dumps({"Width": width, "Height": height}).encode())

    async def receive(self, write: Callable[[int, bytes], None]) -> int:
        """Hand output to `write(channel, data)` until the end; the command's exit code. Raises Refused."""
        from websockets.exceptions import ConnectionClosed

        status = b""
        with contextlib.suppress(ConnectionClosed):
            async for message in self._socket:
                data = message.encode() if isinstance(message, str) else message
                if not data:
                    continue
                if data[0] in (STDOUT, STDERR) and len(data) > 1:
                    write(data[0], data[1:])
                elif data[0] == ERROR:
                    status += data[1:]
        if not status:
            raise Refused("error sending request: the connection ended before the command did")
        return exit_code(status)


def exit_code(status: bytes) -> int:
    """The exit code that the final Status tells. Raises Refused, with its message, for any other failure."""
    try:
        told = json.loads(status)
    except ValueError as error:
        raise Refused(status.decode(errors="replace")) from error
    if told.get("status") == "Success":
        return 0
    if told.get("reason") == "NonZeroExitCode":
        for cause in (told.get("details") or {}).get("causes") or []:
            if cause.get("reason") == "ExitCode":
                return int(cause["message"])
    raise Refused(told.get("message") or "the command failed")


@contextlib.asynccontextmanager
async def connect(
    client: rest.Client, path: str, params: list[tuple[str, str]], protocols: Sequence[str] = PROTOCOLS
) -> AsyncIterator[Channels]:
    """Open a session. Raises what the server refuses with, and ConnectionFailed."""
    from websockets.asyncio.client import connect as open_socket  # late: only exec speaks it
    from websockets.exceptions import InvalidHandshake, InvalidStatus
    from websockets.typing import Subprotocol

    base, headers, tls = await client.connection()
    url = f"ws{base.removeprefix('http')}{path}?{urlencode(params, quote_via=quote)}"
    options: dict[str, Any] = {"ssl": tls} if tls is not None else {}
    if tls is not None and client.config.tls_server_name:
        options["server_hostname"] = client.config.tls_server_name
    kept = {name: value for name, value in headers.items() if name not in ("accept", "accept-encoding", "user-agent")}
    try:
        socket = await open_socket(
            url,
            subprotocols=[Subprotocol(name) for name in protocols],
            additional_headers=kept,
            user_agent_header=headers["user-agent"],
            compression=None,
            max_size=None,
            proxy=None,
            open_timeout=CONNECT_SECONDS,
            **options,
        )
    except InvalidStatus as error:
        raise refusal(error.response.status_code, bytes(error.response.body or b"")) from error
    except (OSError, TimeoutError, InvalidHandshake, asyncio.IncompleteReadError) as error:
        raise rest.ConnectionFailed(client.config.server, error) from error
    async with socket:
        yield Channels(socket)


def refusal(code: int, body: bytes) -> errors.APIError:
    """A server's answer to an upgrade that it does not make."""
    try:
        status = json.loads(body)
    except ValueError:
        status = {"message": f"unable to upgrade connection: {body.decode(errors='replace').strip() or code}"}
    return errors.from_status(status, code)
