"""Packages of the distribution, fetched and unpacked into a private folder; nothing of the system is changed.

`apt-get download` and `dpkg-deb -x` need no root. The system's package lists are used when they know what is asked for
and still match the mirror; otherwise lists of our own are fetched (signatures are checked as ever) into `home`.
Does not lock: callers that share a `home` take turns (`tools`, `images`). Blocking: it runs before a cluster exists.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

Progress = Callable[[str], None]

# The slowest mirror seen needed 40 s for its lists; beyond this it is not coming.
APT_TIMEOUT_SECONDS = 300.0

# Relations that do not say "cannot run without".
_IGNORED = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")


class AptError(Exception):
    """apt is not there, knows no such package, or could not download it; the message ends with apt's own words."""


def is_available() -> bool:
    return all(shutil.which(program) for program in ("apt-get", "apt-cache", "dpkg-deb"))


class Apt:
    """apt with its caches, and where needed its lists, in `home`."""

    def __init__(self, home: Path, progress: Progress) -> None:
        self._home = home
        self._progress = progress
        self._own_lists = False

    def fetch(self, packages: Sequence[str], libraries: Callable[[str], bool], into: Path) -> dict[str, list[Path]]:
        """The files of each package and of those dependencies that `libraries` accepts, downloaded into `into`.

        Raises AptError. When the system's lists fail (missing, or older than the mirror), tries once more with own
        ones.
        """
        try:
            return self._fetch(packages, libraries, into)
        except AptError:
            if self._own_lists:
                raise
        self._refresh_lists()
        return self._fetch(packages, libraries, into)

    def _fetch(self, packages: Sequence[str], libraries: Callable[[str], bool], into: Path) -> dict[str, list[Path]]:
        closures = self._closures(packages, libraries)
        wanted = sorted({name for closure in closures.values() for name in closure})
        self._progress(f"downloading {', '.join(wanted)}")
        into.mkdir(parents=True, exist_ok=True)
        self._run("apt-get", "download", *wanted, cwd=into)
        return {package: [_deb_of(name, into) for name in closure] for package, closure in closures.items()}

    def _closures(self, packages: Sequence[str], libraries: Callable[[str], bool]) -> dict[str, list[str]]:
        options = [f"--no-{relation}" for relation in _IGNORED]
        graph = parse_depends(self._run("apt-cache", "depends", "--recurse", *options, *packages))
        unknown = [package for package in packages if package not in graph]
        if unknown:
            raise AptError(f"apt knows no package {', '.join(unknown)}")
        return {package: closure(graph, package, libraries) for package in packages}

    def _refresh_lists(self) -> None:
        self._progress("fetching package lists (the system's are missing or old)")
        self._own_lists = True
        (self._home / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        self._run("apt-get", "update")

    def _run(self, program: str, *args: str, cwd: Path | None = None) -> str:
        command = [program, "-q", "-c", str(self._configuration()), *args]
        try:
            done = subprocess.run(
                command,
                cwd=cwd,
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=APT_TIMEOUT_SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise AptError(f"{program} is not installed") from error
        except subprocess.TimeoutExpired as error:
            raise AptError(f"{program} {args[0]} gave no answer in {APT_TIMEOUT_SECONDS:.0f} s") from error
        if done.returncode:
            raise AptError(f"{' '.join([program, *args])}: {_complaint(done.stderr or done.stdout)}")
        return done.stdout

    def _configuration(self) -> Path:
        """A configuration that keeps apt's writing inside `home`.

        `#clear`: images for containers carry hooks that would empty the system's cache after an update.
        """
        (self._home / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        lines = [
            f'Dir::Cache "{self._home / "cache"}";',
            'APT::Sandbox::User "root";',
            'Acquire::Retries "2";',
            'Acquire::http::Timeout "20";',
            'Acquire::https::Timeout "20";',
            "#clear APT::Update::Post-Invoke;",
            "#clear APT::Update::Post-Invoke-Success;",
            "#clear APT::Update::Pre-Invoke;",
        ]
        if self._own_lists:
            lines.append(f'Dir::State::lists "{self._home / "lists"}";')
        path = self._home / "apt.conf"
        path.write_text("\n".join(lines) + "\n")
        return path


def unpack(deb: Path, root: Path) -> None:
    """The package's files below `root`; its scripts are not run."""
    root.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AptError(f"dpkg-deb -x {deb.name}: {_complaint(done.stderr)}")


def installed_packages() -> frozenset[str]:
    """The names of all packages that are installed on this machine."""
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n"], capture_output=True, text=True, check=False
    )
    return frozenset(line.split()[1] for line in done.stdout.splitlines() if line.startswith("ii "))


def parse_depends(text: str) -> dict[str, list[str]]:
    """What `apt-cache depends --recurse` prints, as package → the packages it needs. Virtual packages are left out."""
    graph: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if not line[:1].isspace():
            current = graph.setdefault(line.strip(), []) if not line.startswith("<") else []
            continue
        relation, _, name = line.strip().partition(": ")
        # "|Depends" is the first of several alternatives; the plain line after it is the last one
        if relation.lstrip("|") in ("Depends", "PreDepends") and not name.startswith("<"):
            current.append(name)
    return graph


def closure(graph: dict[str, list[str]], package: str, follow: Callable[[str], bool]) -> list[str]:
    """`package`, then all it needs, directly or not, through packages that `follow` accepts."""
    found = [package]
    for name in found:  # grows while it is walked: breadth first
        found += [n for n in dict.fromkeys(graph.get(name, [])) if n not in found and n in graph and follow(n)]
    return found


def _deb_of(package: str, folder: Path) -> Path:
    name = package.partition(":")[0]
    found = sorted(folder.glob(f"{name}_*.deb"))
    if not found:
        raise AptError(f"apt-get download left no file for {package}")
    return found[-1]


def _complaint(text: str, lines: int = 3) -> str:
    """The last lines of what apt said that are errors, or just the last ones."""
    said: Iterable[str] = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in said if line.startswith(("E:", "Err"))]
    return "; ".join((errors or list(said))[-lines:]) or "it failed and said nothing"
