"""The command line: which command, its flags and the global ones, which may stand before or after the command.

kubectl's grammar: long flags are never abbreviated, `--` ends the flags, flags and arguments may be mixed.
Only the named command's module is imported (start-up is most of what a user of `minictl get` waits for).
"""

from __future__ import annotations

import argparse
import importlib
import re
from typing import Any, NoReturn

from minictl import commands


class UsageError(Exception):
    """The command line cannot be understood. `command` is "" when none was recognised."""

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.command = command


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(_as_kubectl_says(message), self.prog.partition(" ")[2])


def _as_kubectl_says(message: str) -> str:
    """argparse's text for a value that is missing or no number, in kubectl's words; others stay."""
    missing = re.fullmatch(r"argument (\S+, ?)*(\S+/)*(--\S+): expected one argument", message)
    if missing is not None:
        return f"flag needs an argument: {missing[3]}"
    found = re.fullmatch(r"argument (\S+, )*(--\S+): invalid int value: (['\"])(.*)\3", message, re.DOTALL)
    if found is None:
        return message
    value, flag = found[4], found[2]
    return f'invalid argument "{value}" for "{flag}" flag: strconv.ParseInt: parsing "{value}": invalid syntax'


# Global flags that take a value: needed to find the command's name behind them
_VALUED = (
    ("--kubeconfig", "PATH", "the kubeconfig file (else $KUBECONFIG, ./.cluster/kubeconfig, ~/.kube/config)"),
    ("--context", "NAME", "the kubeconfig context to use"),
    ("--cluster", "NAME", "the kubeconfig cluster to use"),
    ("--user", "NAME", "the kubeconfig user to use"),
    ("--server", "URL", "the address of the API server"),
    ("--token", "TOKEN", "bearer token for the API server"),
    ("--username", "NAME", "user name for basic authentication"),
    ("--password", "PASSWORD", "password for basic authentication"),
    ("--certificate-authority", "FILE", "the CA certificate that the server's must be signed by"),
    ("--client-certificate", "FILE", "client certificate file"),
    ("--client-key", "FILE", "client key file"),
    ("--tls-server-name", "NAME", "the name to check the server's certificate for"),
    ("--as", "USER", "user name to impersonate"),
    ("--as-uid", "UID", "uid to impersonate"),
    ("--request-timeout", "DURATION", "how long one request may take, as 30s or 1m; 0 is no limit"),
    ("--cache-dir", "DIR", "where discovery is cached"),
)
_SHORT = {"-s": "--server", "-n": "--namespace", "-v": "--v"}


def add_global_flags(parser: argparse.ArgumentParser) -> None:
    """kubectl's global flags, those of K4 and K5 among them."""
    group = parser.add_argument_group("global flags")
    group.add_argument("-n", "--namespace", metavar="NAMESPACE", help="the namespace of the request")
    for flag, metavar, text in _VALUED:
        names = ["-s", flag] if flag == "--server" else [flag]
        group.add_argument(*names, metavar=metavar, help=text, dest=_dest(flag))
    group.add_argument("--as-group", metavar="GROUP", action="append", help="group to impersonate; may be repeated")
    group.add_argument("--insecure-skip-tls-verify", action="store_true", help="do not check the server's certificate")
    group.add_argument("-v", "--v", metavar="LEVEL", type=int, default=0, help="log level; 6 to 9 show HTTP calls")


def split(argv: list[str]) -> tuple[str, list[str], list[str]]:
    """The command's name ("" if there is none), the words around it, and what follows `--`."""
    head, tail = argv, []
    if "--" in argv:
        cut = argv.index("--")
        head, tail = argv[:cut], argv[cut + 1 :]
    valued = {flag for flag, _, _ in _VALUED} | {"--namespace", "--v", "--as-group"} | set(_SHORT)
    skip = False
    for index, word in enumerate(head):
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in valued
        else:
            return word, head[:index] + head[index + 1 :], tail
    return "", head, tail


def load(command: commands.Command) -> Any:
    """The command's target, imported now."""
    module, _, attribute = command.target.partition(":")
    target = importlib.import_module(module)
    return getattr(target, attribute) if attribute else target


def parser_of(command: commands.Command, target: Any) -> argparse.ArgumentParser:
    """The parser of one command, with its help text."""
    parser = _Parser(
        prog=f"minictl {command.name}",
        description=(target.__doc__ or command.summary).strip(),
        epilog=f"Examples:\n{target.EXAMPLES.rstrip()}",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    target.add_arguments(parser)
    add_global_flags(parser)
    if getattr(target, "IS_LOCAL", False):
        _hide_global_flags(parser)
    return parser


def _hide_global_flags(parser: argparse.ArgumentParser) -> None:
    """Out of the help of a command that asks no API server; they are still taken, as kubectl's commands take them."""
    shared = argparse.ArgumentParser(add_help=False)
    add_global_flags(shared)
    flags = {flag for action in shared._actions for flag in action.option_strings}
    for action in parser._actions:
        if flags & set(action.option_strings):
            action.help = argparse.SUPPRESS


def parse(parser: argparse.ArgumentParser, target: Any, words: list[str], tail: list[str]) -> argparse.Namespace:
    """The flags and arguments of one command. Raises UsageError."""
    words = _spelled_out(parser, words)
    # nested commands cannot be mixed with flags
    args = parser.parse_args(words) if parser._subparsers is not None else _parse_intermixed(parser, words)
    if getattr(target, "TAKES_COMMAND", False):
        args.command_line = tail
    elif tail and isinstance(getattr(args, "targets", None), list):
        args.targets += tail
    elif tail:
        raise UsageError(f"unexpected argument: {tail[0]}", parser.prog.partition(" ")[2])
    return args


def _spelled_out(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """kubectl's spellings that argparse has not: `--force=true`, and `--dry-run` alone, which takes no next word."""
    actions = {flag: action for action in parser._actions for flag in action.option_strings}
    spelled: list[str] = []
    for word in words:
        flag, equals, value = word.partition("=")
        action = actions.get(flag)
        if action is not None and equals and isinstance(action, argparse._StoreTrueAction):
            if value not in ("true", "false"):
                raise UsageError(f'invalid argument "{value}" for "{flag}" flag', parser.prog.partition(" ")[2])
            spelled += [flag] if value == "true" else []
        elif action is not None and not equals and action.nargs == "?":
            spelled.append(f"{flag}={action.const}")
        else:
            spelled.append(word)
    return spelled


def _parse_intermixed(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    args, unknown = parser.parse_known_intermixed_args(words)
    if unknown:
        raise UsageError(_unknown(unknown[0]), parser.prog.partition(" ")[2])
    return args


def _unknown(word: str) -> str:
    if word.startswith("--"):
        return f"unknown flag: {word}"
    return f"unknown shorthand flag: '{word[1]}' in {word}" if word[:1] == "-" else f"unexpected argument: {word}"


def _dest(flag: str) -> str:
    name = flag.lstrip("-").replace("-", "_")
    return "as_user" if name == "as" else name
