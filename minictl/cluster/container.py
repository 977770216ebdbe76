"""What the services of `docker-compose.yml` run that are no component: a node in a container, and the registry.

    python -m minictl.cluster.container registry    docker.io's stand-in: a pull-through cache of it, or our own images
    python -m minictl.cluster.container node NAME   containerd and a kubelet, each restarted when it ends

The node's container already is what `minictl up` makes by hand: a network, mount and PID namespace. What is left is to
make the kernel's folders writable, configure containerd, and keep two processes running. PID 1 must be an init that
reaps (`init: true`). Everything ends with the container.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path

from certs.layout import ClusterPki
from minictl.cluster import containerd, images, registry, tools, traits

STATE = Path("/var/lib/armillary")
READY = Path("/run/armillary-ready")  # there once the registry serves what it will serve
PUBLISH_SECONDS = 60.0
SOCKET_SECONDS = 60.0
RESTART_SECONDS = 1.0  # a crash loop stays cheap, and a single crash is over soon
STOP_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m minictl.cluster.container", description="Services of docker-compose.yml."
    )
    services = parser.add_subparsers(dest="service", required=True)
    store = services.add_parser("registry", help="serve images under docker.io's names")
    store.add_argument("--listen", default="0.0.0.0:5000", metavar="HOST:PORT")
    node = services.add_parser("node", help="run containerd and a kubelet")
    node.add_argument("name")
    node.add_argument("--ip", required=True, help="this node's address, on which the kubelet serves")
    node.add_argument("--registry", required=True, metavar="HOST:PORT", help="where the registry service listens")
    node.add_argument("--pki", type=Path, required=True, help="the folder that the certificates were made in")
    node.add_argument("--pod-cidr", default="10.244.0.0/16", help="the range of all pods of the cluster")
    options = parser.parse_args(arguments)
    service = serve_registry(options.listen) if options.service == "registry" else run_node(options)
    try:
        return asyncio.run(until_stopped(service))
    except (tools.ToolsMissing, images.ImageError, registry.RegistryError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


async def until_stopped(service: Coroutine[None, None, None]) -> int:
    """Run until it ends, or until SIGTERM or SIGINT cancel it."""
    task = asyncio.ensure_future(service)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return 0


async def serve_registry(listen: str) -> None:
    found = await registry.probe()
    say(f"{found.why}: " + ("passing pulls through" if found.reachable else "serving images built here"))
    upstream = registry.UPSTREAM if found.reachable else None
    built = [] if found.reachable else await asyncio.to_thread(images.build, say)
    STATE.mkdir(parents=True, exist_ok=True)
    config = STATE / "registry.yml"
    config.write_text(registry.configuration(STATE / "registry", listen, upstream=upstream))
    program = tools.find(["docker-registry"])["docker-registry"]
    READY.unlink(missing_ok=True)
    async with asyncio.TaskGroup() as group:
        group.create_task(keep_running(registry.command(program, config)))
        address = f"127.0.0.1:{listen.rpartition(':')[2]}"
        await wait_for_registry(address)
        if built:
            say("serves " + ", ".join(await registry.publish(address, built)))
        READY.touch()


async def wait_for_registry(address: str) -> None:
    async with asyncio.timeout(PUBLISH_SECONDS):
        while not await registry.is_serving(address):
            await asyncio.sleep(0.1)


async def run_node(options: argparse.Namespace) -> None:
    unlock_kernel_folders()
    found = tools.find(["containerd", "runc", "cni"])
    config, places = STATE / "containerd.toml", places_of(found)
    for folder in (places.root, places.cni_conf, places.registries):
        folder.mkdir(parents=True, exist_ok=True)
    registry.write_hosts(places.registries, options.registry)
    config.write_text(containerd.config(places, traits.read(places.root), images.PAUSE))
    environment = found.environment()
    async with asyncio.TaskGroup() as group:
        group.create_task(keep_running([str(found["containerd"]), f"--config={config}"], environment))
        await wait_for_socket(containerd.SOCKET)
        pause = images.pause_image(tools.Places.of_this_machine())
        ctr = found["containerd"].with_name("ctr")
        await asyncio.to_thread(images.import_archive, pause.archive, [containerd.SOCKET], ctr, environment)
        group.create_task(keep_running(kubelet(options, places), environment))


def unlock_kernel_folders() -> None:
    """Docker mounts these read-only; pods need cgroups and sysctls, and mounts that can be shared with them."""
    for folder in ("/sys", "/proc/sys"):
        _mount("-o", "remount,bind,rw", folder)
    for line in Path("/proc/self/mounts").read_text().splitlines():
        place, kind = line.split()[1:3]
        if kind.startswith("cgroup"):
            _mount("-o", "remount,bind,rw", place)
    _mount("--make-rshared", "/")


def places_of(found: tools.Tools) -> containerd.Places:
    return containerd.Places(
        root=Path("/var/lib/containerd"),
        cni_conf=STATE / "cni",
        cni_bin=found["cni"],
        registries=STATE / "certs.d",
        runc=found["runc"],
    )


def kubelet(options: argparse.Namespace, places: containerd.Places) -> list[str]:
    pki, stem = ClusterPki(options.pki), f"kubelet-{options.name}"
    flags: dict[str, object] = {
        "kubeconfig": pki.kubeconfig(stem),
        "hostname-override": options.name,
        "container-runtime-endpoint": f"unix://{containerd.SOCKET}",
        "root-dir": "/var/lib/kubelet",
        "node-ip": options.ip,
        "tls-cert-file": pki.cert(stem),
        "tls-private-key-file": pki.key(stem),
        "client-ca-file": pki.ca,
        "cluster-cidr": options.pod_cidr,
        "cgroup-root": f"/{options.name}",
        "cni-conf-dir": places.cni_conf,
        "cni-bin-dir": places.cni_bin,
    }
    return [sys.executable, "-m", "kubelet", *(f"--{name}={value}" for name, value in flags.items())]


async def keep_running(command: Sequence[str], environment: dict[str, str] | None = None) -> None:
    """Start it again whenever it ends; stop it when cancelled."""
    while True:
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                await stop(process)
        say(f"{Path(command[0]).name} ended with {code}; starting it again")
        await asyncio.sleep(RESTART_SECONDS)


async def stop(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()


async def wait_for_socket(path: Path) -> None:
    async with asyncio.timeout(SOCKET_SECONDS):
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_unix_connection(path)
                writer.close()
                return
            await asyncio.sleep(0.05)


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(
            f"mount {' '.join(arguments)}: {done.stderr.strip()} (the service needs the capabilities "
            f"that docker-compose.yml gives it; {os.uname().nodename} has them not)"
        )


if __name__ == "__main__":
    sys.exit(main())
