from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from minictl.cluster import oci


def make_files() -> oci.Files:
    files = oci.Files()
    files.file("usr/bin/tool", b"\x7fELF", 0o755)
    files.link("bin", "usr/bin")
    files.folder("tmp", 0o1777)
    return files


def make_image() -> oci.Image:
    return oci.image([make_files().layer()], {"Cmd": ["tool"]}, "x86_64", "test")


def test_the_same_files_give_the_same_digest() -> None:
    assert make_files().layer().digest == make_files().layer().digest


def test_a_layer_has_parents_before_children_and_keeps_modes() -> None:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(make_files().layer().blob))) as tar:
        members = tar.getmembers()
    assert [member.name for member in members] == ["bin", "tmp", "usr", "usr/bin", "usr/bin/tool"]
    assert members[1].mode == 0o1777
    assert members[4].mode == 0o755
    assert {(member.uid, member.mtime) for member in members} == {(0, 0)}


def test_a_tree_is_taken_without_what_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "usr/share/doc/x").mkdir(parents=True)
    (tmp_path / "usr/share/doc/x/README").write_text("long")
    (tmp_path / "usr/share/document").write_text("kept")
    (tmp_path / "usr/link").symlink_to("share")
    files = oci.Files()
    files.tree(tmp_path, ["usr/share/doc/"])
    assert sorted(files.entries) == ["usr", "usr/link", "usr/share", "usr/share/document"]


def test_the_manifest_names_every_blob_with_its_size() -> None:
    image = make_image()
    manifest = json.loads(image.manifest)
    for descriptor in [manifest["config"], *manifest["layers"]]:
        assert len(image.blobs[descriptor["digest"]]) == descriptor["size"]
    config = json.loads(image.blobs[manifest["config"]["digest"]])
    assert config["architecture"] == "amd64"
    assert config["rootfs"]["diff_ids"] == [make_files().layer().diff_id]


def test_a_layout_reads_back_as_it_was_written(tmp_path: Path) -> None:
    oci.write_layout(make_image(), ["docker.io/library/tool:1"], tmp_path / "tool.tar")
    assert oci.read_layout(tmp_path / "tool.tar") == make_image()
    assert oci.names_in_archive(tmp_path / "tool.tar") == ["docker.io/library/tool:1"]


def test_a_damaged_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tool.tar"
    oci.write_layout(make_image(), ["docker.io/library/tool:1"], path)
    path.write_bytes(path.read_bytes().replace(b'"Cmd":["tool"]', b'"Cmd":["evil"]'))
    with pytest.raises(oci.ArchiveError, match="other content"):
        oci.read_layout(path)


def write_tar(path: Path, content: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]  # the mode is a literal at each call
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def test_a_docker_archive_gives_its_tags_also_when_gzipped(tmp_path: Path) -> None:
    manifest = json.dumps([{"Config": "c.json", "RepoTags": ["me/app:1", "me/app:2"], "Layers": []}]).encode()
    path = write_tar(tmp_path / "image.tgz", {"manifest.json": manifest}, "w:gz")
    assert oci.names_in_archive(path) == ["me/app:1", "me/app:2"]


@pytest.mark.parametrize("content", [b"not a tar", b""])
def test_what_is_no_tar_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "image.tar").write_bytes(content)
    with pytest.raises(oci.ArchiveError, match="is no image archive"):
        oci.names_in_archive(tmp_path / "image.tar")


def test_a_tar_without_an_image_is_said_to_hold_none(tmp_path: Path) -> None:
    with pytest.raises(oci.ArchiveError, match=r"neither index\.json"):
        oci.names_in_archive(write_tar(tmp_path / "image.tar", {"README": b"hi"}))
