"""Volumes: atomic writes, contents from objects, subPaths that stay inside, hostPath types."""

from __future__ import annotations

import base64
import os
from datetime import timedelta
from pathlib import Path

import pytest

from apimachinery.objects import Object
from kubelet import errors
from kubelet.containers.env import Reference
from kubelet.volumes import atomic, contents, hostpath, subpath
from kubelet.volumes.atomic import File
from tests.unit.kubelet.builders import START, pod


def tree(folder: Path) -> dict[str, str]:
    """What a container sees: visible names only."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for name in sorted(os.listdir(folder))
        if not name.startswith("..")
        for path in ([folder / name] if (folder / name).is_file() else sorted((folder / name).rglob("*")))
        if path.is_file()
    }


def test_files_appear_through_one_link(tmp_path: Path) -> None:
    assert atomic.write(tmp_path, {"a": File(b"1"), "d/b": File(b"2", 0o600)}, START)
    assert tree(tmp_path) == {"a": "1", "d/b": "2"}
    assert os.readlink(tmp_path / "a") == "..data/a"
    assert (tmp_path / "d/b").stat().st_mode & 0o777 == 0o600


def test_writing_the_same_again_changes_nothing(tmp_path: Path) -> None:
    files = {"a": File(b"1")}
    atomic.write(tmp_path, files, START)
    before = os.readlink(tmp_path / "..data")
    assert not atomic.write(tmp_path, files, START + timedelta(seconds=1))
    assert os.readlink(tmp_path / "..data") == before


def test_a_change_swaps_all_files_and_removes_what_is_gone(tmp_path: Path) -> None:
    atomic.write(tmp_path, {"a": File(b"1"), "b": File(b"1")}, START)
    held = os.open(tmp_path / "..data/a", os.O_RDONLY)
    try:
        assert atomic.write(tmp_path, {"a": File(b"2"), "c": File(b"2")}, START + timedelta(seconds=1))
        assert tree(tmp_path) == {"a": "2", "c": "2"}
        assert os.read(held, 10) == b"1", "who has the old file open goes on reading it"
    finally:
        os.close(held)
    assert len([name for name in os.listdir(tmp_path) if name.startswith("..2")]) == 1


def test_leavings_of_a_writer_that_was_killed_are_removed(tmp_path: Path) -> None:
    atomic.write(tmp_path, {"a": File(b"1")}, START)
    (tmp_path / "..2025_01_01_00_00_00.dead").mkdir()
    (tmp_path / "..data_tmp").symlink_to("..2025_01_01_00_00_00.dead")
    atomic.write(tmp_path, {"a": File(b"2")}, START + timedelta(seconds=1))
    assert sorted(name for name in os.listdir(tmp_path) if "dead" in name or "tmp" in name) == []
    assert tree(tmp_path) == {"a": "2"}


@pytest.mark.parametrize("name", ["../a", "/a", "..a", "a/../../b"])
def test_names_that_lead_outside_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="invalid path"):
        atomic.write(tmp_path, {name: File(b"")}, START)


CM: Object = {"data": {"color": "blue"}, "binaryData": {"bin": base64.b64encode(b"\xff").decode()}}
SECRET: Object = {"data": {"pw": base64.b64encode(b"secret").decode()}}
FOUND = {Reference("configmap", "cm"): CM, Reference("secret", "sec"): SECRET, Reference("configmap", "gone"): None}


def files_of(volume: Object) -> dict[str, File]:
    return contents.files_of(
        pod("a", metadata={"labels": {"b": "2", "a": 'x"y'}}), {"name": "v"} | volume, contents.Inputs(FOUND)
    )


def test_every_key_of_a_config_map_is_a_file() -> None:
    files = files_of({"configMap": {"name": "cm", "defaultMode": 0o400}})
    assert files == {"color": File(b"blue", 0o400), "bin": File(b"\xff", 0o400)}


def test_items_choose_names_and_modes() -> None:
    item = {"key": "pw", "path": "a/password", "mode": 0o600}
    assert files_of({"secret": {"secretName": "sec", "items": [item]}}) == {"a/password": File(b"secret", 0o600)}


def test_projected_sources_share_one_folder() -> None:
    sources = [{"configMap": {"name": "cm", "items": [{"key": "color", "path": "c"}]}}, {"secret": {"name": "sec"}}]
    assert {name: f.content for name, f in files_of({"projected": {"sources": sources}}).items()} == {
        "c": b"blue",
        "pw": b"secret",
    }


def test_labels_are_written_as_quoted_lines() -> None:
    item = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
    assert files_of({"downwardAPI": {"items": [item]}})["labels"].content == b'a="x\\"y"\nb="2"'


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMap": {"name": "gone"}}, 'configmap "gone" not found'),
        ({"configMap": {"name": "cm", "items": [{"key": "x", "path": "x"}]}}, "references non-existent config key: x"),
        ({"secret": {"secretName": "nope"}}, 'secret "nope" not found'),
    ],
)
def test_what_is_missing_is_said_in_upstreams_words(source: Object, message: str) -> None:
    with pytest.raises(errors.VolumeNotReady) as raised:
        files_of(source)
    assert (raised.value.volume, raised.value.message) == ("v", message)


def test_what_is_optional_may_be_missing() -> None:
    assert files_of({"configMap": {"name": "gone", "optional": True}}) == {}


def test_a_sub_path_is_made_inside_the_volume(tmp_path: Path) -> None:
    made = subpath.resolve("v", tmp_path, "a/b", None)
    assert made == tmp_path.resolve() / "a" / "b"
    assert made.is_dir()


def test_a_sub_path_of_an_atomic_volume_is_its_file(tmp_path: Path) -> None:
    atomic.write(tmp_path, {"f": File(b"1")}, START)
    assert subpath.resolve("v", tmp_path, "f", None).read_text() == "1"


@pytest.mark.parametrize("target", ["/etc", "..", "../..", "/etc/passwd"])
def test_a_symlink_that_leads_outside_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume" / "link").symlink_to(target)
    with pytest.raises(errors.VolumeNotReady):
        subpath.resolve("v", tmp_path / "volume", "link", None)


def test_folders_are_not_made_through_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "volume" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises((OSError, errors.VolumeNotReady)):
        subpath.resolve("v", tmp_path / "volume", "link/new", None)
    assert os.listdir(tmp_path / "outside") == []


def test_host_path_types_are_checked_and_made(tmp_path: Path) -> None:
    hostpath.prepare("v", tmp_path / "d", "DirectoryOrCreate")
    assert (tmp_path / "d").is_dir()
    hostpath.prepare("v", tmp_path / "d" / "f", "FileOrCreate")
    with pytest.raises(errors.VolumeNotReady, match=r"hostPath type check failed: .* is not a file"):
        hostpath.prepare("v", tmp_path / "d", "File")
    with pytest.raises(errors.VolumeNotReady, match="is not a directory"):
        hostpath.prepare("v", tmp_path / "missing", "Directory")
    hostpath.prepare("v", tmp_path / "missing", "")
