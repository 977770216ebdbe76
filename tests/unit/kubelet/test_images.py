"""L8: what pulls say, when they are tried again, and that no image name keeps a pod from going."""

from __future__ import annotations

from typing import Any, cast

import pytest
from cri_api.v1 import api_pb2 as pb

from apimachinery.clock import FixedClock
from apimachinery.objects import Object
from kubelet import errors, images
from kubelet.cri import Runtime
from kubelet.images import Images
from kubelet.references import References
from tests.unit.kubelet import builders

SANDBOX = pb.PodSandboxConfig()


class NoImages:
    """A runtime that has nothing and can pull nothing."""

    async def image(self, reference: str) -> pb.Image | None:
        return None

    async def pull(self, reference: str, credential: pb.AuthConfig | None, sandbox: pb.PodSandboxConfig) -> str:
        raise errors.RuntimeRefused("not found")


class NoReferences:
    async def get(self, *_: Any) -> dict[str, Any]:
        return {}


class Said:
    """The images of a node whose registry has nothing, and the reasons of the events about them."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.clock = FixedClock(builders.START)
        runtime, references = cast(Runtime, NoImages()), cast(References, NoReferences())
        self.images = Images(runtime, references, self.clock, self._event)

    def _event(self, pod: Object, kind: str, reason: str, message: str, *, container: str = "") -> None:
        self.reasons.append(reason)

    async def refusal(self, pod: Object) -> errors.StartRefused:
        with pytest.raises(errors.StartRefused) as caught:
            await self.images.ensure(pod, pod["spec"]["containers"][0], SANDBOX)
        return caught.value


async def test_an_image_name_that_cannot_be_parsed_is_refused_as_such() -> None:
    said, pod = Said(), builders.pod({"name": "app", "image": "NOT//valid"})
    assert (await said.refusal(pod)).reason == "InvalidImageName"
    assert said.reasons == ["InspectFailed"]


def test_a_pod_whose_image_name_cannot_be_parsed_is_waited_for_and_let_go_as_any_other() -> None:
    said, pod = Said(), builders.pod({"name": "app", "image": "NOT//valid"})
    container = pod["spec"]["containers"][0]
    assert said.images.retry_seconds(pod, container) == 0
    said.images.release(pod, [container])


async def test_a_failed_pull_backs_off_until_its_time_and_is_forgotten_with_the_pod() -> None:
    said, pod = Said(), builders.pod({"name": "app", "image": "nginx"})
    container = pod["spec"]["containers"][0]
    assert (await said.refusal(pod)).reason == "ErrImagePull"
    assert (await said.refusal(pod)).reason == "ImagePullBackOff"
    assert said.images.retry_seconds(pod, container) == 10
    said.images.release(pod, [container])
    assert (await said.refusal(pod)).reason == "ErrImagePull"


@pytest.mark.parametrize(("image", "named"), [("UPPER/Case:x", "Case"), ("a/B", "a/B"), ("Nginx", "library/Nginx")])
def test_capitals_in_an_image_name_are_named(image: str, named: str) -> None:
    with pytest.raises(errors.StartRefused, match=rf"repository name \({named}\) must be lowercase$"):
        images.with_default_tag(image)
