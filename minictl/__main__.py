"""minictl: kubectl's words and flags for any Kubernetes API server, and the local cluster of this project.

Finds the command, parses its flags, runs it, and turns whatever it raises into kubectl's words and an exit code.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from minictl import arguments, commands

INTERRUPTED = 130
# Most commands end before a collection could pay: those of a start took a tenth of its time. A long watch collects.
ALLOCATIONS_BEFORE_COLLECTING = 100_000


def main(argv: list[str] | None = None) -> int:
    """The console script."""
    gc.set_threshold(ALLOCATIONS_BEFORE_COLLECTING)
    out, err, stdin = _stream(sys.stdout, "w"), _stream(sys.stderr, "w"), _stream(sys.stdin, "r")
    try:
        code = run(sys.argv[1:] if argv is None else argv, out, err, stdin, os.environ, Path.cwd())
        out.flush()
    except OSError as error:
        # whoever read our output has gone (`| head`): nobody is left to tell; or the disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        if not isinstance(error, BrokenPipeError):
            err.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _stream(stream: TextIO | None, mode: str) -> TextIO:
    """In UTF-8 whatever the locale, as kubectl has it. A closed one takes everything and has nothing."""
    if stream is None:
        return io.TextIOWrapper(open(os.devnull, f"{mode}b"), encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    return stream


def run(argv: list[str], out: TextIO, err: TextIO, stdin: TextIO, environ: Mapping[str, str], cwd: Path) -> int:
    """One run; the exit code. Errors that nobody expected are raised."""
    from minictl import failures

    try:
        return _run(argv, out, err, stdin, environ, cwd)
    except failures.Exit as end:
        return end.code
    except Exception as error:  # the outermost place: expected errors become text, others keep their traceback
        text = failures.text_of(error)
        if text is None:
            raise
        out.flush()
        err.write(text)
        return 1


def _run(argv: list[str], out: TextIO, err: TextIO, stdin: TextIO, environ: Mapping[str, str], cwd: Path) -> int:
    name, words, tail = arguments.split([_in_utf8(word) for word in argv])
    if name in ("", "help"):
        return _help(words, tail, out)
    command = commands.find(name)
    if command is None:
        raise arguments.UsageError(f'unknown command "{name}" for "minictl"')
    target = arguments.load(command)
    parser = arguments.parser_of(command, target)
    if {"-h", "--help"} & set(words):
        out.write(parser.format_help())
        return 0
    args = arguments.parse(parser, target, words, tail)

    import asyncio  # late, as is all that help and a wrong flag do without

    from minictl.context import Context

    async def inside() -> int:
        context = Context(args, out, err, stdin, environ, cwd)
        try:
            code: int = await target.run(context, args)
            return code
        finally:
            await context.close()

    return asyncio.run(inside())


def _in_utf8(word: str) -> str:
    """A word of the command line, which Python has decoded as the locale says."""
    try:
        return os.fsencode(word).decode()
    except UnicodeError as error:
        raise arguments.UsageError(f"an argument is not UTF-8: {word!a}") from error


def _help(words: list[str], tail: list[str], out: TextIO) -> int:
    for name in [word for word in [*words, *tail] if not word.startswith("-")]:
        command = commands.find(name)
        if command is None:
            raise arguments.UsageError(f'unknown command "{name}" for "minictl"')
        out.write(arguments.parser_of(command, arguments.load(command)).format_help())
        return 0
    out.write("minictl controls Kubernetes clusters, and runs one on this machine.\n")
    group = ""
    width = max(len(command.name) for command in commands.COMMANDS)
    for command in commands.COMMANDS:
        if command.group != group:
            group = command.group
            out.write(f"\n{group}:\n")
        out.write(f"  {command.name:<{width}}  {command.summary}\n")
    out.write(
        "\nUsage:\n  minictl COMMAND [flags]\n\nUse 'minictl COMMAND --help' for a command's flags and examples.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
