"""A cluster's settings: kept, recognised, and never taken for another's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minictl.cluster import choose, errors, folder, settings
from minictl.cluster.choose import Wishes
from minictl.cluster.settings import CONTAINERD, HOLLOW
from tests.unit.minictl.cluster import fixtures


@pytest.mark.parametrize("runtime", [CONTAINERD, HOLLOW])
def test_settings_come_back_as_they_were_saved(tmp_path: Path, runtime: str) -> None:
    saved = fixtures.settings(runtime, folder=tmp_path)
    settings.save(saved)
    assert settings.load(tmp_path) == saved


def test_an_empty_folder_has_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(errors.NoCluster, match="minictl up"):
        settings.load(tmp_path)


def test_a_copied_folder_is_not_the_cluster(tmp_path: Path) -> None:
    settings.save(fixtures.settings(folder=tmp_path))
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "cluster.json").write_bytes((tmp_path / "cluster.json").read_bytes())
    with pytest.raises(errors.ClusterError, match="moved or copied"):
        settings.load(copy)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 99}', '{"format": 1}'])
def test_a_damaged_file_is_named_in_the_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "cluster.json").write_text(content)
    with pytest.raises(errors.ClusterError, match=r"cluster\.json"):
        settings.load(tmp_path)


def test_a_folder_with_other_files_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(errors.ClusterError, match="holds other files"):
        folder.prepare(tmp_path)


def test_removing_leaves_what_is_not_ours(tmp_path: Path) -> None:
    settings.save(fixtures.settings(folder=tmp_path))
    (tmp_path / "etcd" / "member").mkdir(parents=True)
    (tmp_path / "letter.txt").write_text("dear")
    assert folder.remove(tmp_path, tmp_path / "run") == []
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_two_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with folder.only_one(tmp_path), pytest.raises(errors.ClusterError, match="another"), folder.only_one(tmp_path):
        pass


def refused(place: Path) -> None:
    with pytest.raises(errors.ClusterError, match="no etcd"), folder.taken(place):
        raise errors.ClusterError("no etcd")


def test_a_refused_up_leaves_nothing_of_a_new_folder_and_an_empty_one_as_it_was(tmp_path: Path) -> None:
    new, empty = tmp_path / "new", tmp_path / "empty"
    empty.mkdir()
    refused(new)
    refused(empty)
    assert list(tmp_path.iterdir()) == [empty]
    assert list(empty.iterdir()) == []


def test_a_folder_that_holds_a_cluster_is_kept_when_up_fails(tmp_path: Path) -> None:
    settings.save(fixtures.settings(folder=tmp_path))
    refused(tmp_path)
    assert settings.file_of(tmp_path).exists()


def test_who_opened_a_lock_that_is_then_removed_does_not_work_beside_the_next(tmp_path: Path) -> None:
    opened = (tmp_path / folder.LOCK).open("w")
    (tmp_path / folder.LOCK).unlink()
    with opened, folder.only_one(tmp_path):
        assert not folder._is_there(tmp_path / folder.LOCK, opened.fileno())


def test_the_name_follows_from_the_folder_and_links_fit_the_kernels_limit() -> None:
    assert settings.default_name(Path("/a")) != settings.default_name(Path("/b"))
    assert settings.check_name(settings.default_name(Path("/a")))
    one = fixtures.settings()
    assert len(one.short) <= 15
    assert one.short != replace(one, token="other").short


@pytest.mark.parametrize("name", ["", "UPPER", "9lives", "a_b", "-a", "a-", "x" * 33])
def test_a_name_that_no_host_could_have_is_refused(name: str) -> None:
    with pytest.raises(errors.ClusterError, match="--name"):
        settings.check_name(name)


def test_sockets_move_where_the_folders_path_is_too_long() -> None:
    assert settings.socket_folder(Path("/srv/c"), Path("/tmp")) == Path("/srv/c/run")
    far = settings.socket_folder(Path("/srv") / ("x" * 90), Path("/tmp"))
    assert far.parent == Path("/tmp")


def test_a_running_cluster_may_grow() -> None:
    known = fixtures.settings(CONTAINERD, 2)
    grown = choose.adjusted(known, Wishes(known.folder, nodes=3))
    assert grown.nodes[:2] == known.nodes
    assert grown.nodes[2].address == "172.30.4.13"
    assert choose.adjusted(known, Wishes(known.folder)) == known


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"nodes": 1}, "fewer need"),
        ({"nodes": 0}, "between 1 and 200"),
        ({"runtime": HOLLOW}, "runs on containerd"),
        ({"name": "other"}, "is named demo"),
        ({"nodes": 201}, "between 1 and 200"),
        ({"port": 65536}, "not a port"),
    ],
)
def test_what_cannot_change_is_refused_with_its_reason(wish: dict[str, int | str], reason: str) -> None:
    known = fixtures.settings(CONTAINERD, 2)
    with pytest.raises(errors.ClusterError, match=reason):
        choose.adjusted(known, Wishes(known.folder, **wish))  # type: ignore[arg-type]  # each case names one field


def test_a_hollow_cluster_needs_no_privilege_and_gets_ports_of_its_own(tmp_path: Path) -> None:
    made = choose.new(Wishes(tmp_path, nodes=3, port=7443), HOLLOW)
    assert made.ports.apiserver == 7443
    assert made.root_address == "127.0.0.1"
    ports = [made.ports.etcd, made.ports.controllers, *(node.kubelet_port for node in made.nodes)]
    assert len(set(ports)) == len(ports)
