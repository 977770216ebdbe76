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


def modules_after(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_start_imports_only_what_its_command_needs() -> None:
    entry = modules_after("import minictl.__main__")
    assert entry.isdisjoint({"asyncio", "httpx", "yaml", "ssl", "dataclasses", "minictl.commands.get"})
    listing = modules_after("import minictl.commands.get, minictl.context, minictl.mapper, client.commandhttp")
    heavy = {"aiohttp", "anyio", "click", "decimal", "h11", "httpcore", "rich", "websockets", "yaml"}
    assert listing.isdisjoint(heavy | {"apimachinery.selectors", "apimachinery.schemas", "minictl.validation"})
