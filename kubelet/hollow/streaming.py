"""Where exec, attach and port-forward of a hollow runtime lead: a WebSocket endpoint on the loopback.

`exec` answers the commands that `commands` understands in the channel protocol (1 stdout, 2 stderr, 3 status);
everything else gets an error that says why. URLs hold a token that is good once. SPDY is answered 426: kubectl tries
WebSocket first.
Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
"""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from kubelet.hollow import commands

_PROTOCOLS = [Subprotocol("v5.channel.k8s.io"), Subprotocol("v4.channel.k8s.io")]
_STDOUT, _STDERR, _STATUS = b"\x01", b"\x02", b"\x03"
# URLs given out and never used are forgotten beyond this.
_TOKENS_MAX = 1000


class Streams:
    """Gives out URLs and serves them. `run` before the first URL."""

    def __init__(self) -> None:
        self._server: Server | None = None
        self._waiting: OrderedDict[str, Sequence[str] | str] = OrderedDict()  # token → command, or the refusal's words

    async def __aenter__(self) -> Streams:
        self._server = await serve(self._handle, "127.0.0.1", 0, subprotocols=_PROTOCOLS)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    def exec_url(self, command: Sequence[str]) -> str:
        return self._url(command)

    def refusal_url(self, why: str) -> str:
        """A URL whose stream says why nothing can be done, and ends."""
        return self._url(why)

    def _url(self, what: Sequence[str] | str) -> str:
        assert self._server is not None
        token = secrets.token_urlsafe(8)
        self._waiting[token] = what
        if len(self._waiting) > _TOKENS_MAX:
            self._waiting.popitem(last=False)
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"http://127.0.0.1:{port}/stream/{token}"

    async def _handle(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        token = connection.request.path.partition("?")[0].rpartition("/")[2]
        what = self._waiting.pop(token, "the stream's token is unknown or was used")
        try:
            result = commands.run(what) if not isinstance(what, str) else None
            why = what if isinstance(what, str) else ""
        except commands.CannotRun as error:
            result, why = None, str(error)
        if result is not None:
            for channel, data in ((_STDOUT, result.stdout), (_STDERR, result.stderr)):
                if data:
                    await connection.send(channel + data)
        status = exit_status(result.exit_code) if result is not None else failure(why)
        await connection.send(_STATUS + json.dumps(status).encode())


def exit_status(code: int) -> dict[str, Any]:
    """The `Status` that ends an exec stream."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def failure(why: str) -> dict[str, Any]:
    return {"metadata": {}, "status": "Failure", "reason": "InternalError", "message": why, "code": 500}
