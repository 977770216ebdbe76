from __future__ import annotations

import pytest

from apimachinery import imagenames


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.22", "docker.io/library/nginx:1.22"),
        ("me/app", "docker.io/me/app:latest"),
        ("localhost/app:1", "localhost/app:1"),
        ("registry:5000/app", "registry:5000/app:latest"),
        ("quay.io/a/b@sha256:" + "0" * 64, "quay.io/a/b@sha256:" + "0" * 64),
    ],
)
def test_names_are_completed_as_runtimes_do(name: str, full: str) -> None:
    assert imagenames.normalized(name) == full


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("docker.io/library/nginx:latest", "nginx:latest"),
        ("docker.io/me/app:1", "me/app:1"),
        ("localhost/app:1", "localhost/app:1"),
    ],
)
def test_names_of_the_default_registry_are_shortened_for_people(full: str, short: str) -> None:
    assert imagenames.familiar(full) == short
