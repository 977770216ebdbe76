"""Other people's clients against the real apiserver: each is configured by the kubeconfig that users have."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client as official
from kubernetes import config as official_config

from tests import harness

# These clients leave sockets to the garbage collector, which warns: the warnings are theirs, and come while theirs run
FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture
def api(server: harness.Server) -> Iterator[official.ApiClient]:
    """The official client, as the cluster's admin."""
    with official_config.new_client_from_config(str(server.pki.kubeconfig("admin"))) as api:
        yield api
