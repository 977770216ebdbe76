"""Show the versions of the client and the server."""

from __future__ import annotations

import argparse
import platform
from importlib import metadata

from minictl import output
from minictl.context import Context
from minictl.failures import Refused

EXAMPLES = """\
  minictl version
  minictl version -o json
  minictl version --client
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", action="store_true", help="only the client's, without asking a server")
    parser.add_argument("-o", "--output", metavar="FORMAT", help="output format, one of: json, yaml")


async def run(context: Context, args: argparse.Namespace) -> int:
    if args.output not in (None, "json", "yaml"):
        raise Refused("--output must be 'yaml' or 'json'")
    found: dict[str, object] = {"clientVersion": client_version()}
    if not args.client:
        found["serverVersion"] = (await context.client.raw("GET", "/version")).json()
    if args.output:
        context.out.write(output.render(found, args.output))
        return 0
    context.write(f"Client Version: {client_version()['gitVersion']}")
    server = found.get("serverVersion")
    if isinstance(server, dict):
        context.write(f"Server Version: {server.get('gitVersion', '')}")
    return 0


def client_version() -> dict[str, str]:
    version = metadata.version("armillary")
    major, minor, *_ = version.split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{version}",
        "platform": f"{platform.system().lower()}/{platform.machine()}",
        "pythonVersion": platform.python_version(),
    }
