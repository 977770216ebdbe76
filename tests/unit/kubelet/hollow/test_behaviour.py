from __future__ import annotations

import pytest

from kubelet.hollow import behaviour, commands


@pytest.mark.parametrize(
    ("command", "seconds", "code"),
    [
        (["true"], 0.0, 0),
        (["/bin/false"], 0.0, 1),
        (["sleep", "30"], 30.0, 0),
        (["sleep", "1m", "5s"], 65.0, 0),
        (["sleep", "infinity"], None, 0),
        (["sh", "-c", "exit 3"], 0.0, 3),
        (["/bin/sh", "-c", "sleep 2; exit 7"], 2.0, 7),
        (["sh", "-c", "true && sleep 5 && false"], 5.0, 1),
        (["sh", "-c", "false && sleep 5"], 0.0, 1),
        (["sh", "-c", "false || sleep 5"], 5.0, 0),
        (["sh", "-c", "exec sleep 9"], 9.0, 0),
        (["sh", "-c", "sleep 1\nfalse"], 1.0, 1),
        (["sh", "-c", "while true; do echo hi; sleep 1; done"], None, 0),
        (["sh", "-c", "echo 'open"], None, 0),
        (["nginx", "-g", "daemon off;"], None, 0),
        (["sh", "-ec"], None, 0),
    ],
)
def test_a_command_says_how_long_it_runs_and_how_it_ends(command: list[str], seconds: float | None, code: int) -> None:
    found = behaviour.of(command, "busybox")
    assert (found.runs_seconds, found.exit_code) == (seconds, code)


def test_output_comes_when_it_is_due() -> None:
    found = behaviour.of(["sh", "-c", "echo one; sleep 3; echo two >&2"], "busybox")
    assert [(line.after_seconds, line.text, line.stream) for line in found.lines] == [
        (0.0, "one", "stdout"),
        (3.0, "two", "stderr"),
    ]


def test_a_server_image_runs_until_stopped_and_a_shell_image_ends_at_once() -> None:
    assert behaviour.of([], "docker.io/library/nginx:latest").runs_seconds is None
    assert behaviour.of([], "docker.io/library/busybox:latest").runs_seconds == 0.0
    assert behaviour.of([], "busybox", has_stdin=True).runs_seconds is None


def test_commands_that_follow_from_their_words_are_answered() -> None:
    assert commands.run(["echo", "a", "b"]) == (0, b"a b\n", b"")
    assert commands.run(["sh", "-c", "echo no >&2; exit 4"]) == (4, b"", b"no\n")


@pytest.mark.parametrize("command", [["cat", "/etc/hostname"], ["sleep", "1"], ["sh"], []])
def test_other_commands_are_refused_with_the_reason(command: list[str]) -> None:
    with pytest.raises(commands.CannotRun, match="run no processes"):
        commands.run(command)
