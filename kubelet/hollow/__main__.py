"""mini-hollow: a CRI v1 runtime whose containers are simulated. One process serves as many nodes as it has sockets.

mini-hollow --listen unix:///run/node-1.sock [--listen unix:///run/node-2.sock …]
mini-hollow load unix:///run/node-1.sock nginx:mine …     make images present, as `image load` does
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import grpc.aio
from cri_api.v1 import api_pb2 as cri
from cri_api.v1 import api_pb2_grpc

from apimachinery.clock import SystemClock
from client import process
from kubelet.hollow import images, server

log = logging.getLogger(__name__)
_LOAD_TIMEOUT_SECONDS = 10.0


def main() -> int:
    if sys.argv[1:2] == ["load"]:
        return asyncio.run(_load(_load_parser().parse_args(sys.argv[2:])))
    options = _serve_parser().parse_args()
    process.configure_logging(options.v)
    logging.getLogger("websockets").setLevel(logging.WARNING)
    return asyncio.run(_serve(options))


def _serve_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mini-hollow", description="A CRI v1 runtime whose containers are simulated.")
    parser.add_argument(
        "--listen",
        metavar="unix:///PATH",
        type=_socket_path,
        action="append",
        required=True,
        help="repeat for more nodes",
    )
    parser.add_argument("--pod-cidr", metavar="CIDR", help="addresses until the kubelet tells the node's own range")
    parser.add_argument("--pull-seconds", metavar="N", type=float, default=0.05, help="how long a pull takes")
    parser.add_argument(
        "--missing-image",
        metavar="GLOB",
        action="append",
        default=list(images.MISSING),
        help="full image names whose pull fails with NOT_FOUND (besides %(default)s)",
    )
    parser.add_argument("-v", "--v", metavar="LEVEL", type=int, default=0, help="log level: 2 and more is debug")
    return parser


def _load_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mini-hollow load", description="Make images present in a hollow runtime.")
    parser.add_argument("listen", metavar="unix:///PATH", type=_socket_path)
    parser.add_argument("names", metavar="NAME", nargs="+")
    return parser


def _socket_path(text: str) -> Path:
    path = Path(text.removeprefix("unix://"))
    if not path.is_absolute():
        raise argparse.ArgumentTypeError(f"{text!r} is no unix:///absolute/path")
    return path


async def _serve(options: argparse.Namespace) -> int:
    settings = server.Settings(options.pod_cidr, options.pull_seconds, tuple(options.missing_image))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        for socket in options.listen:
            await stack.enter_async_context(server.HollowRuntime(socket, SystemClock(), settings))
            log.info("a hollow runtime serves %s", socket, extra={"step": "L9"})
        await stop.wait()
    return 0


async def _load(options: argparse.Namespace) -> int:
    """Each name through PullImage, which is all that being present means here."""
    async with grpc.aio.insecure_channel(f"unix:{options.listen}") as channel:
        stub = api_pb2_grpc.ImageServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
        for name in options.names:
            try:
                request = cri.PullImageRequest(image=cri.ImageSpec(image=name))
                await stub.PullImage(request, timeout=_LOAD_TIMEOUT_SECONDS)
            except grpc.aio.AioRpcError as error:
                sys.stderr.write(f"mini-hollow: {options.listen}: {name}: {error.details()}\n")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
