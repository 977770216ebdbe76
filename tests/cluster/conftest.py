"""One cluster for all cluster tests: made by `minictl up`, on containerd where this machine allows, gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minictl.cluster.settings import CONTAINERD
from tests.cluster.local import LocalCluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Two nodes, Ready. Which runtime, and why, is in the summary of the run (`-s`)."""
    local = LocalCluster(tmp_path_factory.mktemp("cluster") / "c")
    try:
        said = local.up().err
        print("\n".join(line for line in said.splitlines() if "runtime" in line))  # noqa: T201 - for the reader of the run
        yield local
    finally:
        if local.settings is not None:
            local.minictl("down")
    assert local.traces() == []


@pytest.fixture
def hollow(tmp_path: Path) -> Iterator[LocalCluster]:
    """A folder for a second, small cluster; whatever a test leaves in it is removed, and the removal checked."""
    local = LocalCluster(tmp_path / "h")
    yield local
    if local.settings is not None:
        local.minictl("down")
        assert local.traces() == []


@pytest.fixture(scope="session")
def real_containers(cluster: LocalCluster) -> LocalCluster:
    """The cluster, where its containers are real; the reason, where they are not."""
    from minictl.cluster import traits

    assert cluster.settings is not None
    if cluster.settings.runtime != CONTAINERD:
        pytest.skip(f"containers are hollow here: {traits.why_no_containerd() or 'a tool is missing'}")
    return cluster
