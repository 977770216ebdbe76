"""kubectl in the versions that tests speak to: today's from PyPI, and 1.20, which asks for what others no longer do.

The old one comes from Debian's package, unpacked once into the cache of fetched tools and never installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from minictl.cluster import apt, tools

NEW = Path(sys.executable).parent / "kubectl"
_PACKAGE = "kubernetes-client"


class Unavailable(Exception):
    """This machine can fetch no old kubectl; the message says why."""


def old() -> Path:
    """kubectl 1.20. Raises Unavailable where there is no apt or no network."""
    home = tools.Places.of_this_machine().tools
    root = home / _PACKAGE
    program = root / "usr" / "bin" / "kubectl"
    with tools.lock(home, lambda _: None):
        if not program.exists():
            try:
                _fetch(home, root)
            except apt.AptError as error:
                raise Unavailable(str(error)) from error
    return program


def _fetch(home: Path, root: Path) -> None:
    if not apt.is_available():
        raise apt.AptError("this system has no apt-get and dpkg-deb")
    fetcher = apt.Apt(home / ".apt", lambda _: None)
    debs = fetcher.fetch([_PACKAGE], lambda _: False, home / _PACKAGE / "debs")
    for deb in debs[_PACKAGE]:
        apt.unpack(deb, root)
