"""Where the images of a containerd cluster come from: docker.io through the local registry, or what is built here.

The registry's mode is decided by asking docker.io for its greeting, at every `up`. Images are built while the processes
start, and put into the registry, and the pause image into every node, once these answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from certs import files
from minictl.cluster import errors, facts, images, load, registry, tools
from minictl.cluster.progress import Progress
from minictl.cluster.registry import Reachability
from minictl.cluster.settings import Settings
from minictl.cluster.tools import Tools


@dataclass(frozen=True)
class Built:
    """What could be built; the pause image, which needs nothing, is always the first."""

    images: tuple[images.BuiltImage, ...]
    problem: str = ""  # why some image is missing


async def configure(settings: Settings) -> Reachability:
    """Write the registry's configuration and the nodes' mirrors; tells whether docker.io can be reached."""
    world = await registry.probe()
    upstream = registry.UPSTREAM if world.reachable else None
    configuration = registry.configuration(settings.folder / "registry", settings.registry, upstream=upstream)
    files.write(facts.registry_config(settings), configuration.encode())
    for node in settings.nodes:
        registry.write_hosts(settings.node_folder(node) / "certs.d", settings.registry, upstream=upstream)
    return world


def build(world: Reachability, say: tools.Progress) -> Built:
    """Blocking, some seconds the first time. A missing package mirror costs the image, not the cluster."""
    places = tools.Places.of_this_machine()
    built = [images.pause_image(places)]
    if world.reachable:
        return Built(tuple(built))
    try:
        built.append(images.busybox_image(places, say))
        built.append(images.nginx_image(places, say))
    except (images.ImageError, tools.ToolsMissing) as error:
        return Built(tuple(built), str(error))
    return Built(tuple(built))


async def publish(settings: Settings, world: Reachability, built: Built, found: Tools, progress: Progress) -> list[str]:
    """Put the images where pulls find them. Returns what the person should know. Raises ClusterError."""
    pause = built.images[0].archive
    try:
        await asyncio.to_thread(images.import_archive, pause, load.sockets(settings), found["ctr"], found.environment())
        if world.reachable:
            progress.step(f"images come from docker.io ({world.why}), through the local registry")
            return []
        names = await registry.publish(settings.registry, built.images)
    except (images.ImageError, registry.RegistryError) as error:
        raise errors.ClusterError(str(error)) from error
    shown = ", ".join(name for name in names if "pause" not in name) or "no image yet"
    progress.step("the local registry is filled")
    note = f"{world.why}: images come from a local registry that has {shown}"
    return [note, *([built.problem] if built.problem else [])]
