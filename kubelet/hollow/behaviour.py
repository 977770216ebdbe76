"""What a container would do, read from its command: for how long it runs, what it prints, how it ends. Pure.

Understood: `true`, `false`, `exit N`, `sleep N`, `echo …`, and `sh -c` scripts made of these with `;`, `&&`, `||`.
Anything else (a server, a loop) is taken to run until it is stopped. A shell without a script or input ends at once, as
it does in a real container.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

_SHELLS = ("sh", "bash", "ash", "dash")
# Images whose own command is a shell: without a command and without stdin they end at once.
_SHELL_IMAGES = ("busybox", "alpine", "debian", "ubuntu")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TO_STDERR = "\ue000"  # stands for `>&2`, which the lexer would take apart; no script holds this character
_SEPARATORS = (";", "&&", "||", "\n")


@dataclass(frozen=True, slots=True)
class Line:
    """Something printed, so many seconds after the start."""

    after_seconds: float
    text: str
    stream: str = "stdout"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`runs_seconds` None: until it is stopped. `understood` False: the command was not one of those known here."""

    runs_seconds: float | None = None
    exit_code: int = 0
    lines: tuple[Line, ...] = ()
    understood: bool = True


FOREVER = Behaviour(None, understood=False)


def of(command: Sequence[str], image: str, *, has_stdin: bool = False) -> Behaviour:
    """The behaviour of a container with this command (entrypoint and arguments; empty: the image's own)."""
    if not command:
        shell = _short_name(image) in _SHELL_IMAGES
        return Behaviour(0.0) if shell and not has_stdin else FOREVER
    program, arguments = _base(command[0]), list(command[1:])
    if program in _SHELLS:
        if "-c" in arguments[:-1]:
            return _script(arguments[arguments.index("-c") + 1])
        return FOREVER if arguments or has_stdin else Behaviour(0.0)
    return _simple([program, *arguments])


def _script(text: str) -> Behaviour:
    """Runs the statements in order, adding up time and output; the first that is not understood runs for ever."""
    seconds, code, lines = 0.0, 0, list[Line]()
    for joint, words in _statements(text):
        if (joint == "&&" and code != 0) or (joint == "||" and code == 0):
            continue
        step = _simple(words, last_code=code)
        lines += [Line(seconds + line.after_seconds, line.text, line.stream) for line in step.lines]
        if step.runs_seconds is None:
            return Behaviour(None, 0, tuple(lines), step.understood)
        seconds, code = seconds + step.runs_seconds, step.exit_code
        if words[0] == "exit":
            break
    return Behaviour(seconds, code, tuple(lines))


def _simple(words: Sequence[str], last_code: int = 0) -> Behaviour:
    program, arguments = _base(words[0]), list(words[1:])
    match program:
        case "exec" if arguments:
            return _simple(arguments, last_code)
        case "true" | ":":
            return Behaviour(0.0)
        case "false":
            return Behaviour(0.0, 1)
        case "exit":
            return Behaviour(0.0, int(arguments[0]) & 0xFF if arguments and arguments[0].isdigit() else last_code)
        case "echo":
            return _echo(arguments)
        case "sleep" if arguments:
            return Behaviour(_duration(arguments))
    return FOREVER


def _echo(arguments: list[str]) -> Behaviour:
    if any(argument in ("|", "&") for argument in arguments):
        return FOREVER
    if any(argument.startswith(">") for argument in arguments):  # into a file: nobody sees it
        return Behaviour(0.0)
    stream = "stderr" if _TO_STDERR in arguments else "stdout"
    return Behaviour(0.0, 0, (Line(0.0, " ".join(a for a in arguments if a != _TO_STDERR), stream),))


def _duration(arguments: Sequence[str]) -> float | None:
    """Seconds that `sleep` takes; None for ever."""
    total = 0.0
    for argument in arguments:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", argument)
        if match is None:
            return None  # "infinity", or nothing that sleep would take
        total += float(match.group(1)) * _UNITS[match.group(2)]
    return total


def _statements(text: str) -> list[tuple[str, list[str]]]:
    """The words of each simple statement, with what joins it to the one before. Loops come out as unknown words."""
    text = text.replace("\n", " ; ").replace("1>&2", ">&2").replace(">&2", f" {_TO_STDERR} ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    found: list[tuple[str, list[str]]] = [(";", [])]
    try:
        for token in lexer:
            if token in _SEPARATORS:
                found.append((token, []))
            else:
                found[-1][1].append(token)
    except ValueError:  # an open quote: not understood
        return [(";", ["?"])]
    return [(joint, words) for joint, words in found if words]


def _base(program: str) -> str:
    return program.rpartition("/")[2]


def _short_name(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
