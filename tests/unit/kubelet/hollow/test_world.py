from __future__ import annotations

import itertools
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as cri

from apimachinery.clock import FixedClock
from kubelet.hollow import addresses, world
from kubelet.hollow.images import BadReference, Images, NoSuchImage
from kubelet.hollow.world import World


class Scene:
    """A world whose time and ids are told."""

    def __init__(self, cidr: str | None = "10.1.0.0/29") -> None:
        self.clock = FixedClock()
        self.printed: list[tuple[str, str, str]] = []
        numbers = itertools.count(1)
        self.world = World(
            self.clock,
            lambda: f"id-{next(numbers)}",
            lambda path, stream, text: self.printed.append((path, stream, text)),
            Images(),
            addresses.Pool(cidr),
        )

    def sandbox(self, uid: str = "u1", *, host: bool = False) -> world.Sandbox:
        network = cri.NODE if host else cri.POD
        options = cri.NamespaceOption(network=network)
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name="p", namespace="default", uid=uid),
            labels={world.POD_UID: uid},
            log_directory="/logs/p",
            linux=cri.LinuxPodSandboxConfig(
                security_context=cri.LinuxSandboxSecurityContext(namespace_options=options)
            ),
        )
        return self.world.run_sandbox(config, "")

    def container(self, sandbox: world.Sandbox, *args: str, image: str = "busybox") -> world.Container:
        self.world.images.add(image)
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name="c"),
            image=cri.ImageSpec(image=image),
            args=args,
            log_path="c/0.log",
            labels={world.POD_UID: sandbox.uid},
        )
        return self.world.create_container(sandbox.id, config, cri.PodSandboxConfig())

    def running(self, *args: str, image: str = "busybox") -> world.Container:
        container = self.container(self.sandbox(), *args, image=image)
        self.world.start_container(container.id)
        return container


def state(container: world.Container) -> str:
    return str(cri.ContainerState.Name(container.state))  # type: ignore[arg-type]  # an int of the enum


def test_a_container_is_created_runs_and_ends_when_its_time_has_come() -> None:
    scene = Scene()
    container = scene.container(scene.sandbox(), "sh", "-c", "sleep 5; exit 3")
    assert state(container) == "CONTAINER_CREATED"
    scene.world.start_container(container.id)
    scene.clock.advance(4.9)
    assert state(scene.world.container(container.id)) == "CONTAINER_RUNNING"
    scene.clock.advance(10)
    ended = scene.world.container(container.id)
    assert (state(ended), ended.exit_code, ended.reason) == ("CONTAINER_EXITED", 3, "Error")


def test_the_end_is_stamped_with_when_it_happened_not_when_it_was_seen() -> None:
    scene = Scene()
    container = scene.running("sleep", "5")
    scene.clock.advance(100)
    ended = scene.world.container(container.id)
    assert ended.finished_at - ended.started_at == 5 * 10**9
    assert ended.reason == "Completed"


def test_the_log_says_that_the_runtime_is_hollow_and_shows_output_in_time() -> None:
    scene = Scene()
    scene.running("sh", "-c", "echo one; sleep 3; echo two")
    assert [text for _, _, text in scene.printed] == [
        "[hollow] docker.io/library/busybox:latest: simulated, no process runs",
        "one",
    ]
    scene.clock.advance(3)
    scene.world.settle()
    assert scene.printed[-1] == ("/logs/p/c/0.log", "stdout", "two")


@pytest.mark.parametrize(
    ("args", "grace", "code"),
    [(("sleep", "1000"), 30, 143), (("sleep", "1000"), 0, 137), (("nginx",), 30, 0), (("nginx",), 0, 137)],
)
def test_a_stopped_container_ends_as_the_signal_has_it(args: tuple[str, ...], grace: int, code: int) -> None:
    scene = Scene()
    container = scene.running(*args)
    scene.world.stop_container(container.id, grace)
    assert scene.world.container(container.id).exit_code == code


def test_stop_and_remove_may_be_repeated_and_unknown_things_are_fine() -> None:
    scene = Scene()
    container = scene.running("sleep", "9")
    for _ in range(2):
        scene.world.stop_container(container.id, 1)
        scene.world.remove_container(container.id)
        scene.world.stop_sandbox("nowhere")
        scene.world.remove_sandbox("nowhere")
    with pytest.raises(world.NotFound, match="not found"):
        scene.world.container(container.id)


def test_an_exited_container_cannot_be_started_again() -> None:
    scene = Scene()
    container = scene.running("true")
    with pytest.raises(world.Refused, match="CONTAINER_EXITED"):
        scene.world.start_container(container.id)


def test_a_removed_sandbox_takes_its_containers_along_and_frees_its_address() -> None:
    scene = Scene()
    first = scene.sandbox()
    scene.container(first)
    scene.world.remove_sandbox(first.id)
    assert list(scene.world.containers()) == list(scene.world.sandboxes()) == []
    assert scene.world.pool.take() != first.ip  # the next in turn; the freed one comes round later
    assert first.ip in [scene.world.pool.take() for _ in range(4)]


def test_no_container_is_made_in_a_stopped_sandbox() -> None:
    scene = Scene()
    sandbox = scene.sandbox()
    scene.world.stop_sandbox(sandbox.id)
    with pytest.raises(world.Refused, match="not running"):
        scene.container(sandbox)


def test_a_pod_is_found_by_its_uid_and_only_it() -> None:
    scene = Scene()
    mine, other = scene.sandbox("a"), scene.sandbox("b")
    scene.container(mine)
    scene.container(other)
    assert [s.id for s in scene.world.sandboxes({world.POD_UID: "a"})] == [mine.id]
    assert [c.sandbox_id for c in scene.world.containers({world.POD_UID: "b"})] == [other.id]
    assert list(scene.world.containers({world.POD_UID: "a", "other": "label"})) == []


def test_a_pod_on_the_hosts_network_gets_no_address() -> None:
    assert Scene(cidr=None).sandbox(host=True).ip == ""


def test_without_a_pod_cidr_no_address_can_be_given() -> None:
    with pytest.raises(addresses.NoAddress, match="no pod CIDR yet"):
        Scene(cidr=None).sandbox()


def test_addresses_are_distinct_and_run_out() -> None:
    pool = addresses.Pool("10.1.0.0/29")
    assert [pool.take() for _ in range(5)] == [f"10.1.0.{n}" for n in (2, 3, 4, 5, 6)]
    with pytest.raises(addresses.NoAddress, match=r"10\.1\.0\.0/29"):
        pool.take()


def test_an_image_that_was_not_pulled_is_not_found() -> None:
    scene = Scene()
    config = cri.ContainerConfig(image=cri.ImageSpec(image="nginx"))
    with pytest.raises(world.NotFound, match='"nginx"'):
        scene.world.create_container(scene.sandbox().id, config, cri.PodSandboxConfig())


@pytest.mark.parametrize("name", ["registry.invalid/app:1", "nginx:no-such-tag", "no-such-image"])
def test_missing_images_cannot_be_pulled(name: str) -> None:
    with pytest.raises(NoSuchImage, match="not found"):
        Images().check(name)


def test_a_malformed_reference_is_no_image() -> None:
    with pytest.raises(BadReference, match="invalid reference format"):
        Images().check("Not A Name")


def test_an_image_is_found_by_each_of_its_names_until_it_is_removed() -> None:
    images = Images()
    image = images.add("nginx")
    names: list[Any] = ["nginx", "docker.io/library/nginx:latest", image.id, image.digests[0]]
    assert [images.find(name) for name in names] == [image] * 4
    images.remove(image.id)
    assert images.find("nginx") is None
