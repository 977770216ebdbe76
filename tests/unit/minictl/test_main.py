"""The console script as a process: whatever the locale, and whatever its streams are."""

from __future__ import annotations

import os
import subprocess
import sys

MINICTL = [sys.executable, "-m", "minictl"]
RUN = ["run", "x", "--image=nginx", "--dry-run=client", "-o", "yaml"]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def minictl(*words: str | bytes, stdin: bytes = b"", environment: dict[str, str] | None = None) -> tuple[int, str, str]:
    env = {**os.environ, **(environment or {})}
    done = subprocess.run([*MINICTL, *words], input=stdin, capture_output=True, check=False, env=env)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def through_a_shell(ending: str) -> tuple[int, str]:
    line = " ".join([*MINICTL, *RUN, ending])
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
    return done.returncode, done.stderr.decode()


def test_output_is_utf8_in_a_locale_that_is_not() -> None:
    code, out, err = minictl(*RUN, "--env=A=ünï☃", environment=ASCII)
    assert (code, err) == (0, "")
    assert "ünï☃" in out


def test_an_argument_that_is_not_utf8_is_refused_in_one_line() -> None:
    assert minictl("get", b"\xff\xfe") == (1, "", "error: an argument is not UTF-8: '\\udcff\\udcfe'\n")


def test_a_manifest_that_is_not_utf8_is_refused_as_such() -> None:
    code, _, err = minictl("create", "-f", "-", stdin=b"a: \xff\xfe")
    assert (code, err.partition(" error conv")[0]) == (1, "error: error parsing STDIN:")


def test_a_closed_output_is_no_failure() -> None:
    assert through_a_shell(">&-") == (0, "")


def test_an_output_that_is_full_is_said_in_one_line() -> None:
    assert through_a_shell("> /dev/full") == (1, "error: [Errno 28] No space left on device\n")
