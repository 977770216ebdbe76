"""What `minictl up` says when it gives up."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from minictl.cluster import errors, planning, up
from minictl.cluster.progress import Progress
from minictl.cluster.settings import HOLLOW
from tests.unit.minictl.cluster import fixtures


async def words_of_giving_up(folder: Path) -> str:
    """Of a cluster whose supervisor has ended."""
    (folder / "logs").mkdir()
    cluster = planning.plan_cluster(fixtures.settings(HOLLOW, folder=folder), fixtures.facts())
    with pytest.raises(errors.NotReady) as caught:
        await up.wait_until_running(cluster, Progress(io.StringIO()))
    return str(caught.value)


def free(mib: int) -> Callable[[Path], SimpleNamespace]:
    return lambda _: SimpleNamespace(free=mib << 20)


async def test_a_disk_that_is_almost_full_is_said_beside_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", free(30))
    assert f"only 30 MiB are free in {tmp_path / 'logs'}" in await words_of_giving_up(tmp_path)


async def test_a_disk_with_room_is_not_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", free(5000))
    assert "free" not in await words_of_giving_up(tmp_path)
