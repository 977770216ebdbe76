"""CRI's ImageService over `Images`. A pull takes a little time, as a real one does; nothing is fetched."""

from __future__ import annotations

from typing import Any

from cri_api.v1 import api_pb2 as cri
from cri_api.v1 import api_pb2_grpc

from apimachinery.clock import Clock
from kubelet.hollow.images import Image, Images


class ImageService(api_pb2_grpc.ImageServiceServicer):
    def __init__(self, images: Images, clock: Clock, pull_seconds: float, filesystem: str) -> None:
        self._images = images
        self._clock = clock
        self._pull_seconds = pull_seconds
        self._filesystem = filesystem

    async def ListImages(self, request: Any, context: Any) -> Any:
        wanted = request.filter.image.image
        found = [self._images.find(wanted)] if wanted else self._images.all()
        return cri.ListImagesResponse(images=[_message(image) for image in found if image is not None])

    async def ImageStatus(self, request: Any, context: Any) -> Any:
        """An image that is not there is an answer without one, no error."""
        image = self._images.find(request.image.image)
        return cri.ImageStatusResponse(image=_message(image) if image else None)

    async def PullImage(self, request: Any, context: Any) -> Any:
        full = self._images.check(request.image.image)
        await self._clock.sleep(self._pull_seconds)
        return cri.PullImageResponse(image_ref=self._images.add(full).digests[0])

    async def RemoveImage(self, request: Any, context: Any) -> Any:
        self._images.remove(request.image.image)
        return cri.RemoveImageResponse()

    async def ImageFsInfo(self, request: Any, context: Any) -> Any:
        usage = cri.FilesystemUsage(
            timestamp=int(self._clock.now().timestamp() * 1e9),
            fs_id=cri.FilesystemIdentifier(mountpoint=self._filesystem),
            used_bytes=cri.UInt64Value(value=0),
            inodes_used=cri.UInt64Value(value=0),
        )
        return cri.ImageFsInfoResponse(image_filesystems=[usage], container_filesystems=[usage])


def _message(image: Image) -> Any:
    return cri.Image(id=image.id, repo_tags=image.tags, repo_digests=image.digests, size=image.size_bytes)
