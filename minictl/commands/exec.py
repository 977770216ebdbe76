"""Run a command in a container; minictl ends with the command's exit code."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

from apimachinery import errors, objects, pods
from apimachinery.gvr import PODS
from minictl import channels, failures
from minictl.commands import logs
from minictl.context import Context

TAKES_COMMAND = True
EXAMPLES = """\
  minictl exec nginx -- ls /                  # one command
  minictl exec -it nginx -- sh                # a shell
  minictl exec deploy/nginx -c sidecar -- env
  tar c . | minictl exec -i nginx -- tar x -C /tmp
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="POD | TYPE/NAME", nargs="*", help="a pod, or what has pods")
    parser.add_argument("-c", "--container", metavar="NAME", default="", help="the container (default: the first)")
    parser.add_argument("-i", "--stdin", action="store_true", help="pass standard input to the command")
    parser.add_argument("-t", "--tty", action="store_true", help="standard input is a terminal")
    parser.add_argument("-q", "--quiet", action="store_true", help="only the command's own output")


async def run(context: Context, args: argparse.Namespace) -> int:
    if not args.targets:
        raise failures.Refused("pod or type/name must be specified")
    if len(args.targets) > 1:
        raise failures.Refused(
            "exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead\n"
            "See 'minictl exec -h' for help and examples"
        )
    if not args.command_line:
        raise failures.Refused("you must specify at least one command for the container")
    pod = await logs.pod_of(context, args.targets, what="attach to", tell=False)
    if pods.is_terminal(pod):
        raise failures.Refused(
            f"cannot exec into a container in a completed pod; current phase is {pods.phase_of(pod)}"
        )
    args.all_containers = False
    container = logs.containers(context, args, pod)[0]
    terminal = args.tty and args.stdin and context.stdin.isatty()
    if args.tty and not terminal and not args.quiet:
        context.warn("Unable to use a TTY - input is not a terminal or the right kind of file")
    path = PODS.path(objects.namespace_of(pod), objects.name_of(pod), "exec")
    params = parameters(args, container, terminal)
    try:
        async with _session(context, path, params, ends=args.stdin and not terminal) as session:
            code = await _converse(context, session, stdin=args.stdin, terminal=terminal)
    except errors.APIError as error:
        raise failures.Refused(f"unable to upgrade connection: {error.message}") from error
    if code:
        context.warn(f"command terminated with exit code {code}")
    return code


def parameters(args: argparse.Namespace, container: str, terminal: bool) -> list[tuple[str, str]]:
    """The query of the exec request. With a terminal the command's errors come with its output."""
    wanted = {"stdin": args.stdin, "stdout": True, "stderr": not terminal, "tty": terminal}
    streams = [(name, "true") for name, on in wanted.items() if on]
    return [("container", container), *(("command", word) for word in args.command_line), *streams]


@contextlib.asynccontextmanager
async def _session(
    context: Context, path: str, params: list[tuple[str, str]], *, ends: bool
) -> AsyncIterator[channels.Session]:
    """A session over WebSocket; over SPDY where input will end and the server's WebSockets cannot tell."""
    async with contextlib.AsyncExitStack() as stack:
        try:
            protocols = channels.PROTOCOLS[:1] if ends else channels.PROTOCOLS
            session: channels.Session = await stack.enter_async_context(
                channels.connect(context.client, path, params, protocols)
            )
        except errors.APIError:
            if not ends:
                raise
            from minictl import spdy  # late: rarely needed

            # what is refused for another reason is refused again, and says so
            session = await stack.enter_async_context(spdy.connect(context.client, path, params))
        yield session


async def _converse(context: Context, session: channels.Session, *, stdin: bool, terminal: bool) -> int:
    """Both directions at once, until the command ends; its exit code."""
    context.out.flush()

    def write(channel: int, data: bytes) -> None:
        stream = (context.out if channel == channels.STDOUT else context.err).buffer
        stream.write(data)
        stream.flush()

    async with _terminal(session) if terminal else contextlib.nullcontext():
        sending = asyncio.ensure_future(_send(session)) if stdin else None
        try:
            return await session.receive(write)
        finally:
            if sending is not None:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await sending  # the command has ended: what could not be sent to it does not matter


async def _send(session: channels.Session) -> None:
    from minictl import terminal

    async for block in terminal.blocks():
        await session.send(channels.STDIN, block)
    await session.close_stdin()


@contextlib.asynccontextmanager
async def _terminal(session: channels.Session) -> AsyncIterator[None]:
    """Raw mode, and the container's terminal as large as ours."""
    from minictl import terminal

    resizing: set[asyncio.Task[None]] = set()

    def resized() -> None:
        task = asyncio.ensure_future(session.resize(*terminal.size()))
        resizing.add(task)
        task.add_done_callback(resizing.discard)

    with terminal.raw(sys.stdin.fileno()), terminal.on_resize(resized):
        resized()
        yield
