"""kubectl's command line grammar, and that nothing is imported that a command does not need."""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
from pathlib import Path

import pytest

from minictl import __main__, arguments, commands


def parse(*words: str) -> argparse.Namespace:
    name, rest, tail = arguments.split(list(words))
    command = commands.find(name)
    assert command is not None
    target = arguments.load(command)
    return arguments.parse(arguments.parser_of(command, target), target, rest, tail)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["get", "pods"], "get"),
        (["-n", "get", "describe", "x"], "describe"),
        (["--namespace=x", "-v=6", "get"], "get"),
        (["--insecure-skip-tls-verify", "get"], "get"),
        (["--", "get"], ""),
        ([], ""),
    ],
)
def test_the_command_is_found_behind_global_flags(words: list[str], name: str) -> None:
    assert arguments.split(words)[0] == name


def test_flags_and_arguments_may_be_mixed() -> None:
    args = parse("get", "pods", "-n", "x", "a", "-o=wide", "b", "-v=8")
    assert (args.targets, args.namespace, args.output, args.v) == (["pods", "a", "b"], "x", "wide", 8)


def test_what_follows_two_dashes_is_the_containers_command() -> None:
    args = parse("exec", "-it", "pod", "--", "sh", "-c", "ls -n", "--", "x")
    assert (args.targets, args.command_line) == (["pod"], ["sh", "-c", "ls -n", "--", "x"])
    assert args.stdin and args.tty


def test_for_other_commands_it_is_more_arguments() -> None:
    assert parse("get", "--", "pods", "-n").targets == ["pods", "-n"]


def test_switches_may_be_spelled_with_a_value() -> None:
    args = parse("get", "pods", "--watch=false", "--show-labels=true")
    assert (args.watch, args.show_labels) == (False, True)
    with pytest.raises(arguments.UsageError, match='invalid argument "maybe" for "--watch" flag'):
        parse("get", "pods", "--watch=maybe")


def test_an_optional_value_never_takes_the_next_word() -> None:
    args = parse("delete", "--dry-run", "pod", "web")
    assert (args.dry_run, args.targets) == ("client", ["pod", "web"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["get", "--bogus"], "unknown flag: --bogus"),
        (["get", "--outp=json"], "unknown flag: --outp=json"),  # never abbreviated
        (["run"], "the following arguments are required: NAME"),
        (["scale", "deploy/a"], "the following arguments are required: --replicas"),
        (["run", "a", "--restart=Sometimes"], "invalid choice: 'Sometimes'"),
    ],
)
def test_what_cannot_be_understood_is_said(words: list[str], message: str) -> None:
    with pytest.raises(arguments.UsageError, match=message):
        parse(*words)


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = __main__.run(list(words), out, err, io.StringIO(), {}, Path("/nonexistent"))
    return code, out.getvalue(), err.getvalue()


def test_help_lists_every_command() -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(command.name in out and command.summary in out for command in commands.COMMANDS)


@pytest.mark.parametrize("command", commands.COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help_with_examples(command: commands.Command) -> None:
    code, out, _ = run(command.name, "--help")
    assert code == 0
    assert f"minictl {command.name}" in out.partition("Examples:")[2]
    target = arguments.load(command)
    unexplained = [
        action.option_strings
        for action in arguments.parser_of(command, target)._actions
        if action.option_strings and not action.help and not action.choices
    ]
    assert unexplained == []


def test_an_unknown_command_is_one_line() -> None:
    assert run("gte") == (1, "", 'error: unknown command "gte" for "minictl"\n')


def test_a_wrong_flag_says_where_help_is() -> None:
    code, _, err = run("get", "--bogus")
    assert code == 1
    assert err == "error: unknown flag: --bogus\nSee 'minictl get --help' for usage.\n"


def test_without_a_cluster_it_says_what_to_do() -> None:
    code, _, err = run("get", "pods")
    assert code == 1
    assert "Start a cluster with 'minictl up'" in err


def test_get_imports_nothing_slow() -> None:
    """Start-up is most of what a user of `minictl get` waits for."""
    source = (
        "import sys, minictl.__main__, minictl.commands.get, minictl.context, minictl.discovery, minictl.mapper;"
        "import client.rest, client.commandhttp, minictl.wiretap;"
        "print(*sorted(sys.modules))"
    )
    listed = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout.split()
    slow = {"aiohttp", "anyio", "apimachinery.codec", "apimachinery.schemas", "httpcore", "prometheus_client", "rich"}
    slow |= {"click", "pygments", "websockets", "uvloop", "minictl.manifests", "minictl.jsonpath"}
    assert slow & set(listed) == set()


def test_a_value_that_is_no_number_is_refused_in_kubectls_words() -> None:
    command = commands.find("scale")
    assert command is not None
    target = arguments.load(command)
    with pytest.raises(arguments.UsageError, match=r'^invalid argument "a" for "--replicas" flag: '):
        arguments.parse(arguments.parser_of(command, target), target, ["deploy/web", "--replicas", "a"], [])


@pytest.mark.parametrize(("name", "shown"), [("up", False), ("down", False), ("get", True)])
def test_the_help_of_a_local_command_has_no_flags_of_the_api(name: str, shown: bool) -> None:
    command = commands.find(name)
    assert command is not None
    assert ("--token" in arguments.parser_of(command, arguments.load(command)).format_help()) is shown
