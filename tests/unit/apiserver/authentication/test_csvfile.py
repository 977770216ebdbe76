"""Files of users: read, read again, kept when they break."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from apimachinery.clock import FixedClock
from apiserver.authentication import csvfile


def write(path: Path, text: str) -> None:
    """Replaces the file; its time stamp moves even when the clock does not."""
    stamp = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(stamp + 10**9, stamp + 10**9))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "users.csv"
    write(file, 'secret,alice,1,"a,b"\nother,bob,2\n')
    return file


def test_a_secret_finds_its_user(path: Path) -> None:
    users = csvfile.UserFile(str(path), "token", FixedClock())
    users.load()
    alice = users.find("secret")
    assert alice is not None
    assert (alice.name, alice.uid, alice.authenticator) == ("alice", "1", "token")
    assert alice.groups == ("a", "b", "system:authenticated")
    assert users.find("wrong") is None
    assert users.find("") is None


def test_a_password_counts_only_with_its_name(path: Path) -> None:
    users = csvfile.UserFile(str(path), "basic", FixedClock(), named=True)
    users.load()
    assert users.find("secret", "alice") is not None
    assert users.find("secret", "bob") is None


def test_a_changed_file_is_read_after_a_second_and_a_broken_one_is_not_taken(path: Path) -> None:
    clock = FixedClock()
    users = csvfile.UserFile(str(path), "token", clock)
    users.load()
    users.find("secret")
    write(path, "new,carol,3\n")
    assert users.find("new") is None
    clock.advance(1.0)
    assert users.find("new") is not None
    assert users.find("secret") is None
    write(path, "broken\n")
    clock.advance(1.0)
    assert users.find("new") is not None
    path.unlink()
    clock.advance(1.0)
    assert users.find("new") is not None


@pytest.mark.parametrize("text", ["a,b\n", "ok,u,1\n,u,2\n"])
def test_a_bad_line_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(csvfile.UserFileError, match=f"line {text.count(chr(10))}: at least three columns"):
        csvfile.UserFile(str(file), "token", FixedClock()).load()
