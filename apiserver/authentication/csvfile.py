"""A file of users in CSV, read again when it changes: `secret,user,uid[,"group1,group2"]`.

Guarantees: secrets are kept and looked up as digests, so a lookup's time tells nothing about them; a changed
file that cannot be read is reported and the last good one stays in force.
"""

from __future__ import annotations

import csv
import hashlib
import logging
import os
from pathlib import Path

from apimachinery.clock import Clock
from apiserver.authentication import groups
from apiserver.registry.call import User

_log = logging.getLogger("apiserver.authentication")

# How often a file is looked at: a revoked token works no longer than this
_CHECK_SECONDS = 1.0


class UserFileError(ValueError):
    """The file cannot be used; the message says why."""


def parse(text: str, authenticator: str) -> list[tuple[str, User]]:
    """The (secret, user) pairs of a file. Raises UserFileError with the number of the bad line."""
    entries = []
    for number, row in enumerate(csv.reader(text.splitlines(), skipinitialspace=True), 1):
        if not row:
            continue
        if len(row) < 3 or not row[0].strip():
            raise UserFileError(f"line {number}: at least three columns are needed (secret,user,uid), found {len(row)}")
        listed = tuple(group.strip() for group in row[3].split(",") if group.strip()) if len(row) > 3 else ()
        entries.append((row[0].strip(), User(row[1].strip(), row[2].strip(), listed, authenticator=authenticator)))
    return entries


class UserFile:
    """The users of one file. `named`: a secret counts only together with its user's name (passwords)."""

    def __init__(self, path: str, authenticator: str, clock: Clock, *, named: bool = False) -> None:
        self._path = Path(path)
        self._named = named
        self._authenticator = authenticator
        self._clock = clock
        self._checked_at = float("-inf")
        self._seen: tuple[int, int, int] | None = None
        self._users: dict[bytes, User] = {}

    def load(self) -> None:
        """Reads the file. Raises UserFileError when it cannot be used."""
        try:
            self._seen = self._stamp()
            entries = parse(self._path.read_text(), self._authenticator)
        except OSError as error:
            raise UserFileError(f"cannot read {self._path}: {error.strerror}") from error
        except (UserFileError, UnicodeDecodeError) as error:
            raise UserFileError(f"{self._path}: {error}") from error
        self._users = {self._key(secret, user.name): groups.with_authenticated(user) for secret, user in entries}

    def find(self, secret: str, name: str = "") -> User | None:
        """The user with this secret and, in a file of passwords, this name."""
        self._reload_if_changed()
        return self._users.get(self._key(secret, name))

    def _key(self, secret: str, name: str) -> bytes:
        return hashlib.sha256(f"{name if self._named else ''}\0{secret}".encode()).digest()

    def _reload_if_changed(self) -> None:
        now = self._clock.monotonic()
        if now - self._checked_at < _CHECK_SECONDS:
            return
        self._checked_at = now
        try:
            if self._stamp() != self._seen:
                self.load()
                _log.info("A4 read %s again: %d users", self._path, len(self._users))
        except (OSError, UserFileError) as error:
            _log.error("A4 %s changed and cannot be used, the last good one stays: %s", self._path, error)

    def _stamp(self) -> tuple[int, int, int]:
        status = os.stat(self._path)
        return status.st_mtime_ns, status.st_size, status.st_ino
