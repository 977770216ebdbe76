"""Names of images, as people write them and as runtimes keep them: `nginx` is `docker.io/library/nginx:latest`.

Does not validate: `names.image_reference` does.
Source: https://github.com/distribution/reference (normalisation)
"""

from __future__ import annotations

_DEFAULT_REGISTRY = "docker.io"


def normalized(name: str) -> str:
    """The full reference: registry, path, and tag or digest; `latest` where neither was given."""
    first, slash, _ = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        name = f"{_DEFAULT_REGISTRY}/{name}" if slash else f"{_DEFAULT_REGISTRY}/library/{name}"
    last = name.rpartition("/")[2]
    return name if ":" in last or "@" in last else f"{name}:latest"


def familiar(name: str) -> str:
    """A full reference as people write it: without the default registry and `library/`."""
    return name.removeprefix(f"{_DEFAULT_REGISTRY}/").removeprefix("library/")
