"""Secrets on disk: written whole or not at all, readable by their owner only.

A file appears under its name only when complete, so a reader never sees half a key, and a crash leaves the old one.
Imports nothing heavy: processes that only write files use it too.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

OWNER_ONLY = 0o600
FOLDER_OWNER_ONLY = 0o700


class Pair(NamedTuple):
    """A certificate and its private key, both PEM (the key PKCS #8, unencrypted)."""

    cert_pem: bytes
    key_pem: bytes


def write(path: Path, content: bytes) -> None:
    """Replace `path` atomically, mode 0600. Missing folders are made 0700."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_OWNER_ONLY)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_pair(cert_path: Path, key_path: Path, pair: Pair) -> None:
    """The key first: a certificate that is there always has its key."""
    write(key_path, pair.key_pem)
    write(cert_path, pair.cert_pem)
