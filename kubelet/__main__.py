"""`mini-kubelet`: the node agent (L1–L15). Flags in `kubelet/config.py`, wiring in `kubelet/kubelet.py`."""

from __future__ import annotations

import argparse
import os
import sys

from apimachinery.clock import SystemClock
from client import kubeconfig, process
from client.metrics import Metrics
from client.rest import Client
from kubelet import config as configs


def main() -> int:
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")  # read when gRPC is imported; it logs at each child else
    options = configs.parser().parse_args()
    return process.run("mini-kubelet", lambda: _serve(options), options)


async def _serve(options: argparse.Namespace) -> None:
    from kubelet.cri import Runtime
    from kubelet.kubelet import Kubelet

    config = configs.from_options(options)
    clock, metrics = SystemClock(), Metrics()
    target = kubeconfig.load(config.kubeconfig)
    async with (
        Client(target, user_agent="mini-kubelet", clock=clock, observer=metrics.requests()) as client,
        Runtime(config.runtime_endpoint) as runtime,
    ):
        await Kubelet(config, client, runtime, clock, metrics).run()


if __name__ == "__main__":
    sys.exit(main())
