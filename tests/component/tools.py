"""minictl and kubectl side by side, and how to compare what they did."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests import harness

MINICTL = Path(sys.executable).parent / "minictl"
Tool = Callable[..., subprocess.CompletedProcess[str]]
Outcome = tuple[int, str, str]


def environment(server: harness.Server) -> dict[str, str]:
    cache = {"HOME": str(server.folder), "XDG_CACHE_HOME": str(server.folder / "cache")}
    return {**os.environ, **cache, "KUBECONFIG": str(server.pki.kubeconfig("admin"))}


def outcome(done: subprocess.CompletedProcess[str]) -> Outcome:
    return done.returncode, done.stdout, done.stderr


_AGE = re.compile(r"(\d+[smhdy]?)+")


def without_age(done: Outcome) -> tuple[int, list[str], str]:
    """Ages may differ by a second between two calls."""
    code, out, err = done
    return (
        code,
        [" ".join(word for word in line.split(" ") if not _AGE.fullmatch(word)) for line in out.split("\n")],
        err,
    )
