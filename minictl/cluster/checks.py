"""Whether a process is ready: one small request over plain asyncio. Nothing heavier, since the supervisor imports it.

A check answers "" when all is well, else why not. It never raises and always ends within its timeout.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from minictl.cluster.plan import Check

TIMEOUT_SECONDS = 3.0
_HEAD_BYTES = 64 * 1024
_BODY_SHOWN = 200


async def run(check: Check, pids: dict[str, int], *, timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """`pids` are those of the living processes, by name: for checks inside a node."""
    try:
        async with asyncio.timeout(timeout_seconds):
            return await _run(check, pids)
    except TimeoutError:
        return f"{check.target} gave no answer within {timeout_seconds:g} s"
    except (OSError, ssl.SSLError, EOFError) as error:
        return f"{check.target}: {str(error) or type(error).__name__}"


async def _run(check: Check, pids: dict[str, int]) -> str:
    if check.within and check.within not in pids:
        return f"{check.within} does not run"
    if check.kind == "file":
        return "" if _path(check, pids).exists() else f"{check.target} is not there yet"
    if check.kind == "socket":
        _, writer = await asyncio.open_unix_connection(_path(check, pids))
        writer.close()
        return ""
    return await _get(check)


def _path(check: Check, pids: dict[str, int]) -> Path:
    """/proc/PID/root leads into the mount namespace of a node's process."""
    return Path(f"/proc/{pids[check.within]}/root{check.target}") if check.within else Path(check.target)


async def _get(check: Check) -> str:
    url = urlsplit(check.target)
    context = _context(check) if check.kind == "https" else None
    reader, writer = await asyncio.open_connection(url.hostname, url.port, ssl=context)
    try:
        writer.write(f"GET {url.path} HTTP/1.0\r\nHost: {url.netloc}\r\nAccept: */*\r\n\r\n".encode())
        await writer.drain()
        answer = (await reader.read(_HEAD_BYTES)).decode(errors="replace")
    finally:
        writer.transport.abort()
    return judge(check.target, answer)


def judge(target: str, answer: str) -> str:
    """What an HTTP response means."""
    head, _, body = answer.partition("\r\n\r\n")
    status = head.partition("\r\n")[0].split(" ", 2)
    if len(status) >= 2 and status[1] == "200":
        return ""
    told = " ".join(body.split())[:_BODY_SHOWN]
    return f"{target} answers {' '.join(status[1:]) or 'nothing'}{': ' + told if told else ''}"


def _context(check: Check) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=check.ca)
    if check.cert:
        context.load_cert_chain(check.cert, check.key)
    return context
