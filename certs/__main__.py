"""`python -m certs`: make a cluster's keys and certificates in a folder.

Used by compose; `minictl up` calls `certs.cluster` directly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from certs import cluster


def parser() -> argparse.ArgumentParser:
    known = argparse.ArgumentParser(
        prog="python -m certs",
        description="Make the keys, certificates and kubeconfigs of one cluster; keeps what is good.",
    )
    known.add_argument("--dir", type=Path, required=True, metavar="DIR", help="the folder to fill")
    known.add_argument("--api-host", action="append", default=[], metavar="HOST", help="a name or address clients use")
    known.add_argument("--etcd-host", action="append", default=[], metavar="HOST", help="a name or address of etcd")
    known.add_argument(
        "--node", action="append", default=[], metavar="NAME[=HOST,…]", help="a node and the names it serves under"
    )
    known.add_argument(
        "--server", metavar="URL", help="the apiserver's URL in the kubeconfigs (default: first --api-host)"
    )
    known.add_argument("--component-server", metavar="URL", help="the apiserver's URL for all but the admin")
    known.add_argument("--node-server", metavar="URL", help="the apiserver's URL in the kubelets' kubeconfigs")
    known.add_argument("--name", default="armillary", metavar="NAME", help="the cluster's name in the kubeconfigs")
    return known


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        pki = cluster.make_cluster_pki(
            options.dir,
            api_hosts=options.api_host,
            nodes=dict(parse_node(text) for text in options.node),
            etcd_hosts=options.etcd_host,
            server=options.server,
            component_server=options.component_server,
            node_server=options.node_server,
            name=options.name,
        )
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"keys and certificates are in {pki.folder}\n")
    return 0


def parse_node(text: str) -> tuple[str, list[str]]:
    """`node-1=172.30.0.11,node-1.local` → name and hosts. Raises ValueError without a name."""
    name, _, hosts = text.partition("=")
    if not name:
        raise ValueError(f"--node {text!r}: a name is needed, as in node-1=172.30.0.11")
    return name, [host for host in hosts.split(",") if host]


if __name__ == "__main__":
    sys.exit(main())
