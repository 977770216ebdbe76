"""The commands of the local cluster: `up`, `down`, `status`, `image`. Parse, one call, print (`minictl.commands`)."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from minictl.cluster import errors

if TYPE_CHECKING:
    from minictl.cluster import status as status_module

DEFAULT_FOLDER = ".cluster"


class Context(Protocol):
    """What these commands need of `minictl.context.Context`: they speak to no server."""

    @property
    def out(self) -> TextIO: ...

    @property
    def err(self) -> TextIO: ...


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir", metavar="DIR", default=DEFAULT_FOLDER, help="the cluster's folder (default %(default)s)"
    )


def _folder(args: argparse.Namespace) -> Path:
    return Path(args.dir).expanduser().resolve()


def _fail(context: Context, error: errors.ClusterError) -> int:
    context.err.write(f"error: {error}\n")
    return 1


class Up:
    """Start a local cluster: etcd, apiserver, controllers, scheduler and nodes, each a process of this machine.

    Returns when every node is Ready; the cluster stays in the background. Run again, it completes what is missing.
    """

    IS_LOCAL = True
    EXAMPLES = """\
  minictl up                                   # two nodes, kubeconfig in .cluster/kubeconfig
  minictl up --nodes 3 --port 6443
  minictl up --runtime hollow --nodes 50       # simulated containers: no root, no containerd
  minictl up --dir /tmp/other --name other     # a second cluster beside the first"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--nodes", type=int, metavar="N", help="how many nodes (default 2)")
        add(
            "--runtime",
            choices=("auto", "containerd", "hollow"),
            default="auto",
            help="what runs containers: auto takes containerd where it can run (root on Linux), else hollow",
        )
        add("--name", metavar="NAME", help="the cluster's name on this machine (default: derived from --dir)")
        add("--port", type=int, metavar="PORT", default=0, help="the apiserver's port; 0 takes a free one (default 0)")
        _add_folder(parser)

    async def run(self, context: Context, args: argparse.Namespace) -> int:
        from minictl.cluster import progress, up
        from minictl.cluster.choose import Wishes

        runtime = None if args.runtime == "auto" else args.runtime
        wishes = Wishes(_folder(args), args.nodes, runtime, args.name, args.port or None)
        try:
            done = await up.up(wishes, progress.Progress(context.err))
        except errors.ClusterError as error:
            return _fail(context, error)
        for note in done.notes:
            context.err.write(f"note: {note}\n")
        context.out.write(next_steps(done.settings.name, done.settings.kubeconfig, args.dir))
        return 0


def next_steps(name: str, kubeconfig: Path, folder: str) -> str:
    """What to try now; paths are shown as they work from here."""
    shown, minictl, kubectl = _shown(kubeconfig), _program("minictl"), _program("kubectl")
    here = "" if folder == DEFAULT_FOLDER else f" --dir {folder}"
    flag = "" if folder == DEFAULT_FOLDER else f" --kubeconfig {shown}"
    return f"""
Cluster {name} is up. Its kubeconfig is {shown}

  {minictl}{flag} run nginx --replicas=3
  {minictl}{flag} get pods -o wide
  {kubectl} --kubeconfig {shown} get deployments,replicasets,pods -A
  {minictl} status{here}
  {minictl} down{here}
"""


def _program(name: str) -> str:
    """The program's bare name where the shell would find it, else the path of the one installed beside this Python."""
    beside = Path(sys.executable).with_name(name)
    return _shown(beside) if shutil.which(name) is None and beside.exists() else name


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


class Down:
    """Stop the local cluster and remove everything it made: processes, networks, mounts, cgroups, files.

    Works in whatever state the cluster is, and may be run again.
    """

    IS_LOCAL = True
    EXAMPLES = """\
  minictl down
  minictl down --dir /tmp/other"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        _add_folder(parser)

    async def run(self, context: Context, args: argparse.Namespace) -> int:
        from minictl.cluster import down, progress

        try:
            left = await asyncio.to_thread(down.down, _folder(args), progress.Progress(context.err))
        except errors.NoCluster:
            context.out.write(f"there is no cluster in {args.dir}\n")
            return 0
        except errors.ClusterError as error:
            return _fail(context, error)
        for thing in left:
            context.err.write(f"error: could not remove {thing}\n")
        if left:
            context.err.write("run `minictl down` again when that is free\n")
            return 1
        context.out.write(f"the cluster in {args.dir} is gone\n")
        return 0


class Status:
    """Show every process of the local cluster: pid, address, health and log. Exit code 0 when all are healthy."""

    IS_LOCAL = True
    EXAMPLES = """\
  minictl status
  minictl status -o json"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-o", "--output", choices=("json",), help="print an object instead of a table")
        _add_folder(parser)

    async def run(self, context: Context, args: argparse.Namespace) -> int:
        from minictl.cluster import status

        try:
            found = await status.read(_folder(args))
        except errors.ClusterError as error:
            return _fail(context, error)
        context.out.write(as_json(found) if args.output == "json" else as_table(found))
        return 0 if found.healthy else 1


def as_json(found: status_module.Status) -> str:
    rows = [
        {
            "name": row.name,
            "pid": row.pid,
            "address": row.address,
            "healthy": row.healthy,
            "log": row.log,
            "restarts": row.restarts,
            "message": row.message,
        }
        for row in found.rows
    ]
    settings = found.settings
    value = {
        "name": settings.name,
        "runtime": settings.runtime,
        "kubeconfig": str(settings.kubeconfig),
        "processes": rows,
    }
    return json.dumps(value, indent=2) + "\n"


def as_table(found: status_module.Status) -> str:
    header = ("NAME", "PID", "HEALTHY", "RESTARTS", "ADDRESS", "LOG")
    rows = [
        (row.name, str(row.pid or "-"), "yes" if row.healthy else "no", str(row.restarts), row.address, row.log)
        for row in found.rows
    ]
    widths = [max(len(line[column]) for line in (header, *rows)) for column in range(len(header))]
    lines = [
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (header, *rows)
    ]
    problems = [f"{row.name}: {row.message}" for row in found.rows if not row.healthy and row.message]
    kubeconfig = f"kubeconfig: {_shown(found.settings.kubeconfig)}"
    return "".join(f"{line.rstrip()}\n" for line in (*lines, "", *problems, kubeconfig))


class Image:
    """Load an image archive (OCI or Docker) into every node, so that pods can use it without a registry."""

    IS_LOCAL = True
    EXAMPLES = """\
  minictl image load my-app.tar"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", metavar="load", choices=("load",), help="the only action there is")
        parser.add_argument("file", metavar="FILE", help="the archive, as of `docker save` or `skopeo copy`")
        _add_folder(parser)

    async def run(self, context: Context, args: argparse.Namespace) -> int:
        from minictl.cluster import load

        try:
            nodes = await asyncio.to_thread(load.load, _folder(args), Path(args.file))
        except errors.ClusterError as error:
            return _fail(context, error)
        context.out.write(f"{args.file} is loaded into {', '.join(nodes)}\n")
        return 0


up, down, status, image = Up(), Down(), Status(), Image()
