"""The commands of minictl: one row here and one target each. Nothing is imported until its command is called.

A command is an object (a module, usually: one file a command) with

    EXAMPLES: str                                            # lines shown under `minictl NAME --help`
    def add_arguments(parser: argparse.ArgumentParser)       # its own flags; global ones are there already
    async def run(context: Context, args: Namespace) -> int  # the exit code; errors are raised, `__main__` prints them

and a row of `COMMANDS`: name, target (`package.module`, or `package.module:attribute` where several commands share a
module), and the one-line summary of `minictl --help`. A target with `TAKES_COMMAND = True` finds what follows `--` in
`args.command_line`; for the others those words are further positional arguments. One with `IS_LOCAL = True` asks no
API server: its help leaves the global flags out.

To add a command: write its file, add its row, write its part of `docs/minictl.md` with
`python -m minictl.reference docs/minictl.md` (from its docstring, flags and EXAMPLES; a test compares).
What a command may use is `minictl.context.Context`: output streams, the client, the mapper; never `print`.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """One row of `minictl --help`."""

    name: str
    target: str
    summary: str
    group: str


BASIC, APPS, DEBUG, CLUSTER, OTHER = (
    "Basic commands",
    "Applying and changing",
    "Troubleshooting",
    "The local cluster",
    "Other",
)

COMMANDS = (
    Command("run", "minictl.commands.run", "Run an image: a Deployment, a Job or a Pod by --restart", BASIC),
    Command("get", "minictl.commands.get", "Show one or many resources", BASIC),
    Command("describe", "minictl.commands.describe", "Show the details of a resource, with its events", BASIC),
    Command("create", "minictl.commands.create", "Create resources from files or stdin", BASIC),
    Command("delete", "minictl.commands.delete", "Delete resources by file, name or selector", BASIC),
    Command("apply", "minictl.commands.apply", "Apply a configuration from files or stdin", APPS),
    Command("scale", "minictl.commands.scale", "Set a new size for a workload", APPS),
    Command("logs", "minictl.commands.logs", "Print the logs of a container in a pod", DEBUG),
    Command("exec", "minictl.commands.exec", "Run a command in a container", DEBUG),
    Command("up", "minictl.cluster.commands:up", "Start a local cluster", CLUSTER),
    Command("down", "minictl.cluster.commands:down", "Stop the local cluster and remove all it made", CLUSTER),
    Command("status", "minictl.cluster.commands:status", "Show the processes of the local cluster", CLUSTER),
    Command("image", "minictl.cluster.commands:image", "Load an image archive into every node", CLUSTER),
    Command("api-resources", "minictl.commands.api_resources", "Show the resources that the server has", OTHER),
    Command("version", "minictl.commands.version", "Show the versions of the client and the server", OTHER),
)


def find(name: str) -> Command | None:
    """The row of a command, or None."""
    return next((command for command in COMMANDS if command.name == name), None)
