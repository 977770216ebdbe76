"""The images of a hollow runtime: every well-formed name can be pulled, but for those on a list of missing ones.

An image is its name: the id is the name's digest, so the same name is the same image on every node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch

from apimachinery import imagenames, names

# `.invalid` never resolves (RFC 2606); the others are for trying out ErrImagePull.
MISSING = ("*.invalid/*", "*/no-such-image:*", "*:no-such-tag")
_SIZE_BYTES = 1 << 20


class BadReference(Exception):
    """The name is not in the grammar of image references."""


class NoSuchImage(Exception):
    """The registry would not know it."""


@dataclass(frozen=True, slots=True)
class Image:
    id: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    size_bytes: int = _SIZE_BYTES


class Images:
    """What has been pulled or loaded, by full name."""

    def __init__(self, missing: Sequence[str] = MISSING) -> None:
        self._missing = missing
        self._images: dict[str, Image] = {}

    def check(self, reference: str) -> str:
        """The full name of an image that can be pulled. Raises BadReference, NoSuchImage."""
        if names.image_reference(reference):
            raise BadReference(f'failed to parse image reference "{reference}": invalid reference format')
        full = imagenames.normalized(reference)
        if any(fnmatch(full, pattern) for pattern in self._missing):
            raise NoSuchImage(
                f'failed to pull and unpack image "{full}": failed to resolve reference "{full}": {full}: not found'
            )
        return full

    def add(self, reference: str) -> Image:
        """The image is present from now on."""
        full = imagenames.normalized(reference)
        repository, at, digest = full.partition("@")
        digest = digest or f"sha256:{hashlib.sha256(full.encode()).hexdigest()}"
        if not at:
            repository = full.rpartition(":")[0]
        image = Image(digest, () if at else (full,), (f"{repository}@{digest}",))
        self._images[full] = image
        return image

    def find(self, reference: str) -> Image | None:
        """By name as written, full name, id or `name@id`."""
        found = self._images.get(imagenames.normalized(reference)) if not names.image_reference(reference) else None
        return found or next((i for i in self._images.values() if reference == i.id or reference in i.digests), None)

    def remove(self, reference: str) -> None:
        """Forgets the image under all its names; harmless when it is not there."""
        image = self.find(reference)
        if image is not None:
            self._images = {name: other for name, other in self._images.items() if other.id != image.id}

    def all(self) -> Iterable[Image]:
        """Each image once, with all its tags."""
        merged: dict[str, Image] = {}
        for image in self._images.values():
            known = merged.get(image.id)
            merged[image.id] = replace(image, tags=(*known.tags, *image.tags)) if known else image
        return merged.values()
