"""OCI images made from files: layers, configuration, manifest, and the layout that tools import. Pure but for the tar.

Guarantees: the same files give the same digest (no times, no owners, sorted names).
Source: https://github.com/opencontainers/image-spec (image layout, manifest, configuration, layer)
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"

# Go's names for what `platform.machine()` says.
ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}

# An index or a manifest is read into memory; real ones are a few KB.
_METADATA_BYTES_MAX = 8 << 20


class ArchiveError(Exception):
    """The file is no image archive; the message says what was looked for."""


@dataclass(frozen=True)
class Layer:
    blob: bytes  # gzipped tar
    digest: str  # of the blob
    diff_id: str  # of the tar inside


@dataclass(frozen=True)
class Image:
    """An image ready to be pushed or written: every blob by digest, and the manifest that names them."""

    manifest: bytes
    blobs: Mapping[str, bytes]  # configuration and layers

    @property
    def digest(self) -> str:
        return digest(self.manifest)


@dataclass
class Files:
    """The content of a layer. Paths are relative; parents are added as needed; the last entry of a path stands."""

    entries: dict[str, tuple[tarfile.TarInfo, bytes]] = field(default_factory=dict)

    def file(self, path: str, content: bytes | str, mode: int = 0o644) -> None:
        data = content.encode() if isinstance(content, str) else content
        entry = self._entry(path, tarfile.REGTYPE, mode)
        entry.size = len(data)
        self.entries[path] = (entry, data)

    def folder(self, path: str, mode: int = 0o755, *, owner: int = 0) -> None:
        entry = self._entry(path, tarfile.DIRTYPE, mode)
        entry.uid = entry.gid = owner
        self.entries[path] = (entry, b"")

    def link(self, path: str, target: str) -> None:
        entry = self._entry(path, tarfile.SYMTYPE, 0o777)
        entry.linkname = target
        self.entries[path] = (entry, b"")

    def tree(self, root: Path, skip: Iterable[str] = ()) -> None:
        """Everything below `root` but what starts with one of `skip` (relative paths). Modes are kept, owners not."""
        skipped = tuple(skip)
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if f"{name}/".startswith(skipped) and skipped:
                continue
            if path.is_symlink():
                self.link(name, str(path.readlink()))
            elif path.is_dir():
                self.folder(name, path.stat().st_mode & 0o7777)
            elif path.is_file():
                self.file(name, path.read_bytes(), path.stat().st_mode & 0o7777)

    def layer(self) -> Layer:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for _, (entry, data) in sorted(self._with_parents().items()):
                tar.addfile(entry, io.BytesIO(data))
        plain = packed.getvalue()
        blob = gzip.compress(plain, compresslevel=6, mtime=0)
        return Layer(blob, digest(blob), digest(plain))

    def _with_parents(self) -> dict[str, tuple[tarfile.TarInfo, bytes]]:
        missing = {
            parent.as_posix()
            for name in self.entries
            for parent in Path(name).parents
            if parent.as_posix() != "." and parent.as_posix() not in self.entries
        }
        return self.entries | {name: (self._entry(name, tarfile.DIRTYPE, 0o755), b"") for name in missing}

    def _entry(self, path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode = kind, mode
        return entry


def image(layers: Iterable[Layer], config: Mapping[str, Any], machine: str, history: str) -> Image:
    """The image of these layers, run as `config` (the `config` object of the image configuration) says."""
    layers = list(layers)
    configuration = _json(
        {
            "architecture": ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "config": dict(config),
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
            "history": [{"created_by": history} for _ in layers],
        }
    )
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": _descriptor(_CONFIG_TYPE, configuration),
        "layers": [_descriptor(_LAYER_TYPE, layer.blob) for layer in layers],
    }
    blobs = {digest(configuration): configuration} | {layer.digest: layer.blob for layer in layers}
    return Image(_json(manifest), blobs)


def write_layout(image: Image, names: Iterable[str], path: Path) -> None:
    """An OCI layout as one tar that `ctr images import` takes, under the given full names."""
    index = {
        "schemaVersion": 2,
        "mediaType": _INDEX_TYPE,
        "manifests": [
            {
                **_descriptor(MANIFEST_TYPE, image.manifest),
                "annotations": {
                    "io.containerd.image.name": name,
                    "org.opencontainers.image.ref.name": name.rpartition(":")[2],
                },
            }
            for name in names
        ],
    }
    content = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(index)}
    for name, blob in {**image.blobs, image.digest: image.manifest}.items():
        content[f"blobs/{name.replace(':', '/')}"] = blob
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(content):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content[name]), 0o644
            tar.addfile(entry, io.BytesIO(content[name]))


def read_layout(path: Path) -> Image:
    """The first image of a layout that `write_layout` wrote. Raises ArchiveError when it is damaged."""
    try:
        with tarfile.open(path) as tar:
            content = {m.name: _read(tar, m) for m in tar.getmembers() if m.isfile()}
        manifest = _blob(content, json.loads(content["index.json"])["manifests"][0]["digest"])
        named = json.loads(manifest)
        digests = [named["config"]["digest"], *(layer["digest"] for layer in named["layers"])]
        return Image(manifest, {name: _blob(content, name) for name in digests})
    except (tarfile.TarError, KeyError, IndexError, ValueError, EOFError) as error:
        raise ArchiveError(f"{path} is no OCI image layout: {error}") from error


def names_in_archive(path: Path) -> list[str]:
    """The image names that an OCI or Docker archive (plain or gzipped tar) carries. Raises ArchiveError."""
    try:
        with tarfile.open(path) as tar:
            members = {m.name.removeprefix("./"): m for m in tar.getmembers() if m.isfile()}
            if "index.json" in members:
                found = _names_of_index(json.loads(_metadata(tar, members["index.json"])))
                if found or "manifest.json" not in members:
                    return found
            if "manifest.json" in members:
                listed = json.loads(_metadata(tar, members["manifest.json"]))
                return [tag for one in listed for tag in one["RepoTags"] or []]
    except tarfile.ReadError as error:  # whose text is one line for each compression that was tried
        raise ArchiveError(f"{path} is no image archive: it is not a tar file, or a damaged one") from error
    except (tarfile.TarError, KeyError, TypeError, ValueError, EOFError) as error:
        raise ArchiveError(f"{path} is no image archive: {error}") from error
    raise ArchiveError(f"{path} is no image archive: it holds neither index.json (OCI) nor manifest.json (Docker)")


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _names_of_index(index: dict[str, Any]) -> list[str]:
    notes = [manifest.get("annotations") or {} for manifest in index.get("manifests") or []]
    found = [note.get("io.containerd.image.name") or note.get("org.opencontainers.image.ref.name") for note in notes]
    return [name for name in found if name]


def _descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest(data), "size": len(data)}


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _blob(content: Mapping[str, bytes], name: str) -> bytes:
    data = content[f"blobs/{name.replace(':', '/')}"]
    if digest(data) != name:
        raise ValueError(f"{name} has other content")
    return data


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None  # only regular files are asked for
    return file.read()


def _metadata(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if member.size > _METADATA_BYTES_MAX:
        raise ValueError(f"{member.name} has {member.size} bytes")
    return _read(tar, member)
